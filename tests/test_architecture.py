"""Who may import whom, and what must appear nowhere."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = ("torch", "transformers", "captum", "accelerate")


def python_files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in the file, by its full name."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) + 1 - node.level]) if node.level else ""
            module = ".".join(filter(None, (base, node.module)))
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def importers(paths: list[Path], *modules: str) -> list[str]:
    """ "file: import" for every import of one of `modules` or of something inside it."""
    return [
        f"{path.relative_to(ROOT)}: {name}"
        for path in paths
        for name in imports(path)
        if any(name == module or name.startswith(module + ".") for module in modules)
    ]


def reached(start: str) -> set[str]:
    """The modules of analysis that importing `start` loads, itself included, imports inside functions left out."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        path = ROOT / (name.replace(".", "/") + ".py")
        if name in found or not path.exists():
            continue
        found.add(name)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                waiting += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                waiting += [alias.name for alias in node.names]
    return found


def test_the_analysis_knows_nothing_of_the_browser():
    assert importers(python_files("analysis"), "streamlit", "pages", "app") == []


def test_charts_are_drawn_from_results_alone():
    assert importers(python_files("analysis/charts"), "streamlit", *HEAVY) == []


@pytest.mark.parametrize("module", ["prompts", "results", "limits"])
def test_the_values_need_no_model_library(module):
    paths = [ROOT / (name.replace(".", "/") + ".py") for name in reached(f"analysis.{module}")]
    assert importers(paths, "streamlit", "plotly", *HEAVY) == []


def test_charts_load_no_model_library_indirectly():
    for path in python_files("analysis/charts"):
        start = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        paths = [ROOT / (name.replace(".", "/") + ".py") for name in reached(start)]
        assert importers(paths, "streamlit", *HEAVY) == []


def test_the_entry_file_is_a_page_table():
    assert set(imports(ROOT / "app.py")) <= {"streamlit"}


def test_pages_import_streamlit_the_analysis_and_what_they_share():
    for path in sorted((ROOT / "pages").glob("*.py")):
        for name in imports(path):
            assert name.split(".")[0] in ("streamlit", "analysis") or name.startswith("pages.shared") or name == "pages"


def test_pages_do_not_import_one_another():
    pages = [f"pages.{path.stem}" for path in (ROOT / "pages").glob("*.py")]
    assert importers(python_files("pages"), *pages) == []


@pytest.mark.parametrize(
    "trap", ["unsafe_allow_html", "innerHTML", "outerHTML", "insertAdjacentHTML", "st.html(f", 'st.html("', "st.html('"]
)
def test_text_is_never_given_to_the_browser_as_html(trap):
    files = [ROOT / "app.py", *(path for path in (ROOT / "pages").rglob("*") if path.suffix in (".py", ".js", ".html"))]
    assert [path.name for path in files if trap in path.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize("trap", [".backward(", "zero_grad", ".train(", "trust_remote_code=True"])
def test_nothing_leaves_a_trace_in_the_shared_model(trap):
    assert [path.name for path in python_files("analysis") if trap in path.read_text(encoding="utf-8")] == []


def test_only_constant_style_sheets_are_given_as_html():
    for path in (ROOT / "pages").rglob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if "st.html(" in line:
                assert re.fullmatch(r'\s*st\.html\(_FOLDER / "[a-z]+\.css"\)', line), f"{path.name}: {line}"
