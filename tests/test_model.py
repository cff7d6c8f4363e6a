"""Loading models from disk, and one sentence for every way in which that fails."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForMaskedLM, BertModel, T5Config, T5ForConditionalGeneration

from analysis import default_model, loading
from analysis.default_model import DEFAULT, SECOND, DefaultModelError
from analysis.encoding import encode, target_from_ids
from analysis.model import ModelError, ModelSpec, assemble, load
from analysis.prompts import Prompt
from analysis.results import Trace
from analysis.trace import Item, traces
from tests import plain, tiny


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny model and its tokenizer, as `save_pretrained` writes it."""
    folder = tmp_path_factory.mktemp("models") / "tiny-llama"
    tiny.network("llama", scale=8.0).save_pretrained(folder)
    tiny.tokenizer(bos=True).save_pretrained(folder)
    return folder


@pytest.fixture
def broken(saved: Path, tmp_path: Path) -> Path:
    """A copy of it to break."""
    return Path(shutil.copytree(saved, tmp_path / "broken"))


def sentence(spec: ModelSpec) -> str:
    """What a failed load says: one line without a traceback or the name of a Python class."""
    with pytest.raises(ModelError) as raised:
        load(spec)
    message = str(raised.value)
    assert message
    assert "\n" not in message
    assert "Traceback" not in message
    assert len(message) < 400
    return message


def change_config(folder: Path, **values: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def change_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    path = folder / "model.safetensors"
    weights = load_file(path)
    change(weights)
    save_file(weights, path, metadata={"format": "pt"})


def test_a_folder_is_loaded_checked_and_described(saved: Path) -> None:
    seen: list[tuple[float, str]] = []
    lm = load(ModelSpec(str(saved)), lambda share, text: seen.append((share, text)))
    card = lm.card
    assert (card.name, card.architecture, card.layers, card.hidden) == ("tiny-llama", "LlamaForCausalLM", 4, 32)
    assert (card.dtype, card.device, card.vocabulary, card.max_tokens) == ("float32", "cpu", 420, 256)
    assert card.parameters == sum(p.numel() for p in lm.network.model.parameters())
    assert card.memory_bytes >= 4 * card.parameters
    assert card.has_chat_template
    assert [share for share, _ in seen] == sorted(share for share, _ in seen)
    assert seen[-1][0] == 1.0
    assert lm.encoder.end_ids == {lm.encoder.control["<|end|>"]}
    assert not any(parameter.requires_grad for parameter in lm.network.model.parameters())
    assert not lm.network.model.training


def test_a_loaded_model_says_what_the_saved_one_says(saved: Path) -> None:
    lm, original = load(ModelSpec(str(saved))), tiny.network("llama", scale=8.0)
    tokens = encode(lm.encoder, Prompt("The capital of France is"))
    assert tokens.pieces[0] == "<s>"
    trace = traces(lm, [Item(tokens, target_from_ids(lm.encoder, (30,), chosen=True))])[0]
    assert isinstance(trace, Trace)
    np.testing.assert_allclose(trace.next_log_probs, plain.trace(original, tokens.ids, (30,)).next_log_probs, atol=1e-5)


@pytest.mark.parametrize(("dtype", "coarse"), [("bfloat16", 1e-3), ("float16", 1e-4)])
def test_half_precision_has_a_higher_noise_floor(saved: Path, dtype: str, coarse: float) -> None:
    lm = load(ModelSpec(str(saved), dtype=dtype))
    assert lm.card.dtype == dtype
    assert lm.card.memory_bytes < load(ModelSpec(str(saved))).card.memory_bytes
    assert lm.card.noise_floor > coarse > load(ModelSpec(str(saved))).card.noise_floor
    tokens = encode(lm.encoder, Prompt("one two"))
    trace = traces(lm, [Item(tokens, target_from_ids(lm.encoder, (30,), chosen=True))])[0]
    assert isinstance(trace, Trace)
    assert trace.gradient is not None


def test_two_loads_have_different_keys(saved: Path) -> None:
    """What was computed with one must not be found under the other: the folder may have changed."""
    assert load(ModelSpec(str(saved))).key != load(ModelSpec(str(saved))).key


def test_an_unknown_id_without_a_network_says_what_to_do() -> None:
    assert sentence(ModelSpec("no-such-org/no-such-model")) == (
        "no-such-org/no-such-model is not on this machine and Hugging Face cannot be reached: go online, or download it"
        " elsewhere and give its folder"
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "no model is named: give an id such as org/name, a folder, or a .gguf file"),
        ("  ", "no model is named: give an id such as org/name, a folder, or a .gguf file"),
        ("a/b/c", "'a/b/c' is not a model: give an id such as org/name, a folder, or a .gguf file"),
        ("two words", "'two words' is not a model: give an id such as org/name, a folder, or a .gguf file"),
        ("./nowhere", "the path './nowhere' does not exist"),
        ("nowhere.gguf", "the path 'nowhere.gguf' does not exist"),
    ],
)
def test_what_is_no_source_is_said(source: str, message: str) -> None:
    assert sentence(ModelSpec(source)) == message


def test_paths_are_opened_only_where_the_owner_allows(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSL_ALLOW_LOCAL_MODELS", "0")
    for source in (str(saved), "/etc/passwd", "./model", "model.gguf", "~"):
        assert sentence(ModelSpec(source)) == (
            "this server does not open models from its own disk; give a Hugging Face id"
        )


def test_a_device_or_dtype_that_is_not_there_is_named(saved: Path) -> None:
    assert sentence(ModelSpec(str(saved), dtype="int3")) == "dtype 'int3' is not one of float32, bfloat16, float16"
    for device in ("abacus", "cpu:x", "cuda:99"):
        assert sentence(ModelSpec(str(saved), device=device)).startswith(
            f"device {device!r} is not available on this machine, which has: cpu"
        )


def test_a_folder_without_a_model_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert sentence(ModelSpec(str(tmp_path / "empty"))) == "the folder empty holds no model: it has no config.json"
    (tmp_path / "notes.txt").write_text("x")
    assert sentence(ModelSpec(str(tmp_path / "notes.txt"))).endswith("is neither a folder nor a .gguf file")


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (lambda: BertModel(BertConfig(**SMALL_BERT)), "a bert model (BertModel)"),
        (lambda: BertForMaskedLM(BertConfig(**SMALL_BERT)), "a bert model (BertForMaskedLM)"),
        (lambda: T5ForConditionalGeneration(T5Config(**SMALL_T5)), "a t5 model (T5ForConditionalGeneration)"),
    ],
)
def test_other_kinds_of_models_are_named(tmp_path: Path, model: Callable[[], Any], kind: str) -> None:
    model().save_pretrained(tmp_path / "other")
    tiny.tokenizer().save_pretrained(tmp_path / "other")
    assert sentence(ModelSpec(str(tmp_path / "other"))) == f"other is {kind}, which is not a causal language model"


SMALL_BERT = {
    "vocab_size": 420,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
}
SMALL_T5 = {"vocab_size": 420, "d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}


def test_pickled_weights_are_not_read(broken: Path) -> None:
    torch.save(tiny.network().state_dict(), broken / "pytorch_model.bin")
    (broken / "model.safetensors").unlink()
    assert sentence(ModelSpec(str(broken))) == (
        "broken has no safetensors weights; only safetensors and GGUF files are read"
    )


def test_code_that_comes_with_a_model_is_not_run(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (broken / "own.py").write_text("raise SystemExit('it ran')\n")
    own = {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model", "AutoTokenizer": ["own.Tokenizer", None]}
    change_config(broken, auto_map=own, model_type="of_its_own")
    assert sentence(ModelSpec(str(broken))) == (
        "broken needs code of its own to run, which this project does not execute"
    )
    change_config(broken, auto_map=own, model_type="llama")  # one that transformers knows needs none of it
    assert load(ModelSpec(str(broken))).card.architecture == "LlamaForCausalLM"


def test_an_architecture_that_transformers_does_not_know_is_said(broken: Path) -> None:
    change_config(broken, model_type="of_tomorrow")
    assert sentence(ModelSpec(str(broken))) == (
        "broken is of an architecture that this version of transformers does not know"
    )


@pytest.mark.parametrize("content", [b"", b"hello", None])
def test_damaged_weights_are_said(broken: Path, content: bytes | None) -> None:
    path = broken / "model.safetensors"
    path.write_bytes(path.read_bytes()[:3000] if content is None else content)
    assert sentence(ModelSpec(str(broken))).startswith("the weights of broken are damaged (")


def test_weights_that_are_not_there_are_not_made_up(broken: Path) -> None:
    """transformers fills missing weights with random numbers and goes on."""

    def without_a_block(weights: dict[str, torch.Tensor]) -> None:
        for name in [name for name in weights if "layers.2." in name]:
            del weights[name]

    change_weights(broken, without_a_block)
    assert sentence(ModelSpec(str(broken))).startswith(
        "broken is incomplete: its files lack the weights model.layers.2.input_layernorm.weight and 8 more"
    )


def test_tied_weights_are_not_missing(tmp_path: Path) -> None:
    tiny.network("llama tied").save_pretrained(tmp_path / "tied")
    tiny.tokenizer().save_pretrained(tmp_path / "tied")
    assert "lm_head.weight" not in load_file(tmp_path / "tied" / "model.safetensors")
    assert load(ModelSpec(str(tmp_path / "tied"))).card.name == "tied"


def test_weights_of_another_shape_are_said(broken: Path) -> None:
    change_config(broken, intermediate_size=64)
    assert sentence(ModelSpec(str(broken))) == "the weights of broken do not fit its config.json"


def test_weights_that_give_nan_are_said(broken: Path) -> None:
    def spoil(weights: dict[str, torch.Tensor]) -> None:
        weights["model.norm.weight"][3] = float("nan")

    change_weights(broken, spoil)
    assert sentence(ModelSpec(str(broken))) == (
        "broken cannot be analysed: its log-probs are not finite (NaN or infinity): the weights or the dtype are broken"
    )


def test_a_config_that_cannot_be_read_is_said(broken: Path) -> None:
    (broken / "config.json").write_text('{"model_type": ')
    assert sentence(ModelSpec(str(broken))) == "the config.json of broken is not valid JSON"


@pytest.mark.parametrize("content", [None, "{}", "not json"])
def test_a_tokenizer_that_is_missing_or_broken_is_said(broken: Path, content: str | None) -> None:
    path = broken / "tokenizer.json"
    if content is None:
        path.unlink()
        (broken / "tokenizer_config.json").unlink()
    else:
        path.write_text(content)
    assert sentence(ModelSpec(str(broken))).startswith("broken has no tokenizer that can be read (")


@pytest.mark.parametrize("content", [b"", b"no GGUF at all" * 50])
def test_a_gguf_path_that_is_not_gguf_is_said(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "fake.gguf").write_bytes(content)
    assert sentence(ModelSpec(str(tmp_path / "fake.gguf"))) == "fake.gguf is not a GGUF file"


def test_a_torn_gguf_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "torn.gguf").write_bytes(b"GGUF\x03\0\0\0" + b"\xff" * 64)
    assert sentence(ModelSpec(str(tmp_path / "torn.gguf"))) == (
        "the GGUF file torn.gguf cannot be read: it is damaged or of a kind that transformers does not know"
    )


def test_a_model_larger_than_the_memory_is_refused_before_it_is_read(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Little:
        available = 1000

    monkeypatch.setattr(loading.psutil, "virtual_memory", Little)
    assert sentence(ModelSpec(str(saved))).startswith(
        "tiny-llama needs 0.0 GB as float32, and 0.0 GB of memory are free"
    )


def test_running_out_of_memory_while_loading_is_said(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB\nand much more")

    monkeypatch.setattr(loading, "_read", full)
    assert sentence(ModelSpec(str(saved))) == (
        "tiny-llama does not fit into the memory of cpu: choose a smaller model or dtype"
    )


def hub_error(kind: str, text: str) -> Exception:
    return type(kind, (Exception,), {})(text)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (hub_error("GatedRepoError", "403\nClient Error."), "org/x is gated: accept its terms on Hugging Face"),
        (hub_error("OSError", "You are trying to access a gated repo."), "org/x is gated"),
        (hub_error("RepositoryNotFoundError", "404 Client Error."), "Hugging Face has no model 'org/x'"),
        (hub_error("RevisionNotFoundError", "404 Client Error."), "org/x has no revision 'r404'"),
        (hub_error("ConnectError", "[Errno -2]"), "org/x is not on this machine and Hugging Face cannot be reached"),
        (
            hub_error("ImportError", "x requires foo. Please install it"),
            "org/x needs a package that is not installed: x",
        ),
        (hub_error("ValueError", "A model404 thing.\nMore"), "the model org/x cannot be loaded: A model404 thing"),
        (hub_error("ValueError", ""), "the model org/x cannot be loaded: ValueError"),
    ],
)
def test_what_the_hub_says_becomes_a_sentence(error: Exception, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(loading, "_read", fail)
    assert sentence(ModelSpec("org/x", revision="r404")).startswith(message)


def test_a_tokenizer_without_a_fast_form_is_refused() -> None:
    class Slow:
        backend_tokenizer = None

    with pytest.raises(ModelError, match=r"^tiny has no fast tokenizer"):
        assemble(tiny.network(), Slow(), "tiny")


# --- embedded models --------------------------------------------------------------------------------


def test_a_broken_cache_of_an_embedded_model_heals(saved: Path, broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (broken / "model.safetensors").write_bytes(b"hello")
    asked: list[bool] = []

    def ensure(model: default_model.EmbeddedModel, report: object, *, thorough: bool) -> Path:
        assert model is DEFAULT
        asked.append(thorough)
        return saved if thorough else broken

    monkeypatch.setattr(default_model, "ensure", ensure)
    assert load(ModelSpec("default")).card.name == "SmolLM2-135M-Instruct"
    assert asked == [False, True]


def test_weights_that_load_but_are_broken_heal_too(saved: Path, broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change_weights(broken, lambda weights: weights["model.norm.weight"].fill_(float("nan")))
    monkeypatch.setattr(default_model, "ensure", lambda model, report, thorough: saved if thorough else broken)
    assert load(ModelSpec("default")).card.layers == 4


def test_a_sound_cache_is_not_read_twice_and_a_hopeless_one_is_an_error(
    saved: Path, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (broken / "model.safetensors").write_bytes(b"hello")
    asked: list[bool] = []
    folder = saved

    def ensure(model: object, report: object, *, thorough: bool) -> Path:
        asked.append(thorough)
        return folder

    monkeypatch.setattr(default_model, "ensure", ensure)
    load(ModelSpec("default"))
    assert asked == [False]
    folder = broken
    assert sentence(ModelSpec("default")).startswith("the weights of SmolLM2-135M-Instruct are damaged")
    assert asked == [False, False, True]


def test_what_the_download_says_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def ensure(model: object, report: object, *, thorough: bool) -> Path:
        raise DefaultModelError("SmolLM2-135M-Instruct cannot be fetched: no network")

    monkeypatch.setattr(default_model, "ensure", ensure)
    assert sentence(ModelSpec("default")) == "SmolLM2-135M-Instruct cannot be fetched: no network"


def test_terms_of_use_are_accepted_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(default_model, "ensure", lambda *_, **__: pytest.fail("fetched"))
    assert sentence(ModelSpec(SECOND.key)) == ("Gemma 3 270M comes under its maker's terms of use: accept them first")


def test_a_cancelled_load_is_not_an_error(saved: Path) -> None:
    class Stop(BaseException):
        pass

    def report(share: float, text: str) -> None:
        raise Stop

    with pytest.raises(Stop):
        load(ModelSpec(str(saved)), report)
