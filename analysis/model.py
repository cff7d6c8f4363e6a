"""A language model as a shared, frozen value: loading it, and every way in which that fails.

One `LanguageModel` serves all sessions. Its weights never change, and every pass goes through its
lock, chunk by chunk.
"""

import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from analysis import default_model, forward, selftest
from analysis.encoding import Encoder
from analysis.forward import Network
from analysis.results import ModelCard

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
Report = Callable[[float, str], object]
_numbers = itertools.count()  # a folder may hold other weights the next time


class ModelError(RuntimeError):
    """A model that cannot be used; the message is one sentence that says what to do."""


class FairLock:
    """A lock that is handed over in the order of asking, so that long runs do not starve short ones."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._held = False

    @property
    def held(self) -> bool:
        return self._held

    def __enter__(self) -> "FairLock":
        with self._guard:
            if not self._held and not self._waiting:
                self._held = True
                return self
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        try:
            turn.acquire()
        except BaseException:  # an interrupt while waiting: leave the queue, or hand on what just came
            with self._guard:
                if turn in self._waiting:
                    self._waiting.remove(turn)
                    raise
            self._hand_over()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._hand_over()

    def _hand_over(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()  # `_held` stays True
            else:
                self._held = False


#: One for all models on the processor: they share its cores, and PyTorch's one setting of the matrix kernel.
_PROCESSOR = FairLock()


class PassLock:
    """The lock of a model's passes; on the processor it sets the float32 matrix kernel while it is held.

    "medium" lets PyTorch choose a quicker kernel; the self-test finds out whether that one is as exact.
    """

    def __init__(self, device: torch.device, matmul: str = "highest") -> None:
        self._sets_kernel = device.type == "cpu"
        self._lock = _PROCESSOR if self._sets_kernel else FairLock()
        self._matmul = matmul
        self._before = matmul

    @property
    def held(self) -> bool:
        return self._lock.held

    def __enter__(self) -> "PassLock":
        self._lock.__enter__()
        if self._sets_kernel:
            self._before = torch.get_float32_matmul_precision()
            torch.set_float32_matmul_precision(self._matmul)
        return self

    def __exit__(self, *error: object) -> None:
        if self._sets_kernel:
            torch.set_float32_matmul_precision(self._before)
        self._lock.__exit__(*error)


@dataclass(frozen=True)
class ModelSpec:
    """Which model to load: "default", "gemma", a Hugging Face id, a folder, or a GGUF file."""

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
    folder, file, name, revision = _locate(spec, report)

    def made_from(folder: str) -> LanguageModel:
        report(0.5, f"loading {name}")
        model, tokenizer = _read(folder, file, name, revision, dtype, device)
        report(0.9, f"checking {name}")
        return assemble(model, tokenizer, name=name, revision=revision or "", dtype=dtype, device=str(device))

    try:
        made = made_from(folder)
    except ModelError:
        if (embedded := _embedded(spec)) is None:
            raise
        # Every byte of the cached folder is checked now, and it is made anew if one is wrong.
        made = made_from(_ensured(embedded, report, thorough=True))
    report(1.0, f"{name} loaded in {time.monotonic() - started:.1f} s")
    return made


def _embedded(spec: ModelSpec) -> default_model.EmbeddedModel | None:
    return next((model for model in default_model.EMBEDDED if model.key == spec.source.strip()), None)


def _ensured(embedded: default_model.EmbeddedModel, report: Report, *, thorough: bool = False) -> str:
    try:
        folder = default_model.ensure(
            embedded, report=lambda fraction, text: report(0.5 * fraction, text), thorough=thorough
        )
    except default_model.DefaultModelError as error:
        raise ModelError(str(error)) from error
    return str(folder)


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
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not available.get(wanted.split(":")[0], False):
        have = ", ".join(name for name, here in available.items() if here)
        raise ModelError(f"device {wanted!r} is not available on this machine, which has: {have}")
    return torch.device(wanted)


def _dtype(wanted: str, device: torch.device) -> torch.dtype:
    if wanted == "auto":
        return torch.float32 if device.type == "cpu" else torch.bfloat16
    if wanted not in DTYPES:
        raise ModelError(f"dtype {wanted!r} is not one of {', '.join(DTYPES)}")
    return DTYPES[wanted]


def _locate(spec: ModelSpec, report: Report) -> tuple[str, str | None, str, str | None]:
    """(folder or id, GGUF file name, shown name, revision)."""
    source = spec.source.strip()
    if (embedded := _embedded(spec)) is not None:
        if embedded.needs_consent and not spec.accept_terms:
            raise ModelError(f"{embedded.name} comes under its maker's terms of use: accept them first")
        return _ensured(embedded, report), None, embedded.name, None
    path = Path(source).expanduser()
    looks_local = source.startswith((".", "/", "~")) or source.lower().endswith(".gguf") or path.exists()
    if looks_local:
        if not local_models_allowed():
            raise ModelError("this server does not open models from its own disk; give a Hugging Face id")
        if path.is_dir():
            return str(path), None, path.name, None
        if path.is_file() and path.suffix.lower() == ".gguf":
            return str(path.parent), path.name, path.stem, None
        what = "is neither a folder nor a .gguf file" if path.exists() else "does not exist"
        raise ModelError(f"the path {source!r} {what}")
    if not source or source.count("/") > 1 or any(c.isspace() for c in source):
        raise ModelError(f"{source!r} is not a model: give an id such as org/name, a folder, or a .gguf file")
    return source, None, source, spec.revision


def _read(
    folder: str, file: str | None, name: str, revision: str | None, dtype: torch.dtype, device: torch.device
) -> tuple[Any, Any]:
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

    local = Path(folder).exists()
    common: dict[str, Any] = {"trust_remote_code": False, "local_files_only": local}
    if revision:
        common["revision"] = revision
    if file:
        common["gguf_file"] = file
    try:
        config = AutoConfig.from_pretrained(folder, **common)
        if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING:
            raise ModelError(f"{name} is a {config.model_type} model, which is not a causal language model")
        tokenizer = AutoTokenizer.from_pretrained(folder, **common)
        several = device.type == "cuda" and torch.cuda.device_count() > 1
        placement = {"device_map": "auto"} if several else {}
        weights = {} if file else {"use_safetensors": True}
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, **weights, **placement, **common)
        return (model if placement else model.to(device)), tokenizer
    except ModelError:
        raise
    except (MemoryError, torch.OutOfMemoryError) as error:
        raise ModelError(f"{name} does not fit into the memory of {device}: choose a smaller model or dtype") from error
    except Exception as error:  # transformers and the hub raise many kinds; each becomes one sentence
        raise ModelError(_reason(name, local, error)) from error


def _reason(name: str, local: bool, error: Exception) -> str:
    """One sentence for what transformers, the hub or the disk said."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or link.__context__
    kinds = {type(link).__name__ for link in chain}
    said = " ".join(" ".join(str(link) for link in chain).split()).lower()
    if "GatedRepoError" in kinds or "gated repo" in said:
        return f"{name} is gated: accept its terms on Hugging Face and set HF_TOKEN, then load it again"
    if "RepositoryNotFoundError" in kinds or "404" in said:
        return f"Hugging Face has no model {name!r} (or it is private): check the spelling, or set HF_TOKEN"
    if "RevisionNotFoundError" in kinds:
        return f"{name} has no such revision"
    offline = {"ConnectError", "ConnectionError", "MaxRetryError", "OfflineModeIsEnabled", "LocalEntryNotFoundError"}
    if kinds & offline or "couldn't connect" in said or "offline mode" in said:
        return (
            f"{name} is not on this machine and Hugging Face cannot be reached: go online, or download it elsewhere"
            " and give its folder"
        )
    if "trust_remote_code" in said or "custom code" in said:
        return f"{name} needs code of its own to run, which this project does not execute"
    if "safetensors" in said and ("no file" in said or "does not appear" in said or "not found" in said):
        return f"{name} has no safetensors weights; only safetensors and GGUF files are read"
    if "unrecognized model" in said or "does not recognize this architecture" in said or "model_type" in said:
        return f"{name} is of an architecture that this version of transformers does not know"
    if "ImportError" in kinds or ("requires" in said and "install" in said):
        return f"{name} needs a package that is not installed: {_first_sentence(error)}"
    where = "folder" if local else "model"
    return f"the {where} {name} cannot be loaded: {_first_sentence(error)}"


def _first_sentence(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text.split(". ")[0][:200]


def _end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    ids: set[int] = set()
    generation = getattr(model, "generation_config", None)
    for value in (getattr(generation, "eos_token_id", None), model.config.eos_token_id, tokenizer.eos_token_id):
        ids |= set(value) if isinstance(value, list) else {value} if value is not None else set()
    return frozenset(ids)


def _max_tokens(config: Any, tokenizer: Any) -> int:
    limits = [getattr(config, name, None) for name in ("max_position_embeddings", "n_positions", "seq_length")]
    limits.append(tokenizer.model_max_length)
    known = [int(limit) for limit in limits if isinstance(limit, int | float) and 0 < limit < 10**9]
    return min(known, default=2048)


def with_name(spec: ModelSpec, source: str) -> ModelSpec:
    return replace(spec, source=source)
