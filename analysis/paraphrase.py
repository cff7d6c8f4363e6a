"""Rewordings that the loaded model makes itself: sampled, seeded, filtered, every loss counted.

The model is asked to go on with a list of pairs `"…" means the same as "…"`: through its chat template, as the
beginning of its own answer, where it has one. A small model then rewords more often than one that is told to reword,
which tends to answer the text instead. What fails a meaning check is kept: the checks are shown beside it.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from analysis.diff import word_diff
from analysis.encoding import EncodingError, encode
from analysis.meaning import placeholders
from analysis.model import LanguageModel
from analysis.prompts import Prompt
from analysis.results import Answer
from analysis.sampling import sample
from analysis.variants.results import Edit, Generated, Proposal
from analysis.variants.spans import merged, protected_spans

Report = Callable[[float], object]

RULE = "self-paraphrase"
DESCRIPTION = (
    "The loaded model says it in other words. Small models often answer or change the text: look at the checks."
)
TEMPERATURE = 0.7
ROUND, ROUNDS = 12, 4  # answers at a time, and how often
SHORTEST_LIMIT = 40  # characters that an answer to a very short text may have

PAIRS = (
    ("What is the boiling point of water?", "At which temperature does water boil?"),
    ("The author of Hamlet is", "Hamlet was written by"),
    ("Translate this sentence into {language}.", "Give a translation of this sentence into {language}."),
    ("The largest city in Japan is", "Japan's largest city is"),
    ("Who painted the Mona Lisa?", "The Mona Lisa was painted by whom?"),
)
_TASK = "Write pairs of texts that mean the same, one pair on each line."
_MARKS = (('"', '"'), ("“", "”"), ("«", "»"), ("「", "」"))


def paraphrases(
    lm: LanguageModel,
    text: str,
    count: int,
    seed: int = 0,
    *,
    protected: Sequence[tuple[int, int]] = (),
    taken: Collection[str] = (),
    temperature: float = TEMPERATURE,
    report: Report = lambda fraction: None,
) -> Generated:
    """At most `count` rewordings of `text` by the model, at most 48 answers being sampled.

    With a smaller `count` they are the beginning of the same list. What no rewording touches (`protected_spans`) and
    the characters of `protected` have to survive, as often as they are there. A proposal is new by its text and by its
    token ids; the source and `taken` count as there already. `report` is called before every step, and whatever it
    raises stops the run.
    """
    core = text.strip()
    if not core or count < 1:
        return Generated(RULE, count, (), reason="" if core else "the text is empty")
    marks = next((pair for pair in _MARKS if not any(mark in core for mark in pair)), None)
    if marks is None:
        return Generated(RULE, count, (), reason="the text holds every kind of quotation mark that could enclose it")
    try:
        ids = encode(lm.encoder, framed(core, marks, lm.encoder.has_chat_template)).ids
    except EncodingError as error:
        return Generated(RULE, count, (), reason=str(error))
    tokens = 2 * len(_ids(lm, core)) + 8
    if len(ids) + tokens > lm.max_tokens:
        reason = (
            f"the text is too long: asking takes {len(ids)} tokens and an answer up to {tokens}, and {lm.card.name} reads"
            f" at most {lm.max_tokens}"
        )
        return Generated(RULE, count, (), reason=reason)

    spans = [*protected_spans(text), *merged(protected)]
    kept = [part for start, end in spans if (part := text[start:end].strip())]
    seen = {text, *taken}
    encoded = {_ids(lm, other) for other in seen}
    found: list[Proposal] = []
    lost: Counter[str] = Counter()
    asked = 0
    stopping = _stopping_at(lm, marks[1])
    for number in range(ROUNDS):

        def tick(fraction: float, number: int = number) -> None:
            report((number + fraction) / ROUNDS)

        (made,) = sample(
            stopping,
            [ids],
            temperature=temperature,
            count=ROUND,
            tokens=tokens,
            seed=seed * ROUNDS + number,
            report=tick,
        )
        for answer in made:
            asked += 1
            said = _said(lm, answer, marks[1], several_lines="\n" in core)
            whole = text.replace(core, said or "", 1)
            if (why := _flaw(said, core, kept)) is not None:
                lost[why] += 1
            elif whole == text:
                lost[_UNCHANGED] += 1
            elif whole in seen or _ids(lm, whole) in encoded:
                lost[_THERE] += 1
            else:
                seen.add(whole)
                encoded.add(_ids(lm, whole))
                found.append(Proposal(whole, RULE, RULE, edits(text, whole)))
                if len(found) == count:
                    break
        if len(found) == count:
            break
    return Generated(
        RULE, count, tuple(found), lost[_UNCHANGED], lost[_THERE], _reason(asked, lost, enough=len(found) == count)
    )


def framed(text: str, marks: tuple[str, str], chat: bool) -> Prompt:
    """The prompt that makes a model write `text` in other words, up to where those begin."""
    opening, closing = marks
    lines = [
        f"{opening}{one}{closing} means the same as {opening}{other}{closing}"
        for one, other in PAIRS
        if text not in (one, other)
    ]
    pairs = "\n".join([*lines, f"{opening}{text}{closing} means the same as {opening}"])
    if chat:
        return Prompt(_TASK, mode="chat", prefill=pairs, control_tokens=False)
    return Prompt(f"{_TASK}\n\n{pairs}", control_tokens=False)


def edits(source: str, text: str) -> tuple[Edit, ...]:
    """What turns `source` into `text`, word by word: `applied(source, edits) == text`."""
    return tuple(
        Edit(hunk.a_start, hunk.a_end, source[hunk.a_start : hunk.a_end], text[hunk.b_start : hunk.b_end], RULE)
        for hunk in word_diff(source, text)
        if hunk.op != "equal"
    )


_EMPTY = "empty"
_LONG = "longer than twice the text"
_GOES_ON = "the text with more after it"
_EXAMPLE = "one of the pairs shown to the model"
_PLACEHOLDERS = "without its placeholders"
_PROTECTED = "without a protected part"
_UNCHANGED = "the text itself"
_THERE = "there already"


def _said(lm: LanguageModel, answer: Answer, closing: str, several_lines: bool) -> str | None:
    """The answer up to its closing mark, else its first line; None where it came to no end."""
    text = lm.encoder.decode(answer.ids if closing in answer.pieces[-1] else _without_end(answer))
    said, mark, _ = text.partition(closing)
    if mark:
        return said.strip()
    line = text.strip() if several_lines else next((line for line in text.splitlines() if line.strip()), "").strip()
    return line if answer.finished or (not several_lines and "\n" in text.strip()) else None


def _without_end(answer: Answer) -> tuple[int, ...]:
    return answer.ids[:-1] if answer.finished else answer.ids


def _flaw(said: str | None, core: str, protected: Sequence[str]) -> str | None:
    """Why an answer is no rewording, or None."""
    if said is None or len(said) > max(2 * len(core), SHORTEST_LIMIT):
        return _LONG
    if not any(character.isalnum() for character in said):
        return _EMPTY
    if said != core and said.casefold().startswith(core.casefold()) and said[len(core) :].strip(" .!?:…"):
        return _GOES_ON
    if any(said in pair for pair in PAIRS):
        return _EXAMPLE
    if Counter(placeholders(said)) != Counter(placeholders(core)):
        return _PLACEHOLDERS
    if any(_count(part, said) < _count(part, core) for part in protected):
        return _PROTECTED
    return None


def _count(part: str, text: str) -> int:
    """How often `part` stands in a text without being part of a longer word or number."""
    before = r"(?<!\w)(?<!\d[.,])" if part[0].isalnum() else ""
    after = r"(?!\w|[.,]\d)" if part[-1].isalnum() else ""
    return len(re.findall(before + re.escape(part) + after, text))


def _reason(asked: int, lost: Counter[str], enough: bool) -> str:
    """What became of the answers that are no proposals; "" where nothing but repetitions was lost and there are enough."""
    if enough and not set(lost) - {_UNCHANGED, _THERE}:
        return ""
    parts = [f"{count} {'was' if count == 1 else 'were'} {why}" for why, count in lost.most_common()]
    return f"of {asked} sampled answers {', '.join(parts)}" if parts else f"{asked} answers were sampled"


def _ids(lm: LanguageModel, text: str) -> tuple[int, ...]:
    return tuple(lm.encoder.full.encode(text, add_special_tokens=False).ids)


def _stopping_at(lm: LanguageModel, mark: str) -> LanguageModel:
    """The same model, whose answers end with the first token that holds `mark` as well."""
    holding = {index for piece, index in lm.encoder.full.get_vocab().items() if mark in piece}
    return replace(lm, encoder=replace(lm.encoder, end_ids=lm.encoder.end_ids | holding))
