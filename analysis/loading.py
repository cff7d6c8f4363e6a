"""Reading a model's files by transformers, and one sentence for every way in which that fails.

Weights come from safetensors or GGUF files only, and no code that came with a model is run.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import torch


class ModelError(RuntimeError):
    """A model that cannot be used; the message is one sentence that says what to do."""


@dataclass(frozen=True)
class Source:
    """A folder or Hugging Face id, and the GGUF file in it where it is one."""

    folder: str
    name: str  # as shown
    file: str | None = None
    revision: str | None = None

    @property
    def local(self) -> bool:
        return Path(self.folder).exists()


def read(source: Source, dtype: torch.dtype, device: torch.device) -> tuple[Any, Any]:
    """The transformers model, on its device, and its tokenizer. Raises ModelError."""
    try:
        return _read(source, dtype, device)
    except ModelError:
        raise
    except (MemoryError, torch.OutOfMemoryError) as error:
        raise ModelError(
            f"{source.name} does not fit into the memory of {device}: choose a smaller model or dtype"
        ) from error
    except Exception as error:  # transformers and the hub raise many kinds; each becomes one sentence
        raise ModelError(_reason(source, error)) from error


def _read(source: Source, dtype: torch.dtype, device: torch.device) -> tuple[Any, Any]:
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    common: dict[str, Any] = {"trust_remote_code": False, "local_files_only": source.local}
    if source.revision:
        common["revision"] = source.revision
    if source.file:
        _check_gguf(source)
        common["gguf_file"] = source.file
    elif source.local and not (Path(source.folder) / "config.json").exists():
        raise ModelError(f"the folder {source.name} holds no model: it has no config.json")
    config = AutoConfig.from_pretrained(source.folder, **common)
    _check_kind(source.name, config)
    _check_room(source.name, config, dtype, device)
    try:
        tokenizer = AutoTokenizer.from_pretrained(source.folder, **common)
    except Exception as error:
        if not source.local:
            raise
        said = (
            " (transformers cannot make one from its files)"
            if "instantiate" in str(error)
            else f" ({_first_sentence(error)})"
        )
        raise ModelError(f"{source.name} has no tokenizer that can be read{said}") from error
    several = device.type == "cuda" and device.index is None and torch.cuda.device_count() > 1
    placement = {"device_map": "auto"} if several else {}
    weights = {} if source.file else {"use_safetensors": True}
    model, found = AutoModelForCausalLM.from_pretrained(
        source.folder, dtype=dtype, output_loading_info=True, **weights, **placement, **common
    )
    if missing := sorted(found["missing_keys"]):  # transformers fills them with random numbers
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ModelError(f"{source.name} is incomplete: its files lack the weights {missing[0]}{more}")
    return (model if placement else model.to(device)), tokenizer


def _check_gguf(source: Source) -> None:
    assert source.file is not None
    with (Path(source.folder) / source.file).open("rb") as file:
        if file.read(4) != b"GGUF":
            raise ModelError(f"{source.file} is not a GGUF file")


def _check_kind(name: str, config: Any) -> None:
    """Refuse encoders and the like, also those that transformers would load with a random head."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING or getattr(config, "is_decoder", None) is False:
        kind = f" ({config.architectures[0]})" if config.architectures else ""
        raise ModelError(f"{name} is a {config.model_type} model{kind}, which is not a causal language model")


def _check_room(name: str, config: Any, dtype: torch.dtype, device: torch.device) -> None:
    """Refuse a model that the memory cannot hold, before the system ends the process for it."""
    from transformers import AutoModelForCausalLM

    if getattr(config, "quantization_config", None) is not None:
        return  # smaller than its parameters would be
    with torch.device("meta"):
        empty = AutoModelForCausalLM.from_config(config)
    needed = sum(parameter.numel() for parameter in empty.parameters()) * dtype.itemsize
    if device.type == "cuda":
        free = sum(torch.cuda.mem_get_info(number)[0] for number in range(torch.cuda.device_count()))
    else:
        free = psutil.virtual_memory().available
    if needed > free:
        raise ModelError(
            f"{name} needs {needed / 1e9:.1f} GB as {str(dtype).removeprefix('torch.')}, and {free / 1e9:.1f} GB of memory are"
            f" free on {device}: choose a smaller model or dtype"
        )


def _reason(source: Source, error: Exception) -> str:
    """One sentence for what transformers, the hub or the disk said."""
    name = source.name
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or link.__context__
    kinds = {type(link).__name__ for link in chain}
    said = " ".join(" ".join(str(link) for link in chain).split()).lower()
    if "GatedRepoError" in kinds or "gated repo" in said:
        return f"{name} is gated: accept its terms on Hugging Face and set HF_TOKEN, then load it again"
    if "RevisionNotFoundError" in kinds:
        return f"{name} has no revision {source.revision!r}"
    if "RepositoryNotFoundError" in kinds or "404 client error" in said:
        return f"Hugging Face has no model {name!r} (or it is private): check the spelling, or set HF_TOKEN"
    offline = {"ConnectError", "ConnectionError", "MaxRetryError", "OfflineModeIsEnabled", "LocalEntryNotFoundError"}
    if not source.local and (kinds & offline or "couldn't connect" in said or "offline mode" in said):
        return (
            f"{name} is not on this machine and Hugging Face cannot be reached: go online, or download it elsewhere"
            " and give its folder"
        )
    if "trust_remote_code" in said or "custom code" in said:
        return f"{name} needs code of its own to run, which this project does not execute"
    if "safetensors" in said and ("no file" in said or "does not appear" in said or "not found" in said):
        return f"{name} has no safetensors weights; only safetensors and GGUF files are read"
    if "SafetensorError" in kinds or "deserializing header" in said:
        return f"the weights of {name} are damaged ({_first_sentence(error)}): copy or download them again"
    if "size mismatch" in said or "ignore_mismatched_sizes" in said:
        return f"the weights of {name} do not fit its config.json"
    if source.file:
        return f"the GGUF file {source.file} cannot be read: it is damaged or of a kind that transformers does not know"
    if "valid json" in said or "JSONDecodeError" in kinds:
        return f"the config.json of {name} is not valid JSON"
    if "unrecognized model" in said or "does not recognize this architecture" in said:
        return f"{name} is of an architecture that this version of transformers does not know"
    if "ImportError" in kinds or ("requires" in said and "install" in said):
        return f"{name} needs a package that is not installed: {_first_sentence(error)}"
    where = "folder" if source.local else "model"
    return f"the {where} {name} cannot be loaded: {_first_sentence(error)}"


def _first_sentence(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return f"{type(error).__name__} {text}" if isinstance(error, KeyError) else text.split(". ")[0][:200]
