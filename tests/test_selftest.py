"""What a model cannot do is found out at load, and the analyses respect it."""

from typing import Any

import numpy as np
import pytest
import torch
from transformers import OPTConfig, OPTForCausalLM

from analysis.answers import answers
from analysis.encoding import encode, target_from_ids
from analysis.explore import Caches, analyse
from analysis.model import LanguageModel, ModelError, assemble
from analysis.prompts import Prompt, PromptSet, Variant
from analysis.results import Note, Trace
from analysis.scoring import score
from analysis.trace import Item, traces
from tests import plain, tiny


class _NoBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *_: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError("4-bit weights do not run\nbackward")


class _NanBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
        return gradients[0] * float("nan")


class Wrapped(torch.nn.Module):
    """A module whose output goes through an autograd function."""

    def __init__(self, inner: torch.nn.Module, function: type[torch.autograd.Function]) -> None:
        super().__init__()
        self.inner, self.function = inner, function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function.apply(self.inner(x))


def without_gradients(function: type[torch.autograd.Function] = _NoBackward) -> LanguageModel:
    network = tiny.network("llama", scale=8.0)
    network.model.norm = Wrapped(network.model.norm, function)
    return assemble(network, tiny.tokenizer(), "tiny")


def changed_arguments(**change: Any) -> LanguageModel:
    """A model whose decoder gets other arguments than it is called with; `drop` is left out."""
    network = tiny.network("llama", scale=8.0)

    def hook(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return args, {name: value for name, value in kwargs.items() if name not in change["drop"]}

    network.model.register_forward_pre_hook(hook, with_kwargs=True)
    return assemble(network, tiny.tokenizer(), "tiny")


def items(lm: LanguageModel) -> list[Item]:
    prompts = [encode(lm.encoder, Prompt(text)) for text in ("one", "The capital of France is", "one two three four")]
    return [
        Item(tokens, target_from_ids(lm.encoder, target, chosen=True))
        for tokens in prompts
        for target in ((30,), (30, 31))
    ]


@pytest.mark.parametrize("family", tiny.CONFIGS)
def test_a_sound_model_can_do_everything(family: str) -> None:
    lm = assemble(tiny.network(family), tiny.tokenizer(), "tiny")
    soft_capped = family == "gemma2"
    assert [name for name, _ in lm.card.unavailable] == (["certified bounds"] if soft_capped else [])
    assert lm.card.noise_floor < 1e-4


@pytest.mark.parametrize(
    ("function", "why"), [(_NoBackward, "4-bit weights do not run backward"), (_NanBackward, "not finite")]
)
def test_without_a_backward_pass_everything_else_works(function: type[torch.autograd.Function], why: str) -> None:
    lm = without_gradients(function)
    assert dict(lm.card.unavailable).keys() == {"gradients"}
    reason = dict(lm.card.unavailable)["gradients"]
    assert why in reason
    assert "leave-one-out works" in reason
    assert "\n" not in reason
    sound = assemble(tiny.network("llama", scale=8.0), tiny.tokenizer(), "tiny")
    for attributions in (True, False):
        for trace, want in zip(
            traces(lm, items(lm), attributions=attributions), traces(sound, items(sound)), strict=True
        ):
            assert isinstance(trace, Trace)
            assert isinstance(want, Trace)
            assert trace.gradient is trace.saliency is trace.gradient_x_input is None
            np.testing.assert_allclose(trace.target_log_probs, want.target_log_probs, atol=1e-5)
            np.testing.assert_allclose(trace.hidden, want.hidden, atol=1e-4)
    analysis = analyse(lm, PromptSet("one two", (Variant("one three"),)), Caches())
    assert all(result.trace is not None for result in analysis.prompts)
    assert score(lm, [((30, 31), (32,))])[0].shape == (1,)


def test_a_soft_capped_head_has_no_certificate() -> None:
    lm = assemble(tiny.network("gemma2"), tiny.tokenizer(), "tiny")
    assert "soft-capped by tanh" in dict(lm.card.unavailable)["certified bounds"]


@pytest.mark.parametrize("drop", [("cache", "past_key_values", "use_cache"), ("position_ids",), ("attention_mask",)])
def test_a_cache_that_cannot_be_used_is_not_used(drop: tuple[str, ...]) -> None:
    lm = changed_arguments(drop=drop)
    reason = dict(lm.card.unavailable)["shared prefixes"]
    assert "key–value cache" in reason
    assert "\n" not in reason
    model = tiny.network("llama", scale=8.0)
    prompts = [(5, 6, 7), (9,), (5, 6, 7, 8, 30, 31, 32, 33)]
    for prompt, answer in zip(prompts, answers(lm, prompts, 3), strict=True):
        assert answer.ids == tuple(index for index, _ in plain.greedy(model, prompt, 3, frozenset()))
    for row, values in zip(prompts, score(lm, [(prompt, (30, 31)) for prompt in prompts]), strict=True):
        np.testing.assert_allclose(values, plain.scores(model, row, (30, 31)), atol=1e-4)
    for trace in traces(lm, items(lm), attributions=False):
        assert isinstance(trace, Trace)
        want = plain.trace(model, trace.tokens.ids, trace.target.ids)
        np.testing.assert_allclose(trace.target_log_probs, want.log_probs, atol=1e-4)


def test_a_model_without_a_chat_template_says_so() -> None:
    lm = assemble(tiny.network(), tiny.tokenizer(template=None), "tiny")
    assert dict(lm.card.unavailable) == {"chat mode": "the tokenizer of tiny has no chat template"}
    assert not lm.card.has_chat_template
    analysis = analyse(lm, PromptSet("Hi", mode="chat"), Caches())
    assert analysis.reference.notes == (
        Note("error", "reference: tiny has no chat template; use completion mode, or load an instruct model"),
    )


def test_a_chat_template_that_fails_says_so() -> None:
    lm = assemble(tiny.network(), tiny.tokenizer(template="{{ messages[7].content }}"), "tiny")
    assert "the chat template of tiny refuses this conversation" in dict(lm.card.unavailable)["chat mode"]


def refused(network: Any, tokenizer: Any = None) -> str:
    with pytest.raises(ModelError) as raised:
        assemble(network, tokenizer or tiny.tokenizer(), "tiny")
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_a_model_that_returns_nan_is_refused() -> None:
    network = tiny.network()
    with torch.no_grad():
        network.model.norm.weight[0] = float("nan")
    assert refused(network) == (
        "tiny cannot be analysed: its log-probs are not finite (NaN or infinity): the weights or the dtype are broken"
    )


def test_a_head_that_does_more_than_its_matrix_is_refused() -> None:
    """A scale or cap that the project does not know of would make every log-prob wrong."""
    network = tiny.network(scale=8.0)
    head = network.forward

    def doubled(*args: Any, **kwargs: Any) -> Any:
        out = head(*args, **kwargs)
        out.logits = 2 * out.logits
        return out

    network.forward = doubled
    assert refused(network) == (
        "tiny cannot be analysed: its logits are not its LM head applied to its last state and embeddings"
    )


def test_a_model_that_needs_ids_besides_embeddings_is_refused() -> None:
    network = tiny.network()

    def hook(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if kwargs.get("input_ids") is None:
            raise ValueError("per-layer inputs need\nids")

    network.model.register_forward_pre_hook(hook, with_kwargs=True)
    assert refused(network) == (
        "tiny cannot be analysed: a forward pass from its embeddings fails (per-layer inputs need ids)"
    )


def test_a_model_that_looks_ahead_is_refused() -> None:
    """Prompts are padded on the right, which only a causal model cannot see."""
    network = tiny.network(scale=8.0)

    def average(module: torch.nn.Module, args: tuple[torch.Tensor, ...], out: torch.Tensor) -> torch.Tensor:
        return out + 5 * out.mean(dim=1, keepdim=True)

    network.model.layers[1].mlp.register_forward_hook(average)
    assert "when a longer prompt is beside it" in refused(network)


def test_states_of_different_widths_are_refused() -> None:
    size = {"vocab_size": 420, "ffn_dim": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    network = OPTForCausalLM(OPTConfig(**size, hidden_size=32, word_embed_proj_dim=16, max_position_embeddings=64))
    assert refused(network) == "tiny cannot be analysed: its states have different widths (16, 32)"


def test_a_tokenizer_that_gives_ids_beyond_the_model_is_refused() -> None:
    network = tiny.network()
    network.resize_token_embeddings(40)
    assert "which tiny does not know: its ids end at 39" in refused(network)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_noise_floor_is_what_the_dtype_resolves_at_the_largest_logit(dtype: torch.dtype) -> None:
    network = tiny.network(scale=8.0).to(dtype)
    lm = assemble(network, tiny.tokenizer(), "tiny", dtype=dtype)
    ids = encode(lm.encoder, Prompt("The quick brown fox jumps over the lazy dog.")).ids
    with torch.no_grad():
        largest = float(network(input_ids=torch.tensor([ids])).logits[0, -1].float().abs().max())
    assert lm.card.noise_floor >= 0.99 * largest * torch.finfo(dtype).eps
    exact = tiny.network(scale=8.0)
    with torch.no_grad():
        true = torch.log_softmax(exact(input_ids=torch.tensor([ids])).logits[0, -1], dim=-1)
        coarse = torch.log_softmax(network(input_ids=torch.tensor([ids])).logits[0, -1].float(), dim=-1)
    assert float((true - coarse).abs().median()) < 10 * lm.card.noise_floor


def test_the_self_test_leaves_the_model_and_the_process_as_they_were() -> None:
    before = torch.get_float32_matmul_precision()
    network = tiny.network()
    weights = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    lm = assemble(network, tiny.tokenizer(), "tiny")
    assert torch.get_float32_matmul_precision() == before
    assert all(torch.equal(tensor, weights[name]) for name, tensor in network.state_dict().items())
    assert not any(parameter.requires_grad or parameter.grad is not None for parameter in network.parameters())
    assert not lm.lock.held
