"""From the command to the first chart in a browser, with the model already in the cache."""

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from analysis.model import ModelSpec, load
from benchmarks.measure import Measure

ROOT = Path(__file__).resolve().parents[1]
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]


def load_time() -> Iterator[Measure]:
    load(ModelSpec())  # fetched and converted by now
    start = time.perf_counter()
    load(ModelSpec())
    yield Measure("model load and self-test", time.perf_counter() - start, "s")


def first_chart() -> Iterator[Measure]:
    """Server start, page, model load, analysis of the built-in example, first Plotly chart drawn."""
    from playwright.sync_api import sync_playwright

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    chromium = next((path for name in ("chromium", "google-chrome") if (path := shutil.which(name))), None)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page()
        start = time.perf_counter()
        command = [
            sys.executable,
            "-m",
            "pages.shared.serve",
            f"--server.port={port}",
            "--server.headless=true",
        ]
        server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not _answers(port):
                time.sleep(0.05)
            page.goto(f"http://127.0.0.1:{port}/")
            page.wait_for_selector(".st-key-deltas .js-plotly-plot .main-svg", timeout=120_000)
            yield Measure("second start to first chart", time.perf_counter() - start, "s", 10.0, None)
        finally:
            server.terminate()
            server.wait()
            browser.close()


def _answers(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1):
            return True
    except (URLError, OSError):
        return False
