"""A GGUF file → a folder of float32 safetensors and tokenizer files that loads in two seconds.

The conversion runs as a program of its own (`python -m analysis.gguf_conversion FILE.gguf FOLDER`):
it can be stopped at any time, its memory is given back, and what the libraries print about it
reaches nobody's terminal.
"""

import errno
import sys
from pathlib import Path

from analysis import processes
from analysis.wheels import Report

_MARK = "stage\t"


class ConversionError(RuntimeError):
    """A GGUF file that could not be converted; the clause says why."""


def convert(gguf: Path, folder: Path, report: Report) -> None:
    """Write the model and the tokenizer of `gguf` to the empty `folder`.

    What `report` raises ends the conversion. Raises ConversionError, or OSError on a full disk.
    """
    log = gguf.with_suffix(".log")

    def watch() -> None:
        stages = [line for line in log.read_text(errors="replace").splitlines() if line.startswith(_MARK)]
        if stages:
            _, fraction, stage = stages[-1].split("\t")
            report(float(fraction), stage)

    code = processes.run(
        [sys.executable, "-m", "analysis.gguf_conversion", str(gguf), str(folder)],
        log,
        watch,
        folder=Path(__file__).parents[1],
        environment={"HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1", "PYTHONIOENCODING": "utf-8"},
    )
    if code == -9:
        raise ConversionError("the conversion was ended from outside, as happens when memory runs out")
    if code != 0:
        lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
        reason = lines[-1] if lines else f"exit code {code}"
        if "No space left" in reason or "quota exceeded" in reason:
            raise OSError(errno.ENOSPC, reason)
        raise ConversionError(reason)


def main(gguf: Path, folder: Path) -> None:
    _stage(0.0, "loading the libraries")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    _stage(0.15, "reading the weights")
    quantised = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    _stage(0.5, "reading the tokenizer")
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    _stage(0.8, "writing the weights")
    # transformers refuses to save a model read from GGUF: a fresh one of the same config takes its
    # weights.
    config = quantised.config
    del config.quantization_config
    with torch.device("meta"):
        plain = AutoModelForCausalLM.from_config(config)
    plain.generation_config = quantised.generation_config
    plain.save_pretrained(folder, state_dict=quantised.state_dict())
    tokenizer.save_pretrained(folder)


def _stage(fraction: float, words: str) -> None:
    print(f"\n{_MARK}{fraction}\t{words}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
