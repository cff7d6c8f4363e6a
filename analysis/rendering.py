"""A prompt's whole text: as typed in completion mode, the filled chat template in chat mode."""

import itertools
import re
from dataclasses import dataclass

from analysis.encoder import Encoder, EncodingError
from analysis.prompts import Prompt

Stretch = tuple[int, int, str]


@dataclass(frozen=True)
class Rendered:
    """A prompt's whole text with the role of each stretch of it."""

    text: str
    stretches: tuple[tuple[int, int, str], ...]  # (start, end, role), in order, covering the text
    trimmed: bool = False  # the template stripped the user's text


def render(encoder: Encoder, prompt: Prompt) -> Rendered:
    """The text that is encoded: as typed in completion mode, the filled template in chat mode."""
    named = [("prompt", prompt.text), ("system prompt", prompt.system or ""), ("prefill", prompt.prefill)]
    named += [(f"earlier message {number}", turn.content) for number, turn in enumerate(prompt.turns, start=1)]
    for name, text in named:
        if (place := lone_surrogate(text)) is not None:
            raise EncodingError(
                f"the {name} has half a surrogate pair (U+{ord(text[place]):04X}) at character {place + 1}, which no text can hold"
            )
    if prompt.mode == "completion":
        return Rendered(prompt.text, ((0, len(prompt.text), "text"),))
    if not encoder.has_chat_template:
        raise EncodingError(f"{encoder.name} has no chat template; use completion mode, or load an instruct model")
    messages = [{"role": turn.role, "content": turn.content} for turn in prompt.turns]
    roles = ["turn"] * len(messages)
    if prompt.system is not None:
        messages.insert(0, {"role": "system", "content": prompt.system})
        roles.insert(0, "system")
    messages.append({"role": "user", "content": prompt.text})
    roles.append("text")
    text = _fill(encoder, messages)
    contents = [message["content"] for message in messages]
    stretches = _placed(encoder, text, messages, roles) or _searched(text, contents, roles)
    inside = {text[start:end] for start, end, _ in stretches}
    trimmed = any(content and content not in inside for content in contents)
    if prompt.prefill:
        stretches.append((len(text), len(text) + len(prompt.prefill), "prefill"))
        text += prompt.prefill
    return Rendered(text, tuple(stretches), trimmed)


def _fill(encoder: Encoder, messages: list[dict[str, str]]) -> str:
    try:
        return encoder.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    except Exception as error:  # a template is a program that came with the model: any error is its own
        reason = " ".join(str(error).split()) or type(error).__name__
        raise EncodingError(f"the chat template of {encoder.name} refuses this conversation: {reason}") from error


def _placed(encoder: Encoder, text: str, messages: list[dict[str, str]], roles: list[str]) -> list[Stretch] | None:
    """Split the filled template into its own text and the messages' contents.

    The template is filled once more with each content between marks that occur in none: what stands
    outside the marks is the template's. None where it then reads differently, or every mark occurs.
    """
    contents = [message["content"] for message in messages]
    used = set().union(*contents)
    marks = list(itertools.islice((mark for mark in map(chr, range(0xE000, 0xF900)) if mark not in used), 2))
    if len(marks) < 2:
        return None
    start, stop = marks
    marked = [
        {**m, "content": f"{start}{i}{start}{m['content']}{stop}"} if m["content"] else m
        for i, m in enumerate(messages)
    ]
    try:
        parts = re.split(f"{start}([0-9]+){start}[^{stop}]*{stop}", _fill(encoder, marked))
    except EncodingError:
        return None
    frames, numbers = parts[::2], [int(number) for number in parts[1::2]]
    if not text.startswith(frames[0]):
        return None
    stretches: list[Stretch] = [(0, len(frames[0]), "template")]
    for number, frame in zip(numbers, frames[1:], strict=True):
        at, content = stretches[-1][1], contents[number]
        for shape in (content, content.strip(), content.rstrip(), content.lstrip()):
            if text.startswith(shape + frame, at):
                break
        else:
            return None
        end = at + len(shape)
        stretches += [(at, end, roles[number]), (end, end + len(frame), "template")]
    if stretches[-1][1] != len(text):
        return None
    return [stretch for stretch in stretches if stretch[0] < stretch[1]]


def _searched(text: str, contents: list[str], roles: list[str]) -> list[Stretch]:
    """The contents where they are found in the filled template, in order; the rest is the template's."""
    stretches: list[Stretch] = []
    at = 0
    for content, role in zip(contents, roles, strict=True):
        for shape in (content, content.strip()):
            start = text.find(shape, at)
            if shape and start >= 0:
                stretches += [(at, start, "template"), (start, start + len(shape), role)]
                at = start + len(shape)
                break
    stretches.append((at, len(text), "template"))
    return [stretch for stretch in stretches if stretch[0] < stretch[1]]


def lone_surrogate(text: str) -> int | None:
    match = re.search("[\ud800-\udfff]", text)
    return match.start() if match else None
