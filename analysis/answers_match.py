"""When two answers count as the same, and when an answer counts as the expected one."""

from typing import Literal

import regex

from analysis.results import Answer

Match = Literal["first line", "first token", "whole text", "contains"]
MATCHES: tuple[Match, ...] = ("first line", "first token", "whole text", "contains")
#: What a choice of how answers are compared is called, and the match that it is.
CHOICES: dict[str, Match] = {
    "exact": "whole text",
    "case-folded": "first line",
    "first token": "first token",
    "contains": "contains",
}
#: What each match compares, as the end of "answers are compared by …".
SAYS: dict[Match, str] = {
    "first line": "their first line that is not blank, without regard to case and to punctuation at its ends",
    "first token": "their first token, which may begin the expected answer, without regard to case and blanks",
    "whole text": "all of their text, exactly, only blanks at its ends aside",
    "contains": "whether they hold the expected answer as whole words, without regard to case",
}


def normalised(text: str) -> str:
    """The first line that is not blank, case-folded, without white space and punctuation at its ends.

    A line of punctuation alone stays as it is.
    """
    return _bare(text).casefold()


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
    """Whether an answer is the expected one; "contains" finds it as whole words (`contains`)."""
    if match == "contains":
        return contains(answer.text, _bare(expected))
    wanted = normalised(expected)
    if match == "first token":
        first = answer_key(answer, match)
        return bool(first) and any(whole.startswith(first) for whole in (wanted, expected.strip().casefold()))
    return answer_key(answer, match) == (expected.strip() if match == "whole text" else wanted)


def contains(text: str, words: str) -> bool:
    """Whether `text` holds `words` as whole words, without regard to case.

    Words end where UAX #29 ends them, so those of Chinese and Japanese are found, and `3` is not found
    in `3.14`. A hyphen joins (`true` is not found in `mostly-true`), a minus belongs to its number. A
    single letter keeps its case, or every `a` would be the option A. Any white space is as good as any other, a
    curly apostrophe as good as a straight one, and `1,000` is `1000`.
    """
    text, words = _plain(text), _plain(words)
    if not words:
        return False
    if len(words) > 1:
        text, words = text.casefold(), words.casefold()
    unsigned = r"(?<![-−])" if words[0].isdigit() else ""
    return regex.search(rf"(?w)(?<!\w-){unsigned}\b{regex.escape(words)}\b(?!-\w)", text) is not None


_THOUSANDS = regex.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_LABEL = regex.compile(r"[(\[]?(\w)[)\]]?")


def _plain(text: str) -> str:
    text = regex.sub(r"\s+", " ", text).translate({ord(mark): "'" for mark in "’‘ʼ"})
    return _THOUSANDS.sub(lambda match: match[0].replace(",", ""), text)


def _bare(text: str) -> str:
    """The first line that is not blank without punctuation at its ends; of a label such as "(B)" the letter."""
    line = next((line for line in text.splitlines() if line.strip()), "").strip()
    bare = line.strip(".,;:!?\"'“”‘’ ") or line
    label = _LABEL.fullmatch(bare)
    return label[1] if label else bare
