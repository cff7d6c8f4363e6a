"""What a model or its tokenizer makes of a row, where that is easily taken for an effect of the wording."""

import math

import numpy as np

from analysis.encoding import Encoder, encode, render
from analysis.model import LanguageModel
from analysis.prompts import Prompt
from analysis.results import Note, PromptResult, Tokens, Trace
from analysis.text import shortened, visible

LOOKED_AT = 10  # likeliest next tokens
LEAVES = "after this prompt the model would rather end its turn or begin a new line"


def leaving(lm: LanguageModel, result: PromptResult, reference: PromptResult) -> list[Note]:
    """A completion prompt after which ending, or a new line, has half of the probability or more."""
    share, prompt = _share_of_leaving(lm.encoder, result), result.row.prompt
    if share < 0.5:
        return []
    found = f"{LEAVES} ({100 * share:.0f} %)"
    if result is not reference and _share_of_leaving(lm.encoder, reference) >= 0.5:
        return [Note("info", f"{found}, as after the reference")]
    ways = ["end the prompt in a cue such as “Answer:”"] if not prompt.text.rstrip().endswith((":", "：")) else []
    ways += ["use chat mode"] if lm.encoder.has_chat_template else []
    advice = f"; to ask for an answer, {' or '.join(ways)}" if ways else ""
    return [Note("info", f"{found}, which is an effect of the mode more than of the wording{advice}")]


def _share_of_leaving(encoder: Encoder, result: PromptResult) -> float:
    trace = result.trace
    if trace is None or result.row.prompt.mode != "completion" or _leaves_with(encoder, trace.target.ids[0]):
        return 0.0
    logs = trace.next_log_probs
    top = np.argpartition(-logs, min(LOOKED_AT, len(logs) - 1))[:LOOKED_AT]
    return sum(math.exp(logs[index]) for index in top if _leaves_with(encoder, int(index)))


def leaves(result: PromptResult) -> bool:
    """Whether `leaving` found that of a row."""
    return any(note.text.startswith(LEAVES) for note in result.notes)


def _leaves_with(encoder: Encoder, index: int) -> bool:
    return index in encoder.end_ids or encoder.piece(index).lstrip(" \t\r").startswith("\n")


def prefill_join(encoder: Encoder, result: PromptResult) -> list[Note]:
    """A prefill whose beginning joins the template's last token: the number of tokens may not show it."""
    prompt, trace = result.row.prompt, result.trace
    assert trace is not None
    if prompt.mode != "chat" or not prompt.prefill:
        return []
    bare = encode(encoder, _without_prefill(prompt))
    place = next((t for t, (a, b) in enumerate(zip(bare.ids, trace.tokens.ids, strict=False)) if a != b), len(bare))
    if place == len(bare):
        return []
    before, now = (f"{visible(tokens.pieces[place])!r} (id {tokens.ids[place]})" for tokens in (bare, trace.tokens))
    return [Note("warning", f"the prefill joins the template's last token: {before} becomes {now}")]


def _without_prefill(prompt: Prompt) -> Prompt:
    return Prompt(
        prompt.text, "chat", prompt.system, prompt.turns, special_tokens=prompt.special_tokens, control_tokens=prompt.control_tokens
    )  # fmt: skip


def template_inside(encoder: Encoder, tokens: Tokens, prompt: Prompt, spelled: list[str]) -> list[Note]:
    """Chat tags typed by hand: twice in chat mode, without what the template adds by itself in completion mode."""
    template = str(getattr(encoder.tokenizer, "chat_template", None) or "")
    if not any(name in template for name in spelled):
        return []
    if prompt.mode == "chat":
        count = sum(tokens.control)
        more = f" ({count} control tokens instead of {count - len(spelled)})" if prompt.control_tokens else ""
        return [
            Note("warning", f"this looks like a chat template inside the chat template{more}: paste the message alone")
        ]
    opening = _opening(encoder)
    if not opening or prompt.text.startswith(opening):
        return []
    return [
        Note(
            "info",
            f"the model's chat template would put {shortened(opening, 120)!r} before this, which the text does not have;"
            " chat mode adds it",
        )
    ]


def _opening(encoder: Encoder) -> str:
    """The turns that the template itself puts before the first message, as a rule a system prompt."""
    alone = render(encoder, Prompt("x", mode="chat"))
    head = alone.text[: next((start for start, _, role in alone.stretches if role == "text"), 0)]
    spans = encoder.control_spans(head)
    # The last control token opens the user's own turn.
    return head[: spans[-1][0]] if len(spans) > 1 else ""


def same_text(result: PromptResult, reference: PromptResult) -> list[Note]:
    """A row that reaches the reference's text, prompt and target together, from another cut."""
    ours, theirs = result.trace, reference.trace
    if ours is None or theirs is None or ours.tokens.ids == theirs.tokens.ids:
        return []
    if _reached(ours) != _reached(theirs) or not result.row.own_target:
        return []
    return [
        Note(
            "info",
            "prompt and target together are the reference's text, cut elsewhere: what one row has in the prompt the other"
            " one has to predict, so their log-probs do not measure the same thing",
        )
    ]


def _reached(trace: Trace) -> str:
    return trace.tokens.text + trace.target.text


def two_blanks(result: PromptResult) -> list[Note]:
    """A target that begins with a blank, after a prompt that ends in one."""
    trace = result.trace
    assert trace is not None
    text, target = trace.tokens.text, trace.target.text
    if not (trace.target.chosen and text.endswith(" ") and target.startswith(" ") and target.strip()):
        return []
    return [
        Note(
            "info",
            f"the prompt ends in a blank and the target {visible(target)!r} begins with one, so the text has both;"
            f" {visible(target[1:])!r} is the target that goes on without a second one",
        )
    ]
