"""Negative controls: edits that change the meaning, which every measure should notice. English."""

import bisect
import random
import re
from collections.abc import Iterator

from analysis.variants import english, names
from analysis.variants.numerals import names_a_label, opens_list_item
from analysis.variants.source import Change, Refused, Source, capitalised, decapitalised, in_turn

_VERB = r"(?:is|are|was|were|can|could|will|would|should|must|may|might)"
_STATED = re.compile(rf"(?<![\w'’\-])(?P<verb>{_VERB})(?![\w'’\-])(?! not\b)")
_NEGATED = re.compile(
    rf"(?<![\w'’])(?P<verb>{_VERB}|do|does|did|has|have|had)(?P<not> not| never)(?= \w)", re.IGNORECASE
)
_CONTRACTED = re.compile(
    r"(?<![\w'’])(?P<verb>is|are|was|were|could|would|should|must|has|have|had|do)n['’]t(?= \w)", re.IGNORECASE
)
_CANNOT = re.compile(r"(?<![\w'’])(?:cannot|can['’]t)(?= \w)", re.IGNORECASE)
_FLIPS = {
    "always": "never",
    "never": "always",
    "with": "without",
    "without": "with",
    "everyone": "no one",
    "nobody": "everybody",
}
_FLIP = re.compile(
    r"(?<![\w'’\-])(?:always|never|without|everyone|nobody)(?![\w'’\-])"
    r"|(?<![\w'’\-])with(?= (?:a|an|the|any)\b)",
    re.IGNORECASE,
)
_SUBJECT = r"(?:I|you|he|she|it|we|they|[A-Z][a-z]+(?: \d+)?|[a-z]{3,}s)"
_NOUN = r"(?:the|a|an|my|your|his|her|its|our|their|this|that) [a-z]+"
_QUESTION = re.compile(
    rf"(?:Can|Could|Will|Should|Must|Do|Does|Did|Is|Are|Was|Were|Would|May)"
    rf" (?:(?P<subject>{_SUBJECT}) (?=[a-z])|{_NOUN} (?=(?P<verb>[a-z]+)\b))"
)
_WHICH = re.compile(r"\bWhich (?P<noun>[a-z]+) (?P<verb>[a-z]{2,}s) (?P<next>[a-z]+)")
#: A negation here says nothing of the clause, or is one half of a pair or a saying.
_IDIOM = re.compile(
    r"\b(?:not (?:only|just|merely|simply|even|to mention|least|until|necessarily|at all|yet|so much|unlike|bad|uncommon)"
    r"|(?:or|if|why|than|but|of course|certainly|maybe|perhaps|hopefully|probably) not"
    r"|can(?:not|['’]t| not) (?:wait|help|stand|but|be too|possibly)|never (?:mind|ever|again)|(?:or|nor) never|as always"
    r"|could(?:n['’]t| not) (?:agree|care|be)|do(?:n['’]t| not) (?:mind|worry|hesitate)"
    r"|(?:any|anyone|anything|anybody|anymore|either|ever|yet|until|nor|neither|no|none|nothing|hardly|barely|scarcely)\b)"
    r"|\bnot\b[^.?!]*\bbut\b"
    r"|,\s*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|must|ai|wo|ca)(?:n['’]?t)?"
    r" (?:I|it|he|she|they|you|we|there|this|that)(?: not)?\s*\?"
    r"|\bwithout (?:a doubt|doubt|question|fail|exception|further|saying)\b",
    re.IGNORECASE,
)
#: "with" belongs to these; and is no opposite of "without" then.
_BELONGS = re.compile(
    r"\b(?:deal\w*|agree\w*|compar\w+|begin\w*|start\w*|end\w*|filled|covered|associated|familiar|wrong|help\w*|me|us|do"
    r"|along|up|together|provide\w*|happen\w*|replace\w*|answer|reply|respond|match\w*|combin\w+|connect\w*) $",
    re.IGNORECASE,
)
_PAST = {
    "loved": "love",
    "liked": "like",
    "enjoyed": "enjoy",
    "hated": "hate",
    "wrote": "write",
    "developed": "develop",
    "invented": "invent",
    "discovered": "discover",
    "painted": "paint",
    "built": "build",
    "won": "win",
    "opened": "open",
    "wanted": "want",
    "needed": "need",
    "worked": "work",
    "lived": "live",
    "played": "play",
    "said": "say",
    "made": "make",
    "found": "find",
    "saw": "see",
    "went": "go",
    "knew": "know",
    "thought": "think",
}
_SUBJECT_PAST = re.compile(
    rf"(?<![\w'’\-])(?P<subject>[Yy]ou|I|[Hh]e|[Ss]he|[Ww]e|[Tt]hey|[Ii]t|[Ww]ho|[A-Z][a-z]+) (?P<verb>{'|'.join(_PAST)})\b"
)
_AUXILIARY = re.compile(rf"\b(?:{'|'.join(sorted(english.AUXILIARIES))}|been|be|get|got|why|how|when|where)\b", re.I)

_NUMBER = re.compile(r"(?<![\w.,:/\-–+@#])(?:\d{1,12}|\d{1,3}(?:,\d{3})+)(?![\w:/])(?![.,\-–]\w)")
_NUMBER_WORD = re.compile(r"(?<![\w\-])(?:two|three|four|five|six|seven|eight|nine|ten)(?![\w\-])")
_NUMBER_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_MOST = 200
#: Longest sentence that is negated, in characters.
_LONGEST = 1_000


def negation(source: Source, rng: random.Random) -> Iterator[Change]:
    """One clause said the other way round: "not" put in or taken out, "always" for "never". Changes the meaning."""
    if not source.is_english:
        raise Refused("the text does not read as English, and the negations are")
    text = source.text
    starts = [start for start, _ in source.sentences]

    def sentence(place: int) -> tuple[int, str]:
        """Where the sentence around `place` starts, and its text."""
        start, end = source.sentences[max(0, bisect.bisect_right(starts, place) - 1)]
        return start, text[start:end]

    def usable(match: re.Match[str]) -> bool:
        _, whole = sentence(match.start())
        return len(whole) <= _LONGEST and _IDIOM.search(whole) is None

    def asked(match: re.Match[str]) -> bool:
        """Whether the negation asks for agreement ("Isn't it large?") or for a reason: it says no opposite."""
        _, whole = sentence(match.start())
        return whole.endswith("?") and not re.match(r"(?:\w+: )?(?:Which|What|Who)\b", whole)

    taken_out = [
        _one(source, *match.span("not"), "")
        for match in _matches(_NEGATED, text)
        if usable(match) and not asked(match) and not text[match.end() :].startswith(" do ")
    ]
    taken_out += [
        _one(source, *match.span(), match["verb"])
        for match in _matches(_CONTRACTED, text)
        if usable(match) and not asked(match) and not text[match.end() :].startswith(" do ")
    ]
    taken_out += [
        _one(source, *match.span(), _cased("can", match[0]))
        for match in _matches(_CANNOT, text)
        if usable(match) and not asked(match)
    ]
    flipped = [
        _one(source, *match.span(), _cased(_FLIPS[match[0].lower()], match[0]))
        for match in _matches(_FLIP, text)
        if usable(match) and not _BELONGS.search(text[max(0, match.start() - 15) : match.start()])
    ]
    put_in: list[Change | None] = []
    for match in _matches(_STATED, text):
        start, whole = sentence(match.start())
        if usable(match) and _takes_not(
            text[start : match.start()], match["verb"], text[match.end() : match.end() + 30], whole
        ):
            put_in.append(_one(source, match.end(), match.end(), " not"))
    for match in _matches(_WHICH, text):
        base = _base(match["verb"])
        known = base in english.IMPERATIVES | english.VERBS and match["noun"] not in english.FUNCTION_WORDS
        if usable(match) and known and match["next"] not in english.IMPERATIVES | english.VERBS | english.AUXILIARIES:
            put_in.append(_one(source, *match.span("verb"), f"does not {base}"))
    for match in _matches(_SUBJECT_PAST, text):
        start, whole = sentence(match.start())
        if usable(match) and not _AUXILIARY.search(text[start : match.start()]):
            put_in.append(_one(source, *match.span("verb"), f"did not {_PAST[match['verb']]}"))
    for start, end in source.sentences[:_MOST]:
        if end - start > _LONGEST or _IDIOM.search(text[start:end]):
            continue
        label = re.match(r"(?:Question|Q): ", text[start:end])
        begin = start + (label.end() if label else 0)
        question = _QUESTION.match(text, begin, end) if text[end - 1] == "?" else None
        if question and _asks_of(question, text[question.end() : end]):
            put_in.append(_one(source, question.end(), question.end(), "not "))
        word = re.match(r"[A-Za-z]+", text[begin:end])
        follows = text[begin + len(word[0]) : begin + len(word[0]) + 1] if word else ""
        verb = word[0].lower() if word else ""
        if word and verb in english.IMPERATIVES and (follows == " " or (follows == ":" and verb not in english.FIELDS)):
            put_in.append(_one(source, begin, begin + len(word[0]), f"Do not {decapitalised(word[0])}"))
    families = [[change for change in family if change] for family in (taken_out, flipped, put_in)]
    if not any(families):
        raise Refused("the text has no clause that can be negated, or no longer be, by a word")
    return in_turn(families, rng)


def _takes_not(before: str, verb: str, after: str, whole: str) -> bool:
    """Whether "not" can stand after the verb that follows `before` in its sentence: its subject stands before it."""
    words = re.findall(r"[^\W\d_]+", before.casefold())
    following = re.match(r" ([^\W\d_]+)", after)
    follower = following[1].casefold() if following else ""
    if (
        not before.strip()
        or after[:1] in (",", ";")
        or (words and words[-1] in english.DETERMINERS - {"this", "that"} | {"of"})
    ) and words[-1:] not in (["which"], ["what"]):
        return False
    if follower in english.PRONOUNS or follower in ("never", "no", "not", "to"):
        return False
    labels = len(re.findall(r"[^\W\d_]+", whole.partition(": ")[0])) if ": " in before else 0
    words = words[labels:]
    if set(words[-1:]) & {"how", "where", "when", "why", "as"}:
        return False
    if whole.endswith("?") or (words and words[0] in english.QUESTION_WORDS):
        superlative = re.match(r" (?:the|its|his|her)(?: \w+)? (?:\w+est|most|first|only|main|best)\b", after)
        if words in (["what"], ["who"]):
            return verb in ("is", "are", "was", "were")
        return (
            len(words) == 2 and words[0] == "which" and (follower not in english.DETERMINERS or superlative is not None)
        )
    return True


def _asks_of(question: re.Match[str], rest: str) -> bool:
    """Whether the subject of a yes-or-no question ends where the match does."""
    following = re.match(r"[a-z]+", rest)
    word = following[0] if following else ""
    if question["subject"] is None:
        return question["verb"] in english.IMPERATIVES | english.VERBS | {"a", "an", "the", "in", "on", "at"}
    return word not in ("and", "or", "of", "not", "who", "that", "which") and question["subject"] not in (
        "you",
        "this",
        "his",
        "its",
        "yours",
        "always",
    )


def entity_swap(source: Source, rng: random.Random) -> Iterator[Change]:
    """One name, or one whole number, for another of its class, everywhere in the text. Changes the meaning.

    Lifts "number". Names are those of a list (countries, cities, languages, planets, people …).
    """
    text = source.text
    present: dict[str, list[tuple[int, int]]] = {}
    for match in names.NAME.finditer(text):
        if source.free(*match.span()) and not (match[0] in names.WORDS_TOO and source.starts_sentence(match.start())):
            present.setdefault(match[0], []).append(match.span())
    swapped = []
    for name, places in present.items():
        if any(_is_part(text, start, end) for start, end in places):
            continue
        articles = (
            {bool(re.match("[aeiou]", name, re.IGNORECASE))}
            if any(_has_article(text, start) for start, _ in places)
            else {True, False}
        )
        others = [
            other
            for other in names.CLASS_OF[name]
            if other not in text and bool(re.match("[aeiou]", other, re.IGNORECASE)) in articles
        ]
        swapped += [Change(tuple((start, end, other) for start, end in places)) for other in others]
    allowed = source.protected({"number"})
    numbers = []
    there = set(re.findall(r"\d+(?:,\d{3})*", text))
    for match in list(_NUMBER.finditer(text))[:_MOST]:
        if opens_list_item(text, *match.span()):
            continue
        if allowed.free(*match.span()) and not names_a_label(text, match.start()):
            numbers += [Change(((*match.span(), other),)) for other in _other_numbers(match[0], there)]
    for match in list(_NUMBER_WORD.finditer(text))[:_MOST]:
        if source.free(*match.span()):
            numbers += [Change(((*match.span(), other),)) for other in _NUMBER_WORDS if other != match[0]]
    if not swapped and not numbers:
        raise Refused("the text has no name or number that could be another one of its kind")
    return in_turn([swapped, numbers], rng)


def _is_part(text: str, start: int, end: int) -> bool:
    """Whether the name belongs to a longer one ("Paris Hilton", "South Africa") or has an article that others lack."""
    before = re.search(r"(\w+)[ ]$", text[max(0, start - 30) : start])
    longer = before is not None and before[1][0].isupper() and before[1].casefold() not in english.KNOWN
    article = before is not None and before[1].casefold() == "the" and text[start:end] in ("Earth", "Sun", "Moon")
    language = text[start:end] in names.CLASSES[2]
    return longer or article or (not language and re.match(r" [A-Z][a-z]", text[end : end + 3]) is not None)


def _has_article(text: str, start: int) -> bool:
    return re.search(r"\ban? $", text[max(0, start - 3) : start], re.IGNORECASE) is not None


def _other_numbers(number: str, there: set[str]) -> list[str]:
    """Numbers of the same length and look that are not in the text yet."""
    value = int(number.replace(",", ""))
    steps = (1, 2, 3, 4, 5, -1, -2, -3, 7, -4) if value < 1_000 else (1, 2, 3, 10, -10, 11, -7, 100, -100, 23)
    found = []
    for step in steps:
        other = f"{value + step:,}" if "," in number else str(value + step)
        if value + step > 0 and len(other) == len(number) and other not in there:
            found.append(other)
    return found


def _matches(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    return [match for match, _ in zip(pattern.finditer(text), range(_MOST), strict=False)]


def _one(source: Source, start: int, end: int, after: str) -> Change | None:
    return Change(((start, end, after),)) if source.free(start, end) else None


def _base(verb: str) -> str:
    """The base form of a verb in the third person."""
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    return verb[:-2] if verb.endswith(("shes", "ches", "sses", "xes", "goes", "does")) else verb[:-1]


def _cased(word: str, old: str) -> str:
    return capitalised(word) if old[0].isupper() else word
