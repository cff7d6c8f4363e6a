"""What several test modules share. Tests never reach a model hub."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ["HF_HUB_OFFLINE"] = "1"

# A busy machine says nothing about a law.
settings.register_profile("laws", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("laws")

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
def chromium_path() -> str:
    """A browser on the path, else Playwright's own."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        from playwright.sync_api import sync_playwright

        with sync_playwright() as play:
            found = play.chromium.executable_path
        assert Path(found).exists(), "no Chromium: `make test` installs one"
    return found
