"""English contractions written out, and words drawn together, where only one reading is possible."""

import random
import re
from collections.abc import Iterator

from analysis.variants import english
from analysis.variants.source import Change, Piece, Refused, Source, combined

_NOT = {
    "don't": "do not",
    "doesn't": "does not",
    "didn't": "did not",
    "isn't": "is not",
    "aren't": "are not",
    "wasn't": "was not",
    "weren't": "were not",
    "haven't": "have not",
    "hasn't": "has not",
    "hadn't": "had not",
    "can't": "cannot",
    "couldn't": "could not",
    "won't": "will not",
    "wouldn't": "would not",
    "shouldn't": "should not",
    "mustn't": "must not",
}
_BE = {"i'm": "I am", "you're": "you are", "we're": "we are", "they're": "they are"}
_HAVE = {"i've": "I have", "you've": "you have", "we've": "we have", "they've": "they have"}
_WILL = {f"{word}'ll": f"{word} will" for word in ("I", "you", "he", "she", "it", "we", "they")}
_IS = {
    "it's": "it is",
    "that's": "that is",
    "what's": "what is",
    "who's": "who is",
    "where's": "where is",
    "there's": "there is",
}
_LONG = {**_NOT, **_BE, **_HAVE, **{short.lower(): long for short, long in _WILL.items()}, **_IS}
_SHORT = {long.lower(): short for short, long in _LONG.items()} | {"can not": "can't"}
_CONTRACTED = re.compile(r"(?<![\w'’])[A-Za-z]{1,7}['’](?:t|m|re|ve|ll|s)(?![\w'’])", re.IGNORECASE)
_WRITTEN = re.compile(
    r"(?<![\w'’\-])(?:"
    + "|".join(long.replace(" ", "[ ]") for long in sorted(_SHORT, key=len, reverse=True))
    + r")(?![\w'’\-])",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"([^\W\d_]+)[ ]$")
_AFTER = re.compile(r"[ ]([^\W\d_]+)")
_CLAUSE = re.compile(r"[^.!?,;:()\r\n]*$")
#: After these "'s" is "is", never "has" or a possessive.
_PLAIN_IS = english.DETERMINERS | english.words("not very too so just only also here there true false clear important")


def contractions(source: Source, rng: random.Random) -> Iterator[Change]:
    """ "don't" ↔ "do not", one place or several.

    Left alone: "'d" (had or would), "'s" but before a determiner or the like, questions that would need another word order
    ("Don't you …"), and every place at the end of a clause ("I know it's." is no English).
    """
    text = source.text
    places: list[list[list[Piece]]] = []
    curly = "’" in text and "'" not in text
    for match in _CONTRACTED.finditer(text):
        long = _LONG.get(match[0].casefold().replace("’", "'"))
        if long and source.free(*match.span()) and _can_be_long(source, match, long):
            places.append([[(*match.span(), _like(long, match[0]))]])
    for match in _WRITTEN.finditer(text):
        short = _SHORT[match[0].casefold()]
        if source.free(*match.span()) and _can_be_short(source, match, short):
            after = _like(short, match[0])
            places.append([[(*match.span(), after.replace("'", "’") if curly else after)]])
    if source.content is not None:  # what is to be worked on stays
        places = [place for place in places if place[0][0][1] <= source.content]
    if not places:
        raise Refused(
            "the text has no contraction that can be written out, and no words that can be contracted, safely"
        )
    places.sort(key=lambda place: place[0][0][0])
    return combined(
        [place for number, place in enumerate(places) if not number or place[0][0][0] >= places[number - 1][0][0][1]],
        rng,
    )


def _neighbours(source: Source, match: re.Match[str]) -> tuple[str, str, bool]:
    """The words before and after, "" where a mark or the text's end is there, and whether a sentence starts here."""
    before = _BEFORE.search(source.text[max(0, match.start() - 30) : match.start()])
    after = _AFTER.match(source.text[match.end() : match.end() + 30])
    first = source.starts_sentence(match.start())
    return (before[1].casefold() if before else ""), (after[1].casefold() if after else ""), first


def _can_be_long(source: Source, match: re.Match[str], long: str) -> bool:
    before, after, first = _neighbours(source, match)
    if not after:
        return False
    if long.endswith("not"):
        inverted = after in english.PRONOUNS | english.DETERMINERS | {"anyone", "everyone", "someone", "people"}
        if before in english.QUESTION_WORDS or (inverted and long not in ("do not",)) or after in english.PRONOUNS:
            return False
        return not first or long == "do not"
    if long in _IS.values():
        return after in _PLAIN_IS
    return True


def _can_be_short(source: Source, match: re.Match[str], short: str) -> bool:
    before, after, first = _neighbours(source, match)
    if not after or (match[0].isupper() and match[0] != "I"):
        return False
    if short.endswith("n't"):
        # an instruction that says what not to do, or a clause with a subject before its verb
        if after in english.PRONOUNS or after in ("only", "just", "necessarily"):
            return False
        return short == "don't" or (not first and before not in english.QUESTION_WORDS - {"which", "what", "who"})
    if short in _HAVE:
        return after in ("been", "never", "already", "seen", "done", "always", "just")
    if short in _IS:
        if after not in _PLAIN_IS:
            return False
        if short in ("what's", "who's", "where's"):
            return first
    clause = _CLAUSE.search(source.text[max(0, match.start() - 200) : match.start()])
    words = set(re.findall(r"[^\W\d_]+", clause[0].casefold())) if clause else set()
    return not words & (english.QUESTION_WORDS | {"than", "as"})


def _like(new: str, old: str) -> str:
    """`new` with the capitals and the apostrophe of `old`."""
    letters = [letter for letter in old if letter.isalpha()]
    if len(letters) > 2 and all(letter.isupper() for letter in letters):
        new = new.upper()
    elif old[0].isupper():
        new = new[0].upper() + new[1:]
    elif not new.startswith("I"):
        new = new[0].lower() + new[1:]
    return new.replace("'", "’") if "’" in old else new
