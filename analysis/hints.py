"""What is worth saying about the way a prompt is written: forms that look right and are read as something else.

Each function takes texts and returns one sentence, or None. Nothing here changes a text or needs a model.
"""

import re

import regex

from analysis.text import shortened, visible

ROLE_LABEL = re.compile(r"^(user|human|assistant|bot|ai)[ \t]*:", re.IGNORECASE | re.MULTILINE)
INSTRUCTION_HEADING = re.compile(r"^### ?(?:instruction|response|input|human|assistant)s?\b:?", re.I | re.MULTILINE)
GAP = re.compile(
    r"(?!^_+\s*$)(?<!_)_{3,}|\[blank\]|\[mask\]|<mask>", re.IGNORECASE | re.MULTILINE
)  # no rule of its own line
CUE = re.compile(r"^([^\W\d_][\w ()/-]{0,30}[:：])([^\S\n]*)", re.MULTILINE)
LETTERS = regex.compile(r"[\p{L}\p{M}\p{N}]+")


def transcript(text: str) -> str | None:
    """Where a completion prompt is written as a conversation."""
    labels = [match.group() for match in ROLE_LABEL.finditer(text)]
    if not labels:
        return None
    named = ", ".join(dict.fromkeys(labels[:3]))
    return (
        f"reads like a conversation ({named}): in completion mode that is plain text, and the model's chat template is not"
        " applied; chat mode applies it"
    )


def foreign_template(text: str) -> str | None:
    """Where a completion prompt has the headings of instruction formats."""
    found = INSTRUCTION_HEADING.search(text)
    if not found:
        return None
    return f"has a heading of an instruction format ({found.group()}): this model has its own chat template, which chat mode applies"


def gap(text: str) -> str | None:
    """Where a completion prompt holds a blank to be filled in."""
    for found in GAP.finditer(text):
        if left := text[: found.start()].rstrip():
            return (
                f"in completion mode the model writes after the text, so the blank “{shortened(found.group(), 12)}” is not filled"
                f" in: to ask for what belongs there, end the prompt before it (“{_ending(left)}”)"
            )
    return None


def separators(text: str, target: str | None) -> str | None:
    """Where the worked examples of a prompt part cue and answer by other blanks than its last item does.

    The last item is a cue ("Answer:") at the end of the text; its separator is what follows the cue
    there and the blanks that the target begins with. Without a target only the examples are compared.
    """
    cues = list(CUE.finditer(text))
    if not cues or text[cues[-1].end() :].strip(" \t"):
        return None
    *examples, last = [cue for cue in cues if cue.group(1) == cues[-1].group(1)]
    used = [cue.group(2) for cue in examples]
    if not used or any(text[cue.end() : cue.end() + 1] in ("", "\n") for cue in examples):
        return None
    cue = shortened(last.group(1))
    if len(set(used)) > 1:
        kinds = " and ".join(_blanks(one) for one in dict.fromkeys(used))
        return f"the examples differ in what stands between “{cue}” and the answer: {kinds}"
    if target is None:
        return None
    own = last.group(2) + target[: len(target) - len(target.lstrip(" \t"))]
    if own == used[0]:
        return None
    return f"between “{cue}” and the answer the examples have {_blanks(used[0])}, the last item and the target {_blanks(own)}"


def same_letters(text: str, reference: str) -> str | None:
    """Where a wording has the reference's letters and digits in the same order, cut into other words."""
    if text == reference:
        return None
    ours, theirs = LETTERS.findall(text), LETTERS.findall(reference)
    if ours == theirs or "".join(ours) != "".join(theirs):
        return None
    return "the same letters and digits as in the reference, cut into other words: what changes is how they are read"


def other_case(text: str, target: str) -> str | None:
    """Where a prompt is all in upper case and the target is not."""
    words = LETTERS.findall(text)
    if len(words) < 2 or not text.isupper() or target.upper() == target:
        return None
    return f"all in upper case: “{visible(target.upper())}” would be the target in the same letters"


def _ending(text: str) -> str:
    """The last words of a text for a message."""
    return visible(text) if len(text) <= 40 else "… " + visible(text[-40:].partition(" ")[2] or text[-20:])


def _blanks(blanks: str) -> str:
    if not blanks:
        return "nothing"
    if set(blanks) == {" "}:
        return f"{len(blanks)} space{'s' if len(blanks) > 1 else ''}"
    return f"“{visible(blanks)}”"
