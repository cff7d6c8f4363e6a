"""When two answers count as the same, and when an answer counts as the expected one."""

import re
from typing import Literal

from analysis.results import Answer

Match = Literal["first line", "first token", "whole text", "contains"]
MATCHES: tuple[Match, ...] = ("first line", "first token", "whole text", "contains")


def normalised(text: str) -> str:
    """The first line that is not blank, case-folded, without white space and punctuation at its ends."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    return line.strip().strip(".,;:!?\"'“”‘’ ").casefold()


def answer_key(answer: Answer, match: Match = "first line") -> str:
    """What is compared between two answers; an answer that ends at once is the empty text."""
    if match == "first token":
        return answer.pieces[0].strip().casefold()
    if match == "whole text":
        return answer.text.strip()
    return normalised(answer.text)


def same_answer(a: Answer | None, b: Answer | None, match: Match = "first line") -> bool:
    """Whether two greedy answers agree; a missing answer agrees with nothing."""
    if a is None or b is None:
        return False
    return answer_key(a, match) == answer_key(b, match)


def is_expected(answer: Answer, expected: str, match: Match = "contains") -> bool:
    """Whether an answer is the expected one; "contains" finds it as a word, not inside a longer one.

    A hyphen joins words, so `true` is not found in `mostly-true`.
    """
    wanted = normalised(expected)
    if match == "contains":
        return re.search(rf"(?<![\w-]){re.escape(wanted)}(?![\w-])", answer.text.casefold()) is not None
    if match == "first token":
        return wanted.startswith(answer_key(answer, match)) and bool(answer_key(answer, match))
    return answer_key(answer, match) == (expected.strip() if match == "whole text" else wanted)
