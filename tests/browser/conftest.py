"""A Streamlit server and a real browser for the tests in this folder."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

ROOT = Path(__file__).parents[2]
SECONDS_TO_START = 90
# True once the script has not run for half a second (a run may follow another at once) and nothing is left to draw.
IDLE = """() => {
    const app = document.querySelector('[data-testid="stApp"]');
    const state = app && app.getAttribute('data-test-script-state');
    const busy = !state || ['running', 'rerunRequested', 'initial'].includes(state);
    if (busy || document.querySelector('[data-testid="stSkeleton"]')) {
        window.idleSince = undefined;
        return false;
    }
    window.idleSince ??= performance.now();
    return performance.now() - window.idleSince > 500;
}"""

Serve = Callable[..., str]
OpenPage = Callable[..., Page]


def wait_until_idle(page: Page, seconds: float = 120) -> None:
    """Return when the page's script has finished."""
    page.evaluate("window.idleSince = undefined")
    page.wait_for_function(IDLE, polling=50, timeout=seconds * 1000)


@contextmanager
def _server(script: Path, environment: dict[str, str]) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    served = ["pages.shared.serve"] if script == ROOT / "app.py" else ["streamlit", "run", str(script)]
    command = [sys.executable, "-m", *served, "--server.headless=true"]
    command += [f"--server.port={port}", "--server.fileWatcherType=none", "--browser.gatherUsageStats=false"]
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **environment, "PYTHONPATH": paths},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            url = f"http://localhost:{port}"
            deadline = time.monotonic() + SECONDS_TO_START
            while not _healthy(url):
                try:
                    process.wait(timeout=0.1)
                except subprocess.TimeoutExpired:
                    if time.monotonic() < deadline:
                        continue
                output.seek(0)
                said = output.read().decode(errors="replace")
                raise AssertionError(f"the server of {script.name} did not start:\n{said}")
            yield url
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _healthy(url: str) -> bool:
    try:
        with urlopen(f"{url}/_stcore/health", timeout=5) as answer:
            return answer.status == 200
    except (URLError, ConnectionError, TimeoutError):
        return False


@pytest.fixture(scope="session")
def serve() -> Iterator[Serve]:
    """serve(script, **environment) is the address where a script runs; one server for equal calls."""
    running: dict[tuple[object, ...], str] = {}
    with ExitStack() as servers:

        def start(script: Path, **environment: str) -> str:
            key = (script, *sorted(environment.items()))
            if key not in running:
                running[key] = servers.enter_context(_server(script, environment))
            return running[key]

        yield start


@pytest.fixture(scope="session")
def tiny_app(serve: Serve, tiny_model_folder: Path) -> str:
    """The address of the dashboard with a random model that answers in milliseconds."""
    return serve(ROOT / "app.py", PSL_MODEL=str(tiny_model_folder), OMP_NUM_THREADS="1")


@pytest.fixture(scope="session")
def default_app(serve: Serve, default_model_folder: Path) -> str:
    """The address of the dashboard as people start it."""
    return serve(ROOT / "app.py")


@pytest.fixture(scope="session")
def tabs(chromium: Browser) -> Iterator[BrowserContext]:
    """A user's browser: its tabs have sessions of their own, and fetch Streamlit's scripts once for all."""
    context = chromium.new_context()
    yield context
    context.close()


@pytest.fixture
def open_page(tabs: BrowserContext) -> Iterator[OpenPage]:
    """open_page(url, width=1440, height=1000, dark=False) is a page in a new session, its script finished.

    After the test no page may have logged an error, failed to load something of ours, asked another
    server, or opened a dialog.
    """
    with _checked_pages(tabs) as opener:
        yield opener


@pytest.fixture(scope="module")
def open_shared_page(tabs: BrowserContext) -> Iterator[OpenPage]:
    """The same for pages that several tests of a module only look at."""
    with _checked_pages(tabs) as opener:
        yield opener


@pytest.fixture
def browser_page(open_page: OpenPage) -> Page:
    """An empty page that is checked as `open_page` says."""
    return open_page()


@contextmanager
def _checked_pages(tabs: BrowserContext) -> Iterator[OpenPage]:
    faults: list[str] = []
    pages = []

    def open_url(url: str = "", width: int = 1440, height: int = 1000, dark: bool = False) -> Page:
        page = tabs.new_page()
        pages.append(page)
        page.add_init_script("try { localStorage.clear() } catch {}")  # another test may have closed the sidebar
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark" if dark else "light")
        page.on("pageerror", lambda error: faults.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        # "Failed to load resource" hides the address; the answer itself names it.
        page.on(
            "console",
            lambda message: (
                faults.append(f"console: {message.text}")
                if message.type == "error" and "Failed to load resource" not in message.text
                else None
            ),
        )
        page.on(
            "response",  # Streamlit probes below /_stcore/ for its base path
            lambda answer: (
                faults.append(f"HTTP {answer.status}: {answer.url}")
                if answer.status >= 400 and "/_stcore/" not in answer.url
                else None
            ),
        )
        page.on(
            "request",
            lambda asked: (
                faults.append(f"asks another server: {asked.url}")
                if urlsplit(asked.url).hostname not in (None, "", "localhost")
                else None
            ),
        )
        if url:
            page.goto(url, wait_until="domcontentloaded", timeout=60_000)
            wait_until_idle(page)
        return page

    try:
        yield open_url
    finally:
        for page in pages:
            page.close()
    assert list(dict.fromkeys(faults)) == []
