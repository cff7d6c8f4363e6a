"""What is to be said about a row or a set before anybody reads its numbers: one sentence each.

A note never changes what is computed; texts are scored as typed.
"""

import math
from collections.abc import Callable
from dataclasses import replace

from analysis import hints
from analysis.encoding import Encoder, EncodingError, encode, ids_after, render
from analysis.model import LanguageModel
from analysis.model_hints import leaving, prefill_join, same_text, template_inside, two_blanks
from analysis.other_form import OtherForm
from analysis.prompts import Prompt
from analysis.results import Analysis, Note, PromptResult, Target, Trace
from analysis.text import boundary_note, describe, unfilled_template, visible

UNLIKELY = math.log(0.01)  # a target below this is called unlikely


def of_row(
    lm: LanguageModel,
    result: PromptResult,
    reference: PromptResult,
    other: OtherForm | None,
    reference_other: OtherForm | None,
    labels: Callable[[int], str],
) -> tuple[Note, ...]:
    """Notes on one analysed row, the most important first.

    `other` is the likelier form of the row's target, where there is one; what is said of the reference's
    is not repeated. `labels` names rows by their index.
    """
    assert result.trace is not None
    trace, prompt = result.trace, result.row.prompt
    notes: list[Note] = []
    if result.duplicate_of is not None:
        notes.append(
            Note(
                "info",
                f"same tokens as {_name(result.duplicate_of, labels)}: analysed once, Δ between them is exactly 0",
            )
        )
    if result.row.own_target:
        notes.append(
            Note(
                "info",
                f"compared on its own target {visible(trace.target.text)!r}; left out of what needs one common target",
            )
        )
    if result.row.is_control:
        why = (
            "a control that changes the meaning"
            if result.row.same_meaning is None
            else "by your verdict another meaning"
        )
        notes.append(Note("info", f"{why}: left out of the summary over paraphrases"))
    if (letters := hints.same_letters(prompt.text, reference.row.prompt.text)) is not None:
        notes.append(Note("info", letters))
    notes += same_text(result, reference)
    notes += _seam(lm.encoder, result)
    notes += _ended(lm.encoder, prompt)
    notes += prefill_join(lm.encoder, result)
    if prompt.mode == "completion" and (ends := boundary_note(prompt.text)):
        notes.append(Note("warning", ends))
    if prompt.mode == "chat" and (ends := boundary_note(prompt.prefill)):
        notes.append(Note("warning", f"the prefill {ends}"))
    notes += two_blanks(result)
    known = reference_other is not None and other is not None and reference_other.text == other.text
    if result is not reference and other is not None and not known:
        notes.append(_likelier(other, trace.target, "this prompt"))
    notes += leaving(lm, result, reference)
    notes += _control_tokens(lm.encoder, result)
    said = _hints(lm.encoder, reference) if result is not reference else []
    notes += [Note("info", hint) for hint in _hints(lm.encoder, result) if hint not in said]
    if (unfilled := unfilled_template(prompt.text)) is not None:
        notes.append(Note("warning", unfilled))
    if prompt.mode == "chat" and render(lm.encoder, prompt).trimmed:
        notes.append(
            Note("warning", "the chat template strips white space around the messages; the tokens show what is left")
        )
    for where, text in (("", prompt.text), ("system prompt: ", prompt.system or ""), ("prefill: ", prompt.prefill)):
        notes += [Note("info", where + sentence) for sentence in describe(text)]
    if result is not reference and result.delta is not None and 0 < abs(result.delta) < lm.card.noise_floor:
        notes.append(Note("info", f"Δ is below the numeric noise floor of {lm.card.noise_floor:.2g} nats"))
    return tuple(notes)


def _hints(encoder: Encoder, result: PromptResult) -> list[str]:
    """What the way of writing suggests; in chat mode the template says who speaks and where the answer goes."""
    trace, prompt = result.trace, result.row.prompt
    if trace is None:
        return []
    target = trace.target.text if trace.target.chosen else None
    found: list[str | None] = []
    if prompt.mode == "completion":
        if encoder.has_chat_template:
            found += [hints.transcript(prompt.text), hints.foreign_template(prompt.text)]
        found += [hints.gap(prompt.text), hints.separators(prompt.text, target)]
    if target is not None:
        found.append(hints.other_case(prompt.text, target))
    return [hint for hint in found if hint is not None]


def _name(index: int, labels: Callable[[int], str]) -> str:
    return "the reference" if index == 0 else f"“{visible(labels(index))}”"


def _seam(encoder: Encoder, result: PromptResult) -> list[Note]:
    """Whether prompt and target, written as one text, would split into other tokens at the seam."""
    assert result.trace is not None
    trace, target = result.trace, result.trace.target
    if "\ufffd" in target.text or not all(map(encoder.knows, target.ids)):
        return []  # no text spells it
    try:
        rest = ids_after(encoder, result.row.prompt, trace.tokens, target.text)
    except EncodingError:
        return []
    if rest == target.ids:
        return []
    if rest:
        return [
            Note(
                "info",
                f"written after this prompt, {visible(trace.target.text)!r} splits into other tokens than the ones scored",
            )
        ]
    joint = _joint(encoder, result.row.prompt, trace)
    return [
        Note(
            "warning",
            f"the prompt ends inside a token: written as one text, prompt and {visible(target.text)!r} join across the seam"
            f"{joint}, so the tokens scored are not the ones the model was trained on",
        )
    ]


def _ended(encoder: Encoder, prompt: Prompt) -> list[Note]:
    """A tokenizer that puts an end token after the prompt, as some do that were made for training."""
    after = encoder.added[1]
    if not after or prompt.mode != "completion" or not prompt.special_tokens:
        return []
    names = " ".join(map(encoder.piece, after))
    return [
        Note(
            "warning",
            f"the tokenizer puts {names} after the prompt, so the model begins a new text: switch its special tokens off to"
            " have the prompt continued",
        )
    ]


def _joint(encoder: Encoder, prompt: Prompt, trace: Trace) -> str:
    """The token over the seam, in words."""
    text = trace.target.text
    whole = (
        replace(prompt, prefill=prompt.prefill + text)
        if prompt.mode == "chat"
        else replace(prompt, text=prompt.text + text)
    )
    together, seam = encode(encoder, whole), len(trace.tokens.text)
    over = [together.text[start:end] for start, end in together.spans if start < seam < end]
    return f" in {visible(over[0])!r}" if over else ""


def _control_tokens(encoder: Encoder, result: PromptResult) -> list[Note]:
    prompt = result.row.prompt
    spelled: list[str] = []
    for text in (prompt.text, prompt.system or "", prompt.prefill, *(turn.content for turn in prompt.turns)):
        spelled += [text[start:end] for start, end in encoder.control_spans(text)]
    if not spelled:
        return []
    names = ", ".join(dict.fromkeys(spelled))
    count = f"{len(spelled)} time{'s' if len(spelled) > 1 else ''}"
    if prompt.control_tokens:
        notes = [Note("warning", f"text spells control tokens {count} ({names}) and is read as those tokens")]
    else:
        notes = [Note("info", f"text spells control tokens {count} ({names}) and is read as plain text")]
    assert result.trace is not None
    notes += template_inside(encoder, result.trace.tokens, prompt, spelled)
    return notes


def of_set(lm: LanguageModel, analysis: Analysis, other: OtherForm | None) -> tuple[Note, ...]:
    """Notes on the whole set; `other` is the likelier form of the reference's target."""
    notes: list[Note] = []
    reference = analysis.reference.trace
    if analysis.target is not None and reference is not None:
        if not analysis.target.joined:
            notes.append(
                Note(
                    "warning",
                    f"reference and target {visible(analysis.target.text)!r} join into other tokens when encoded together; the"
                    " target is scored as encoded alone",
                )
            )
        if other is not None:
            notes.append(_likelier(other, analysis.target, "the reference"))
        rows = [result.trace for result in analysis.prompts if result.trace and not result.row.own_target]
        if all(trace.log_prob < UNLIKELY for trace in rows):
            notes.append(
                Note(
                    "warning",
                    f"the target {visible(analysis.target.text)!r} is unlikely after every wording (p < 1 %): small differences"
                    " there say little about the answer",
                )
            )
    lengths = {len(result.trace.target) for result in analysis.prompts if result.trace}
    if len(lengths) > 1:
        notes.append(
            Note(
                "warning",
                "targets have different numbers of tokens: their sums are not comparable, compare the mean per token",
            )
        )
    if len(analysis.prompts) == 1:
        notes.append(Note("info", "add a paraphrase to see differences"))
    return tuple(notes)


def _likelier(other: OtherForm, target: Target, where: str) -> Note:
    return Note(
        "info",
        f"after {where}, {visible(other.text)!r} is {other.gain:.1f} nats likelier than {visible(target.text)!r}: the leading"
        " blank belongs to the token",
    )
