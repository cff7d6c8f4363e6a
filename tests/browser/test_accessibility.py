"""An axe-core scan of every page as people meet it: both themes, phone and desktop, popovers open."""

import re
from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe

from analysis.prompts import PromptSet, Variant
from tests.browser import dashboard

# With candidates, a foil and a target of two tokens, so that every chart and table is there.
FULL = PromptSet(
    "The capital of France is",
    (Variant("France's capital is "), Variant("The capital of France is"), Variant("", kind="control")),
    target=" Paris is",
    foil=" Rome",
    candidates=(" Paris", " Rome"),
    expected="Paris",
    response_tokens=2,
)
PAGES = ("", "attribution", "dispersion", "variants", "sensitivity")
NAMES = ("explore", *PAGES[1:])
# What the pages share is scanned in both themes on the first three; a scan takes half a minute.
SCANNED = [(path, dark) for path in PAGES for dark in (False, True) if dark or path not in PAGES[3:]]
# The sidebar is the same on every page: its popovers are opened on one.
# What is run on demand, so that its charts are there.
WORK = {
    "variants": [re.compile("^Run up to")],
    "sensitivity": [re.compile("^Sample "), re.compile("^Make .* baselines")],
}
POPOVERS = ("model-picker", "examples", "open", "share", "details-0-0", "more", "export")


def serious(page, part: str | None = None) -> list[tuple[str, str]]:
    """Violations that axe calls serious or critical, each with the first element that has it."""
    found = Axe().run(page, context=part).response["violations"]
    return [
        (violation["id"], violation["nodes"][0]["html"])
        for violation in found
        if violation["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize(("path", "dark"), SCANNED)
def test_a_page_has_no_serious_violation(tiny_app, open_page, path, dark):
    page = open_page(dashboard.link(tiny_app, FULL, path), dark=dark)
    for button in WORK.get(path, ()):
        dashboard.press(page, button)
    assert serious(page) == []
    for key in POPOVERS if path == "" else ("export",):
        if page.locator(f".st-key-{key}").count():
            dashboard.open_popover(page, key)
            assert serious(page, "[data-testid=stPopoverBody]") == [], key
            dashboard.close_popover(page)


@pytest.mark.parametrize("path", PAGES, ids=NAMES)
def test_a_page_on_a_phone_has_no_serious_violation(tiny_app, open_page, path):
    page = open_page(dashboard.link(tiny_app, replace(FULL, mode="chat"), path), width=420)
    assert serious(page) == []
    page.get_by_test_id("stExpandSidebarButton").click()
    dashboard.field(page, "Reference prompt").wait_for()
    assert serious(page) == []


def test_a_page_that_explains_faults_has_no_serious_violation(tiny_app, open_page):
    page = open_page(dashboard.link(tiny_app, replace(FULL, reference="Hi", model="nobody/other"))[:-3], dark=True)
    dashboard.type_into(dashboard.field(page, "Reference prompt"), "  ")
    assert serious(page) == []
