"""What the server makes ready before the first browser connects."""

from pathlib import Path

import pytest

from analysis import forward
from analysis.examples import EXAMPLES
from analysis.explore import analyse
from pages.shared import models, serve


def test_the_first_example_is_analysed_before_anyone_asks(
    tiny_model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PSL_MODEL", str(tiny_model_folder))
    serve.get_ready()
    loaded = models.preload()

    def asked(*args: object, **kwargs: object) -> None:
        raise AssertionError("the model was run again")

    monkeypatch.setattr(forward, "states", asked)
    first = analyse(loaded.lm, EXAMPLES[0].prompt_set, loaded.caches)
    assert all(result.trace is not None for result in first.prompts)


def test_a_model_that_does_not_load_is_left_to_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSL_MODEL", str(tmp_path / "nothing"))
    serve.get_ready()


def test_the_server_runs_the_page_table() -> None:
    assert "st.navigation" in serve.APP.read_text(encoding="utf-8")
