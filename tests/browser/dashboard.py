"""How tests use the dashboard: its parts by the names that users see, and what is done with them."""

import re
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Download, Locator, Page, expect

from analysis.links import from_link, to_link_fragment
from analysis.prompts import PromptSet
from tests.browser.conftest import wait_until_idle

expect.set_options(timeout=30_000)  # a busy machine is no fault


def link(url: str, prompt_set: PromptSet, page: str = "") -> str:
    """The address that opens a set on a page ("" is Explore)."""
    return f"{url}/{page}?set={to_link_fragment(prompt_set)}"


def set_in_address(page: Page) -> PromptSet:
    return from_link(parse_qs(urlsplit(page.url).query)["set"][0])


def finding(page: Page) -> Locator:
    return page.locator(".st-key-finding")


def row(page: Page, index: int) -> Locator:
    """A row of Explore's table; 0 is the reference."""
    return page.locator(f".st-key-row-{index}")


def rows(page: Page) -> list[str]:
    """All that the table says, row by row, without its buttons."""
    found = page.locator("[class*='st-key-row-']").all_inner_texts()
    return [re.sub(r"\n+(Make reference|Look closer)(?=\n)", "", text) for text in found]


def field(page: Page, label: str | re.Pattern[str]) -> Locator:
    """The field of that label; during an update the old one may stand beside the new one for a moment."""
    return page.get_by_label(label, exact=isinstance(label, str)).first


def rewording(page: Page, number: int) -> Locator:
    """The text field of a rewording in the sidebar, counted from 1."""
    return field(page, f"Rewording {number}")


def cells(strip: Locator) -> list[str]:
    """The text of every cell of a token strip."""
    return strip.get_by_role("option").evaluate_all("cells => cells.map(cell => cell.dataset.text)")


def type_into(field: Locator, text: str) -> None:
    """Replace the text of a field, leave it, and wait for the page."""
    field.fill(text)
    field.blur()
    wait_until_idle(field.page)


def press(page: Page, name: str | re.Pattern[str], place: Locator | None = None) -> None:
    """Press the button of that name and wait for the page."""
    exact = isinstance(name, str)
    (place or page).get_by_role("button", name=name, exact=exact).click()
    wait_until_idle(page)


def open_popover(page: Page, key: str) -> None:
    """Open one of the popovers by its key: examples, open, share, more, model-picker, export, details-0-0."""
    button = page.locator(f".st-key-{key} button").first
    if button.get_attribute("aria-expanded") != "true":
        button.click()
        wait_until_idle(page)


def close_popover(page: Page) -> None:
    page.keyboard.press("Escape")
    wait_until_idle(page)


def choose(page: Page, label: str, option: str | re.Pattern[str]) -> None:
    """Choose in the select box of that label."""
    options = open_options(page, label)
    options.filter(has_text=option).first.click()
    wait_until_idle(page)


def open_options(page: Page, label: str) -> Locator:
    """The options of a select box, opened."""
    box = page.get_by_role("combobox", name=label).first
    box.focus()
    # The list would close at the scrolling that the focus brings.
    page.evaluate("() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    box.press("ArrowDown")
    options = page.get_by_role("listbox", name=re.compile(f"^{re.escape(label)}( Open)?$")).get_by_role("option")
    expect(options.first).to_be_visible()
    return options


def click_in(plot: Locator, across: float, down: float) -> None:
    """Click in a plot, at shares of its width and height, and wait for the page."""
    expect(plot).to_be_visible()
    width, height = plot.evaluate("plot => [plot.getBoundingClientRect().width, plot.getBoundingClientRect().height]")
    plot.click(position={"x": across * width, "y": down * height}, force=True)
    wait_until_idle(plot.page)


def upload(page: Page, name: str, data: bytes) -> None:
    open_popover(page, "open")
    with page.expect_response(re.compile("/_stcore/upload_file/")):  # the page runs again after that
        page.locator("input[type=file]").set_input_files({"name": name, "mimeType": "text/plain", "buffer": data})
    wait_until_idle(page)


def download(page: Page, name: str | re.Pattern[str]) -> Download:
    with page.expect_download() as found:
        page.get_by_role("button", name=name).click()
    return found.value
