"""English phrases around a text: courtesy, roles, reply instructions, and sentences that have nothing to do with it.

A text that ends unfinished ("The capital of France is") is to be continued: whatever is added to it goes in front.
Nothing here adds a line break, so that additions stay on the first or the last line.
"""

import random
import re
from collections.abc import Iterator

from analysis.variants import english
from analysis.variants.source import Change, Piece, Refused, Source, capitalised, decapitalised, in_turn, shuffled

_ROLES = (
    "You are a helpful expert.",
    "You are a knowledgeable assistant.",
    "You are an experienced teacher.",
    "You are a careful scholar.",
    "You are a friendly librarian.",
    "You are a well-read scientist.",
    "You are an attentive assistant.",
    "Act as a careful expert.",
    "Imagine that you are an expert.",
    "You are a patient tutor.",
)
_HAS_ROLE = re.compile(
    r"(?:\A|[.!?:,\]>\r\n])\s*(?:from now on,? )?(?:you are|you're|you’re|act as"
    r"|imagine (?:that )?you|pretend|your role|as an? \w+,)",
    re.IGNORECASE,
)
_BRIEF = (
    "Reply briefly.",
    "Answer concisely.",
    "Keep the answer short.",
    "Give only the answer.",
    "Be brief.",
    "Answer directly.",
)
_NEUTRAL = (
    "Make sure that the answer is correct.",
    "Answer as well as you can.",
    "Think before you answer.",
    "Be accurate.",
)
_CONTINUE = (
    "Complete the text:",
    "Continue the text:",
    "Complete the following:",
    "Continue:",
    "Finish the following text:",
)
_CONTINUE_SENTENCE = (
    "Complete the sentence:",
    "Finish the sentence:",
    "Continue the sentence:",
    "Complete this sentence:",
)
_FILL = (
    "Complete the following.",
    "Fill in what is missing at the end.",
    "Complete the text.",
    "Continue in the same way.",
)
#: The text says itself how long or in which form the answer is to be, or asks for a text.
_OWN_FORM = re.compile(
    r"\b(?:answer|reply|respond|output|return) (?:with|in|only|as|yes|using|briefly|shortly)\b|\bin (?:one|two|three|four|five|\d+) "
    r"|\b(?:detail|detailed|long|short|brief|briefly|concise|json|format|step|steps|bullet|list|essay|poem|story|words|sentences?|only)\b"
    r"|\b(?:write|explain|describe|discuss|elaborate|translate|rewrite|summari[sz]e)\b",
    re.IGNORECASE,
)
_REPLY = re.compile(
    r"(?:Please )?(?:(?:Answer|Reply|Respond) (?:with|in|only|as|yes|using|briefly|concisely|shortly)\b"
    r"|(?:Be|Keep|Use|Return|Output) )[^\r\n.!?:]*\.$"
)
_IRRELEVANT = (
    "The sky was clear this morning.",
    "The train left the station on time.",
    "A bird sat on the roof.",
    "The kitchen has a wooden table.",
    "It rained in the village last week.",
    "The bakery opens early.",
    "The cat slept on the sofa.",
    "A red bicycle stood by the door.",
    "The garden looks nice in spring.",
    "The neighbours bought a new lamp.",
    "The river was calm in the evening.",
    "The bus was almost empty.",
)
_THANKS = re.compile(
    r"[ ](?:Thank you|Thanks|Many thanks)(?: very much| so much| in advance| a lot)?[.!]?$", re.IGNORECASE
)
_PLEASE = re.compile(r"(?:Please|Kindly),? (?=[^\W\d_])")


def courtesy(source: Source, rng: random.Random) -> Iterator[Change]:
    """ "Please …", "Could you …?", a greeting, thanks; or what is there of these left out."""
    _require_english(source, "the courtesies")
    text, start, end = source.text, source.start, source.end
    families: list[list[Change]] = []
    thanked = _THANKS.search(text, max(0, end - 40), end)
    if thanked:
        families.append([Change(((*thanked.span(), ""),))])
    if match := _PLEASE.match(text, start):
        families.append([Change(((start, match.end() + 1, text[match.end()].upper()),))])
    polite = re.search(r"\b(?:please|kindly)\b", text, re.IGNORECASE) is not None
    word = re.match(r"[^\W\d_]+", text[start:])
    first = word[0].casefold() if word else ""
    thanks = (
        []
        if thanked or not source.is_finished
        else [_appended(source, phrase) for phrase in ("Thank you.", "Thanks!", "Many thanks.")]
    )
    if source.starts_with_prose and _is_instruction(source):
        after = decapitalised(text[start : start + len(first)])
        if not polite:
            families += [[_instead(source, first, f"{phrase} {after}")] for phrase in ("Please", "Kindly")]
            if len(source.sentences) == 1 and text[start + len(first)] == " ":
                asked = _as_question(source)
                families += [
                    [Change(((start, start + len(first), f"{phrase} {after}"), *asked))]
                    for phrase in ("Could you", "Would you please", "Could you please")
                    if asked
                ]
            if thanks:
                families.append([Change((*_instead(source, first, f"Please {after}").pieces, *thanks[0].pieces))])
    elif source.starts_with_prose and (first in english.QUESTION_WORDS or first in english.AUXILIARIES) and "?" in text:
        after = decapitalised(text[start : start + len(first)])
        leads = [["Excuse me,", "Hello,"]]
        if not polite and first not in ("could", "would", "can", "will"):
            leads.append(["May I ask:", "Please tell me:", "One question:"])
        families += [[_instead(source, first, f"{lead} {after}") for lead in some] for some in leads]
    families += [thanks]
    if source.starts_with_prose or (first in english.FIELDS and source.has_fields):
        greetings = ["Hello!", "Good day."]
        if not source.is_finished and not polite and not _is_instruction(source) and source.content is None:
            what = "answer" if "?" in text else "complete"
            mark = "." if source.has_fields else ":"
            greetings += [
                f"Please {what} the following{mark}",
                f"Please help me with this{mark}",
                f"Kindly {what} this{mark}",
            ]
        families.append([_prepended(source, phrase) for phrase in greetings])
    return in_turn(families, rng)


def role(source: Source, rng: random.Random) -> Iterator[Change]:
    """A sentence in front that says who is to answer."""
    _require_english(source, "the roles")
    if _HAS_ROLE.search(source.text[:5_000]):
        raise Refused("the text gives a role already")
    _require_prose(source)
    return shuffled((_prepended(source, phrase) for phrase in _ROLES), rng)


def instruction(source: Source, rng: random.Random) -> Iterator[Change]:
    """How to reply, said at the end or in front; a reply instruction that is there moves to the other end.

    Nothing about length is added where the text says itself how to answer or asks for a text.
    """
    _require_english(source, "the instructions")
    families: list[list[Change]] = [_moved(source)]
    phrases: tuple[str, ...] = _NEUTRAL if _OWN_FORM.search(source.text) else _BRIEF
    if source.is_finished:
        families.append([_appended(source, phrase) for phrase in phrases])
        if source.starts_with_prose and len(families[0]) == 0:
            families.append([_prepended(source, phrase) for phrase in phrases])
    elif source.starts_with_prose or source.has_fields:
        if not _is_instruction(source) and "?" not in source.text and source.content is None:
            sentence = _CONTINUE_SENTENCE if len(source.sentences) == 1 else _CONTINUE
            phrases = _FILL if source.has_fields else sentence
        families.append([_prepended(source, phrase) for phrase in phrases])
    return in_turn(families, rng)


def irrelevant(source: Source, rng: random.Random) -> Iterator[Change]:
    """A sentence that has nothing to do with the text: at the end, or in front where the text is to be continued."""
    _require_english(source, "the sentences")
    if source.is_finished:
        return shuffled((_appended(source, phrase) for phrase in _IRRELEVANT), rng)
    _require_prose(source)
    return shuffled((_prepended(source, phrase) for phrase in _IRRELEVANT), rng)


def _moved(source: Source) -> list[Change]:
    text = source.text
    found = [span for span in source.sentences if _REPLY.fullmatch(text[slice(*span)])]
    if len(found) != 1 or len(source.sentences) < 2:
        return []
    start, end = found[0]
    sentence = text[start:end]
    if start > source.start and text[start - 1] == " " and source.free(start - 1, end) and source.starts_with_prose:
        return [Change(((source.start, source.start, f"{sentence} "), (start - 1, end, "")))]
    if start == source.start and text[end : end + 1] == " " and source.free(start, end + 1) and source.is_finished:
        return [Change(((start, end + 1, ""), *_appended(source, sentence).pieces))]
    return []


def _is_instruction(source: Source) -> bool:
    match = re.match(r"([^\W\d_]+)( |: (?=.))", source.text[source.start : source.start + 40])
    if not match or match[1].casefold() not in english.IMPERATIVES:
        return False
    return match[2] == " " or match[1].casefold() not in english.FIELDS


def _as_question(source: Source) -> list[Piece]:
    """The final mark as a question mark; empty where the sentence is not one to be asked."""
    end = source.end
    last = source.text[end - 1]
    if source.content is not None:
        return []
    if last == "." and source.free(end - 1, end):
        return [(end - 1, end, "?")]
    return [(end, end, "?")] if last.isalnum() and source.is_finished else []


def _instead(source: Source, first: str, after: str) -> Change:
    """The text with its first word written as `after`."""
    return Change(((source.start, source.start + len(first), after),))


def _prepended(source: Source, phrase: str) -> Change:
    return Change(((source.start, source.start, f"{phrase} "),))


def _appended(source: Source, phrase: str) -> Change:
    """`phrase` after the text, whose last sentence is closed where it was not."""
    last = source.text[: source.end].rstrip("\"'”’)]»」』*_")[-1:]
    closing = "" if last in ".!?。！？…" else "?" if _last_is_question(source) else "."
    return Change(((source.end, source.end, f"{closing} {phrase}"),))


def _last_is_question(source: Source) -> bool:
    start, _ = source.sentences[-1]
    word = re.match(r"[^\W\d_]+", source.text[start : start + 30])
    return word is not None and word[0].casefold() in english.QUESTION_WORDS


def _require_english(source: Source, what: str) -> None:
    if not source.is_english:
        raise Refused(f"the text does not read as English, and {what} are")


def _require_prose(source: Source) -> None:
    if not (source.starts_with_prose or source.has_fields):
        raise Refused("the text starts with code, a heading or a list, in front of which no sentence can stand")


_CLAUSE_FIRST = re.compile(
    r"(?P<conjunction>If|When|Because|Although|While|Since|Unless|Before|After|Once|Whenever|Though) (?P<clause>[^,;:()\r\n]{3,200}),"
    r" (?P<main>[^,;:()\r\n]{3,200})(?P<mark>[.?!])"
)
_CLAUSE_LAST = re.compile(
    r"(?P<main>[A-Z][^,;:()\r\n]{3,200}?) (?P<conjunction>if|when|because|although|unless|whenever|though)"
    r" (?P<clause>[^,;:()\r\n]{3,200})(?P<mark>[.?!])"
)
#: After these, "if" or "when" opens what is asked or told; before these, it belongs to the word.
_NO_ADVERB = re.compile(
    r"\b(?:tell|know|ask|asks|see|check|wonder|wonders|determine|decide|say|says|find out|unsure|sure|even|as|only|what|explain|not"
    r"|me|just|simply|and|or|but|describe|define|predict|judge|state|indicate|whether|remember|depends on)$",
    re.IGNORECASE,
)
_CONJUNCTIONS = re.compile(
    r"\b(?:if|when|because|although|while|since|unless|before|after|once|whenever|though|and then|then)\b",
    re.IGNORECASE,
)


def clause_order(source: Source, rng: random.Random) -> Iterator[Change]:
    """ "If X, Y." ↔ "Y if X." in a sentence with two clauses; the clause that moves holds no protected part."""
    text = source.text
    changes = []
    for start, end in source.sentences:
        sentence = text[start:end]
        label = re.match(r"[A-Z][a-z]+: ", sentence)
        begin = start + (label.end() if label else 0)
        if match := _CLAUSE_FIRST.fullmatch(text, begin, end):
            changes += _main_first(source, match)
        elif match := _CLAUSE_LAST.fullmatch(text, begin, end):
            changes += _main_last(source, match)
    if not changes:
        raise Refused("the text has no sentence with a subordinate clause that can change places safely")
    return shuffled(changes, rng)


def _several(match: re.Match[str]) -> bool:
    """Whether the two parts may be more than one clause and its condition: two questions, or coordinated clauses."""
    first = match["clause"].split()[0].casefold()
    joined = match["main"].split()[0].casefold() in english.words("and or but so yet nor then which who where whose")
    return joined or (
        match["mark"] == "?"
        and (
            first in english.AUXILIARIES
            or re.search(r",|\b(?:and|or|but)\b", match[0].partition(", ")[2] or match[0]) is not None
        )
    )


def _main_first(source: Source, match: re.Match[str]) -> list[Change]:
    text = source.text
    main, clause = match["main"], match["clause"]
    if _CONJUNCTIONS.search(main) or _CONJUNCTIONS.search(clause) or _several(match):
        return []
    place, mark = match.start("main"), match.start("mark")
    new = f"{match['conjunction'].lower()} {clause}"
    if source.free(match.start(), place + 1):
        return [Change(((match.start(), place + 1, text[place].upper()), (mark, mark, f" {new}")))]
    if source.free(match.end("clause"), mark) and source.free(match.start(), match.start() + 1):
        front = f"{capitalised(main)} {match['conjunction'][0].lower()}"
        return [Change(((match.start(), match.start() + 1, front), (match.end("clause"), mark, "")))]
    return []


def _main_last(source: Source, match: re.Match[str]) -> list[Change]:
    main, clause = match["main"], match["clause"]
    first = re.match(r"[^\W\d_]+", main)
    if (
        _CONJUNCTIONS.search(main)
        or _CONJUNCTIONS.search(clause)
        or _several(match)
        or re.search(r"\b(?:and|or|but)\b", main)
        or _NO_ADVERB.search(main)
        or not first
        or (first[0] != "I" and first[0].casefold() not in english.KNOWN)
        or (match["conjunction"] != "because" and main.split()[0].casefold() in english.QUESTION_WORDS)
        or main.split()[0].casefold() in ("explain", "describe", "say", "tell", "ask", "decide", "check", "show")
    ):
        return []
    start, mark = match.start(), match.start("mark")
    new = f"{capitalised(match['conjunction'])} {clause}, {decapitalised(main)[0]}"
    if source.free(match.end("main"), mark) and source.free(start, start + 1):
        return [Change(((start, start + 1, new), (match.end("main"), mark, "")))]
    return []
