"""The negations of a text: English ones, contracted or not, and the commonest of some other languages."""

from collections import Counter
from dataclasses import dataclass

import regex

from analysis.meaning_text import difference, one_blank, quoted

_VERBS = (
    "do|does|did|is|are|am|was|were|ca|could|should|would|wo|must|has|have|had|need|ai|might|may|sha|ought|dare|are"
)
#: Negations by what is counted as the same word; texts are small letters with straight apostrophes.
_CUES = regex.compile(
    rf"""(?<!\w)(?:
        (?P<not> not | cannot | (?:{_VERBS})n't
          | (?:does|did|is|are|was|were|could|should|would|has|have|had)nt | dont | cant | wont )
      | (?P<never> never ) | (?P<without> without ) | (?P<unless> unless ) | (?P<neither> neither )
      | (?P<no> no(?!\.\s?\d)(?:\sone)? | none | nothing | nobody | nowhere )
      | (?P<except> except(?:ing|ed|ion|ions)? | apart\sfrom | other\sthan | aside\sfrom
          | (?<=nothing\s|anything\s|anyone\s|everything\s|everyone\s|none\s|all\s|one\s)but )
      | (?P<foreign> nicht | kein\w{{0,2}} | nie | niemals | nichts | niemand | ohne
          | pas | jamais | rien | aucune?s? | sans | nunca | jamás | ningun[ao] | ningún | nadie | tampoco
          | non(?!-) | senza | nessun[aoi]? | niente | não | nenhuma? | niet | geen | nooit | zonder
          | inte | aldrig | ikke | не | нет | никогда | без )
    )(?!\w)""",
    regex.VERBOSE,
)
_END = r"""(?=\s*(?:$|\n|[?.!,;:)"']))"""
_PEOPLE = "it|you|they|he|she|we|i|there"
#: Where such a word negates nothing, though what is left without it would say something else: see `_affirmed`.
_HALVES = regex.compile(
    rf"""(?<!\w)(?:
        not\s(?:only|just|merely|simply)(?=[^.!?]{{0,200}}\sbut\s) | no\sdoubt
      | why\s(?:not | (?:don't|do\snot)\s(?:you|we)) | if\s(?:you\s(?:don't|do\snot)\smind)
      | (?<=,\s?)(?:{_VERBS})n't\s(?:{_PEOPLE}){_END}
      | (?<=\w\s)(?<!\b(?:why|how|what|who|where|when|which|that|or|and|if)\s)(?:{_VERBS})n't\s(?:{_PEOPLE})(?=\s*\?)
    )(?!\w)""",
    regex.VERBOSE,
)
#: Where it negates nothing, with or without it: answers, polite forms.
_NONE = regex.compile(
    rf"""(?<!\w)(?:
        yes(?:\W{{1,3}}|\W{{1,3}}or\W{{1,3}}|\W{{1,3}}and\W{{1,3}})no | no(?:\W{{1,3}}|\W{{1,3}}or\W{{1,3}}|\W{{1,3}}and\W{{1,3}})yes
      | whether\sor\snot | or\snot{_END} | (?:could|would|wo|ca)n't\syou
      | if\s(?:it\s?(?:'s|\sis)\snot\stoo\s\w+ | it\sisn't\stoo\s\w+)
    )(?!\w)""",
    regex.VERBOSE,
)
#: Words that may stand for one negation: "the opposite of hot" and "not hot", "avoid" and "do not".
_OPPOSITE = regex.compile(
    r"(?<!\w)(?:opposites?|antonyms?|contrary|reverse|inverse|unlike|avoid(?:ing|s)?|refrain(?:ing)?|omit(?:ting)?"
    r"|exclud(?:e|es|ed|ing)|lack(?:s|ing)?|instead of|rather than|forbidden|prohibited|fail(?:s|ed)?|false|wrong"
    r"|incorrect|untrue|impossible|unable|invalid|unclear|unknown|unlikely|illegal|hardly|rarely|seldom|barely"
    r"|skip|leave out|leaving out|ignore|stop|gegenteil|contraire|contrario)(?!\w)"
)
#: "Reply only with X" is "do not reply with anything except X": two negations, or none.
_ONLY = regex.compile(r"(?<!\w)(?:only|solely|exclusively|nur|seulement|uniquement|solamente|solo)(?!\w)")


#: "no more than 5" is "at most 5", and negates nothing.
_LIMITS = regex.compile(r"(?<!\w)(?:no|not)\s(?:(more)|less|fewer)\sthan(?!\w)")


@dataclass(frozen=True)
class Negations:
    """How often a text negates, with the words by which it does, and what may stand for a negation."""

    cues: Counter[str]
    words: dict[str, Counter[str]]  # a cue's spellings
    opposites: int
    only: int
    halves: Counter[str]  # "not only", "isn't it": phrases that negate as a whole or not at all
    rest: str  # the text without the phrases that negate nothing


def as_read(text: str) -> str:
    """Small letters, one blank at a time, "at most" for "no more than"."""
    return _LIMITS.sub(lambda match: "at most" if match[1] else "at least", one_blank(text.casefold()))


def negations(text: str) -> Negations:
    """The negations of a `meaning_text.plain` text."""
    text = as_read(text)
    halves = Counter(_HALVES.findall(text))
    text = _NONE.sub(" ", _HALVES.sub(" ", text))
    cues: Counter[str] = Counter()
    words: dict[str, Counter[str]] = {}
    for match in _CUES.finditer(text):
        cue = match.lastgroup or ""
        name = match[0] if cue in ("no", "foreign") else cue
        cues[name] += 1
        words.setdefault(name, Counter())[match[0]] += 1
    return Negations(cues, words, len(_OPPOSITE.findall(text)), len(_ONLY.findall(text)), halves, text)


def compare(reference: str, variant: str) -> str | None:
    """Which negations are added or missing, as a clause; None where both texts negate as often.

    Every negation counts, so that a second one in the same sentence is found. Which word negates does not
    matter: "never" may become "do not".
    """
    one, other = negations(reference), negations(variant)
    missing, added = _affirmed(one, other), _affirmed(other, one)
    if missing or added:
        return difference(missing, added)
    more = other.cues.total() - one.cues.total()
    if more == 0 or _stands_for(more, one, other) or _stands_for(-more, other, one):
        return None
    first, second = (one, other) if more > 0 else (other, one)
    shown = [quoted(word) for word in _surplus(second, first)[: abs(more)]]
    return difference([], shown) if more > 0 else difference(shown, [])


def _affirmed(one: Negations, other: Negations) -> list[str]:
    """The phrases of `one` that negate nothing and have lost their negation: "not only" that has become "only"."""
    found = []
    for phrase in one.halves - other.halves:
        bare = _affirmative(phrase)
        pattern = rf"(?<!\w){regex.escape(bare)}" + (_END if phrase.split()[0].endswith("n't") else r"(?!\w)")
        if len(regex.findall(pattern, other.rest)) > len(regex.findall(pattern, one.rest)):
            found.append(quoted(phrase))
    return found


def _affirmative(phrase: str) -> str:
    phrase = regex.sub(r"\bcan't\b", "can", regex.sub(r"\bwon't\b", "will", phrase))
    return regex.sub(r"n't\b|\b(?:not?) | not\b", "", phrase)


def _surplus(one: Negations, other: Negations) -> list[str]:
    """The negations that `one` has beyond those of `other`, spelled as only `one` does where that can be told."""
    words: list[str] = []
    for cue, count in (one.cues - other.cues).items():
        new = one.words[cue] - other.words.get(cue, Counter())
        words += [*new.elements(), *(one.words[cue] - new).elements()][:count]
    return words


def _stands_for(more: int, one: Negations, other: Negations) -> bool:
    """Whether the `more` negations of `other` are what `one` says with "opposite" or "only"."""
    if more <= 0:
        return False
    opposites, only = max(0, one.opposites - other.opposites), max(0, one.only - other.only)
    return any(more == a + 2 * b for a in range(opposites + 1) for b in range(only + 1))
