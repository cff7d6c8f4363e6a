"""Negative controls: edits that change the meaning, which every measure should notice. English."""

import random
import re
from collections.abc import Iterator

from analysis.variants import english
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
_QUESTION = re.compile(
    r"(?P<verb>Can|Could|Will|Should|Must|Do|Does|Did|Is|Are|Was|Were|Would|May)"
    r" (?P<subject>(?:(?:the|a|an|my|your) )?[\w]+(?: \d+)?) (?=[a-z])"
)
_WHICH = re.compile(
    r"\b(?:Which|What) [a-z]+ (?P<verb>(?!does\b|is\b|was\b|has\b|this\b|yes\b)[a-z]{2,}[^s\W]s) (?=\w)"
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
    rf"\b(?P<subject>I|you|he|she|we|they|it|who|[A-Z][a-z]+) (?P<verb>{'|'.join(_PAST)})\b", re.IGNORECASE
)

#: Names by class; a name stands for another of its own class only.
_CLASSES: tuple[tuple[str, ...], ...] = (
    (
        *(
            "France",
            "Spain",
            "Germany",
            "Italy",
            "Japan",
            "China",
            "India",
            "Brazil",
            "Canada",
            "Mexico",
            "Egypt",
            "Kenya",
        ),
        *(
            "Poland",
            "Portugal",
            "Greece",
            "Sweden",
            "Norway",
            "Austria",
            "Russia",
            "Turkey",
            "Australia",
            "Argentina",
            "Chile",
        ),
        *(
            "Peru",
            "Ireland",
            "Denmark",
            "Finland",
            "Belgium",
            "Hungary",
            "Thailand",
            "Vietnam",
            "Switzerland",
            "Nigeria",
        ),
    ),
    (
        *(
            "Paris",
            "Madrid",
            "Berlin",
            "Rome",
            "Tokyo",
            "Beijing",
            "London",
            "Lisbon",
            "Vienna",
            "Athens",
            "Cairo",
            "Mumbai",
        ),
        *(
            "Moscow",
            "Oslo",
            "Dublin",
            "Warsaw",
            "Prague",
            "Budapest",
            "Chicago",
            "Boston",
            "Sydney",
            "Toronto",
            "Seattle",
        ),
    ),
    (
        *("French", "Spanish", "German", "Italian", "Japanese", "Chinese", "English", "Portuguese", "Greek", "Swedish"),
        *("Russian", "Turkish", "Polish", "Dutch", "Hindi", "Arabic", "Korean"),
    ),
    ("Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune"),
    ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    ("January", "February", "March", "April", "June", "July", "August", "September", "October", "November", "December"),
    ("Africa", "Asia", "Europe", "Antarctica"),
    ("Atlantic", "Pacific", "Arctic"),
    ("Romeo and Juliet", "Hamlet", "Macbeth", "Othello", "Don Quixote", "Faust", "War and Peace", "Moby Dick"),
    ("Shakespeare", "Goethe", "Cervantes", "Tolstoy", "Dickens", "Homer", "Dante"),
    ("Einstein", "Newton", "Darwin", "Tesla", "Bohr", "Galileo", "Curie", "Kepler", "Edison"),
    ("Alice", "Bob", "Mary", "John", "Peter", "Anna", "Tom", "Emma", "Lily", "Sarah", "David", "Paul"),
    ("the United States", "the United Kingdom", "the United Nations"),
    ("Python", "Java", "Rust", "Ruby", "Haskell"),
)
#: At the start of a sentence these may be other words.
_WORDS_TOO = ("Polish", "March", "August", "Turkey")
_CLASS_OF = {name: names for names in _CLASSES for name in names}
_NAME = re.compile(
    r"(?<![\w\-])(?:" + "|".join(re.escape(name) for name in sorted(_CLASS_OF, key=len, reverse=True)) + r")(?![\w\-])"
)
_NUMBER = re.compile(r"(?<![\w.,:/\-–+@#])(?:\d{1,12}|\d{1,3}(?:,\d{3})+)(?![\w:/])(?![.,\-–]\w)")
_NUMBER_WORD = re.compile(r"(?<![\w\-])(?:two|three|four|five|six|seven|eight|nine|ten)(?![\w\-])")
_NUMBER_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_MOST = 200


def negation(source: Source, rng: random.Random) -> Iterator[Change]:
    """One clause said the other way round: "not" put in or taken out, "always" for "never". Changes the meaning."""
    if not source.is_english:
        raise Refused("the text does not read as English, and the negations are")
    text = source.text
    taken_out = [_one(source, *match.span("not"), "") for match in _matches(_NEGATED, text)]
    taken_out += [_one(source, *match.span(), match["verb"]) for match in _matches(_CONTRACTED, text)]
    taken_out += [_one(source, *match.span(), _cased("can", match[0])) for match in _matches(_CANNOT, text)]
    flipped = [
        _one(source, *match.span(), _cased(_FLIPS[match[0].lower()], match[0])) for match in _matches(_FLIP, text)
    ]
    put_in: list[Change | None] = []
    for match in _matches(_STATED, text):
        if not source.starts_sentence(match.start()):
            put_in.append(_one(source, match.end(), match.end(), " not"))
    for match in _matches(_WHICH, text):
        base = _base(match["verb"])
        put_in.append(_one(source, *match.span("verb"), f"does not {base}"))
    for match in _matches(_SUBJECT_PAST, text):
        put_in.append(_one(source, *match.span("verb"), f"did not {_PAST[match['verb'].lower()]}"))
    for start, end in source.sentences[:_MOST]:
        label = re.match(r"(?:Question|Q): ", text[start:end])
        begin = start + (label.end() if label else 0)
        question = _QUESTION.match(text, begin, end)
        if question:
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


def entity_swap(source: Source, rng: random.Random) -> Iterator[Change]:
    """One name, or one whole number, for another of its class, everywhere in the text. Changes the meaning.

    Lifts "number". Names are those of a list (countries, cities, languages, planets, people …).
    """
    text = source.text
    present: dict[str, list[tuple[int, int]]] = {}
    for match in _NAME.finditer(text):
        if source.free(*match.span()) and not (match[0] in _WORDS_TOO and source.starts_sentence(match.start())):
            present.setdefault(match[0], []).append(match.span())
    names = []
    for name, places in present.items():
        others = [other for other in _CLASS_OF[name] if other not in text]
        names += [Change(tuple((start, end, other) for start, end in places)) for other in others]
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
    if not names and not numbers:
        raise Refused("the text has no name or number that could be another one of its kind")
    return in_turn([names, numbers], rng)


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
