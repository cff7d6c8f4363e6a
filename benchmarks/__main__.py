"""`python -m benchmarks [--json FILE] [--only GROUP]`: a table of every figure beside its baseline."""

import argparse
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import torch

from analysis.model import LanguageModel, ModelSpec, load
from benchmarks import engine, memory, responses, startup
from benchmarks.measure import Measure

Group = Callable[[LanguageModel], Iterator[Measure]]
GROUPS: dict[str, Group] = {
    "loop": engine.against_the_loop,
    "edit": engine.after_one_edit,
    "patch": engine.patching,
    "scaling": engine.scaling,
    "responses": responses.response_matrix,
    "load": lambda lm: startup.load_time(),
    "start": lambda lm: startup.first_chart(),
    "memory": lambda lm: memory.peaks(),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--json", type=Path, help="write a list of {name, value, unit, baseline, ratio}")
    parser.add_argument("--only", choices=list(GROUPS), action="append", help="one group of figures; may be repeated")
    options = parser.parse_args()
    lm = load(ModelSpec())
    print(f"{os.cpu_count()} processors, {torch.get_num_threads()} threads, torch {torch.__version__}, {lm.card.name}")
    found: list[Measure] = []
    for name in options.only or GROUPS:
        for measure in GROUPS[name](lm):
            found.append(measure)
            print(_line(measure), flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(measure) for measure in found], indent=1) + "\n", encoding="utf-8")


def _line(measure: Measure) -> str:
    baseline = "" if measure.baseline is None else f"{measure.baseline:10.3f} {measure.unit}"
    ratio = "" if measure.ratio is None else f"{measure.ratio:8.2f}"
    return f"{measure.name:58} {measure.value:10.3f} {measure.unit:3} {baseline:14} {ratio}".rstrip()


if __name__ == "__main__":
    main()
