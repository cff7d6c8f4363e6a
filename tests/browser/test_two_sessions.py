"""Two people at once: each gets the results of their own set."""

import pytest

from analysis.explore import Caches, analyse
from analysis.model import ModelSpec, load
from analysis.prompts import PromptSet, Variant
from analysis.text import percent
from tests.browser import dashboard
from tests.browser.conftest import wait_until_idle

FIRST = PromptSet(
    "The capital of France is",
    tuple(Variant(f"{text} capital of France is") for text in ("A", "Their", "One", "This")),
    target=" Paris",
    response_tokens=4,
)
SECOND = PromptSet(
    "one two three four",
    tuple(Variant(f"one two {text}") for text in ("five", "six", "seven", "eight")),
    target=" five",
    response_tokens=4,
)


@pytest.fixture(scope="module")
def probabilities(tiny_model_folder):
    """probabilities(set) is p(target) of every row, computed here and alone."""
    lm = load(ModelSpec(str(tiny_model_folder)))

    def computed(prompt_set):
        return [
            percent(result.trace.log_prob).replace(" ", "\N{NO-BREAK SPACE}")
            for result in analyse(lm, prompt_set, Caches()).prompts
        ]

    return computed


def shown_probabilities(page, count):
    return [dashboard.row(page, index).locator("[class*='st-key-number-p']").inner_text() for index in range(count)]


def test_two_sessions_at_once_get_what_each_gets_alone(tiny_app, open_page, probabilities):
    one, other = open_page(), open_page()
    for page, prompt_set in ((one, FIRST), (other, SECOND)):
        page.goto(dashboard.link(tiny_app, prompt_set), wait_until="commit")
    for page, prompt_set in ((one, FIRST), (other, SECOND)):
        page.wait_for_selector(".st-key-row-4")
        wait_until_idle(page)
        assert shown_probabilities(page, 5) == probabilities(prompt_set)


def test_edits_at_the_same_time_stay_in_their_sessions(tiny_app, open_page, probabilities):
    one, other = (open_page(dashboard.link(tiny_app, prompt_set)) for prompt_set in (FIRST, SECOND))
    for text in ("Typed by the first", "Typed once more"):
        for page, who in ((one, "one"), (other, "two")):
            field = dashboard.field(page, "Reference prompt")
            field.fill(f"{text} {who}")
            field.press("ControlOrMeta+Enter")
    for page, who in ((one, "one"), (other, "two")):
        wait_until_idle(page)
        now = dashboard.set_in_address(page)
        assert now.reference == f"Typed once more {who}"
        assert shown_probabilities(page, 5) == probabilities(now)
