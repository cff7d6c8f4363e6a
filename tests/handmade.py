"""A hand-built model whose right explanation is known, and values of s from plain transformers passes."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from analysis.encoding import encode, encode_target
from analysis.model import LanguageModel, assemble
from analysis.prompts import Prompt
from analysis.results import Target, Tokens
from tests import tiny

HIDDEN = 32
VOCABULARY = 420


def evidence_model(evidence: Mapping[str, float], answer: str) -> LanguageModel:
    """log p(answer) − log p(any other token) = 8 · (mean evidence of the prompt's tokens + that of its last token).

    `evidence` names tokens by their text; all others have none. A GPT-2 in which the first block's
    attention averages all tokens and nothing else is done. A large position embedding, the same
    everywhere, makes the layer norms linear; the head reads one direction, for the answer alone.
    """
    tokenizer = tiny.tokenizer()
    ids = {text: tokenizer.convert_tokens_to_ids(text.replace(" ", "Ġ")) for text in (*evidence, answer)}
    assert all(index is not None for index in ids.values()), ids
    size = {"vocab_size": VOCABULARY, "n_embd": HIDDEN, "n_layer": 2, "n_head": 1, "n_positions": 256}
    config = GPT2Config(**size, tie_word_embeddings=False, bos_token_id=None, eos_token_id=None, pad_token_id=None)
    model = GPT2LMHeadModel(config).eval()
    direction = torch.zeros(HIDDEN)
    direction[0], direction[1] = 1.0, -1.0
    constant = torch.zeros(HIDDEN)
    constant[16::2], constant[17::2] = 100.0, -100.0
    gain = constant.std(correction=0)  # a layer norm divides by it
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        for name, parameter in model.named_parameters():
            if name.endswith(("ln_1.weight", "ln_2.weight", "ln_f.weight")):
                parameter.fill_(1.0)
        neutral = torch.randn(VOCABULARY, HIDDEN, generator=torch.Generator().manual_seed(0))
        neutral[:, :2], neutral[:, 16:] = 0.0, 0.0
        neutral[:, 2:16] -= neutral[:, 2:16].mean(dim=1, keepdim=True)
        model.transformer.wte.weight.copy_(neutral)
        for text, amount in evidence.items():
            model.transformer.wte.weight[ids[text]] = neutral[ids[text]] + amount * direction
        model.transformer.wpe.weight.copy_(constant.expand(256, HIDDEN))
        attention = model.transformer.h[0].attn
        attention.c_attn.weight[:, 2 * HIDDEN :] = torch.eye(HIDDEN)  # values; queries and keys are 0
        read = direction / 2  # direction · direction = 2
        # What the attention adds is the mean of (e + constant) / gain; the last norm divides by `after`.
        attention.c_proj.weight.copy_(
            gain * (torch.outer(read, direction) + torch.outer(constant, constant) / constant.norm() ** 2)
        )
        after = 2 * gain
        model.lm_head.weight[ids[answer]] = 8 * after * read
    return assemble(model, tokenizer, "evidence")


def asked(lm: LanguageModel, text: str, target: str, **prompt: Any) -> tuple[Tokens, Target]:
    """The tokens of a prompt and of a target after it."""
    made = Prompt(text, **prompt)
    tokens = encode(lm.encoder, made)
    return tokens, encode_target(lm.encoder, made, tokens, target)


def plain_log_prob(lm: LanguageModel, context: Sequence[int], continuation: Sequence[int]) -> float:
    """log p(continuation | context) from a forward pass of transformers on the joined ids."""
    read = torch.tensor([[*context, *continuation]])
    with torch.no_grad():
        log_probs = torch.log_softmax(lm.network.model(input_ids=read).logits[0].double(), dim=-1)
    return sum(float(log_probs[len(context) - 1 + k, index]) for k, index in enumerate(continuation))


def log_prob_of_embeddings(lm: LanguageModel, embeds: torch.Tensor, continuation: Sequence[int]) -> torch.Tensor:
    """log p(continuation) [B] after prompts given by embeddings [B, T, H], by transformers; differentiable."""
    after = lm.network.model.get_input_embeddings()(torch.tensor([list(continuation)])).expand(len(embeds), -1, -1)
    logits = lm.network.model(inputs_embeds=torch.cat([embeds, after], dim=1), use_cache=False).logits
    log_probs = torch.log_softmax(logits[:, embeds.shape[1] - 1 : -1].float(), dim=-1)
    index = torch.tensor(list(continuation))[None, :, None].expand(len(embeds), -1, 1)
    return log_probs.gather(2, index)[:, :, 0].sum(dim=1)
