"""What several test modules share. Tests never reach a model hub."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from playwright.sync_api import Browser, sync_playwright

if TYPE_CHECKING:
    from analysis.model import LanguageModel
    from analysis.sentence_model import SentenceModel
    from tests.in_app import Open

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")  # two test processes, and the servers and commands that they start

# A busy machine says nothing about a law.
settings.register_profile("laws", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("laws")

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def pytest_collection_finish() -> None:
    """One thread: tiny models run twice as fast on it."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


@pytest.fixture(scope="session")
def default_model_folder() -> Path:
    """The embedded default model, fetched and converted where it is not cached yet."""
    from analysis.default_model import DEFAULT, ensure

    return ensure(DEFAULT)


@pytest.fixture(scope="session")
def tiny_model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model that answers in milliseconds, saved to disk; its name is one that Markdown would eat."""
    return _saved(tmp_path_factory.mktemp("models") / "**tiny**_x", with_template=True)


@pytest.fixture(scope="session")
def model_without_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model with a tokenizer that has no chat template."""
    return _saved(tmp_path_factory.mktemp("models") / "plain", with_template=False)


def _saved(folder: Path, with_template: bool) -> Path:
    from tests import tiny

    model = tiny.network("llama")
    model.config.max_position_embeddings = 1024  # nearly every letter of an example is a token
    model.save_pretrained(folder)
    tiny.tokenizer(template=tiny.TEMPLATE if with_template else None).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def default_lm(default_model_folder: Path) -> "LanguageModel":
    """The embedded default model, loaded once for all tests; nothing may change it."""
    from analysis.model import ModelSpec, load

    return load(ModelSpec("default"))


@pytest.fixture(scope="session")
def sentence_model() -> "SentenceModel":
    """The sentence-embedding model, fetched where it is not cached yet, loaded once for all tests."""
    from analysis.sentence_model import SentenceModel

    return SentenceModel.load()


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """A browser on the path, else Playwright's own."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        from playwright.sync_api import sync_playwright

        with sync_playwright() as play:
            found = play.chromium.executable_path
        assert Path(found).exists(), "no Chromium: `make test` installs one"
    return found


@pytest.fixture(scope="session")
def chromium(chromium_path: str) -> Iterator[Browser]:
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium_path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_app(tiny_model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> "Open":
    """`tests.in_app.opened` with the tiny model."""
    from tests.in_app import opened

    monkeypatch.setenv("PSL_MODEL", str(tiny_model_folder))
    return opened
