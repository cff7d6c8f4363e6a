"""Near-meaning words: a lexicon for the words of instructions, and WordNet where a lexicon of it is installed."""

import functools
import random
import re
from collections.abc import Iterator
from pathlib import Path

from analysis.variants import english, wordnet
from analysis.variants.source import MAX_PLACES, Change, Piece, Refused, Source, combined

_LEXICON = Path(__file__).with_name("lexicon.tsv")
_WORD = re.compile(r"(?<![\w'’\-@#])[A-Za-z]{2,20}(?![\w'’\-])")
_BEFORE = re.compile(r"([^\W\d_]+(?:-[^\W\d_]+)*)[ ]$")
_AFTER = re.compile(r"[ ]([^\W\d_]+)")
#: Words after which a base form is a verb.
_VERB_AFTER = english.words(
    "to please kindly then and or must should can could will would you not first now also briefly don do let's"
)
_NOUN_BEFORE = english.DETERMINERS | english.words(
    "of following short brief good simple main correct right long one two three four five best first last each given next"
    " detailed clear final different same possible only complete full largest smallest new old capital"
)
#: After a noun: anything that does not make it the first part of a compound.
_NOUN_AFTER = (english.FUNCTION_WORDS - {"not", "no"}) | english.words("below above given")
_BE = english.words("is are was were be been seem seems very more most so too quite rather as")
_VOWEL_SOUND = re.compile(r"(?:[aeio]|u(?!n[i]|s[ei])|hour|honest)", re.IGNORECASE)


def synonyms(source: Source, rng: random.Random) -> Iterator[Change]:
    """Words of the lexicon for near-meaning ones, up to three at a time, where their neighbours show the part of speech.

    With WordNet, also words that have one sense there. Case and the article before ("a" or "an") follow. English only.
    """
    if not source.is_english:
        raise Refused("the text does not read as English, and the synonyms are")
    text = source.text
    words = [match for match in _WORD.finditer(text) if source.free(*match.span())]
    if source.content is not None:
        words = [match for match in words if match.end() <= source.content]
    if len(words) > 4 * MAX_PLACES:
        words = [words[place] for place in sorted(rng.sample(range(len(words)), 4 * MAX_PLACES))]
    lookup = wordnet.synonyms()
    places: list[list[list[Piece]]] = []
    reached = -1
    for match in words:
        if match.start() < reached:
            continue
        found = _alternatives(source, match)
        if not found:
            found = [(match.end(), word) for word in lookup(match[0]) if match[0].islower()]
        options = [_pieces(source, match.start(), end, word) for end, word in found]
        if options:
            reached = max(end for end, _ in found)
            places.append(options)
    if not places:
        raise Refused("the text has no word whose near-meaning word is known and would fit")
    return combined(places, rng)


@functools.cache
def lexicon() -> dict[tuple[str, str], tuple[str, ...]]:
    """(part of speech, word) to its near-meaning words."""
    found: dict[tuple[str, str], list[str]] = {}
    for line in _LEXICON.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        kind, word, other = line.split("\t")
        one_way = other.endswith(" >")
        other = other.removesuffix(" >")
        found.setdefault((kind, word), []).append(other)
        if not one_way:
            found.setdefault((kind, other), []).append(word)
    return {key: tuple(dict.fromkeys(words)) for key, words in found.items()}


def _alternatives(source: Source, match: re.Match[str]) -> list[tuple[int, str]]:
    """Where the word ends ("sum up" is two) and what may stand for it."""
    text = source.text
    before, after = (
        _BEFORE.search(text[max(0, match.start() - 30) : match.start()]),
        _AFTER.match(text[match.end() : match.end() + 30]),
    )
    left, right = (before[1].casefold() if before else ""), (after[1].casefold() if after else "")
    word, end = match[0].casefold(), match.end()
    if not (match[0].islower() or match[0].istitle()) or (
        match[0].istitle() and not source.starts_sentence(match.start())
    ):
        return []
    label = text[end : end + 1] in (":", "：")
    found: list[tuple[int, str]] = []
    if after and ("verb", f"{word} {right}") in lexicon() and _is_verb(source, match, left, right, label):
        long = match.end() + after.end()
        if source.free(match.start(), long):
            return [(long, other) for other in lexicon()["verb", f"{word} {right}"]]
    if ("verb", word) in lexicon() and _is_verb(source, match, left, right, label):
        found += [(end, other) for other in lexicon()["verb", word] if _verb_fits(word, other, right)]
    elif not label:
        number = _is_noun(source, match, left, right, word)
        if number is not None:
            found += [
                (end, _plural(other) if number else other) for other in lexicon()["noun", word[:-1] if number else word]
            ]
        elif ("adjective", word) in lexicon() and _is_adjective(left, right):
            found += [(end, other) for other in lexicon()["adjective", word]]
        elif ("adverb", word) in lexicon() and _is_adverb(word, left, right, text[end : end + 1]):
            found += [(end, other) for other in lexicon()["adverb", word]]
    elif word == "calculate":
        found.append((end, "compute"))
    elif word == "compute":
        found.append((end, "calculate"))
    used = set(re.findall(r"[a-z]+", text[max(0, match.start() - 60) : end + 60].casefold()))
    return [(stop, other) for stop, other in found if other.split()[0] not in used]


def _is_verb(source: Source, match: re.Match[str], left: str, right: str, label: bool) -> bool:
    if label or not right or right in english.AUXILIARIES or right in ("of", "and", "or", "that", "below", "above"):
        return False
    if source.starts_sentence(match.start()):
        return match[0].istitle() or match.start() == source.start
    if left in ("and", "or"):
        return right in english.DETERMINERS | {"me", "it", "them"}
    return left in _VERB_AFTER


def _verb_fits(word: str, other: str, right: str) -> bool:
    """Verbs of telling need their object: "give me" has no "name me"."""
    person = right in ("me", "us", "him", "them", "you")
    if person:
        return (word, other) in {("give", "offer"), ("choose", "pick"), ("compute", "calculate")}
    if right in ("out", "up", "in", "with", "to", "on", "about", "for", "as", "from", "into", "between", "at", "by"):
        return (word, other) in {
            ("respond", "reply"),
            ("reply", "respond"),
            ("convert", "transform"),
        } or (
            right in ("with", "by", "in", "for")
            and word in ("begin", "start", "summarize", "summarise")
            and " " not in other
            and other in ("begin", "start")
        )
    if other in ("name", "give", "state") and right not in english.DETERMINERS | english.words(
        "one two three four five"
    ):
        return False
    if (other == "enumerate" and right not in english.words("the all your my")) or (
        word == "answer" and right not in english.DETERMINERS
    ):
        return False
    return not (word in ("use", "keep", "tell", "try", "read", "sort") and right not in english.DETERMINERS)


def _is_noun(source: Source, match: re.Match[str], left: str, right: str, word: str) -> bool | None:
    """Whether the noun is plural; None where the word is no noun of the lexicon here."""
    singular = ("noun", word) in lexicon()
    plural = word.endswith("s") and ("noun", word[:-1]) in lexicon()
    if not (singular or plural) or left not in _NOUN_BEFORE or match[0].istitle():
        return None
    if right and right not in _NOUN_AFTER:
        return None
    if right == "to" and word in ("way", "answer", "reason"):
        return None
    return plural and not singular


def _is_adjective(left: str, right: str) -> bool:
    determined = left in english.DETERMINERS | english.words("of with in very more most two three four five") | _BE
    if left in _BE:
        return right == "" or right in ("and", "or", "but", "for")
    return determined and right != "" and right not in english.FUNCTION_WORDS


def _is_adverb(word: str, left: str, right: str, mark: str) -> bool:
    if word in ("also", "about", "straight", "fast", "rightly", "only"):
        return (
            word == "only" and right in ("with", "the", "one", "in") and left in ("reply", "answer", "respond", "use")
        )
    if word in (
        "approximately",
        "roughly",
        "usually",
        "normally",
        "often",
        "frequently",
        "maybe",
        "perhaps",
        "mainly",
        "chiefly",
        "primarily",
    ):
        return right != ""
    return left != "" and (right == "" or right in english.FUNCTION_WORDS) and mark != ":"


def _plural(noun: str) -> str:
    if noun.endswith(("s", "sh", "ch", "x")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def _pieces(source: Source, start: int, end: int, word: str) -> list[Piece]:
    """The word in the case of the old one, with the article before it where the sound changes."""
    text = source.text
    new = word[0].upper() + word[1:] if text[start].isupper() else word
    pieces: list[Piece] = [(start, end, new)]
    article = re.search(r"(?<!\w)(an?) $", text[max(0, start - 4) : start], re.IGNORECASE)
    if article and bool(_VOWEL_SOUND.match(word)) != bool(_VOWEL_SOUND.match(text[start:end])):
        at = start - len(article[0])
        one = article[1][0] + ("n" if _VOWEL_SOUND.match(word) else "")
        if source.free(at, at + len(article[1])):
            pieces.insert(0, (at, at + len(article[1]), one))
        else:
            return []
    return pieces
