"""What is to be said about a row or a set before anybody reads its numbers: one sentence each.

A note never changes what is computed; texts are scored as typed.
"""

import math

import numpy as np

from analysis.encoding import Encoder, EncodingError, ids_after, ids_alone, render
from analysis.model import LanguageModel
from analysis.results import Analysis, Note, PromptResult, Trace
from analysis.text import boundary_note, describe, unfilled_template, visible

UNLIKELY = math.log(0.01)  # a target below this is called unlikely


def of_row(lm: LanguageModel, result: PromptResult, reference: PromptResult) -> tuple[Note, ...]:
    """Notes on one analysed row, the most important first."""
    assert result.trace is not None
    trace, prompt = result.trace, result.row.prompt
    notes: list[Note] = []
    if result.duplicate_of is not None:
        notes.append(
            Note("info", f"same tokens as {_name(result.duplicate_of)}: analysed once, Δ between them is exactly 0")
        )
    if result.row.own_target:
        notes.append(
            Note(
                "info",
                f"compared on its own target {visible(trace.target.text)!r}; left out of what needs one common target",
            )
        )
    if result.row.is_control:
        notes.append(Note("info", "a control that changes the meaning: left out of the summary over paraphrases"))
    notes += _seam(lm.encoder, result)
    if prompt.mode == "completion" and (ends := boundary_note(prompt.text)):
        notes.append(Note("warning", ends))
    notes += _control_tokens(lm.encoder, result)
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


def _name(index: int) -> str:
    return "the reference" if index == 0 else f"rewording {index}"


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
    return [
        Note(
            "warning",
            f"the prompt ends inside a token: written as one text, prompt and {visible(trace.target.text)!r} join across the"
            " seam, so the tokens scored are not the ones the model was trained on",
        )
    ]


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
    template = getattr(encoder.tokenizer, "chat_template", None) or ""
    if prompt.mode == "chat" and any(name in str(template) for name in spelled):
        notes.append(
            Note("warning", "this looks like a chat template inside the chat template: paste the message alone")
        )
    return notes


def of_set(lm: LanguageModel, analysis: Analysis) -> tuple[Note, ...]:
    """Notes on the whole set."""
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
        notes += _other_form(lm.encoder, reference)
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


def _other_form(encoder: Encoder, reference: Trace) -> list[Note]:
    """A hint when the target with (or without) its leading blank is more than 1 nat likelier."""
    target = reference.target
    if not target.chosen or len(target) != 1 or not target.text.strip():
        return []
    other = target.text[1:] if target.text.startswith(" ") else " " + target.text
    ids = ids_alone(encoder, other)
    if len(ids) != 1 or ids == target.ids:
        return []
    gain = float(reference.next_log_probs[ids[0]] - reference.target_log_probs[0])
    if not np.isfinite(gain) or gain <= 1.0:
        return []
    return [
        Note(
            "info",
            f"after the reference, {visible(other)!r} is {gain:.1f} nats likelier than {visible(target.text)!r}: the leading"
            " blank belongs to the token",
        )
    ]
