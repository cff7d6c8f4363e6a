"""Labels of lists, "A." or "(2)": where two texts label the same lists differently, the labels say nothing."""

from collections.abc import Sequence

import regex

_LABEL = regex.compile(
    r"(?<![^\s,;:?.|/，；：？。])(?:(?:option|choice)\s)?[(\[（]?(?P<label>[a-z]|\d{1,2})[.):：\]）]+(?=\s)",
    regex.IGNORECASE,
)


def without_changed(one: str, other: str) -> tuple[str, str, frozenset[str]]:
    """Both texts with a mark for every label of a list that the other text labels differently, and those labels, small.

    Lists are told apart by their place: the first of the one text is the first of the other.
    """
    runs, other_runs = _runs(one), _runs(other)
    if [len(run) for run in runs] != [len(run) for run in other_runs]:
        return one, other, frozenset()
    pairs = [pair for pair in zip(runs, other_runs, strict=True) if _labels(pair[0]) != _labels(pair[1])]
    labels = frozenset(label.casefold() for pair in pairs for run in pair for label in _labels(run))
    return _marked(one, [run for run, _ in pairs]), _marked(other, [run for _, run in pairs]), labels


def unlabelled(text: str) -> str:
    """The text with a mark for every label of a list."""
    return _marked(text, _runs(text))


def _runs(text: str) -> list[list["regex.Match[str]"]]:
    """Labels that follow one another, two or more: 1, 2, 3 or p, q."""
    runs: list[list[regex.Match[str]]] = []
    for match in _LABEL.finditer(text):
        if runs and _follows(runs[-1][-1]["label"], match["label"]):
            runs[-1].append(match)
        else:
            runs.append([match])
    return [run for run in runs if len(run) > 1]


def _follows(label: str, other: str) -> bool:
    if label.isdigit() or other.isdigit():
        return label.isdigit() and other.isdigit() and int(other) == int(label) + 1
    return ord(other) == ord(label) + 1


def _labels(run: Sequence["regex.Match[str]"]) -> list[str]:
    return [match["label"] for match in run]


def _marked(text: str, runs: Sequence[Sequence["regex.Match[str]"]]) -> str:
    pieces, end = [], 0
    for match in (match for run in runs for match in run):
        pieces += [text[end : match.start("label")], "•"]
        end = match.end("label")
    return "".join([*pieces, text[end:]])
