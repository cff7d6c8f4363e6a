"""How tests use the pages without a browser: what users do, and what they get to read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from analysis.links import to_link_fragment
from analysis.prompts import PromptSet, Variant

ROOT = Path(__file__).parents[1]
EXPLORE, ATTRIBUTION, DISPERSION = "pages/explore.py", "pages/attribution.py", "pages/dispersion.py"
VARIANTS, SENSITIVITY = "pages/variants.py", "pages/sensitivity.py"
SMALL = PromptSet(
    "The capital of France is",
    (Variant("France's capital is"), Variant("What is the capital of France?", label="a question")),
    target=" Paris",
    response_tokens=2,
)

Open = Callable[..., AppTest]


def opened(prompt_set: PromptSet | None = SMALL, page: str = "app.py", link: str | None = None) -> AppTest:
    """A session on a page that has run once, opened with the link of a set."""
    app = AppTest.from_file(str(ROOT / page), default_timeout=300)
    if prompt_set is not None or link is not None:
        app.query_params["set"] = link if link is not None else to_link_fragment(prompt_set or SMALL)
    return run(app)


def run(app: AppTest) -> AppTest:
    app.run()
    assert [exception.message for exception in app.exception] == []
    return app


def open_popover(app: AppTest, *keys: str) -> AppTest:
    for key in keys:
        app.session_state[key] = True
    return run(app)


def click(app: AppTest, key: str) -> AppTest:
    app.button(key).click()
    return run(app)


def texts(app: AppTest) -> list[str]:
    return [text.value for text in app.text]


def said(app: AppTest, *parts: str) -> bool:
    """Whether one line of the page holds all of `parts`."""
    return any(all(part in text for part in parts) for text in texts(app))


def finding(app: AppTest) -> str:
    return texts(app)[0]


def row_names(app: AppTest) -> list[str]:
    """The first line of every row of Explore's table."""
    return [text for text in texts(app) if text.endswith(" tokens")]


def prompt_set(app: AppTest) -> PromptSet:
    return app.session_state["draft"].prompt_set


def charts(app: AppTest) -> list[str]:
    layouts = [json.loads(chart.proto.spec)["layout"] for chart in app.get("plotly_chart")]
    return [layout["title"]["text"] for layout in layouts if "title" in layout]  # one is empty, and never seen


def wording(app: AppTest) -> Any:
    """The box that selects the wording that the page looks at."""
    return next(box for box in app.selectbox if box.label == "Wording")
