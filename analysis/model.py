"""A language model as a shared, frozen value: which one, from where, loaded and checked.

One `LanguageModel` serves all sessions. Its weights never change, and every pass goes through its
lock, chunk by chunk.
"""

import itertools
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from analysis import default_model, forward, selftest
from analysis.encoding import Encoder
from analysis.forward import Network
from analysis.loading import ModelError, Source, read
from analysis.locks import FairLock, PassLock
from analysis.results import ModelCard

__all__ = [
    "DTYPES",
    "FairLock",
    "LanguageModel",
    "ModelError",
    "ModelSpec",
    "PassLock",
    "assemble",
    "load",
    "local_models_allowed",
]

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
Report = Callable[[float, str], object]
_numbers = itertools.count()  # a folder may hold other weights the next time


@dataclass(frozen=True)
class ModelSpec:
    """Which model to load: "default", "gemma-3-270m", a Hugging Face id, a folder, or a GGUF file."""

    source: str = "default"
    dtype: str = "auto"  # float32 on a CPU; as stored on an accelerator
    device: str = "auto"  # cuda, mps, cpu
    revision: str | None = None
    accept_terms: bool = False


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """A loaded model. `key` identifies weights, dtype and device, for caches of what it computed."""

    key: str
    card: ModelCard
    network: Network
    encoder: Encoder
    lock: PassLock
    can: selftest.Capabilities

    @property
    def max_tokens(self) -> int:
        return self.card.max_tokens


def local_models_allowed() -> bool:
    """Whether paths of the server's disk may be opened: its owner decides (PSL_ALLOW_LOCAL_MODELS)."""
    return os.environ.get("PSL_ALLOW_LOCAL_MODELS", "1") == "1"


def load(spec: ModelSpec, report: Report = lambda fraction, text: None) -> LanguageModel:
    """Load, check and freeze a model. Raises ModelError with one sentence."""
    started = time.monotonic()
    device = _device(spec.device)
    dtype = _dtype(spec.dtype, device)

    def made_from(source: Source) -> LanguageModel:
        report(0.5, f"loading {source.name}")
        model, tokenizer = read(source, dtype, device)
        report(0.9, f"checking {source.name}")
        return assemble(model, tokenizer, source.name, source.revision or "", dtype, str(device))

    source = _locate(spec, report)
    try:
        made = made_from(source)
    except ModelError:
        if (embedded := _embedded(spec)) is None:
            raise
        # Every byte of the cached folder is checked now, and it is made anew if one is wrong.
        made = made_from(_ensured(embedded, report, thorough=True))
    report(1.0, f"{source.name} loaded in {time.monotonic() - started:.1f} s")
    return made


def _embedded(spec: ModelSpec) -> default_model.EmbeddedModel | None:
    return next((model for model in default_model.EMBEDDED if model.key == spec.source.strip()), None)


def _ensured(embedded: default_model.EmbeddedModel, report: Report, *, thorough: bool = False) -> Source:
    try:
        folder = default_model.ensure(
            embedded, report=lambda fraction, text: report(0.5 * fraction, text), thorough=thorough
        )
    except default_model.DefaultModelError as error:
        raise ModelError(str(error)) from error
    return Source(str(folder), embedded.name)


def assemble(
    model: Any, tokenizer: Any, name: str, revision: str = "", dtype: torch.dtype = torch.float32, device: str = "cpu"
) -> LanguageModel:
    """A `LanguageModel` from a transformers model and its fast tokenizer, frozen and self-tested."""
    model.eval().requires_grad_(False)
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        raise ModelError(f"{name} has no fast tokenizer, which is needed to place each token in the text")
    try:
        network = forward.take_apart(model)
        encoder = Encoder(name, tokenizer, _end_ids(model, tokenizer), network.vocabulary)
        with PassLock(network.device):
            can = selftest.run(network, encoder)
    except (forward.UnsupportedModel, selftest.SelfTestError) as error:
        raise ModelError(f"{name} cannot be analysed: {error}") from error
    config = model.config.get_text_config()
    shown_dtype = str(dtype).removeprefix("torch.")
    card = ModelCard(
        name=name,
        revision=revision,
        architecture=type(model).__name__,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        layers=network.layers,
        hidden=config.hidden_size,
        vocabulary=config.vocab_size,
        max_tokens=_max_tokens(config, tokenizer),
        dtype=shown_dtype,
        device=device,
        memory_bytes=sum(t.numel() * t.element_size() for t in (*model.parameters(), *model.buffers())),
        noise_floor=can.noise_floor,
        has_chat_template=encoder.has_chat_template,
        unavailable=can.unavailable,
    )
    key = f"{name}@{revision}/{shown_dtype}/{device}/{next(_numbers)}"
    return LanguageModel(key, card, network, encoder, PassLock(network.device, can.matmul), can)


def _device(wanted: str) -> torch.device:
    if wanted == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps") if torch.backends.mps.is_available() else torch.device("cpu")
    here = ["cpu", *(["mps"] if torch.backends.mps.is_available() else [])]
    if torch.cuda.is_available():
        here += ["cuda", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    if wanted not in here:
        raise ModelError(f"device {wanted!r} is not available on this machine, which has: {', '.join(here)}")
    return torch.device(wanted)


def _dtype(wanted: str, device: torch.device) -> torch.dtype:
    if wanted == "auto":
        return torch.float32 if device.type == "cpu" else torch.bfloat16
    if wanted not in DTYPES:
        raise ModelError(f"dtype {wanted!r} is not one of {', '.join(DTYPES)}")
    return DTYPES[wanted]


def _locate(spec: ModelSpec, report: Report) -> Source:
    """Where the weights are: an embedded model's cache, a folder, a GGUF file, or the hub."""
    source = spec.source.strip()
    if (embedded := _embedded(spec)) is not None:
        if embedded.needs_consent and not spec.accept_terms:
            raise ModelError(f"{embedded.name} comes under its maker's terms of use: accept them first")
        return _ensured(embedded, report)
    if not source:
        raise ModelError("no model is named: give an id such as org/name, a folder, or a .gguf file")
    path = Path(source).expanduser()
    looks_local = source.startswith((".", "/", "~")) or source.lower().endswith(".gguf") or path.exists()
    if looks_local:
        if not local_models_allowed():
            raise ModelError("this server does not open models from its own disk; give a Hugging Face id")
        if path.is_dir():
            return Source(str(path), path.resolve().name)
        if path.is_file() and path.suffix.lower() == ".gguf":
            return Source(str(path.parent), path.stem, file=path.name)
        what = "is neither a folder nor a .gguf file" if path.exists() else "does not exist"
        raise ModelError(f"the path {source!r} {what}")
    if source.count("/") > 1 or any(c.isspace() for c in source):
        raise ModelError(f"{source!r} is not a model: give an id such as org/name, a folder, or a .gguf file")
    return Source(source, source, revision=spec.revision)


def _end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    ids: set[int] = set()
    generation = getattr(model, "generation_config", None)
    config = model.config.get_text_config()
    for value in (
        getattr(generation, "eos_token_id", None),
        getattr(config, "eos_token_id", None),
        tokenizer.eos_token_id,
    ):
        ids |= set(value) if isinstance(value, list) else {value} if value is not None else set()
    return frozenset(ids)


def _max_tokens(config: Any, tokenizer: Any) -> int:
    names = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length")
    limits = [getattr(config, name, None) for name in names]
    limits.append(tokenizer.model_max_length)
    known = [int(limit) for limit in limits if isinstance(limit, int | float) and 0 < limit < 10**9]
    return min(known, default=2048)
