"""Peak memory of a process that does one large analysis; run as `python -m benchmarks.memory PROMPTS TOKENS`."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

from benchmarks.measure import Measure

CASES = ((1, 8000, 10.0), (64, 300, 6.0))  # prompts, tokens, the limit in GB


def peaks() -> Iterator[Measure]:
    for prompts, tokens, limit in CASES:
        said = subprocess.run(
            [sys.executable, "-m", "benchmarks.memory", str(prompts), str(tokens)],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        found = json.loads(said.splitlines()[-1])
        name = f"{prompts} × {tokens} tokens with attributions"
        yield Measure(f"{name}: peak memory / limit", found["gigabytes"], "GB", limit, found["gigabytes"] / limit)
        yield Measure(f"{name}: time", found["seconds"], "s")


def main() -> None:
    """Trace PROMPTS random prompts of TOKENS tokens, and print seconds and the process's peak in GB."""
    from analysis.encoding import target_from_ids
    from analysis.model import ModelSpec, load
    from analysis.trace import Item, traces
    from benchmarks.engine import random_tokens

    prompts, tokens = int(sys.argv[1]), int(sys.argv[2])
    lm = load(ModelSpec())
    target = target_from_ids(lm.encoder, (7042,), chosen=True)
    items = [Item(row, target) for row in random_tokens(prompts, tokens)]
    start = time.perf_counter()
    traces(lm, items)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(json.dumps({"seconds": seconds, "gigabytes": peak / 1e9}))


if __name__ == "__main__":
    main()
