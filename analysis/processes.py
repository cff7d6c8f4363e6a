"""Another program, run to its end unless whoever waits for it stops waiting."""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path


def run(
    command: Sequence[str],
    log: Path,
    watch: Callable[[], object],
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Run `command` with all it prints going to `log`; returns its exit code.

    `watch` is called a few times a second; what it raises ends the program and is passed on.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | (environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            while process.poll() is None:
                watch()
                try:
                    process.wait(timeout=0.25)
                except subprocess.TimeoutExpired:
                    continue
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    return process.returncode
