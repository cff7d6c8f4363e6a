"""Frames of a question: asked straight or indirectly, with or without labels, before a sentence to be completed."""

import random
import re
from collections.abc import Iterator

from analysis.variants import english
from analysis.variants.source import Change, Piece, Refused, Source, decapitalised, in_turn

_LEADS = ("Could you tell me", "Can you tell me", "Please tell me", "I would like to know")
_THING = r"(?:(?:the|a|an|your|my|his|her|its|our|their) )?[^\s,;:?()][^,;:?()\r\n]{0,120}?"
_DIRECT = re.compile(rf"(?P<asks>What|Who|Where|When)(?P<verb> (?:is|are|was|were))(?P<thing> {_THING})\?")
_SUBJECT = re.compile(
    r"(?:Who (?P<who>\w+ed|wrote|won|made|built|sang|led|became|drew|taught|wears|has|can|leads|owns|plays)"
    r"|(?:Which|What) (?P<noun>[a-z]+) (?P<verb>is|are|was|were|has|have|can|[a-z]{2,}s|[a-z]{2,}ed))"
    r" (?P<rest>[^,;:?()\r\n]{1,120})\?"
)
_WHETHER = re.compile(
    r"(?P<verb>Can|Could|Will|Should|Must|Do) (?P<subject>[a-z]{3,}s|[A-Z][a-z]+s) (?P<rest>[a-z]{2,}[^,;:?()\r\n]{0,120})\?"
)
_INDIRECT = re.compile(
    rf"(?P<lead>(?:Could|Can|Would) you (?:please )?tell me |Please tell me |I would like to know )(?P<asks>what|who|where|when)"
    rf"(?P<thing> {_THING})(?P<verb> (?:is|are|was|were))(?P<mark>[?.])"
)
_OPEN = re.compile(rf"(?P<thing>The {_THING}) (?P<verb>is|are|was|were)")
#: Words that make the border between subject and predicate unsure.
_UNSURE = re.compile(
    r"\b(?:is|are|was|were|be|been|that|which|who|whom|whose|to|do|does|did|has|have|had|can|will|when|if|and|or|but|as|than|it|there|not)\b"
)
_LAST_UNSURE = re.compile(
    r"(?:\w+(?:ed|en|ing)|like|for|about|of|in|on|at|from|with|by|called|made|born|built|known|found|spent|sold"
    r"|held|fought|set|won|shot|told|taught|brought|caught|kept|left|lost|met|paid|read|said|sent|shown|sung|begun|drawn"
    r"|grown|thrown|worn|torn|sworn|cut|hit|put|led|fed|done|gone|seen|cast|hurt|kept|laid|lit|run|struck|sunk|up|out|off"
    r"|now|today|tomorrow|yesterday|here|there|so|about)$"
)
_LABELS = {"Question": ("Q", "Query"), "Q": ("Question",), "Query": ("Question", "Q")}
_ANSWERS = {"Q": "A", "Question": "Answer", "Query": "Answer"}


def question_frame(source: Source, rng: random.Random) -> Iterator[Change]:
    """ "What is X?" ↔ "Could you tell me what X is?", "Question: … Answer:", "What is X? X is" before an open sentence.

    Only where the order of words is certain, and only for a text with one question.
    """
    if not source.is_english:
        raise Refused("the text does not read as English, and the question frames are")
    text = source.text
    questions = [span for span in source.sentences if text[span[1] - 1] == "?"]
    families = [*_other_labels(source)]
    if len(questions) == 1:
        start, end = questions[0]
        label = re.match(r"(?:Question|Q|Query): ", text[start:end])
        begin = start + (label.end() if label else 0)
        families += _asked_otherwise(source, begin, end)
        if (
            not label
            and not source.has_fields
            and begin == source.start
            and end == source.end
            and source.starts_with_prose
        ):
            families.append(
                [
                    Change(((begin, begin, f"{one}: "), (end, end, f" {other}:")))
                    for one, other in (("Question", "Answer"), ("Q", "A"))
                ]
            )
            families.append([Change(((begin, begin, "Question: "),))])
    elif not questions:
        families += _open(source)
        families += _asked_straight(source)
    if not any(families):
        several = "the text has more than one question" if len(questions) > 1 else "the text has no question"
        raise Refused(f"{several} whose frame can be changed with certainty")
    return in_turn(families, rng)


def _asked_otherwise(source: Source, start: int, end: int) -> list[list[Change]]:
    """Straight questions made indirect, and the other way round."""
    text = source.text
    if straight := _asked_straight(source):
        return straight
    leads = _LEADS if start == source.start else _LEADS[:2]
    marks: dict[str, list[Piece]] = {
        lead: [] if lead.endswith("you tell me") else [(end - 1, end, ".")] for lead in leads
    }
    if match := _DIRECT.fullmatch(text, start, end):
        thing, verb = match.span("thing"), match.span("verb")
        last = match["thing"].split()[-1]
        place = match["asks"] in ("Where", "When") and len(match["thing"].split()) > 2 and not last[0].isupper()
        if place or not _certain(match["thing"]) or not source.free(*verb) or not source.free(start, verb[1]):
            return []
        return [
            [
                Change(
                    (
                        (start, verb[1], f"{lead} {match['asks'].lower()}"),
                        (thing[1], thing[1], match["verb"]),
                        *marks[lead],
                    )
                )
            ]
            for lead in leads
        ]
    if (match := _SUBJECT.fullmatch(text, start, end)) and _asks_for_subject(match):
        return [[Change(((start, start + 1, f"{lead} {text[start].lower()}"), *marks[lead]))] for lead in leads]
    if match := _WHETHER.fullmatch(text, start, end):
        if match["rest"].split()[0] not in english.IMPERATIVES | english.VERBS or match["subject"] in ("yours", "this"):
            return []
        auxiliary = "" if match["verb"] == "Do" else f"{match['verb'].lower()} "
        rest, subject = match.start("rest"), match.start("subject")
        if source.free(start, rest):
            return [
                [Change(((start, subject, f"{lead} whether "), (rest, rest, auxiliary), *marks[lead]))]
                for lead in leads
            ]
    return []


def _asks_for_subject(match: re.Match[str]) -> bool:
    """Whether the words keep their order in an indirect question: the word asked for is the subject."""
    rest = match["rest"].split()
    superlative = (
        re.match(r"(?:the|its|his|her)(?: \w+)? (?:\w+est|most|first|only|main|best)\b", match["rest"]) is not None
    )
    object_ = rest[0].casefold() in english.PRONOUNS | english.DETERMINERS or rest[0][0].isupper()
    verb = match["who"] or match["verb"]
    if english.AUXILIARIES & set(rest) or (match["noun"] or "") in english.FUNCTION_WORDS:
        return False
    if verb in english.AUXILIARIES:
        return not object_ or superlative or (verb in ("has", "have") and rest[0] in ("a", "an"))
    return verb not in ("yes", "its", "this", "as")


def _asked_straight(source: Source) -> list[list[Change]]:
    text = source.text
    found = []
    for start, end in source.sentences:
        match = _INDIRECT.fullmatch(text, start, end)
        if (
            match
            and _certain(match["thing"])
            and source.free(start, match.end("asks"))
            and source.free(match.start("verb"), end)
        ):
            asks = match["asks"].capitalize() + match["verb"]
            found.append([Change(((start, match.end("asks"), asks), (match.start("verb"), end, "?")))])
            found += [
                [Change(((start, match.end("lead"), f"{lead} "),))]
                for lead in _LEADS[:2]
                if match["mark"] == "?" and not match["lead"].startswith(lead)
            ]
    return found


def _certain(thing: str) -> bool:
    words = thing.split()
    if not words or _UNSURE.search(thing) or (len(words) > 1 and _LAST_UNSURE.match(words[-1])):
        return False
    return words[0] in english.DETERMINERS or words[0][0].isupper() or words[0][0].isdigit()


def _open(source: Source) -> list[list[Change]]:
    """The question that an open sentence answers, in front of it."""
    match = _OPEN.fullmatch(source.text, source.start, source.end)
    if not match:
        return []
    thing = decapitalised(match["thing"])
    words = thing.split()
    if not _certain(thing) or len(words) > 14:
        return []
    noun = words[1] if len(words) < 3 or words[2] in ("of", "in") else ""
    person = any(word in english.PERSONS for word in ([noun] if noun else words[:4]))
    asks, verb = ("Who" if person else "What"), match["verb"]
    lead = f"{asks.lower()} {thing} {verb}"
    questions = (f"{asks} {verb} {thing}?", f"Could you tell me {lead}?", f"Do you know {lead}?")
    frames = [f"{question} " for question in questions]
    frames += [f"Q: {questions[0]} A: ", f"Question: {questions[0]} Answer: "]
    return [[Change(((source.start, source.start, frame),))] for frame in frames]


def _other_labels(source: Source) -> list[list[Change]]:
    """ "Question: … Answer:" ↔ "Q: … A:" at the starts of lines, all of them together."""
    text = source.text
    questions = list(re.finditer(r"^(?P<label>Question|Query|Q)(?=[:：])", text, re.MULTILINE))
    answers = list(re.finditer(r"^(?P<label>Answer|A)(?=[:：])", text, re.MULTILINE))
    names = {match["label"] for match in questions}
    free = all(source.free(*match.span()) for match in (*questions, *answers))
    if len(names) != 1 or not free or {match["label"] for match in answers} - {_ANSWERS[next(iter(names))]}:
        return []
    found = []
    for label in _LABELS[next(iter(names))]:
        pieces = [(*match.span(), label) for match in questions]
        pieces += [(*match.span(), _ANSWERS[label]) for match in answers]
        found.append([Change(tuple(pieces))])
    if len(questions) == 1 and questions[0].start() == source.start:
        after = re.compile(r"[:：][ ]?(?=[^\s])").match(text, questions[0].end())
        if after and source.free(source.start, after.end()):
            found.append([Change(((source.start, after.end(), ""),))])
    return found
