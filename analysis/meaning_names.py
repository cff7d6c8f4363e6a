"""The names in a text, and whether another text has the same ones.

A name is a capitalised word inside a sentence; a well-known one counts wherever it stands. Countries go with their
adjectives, people and short forms: "the capital of France" and "the French capital".
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import regex

from analysis import meaning_labels
from analysis.meaning_text import Item, difference, quoted
from analysis.variants.english import FUNCTION_WORDS

_COUNTRIES = """
Afghanistan Afghan|Albania Albanian|Algeria Algerian|America American US USA U.S U.S.A|Argentina Argentine Argentinian
Armenia Armenian|Australia Australian|Austria Austrian|Azerbaijan Azerbaijani|Bangladesh Bangladeshi|Belarus Belarusian
Belgium Belgian|Bolivia Bolivian|Bosnia Bosnian|Brazil Brazilian|Britain British UK U.K Briton|Bulgaria Bulgarian
Cambodia Cambodian|Cameroon Cameroonian|Canada Canadian|Chile Chilean|China Chinese|Colombia Colombian|Congo Congolese
Croatia Croatian Croat|Cuba Cuban|Cyprus Cypriot|Czechia Czech|Denmark Danish Dane|Ecuador Ecuadorian|Egypt Egyptian
England English|Estonia Estonian|Ethiopia Ethiopian|Europe European|Finland Finnish Finn|France French|Georgia Georgian
Germany German|Ghana Ghanaian|Greece Greek|Guatemala Guatemalan|Haiti Haitian|Honduras Honduran|Hungary Hungarian
Iceland Icelandic Icelander|India Indian|Indonesia Indonesian|Iran Iranian Persian|Iraq Iraqi|Ireland Irish|Israel Israeli
Italy Italian|Jamaica Jamaican|Japan Japanese|Jordan Jordanian|Kazakhstan Kazakh|Kenya Kenyan|Korea Korean|Kuwait Kuwaiti
Latvia Latvian|Lebanon Lebanese|Libya Libyan|Lithuania Lithuanian|Luxembourg Luxembourgish|Malaysia Malaysian|Mali Malian
Malta Maltese|Mexico Mexican|Moldova Moldovan|Mongolia Mongolian|Morocco Moroccan|Nepal Nepalese Nepali
Netherlands Dutch Holland|Nicaragua Nicaraguan|Nigeria Nigerian|Norway Norwegian|Pakistan Pakistani|Panama Panamanian
Paraguay Paraguayan|Peru Peruvian|Philippines Filipino Philippine|Poland Polish Pole|Portugal Portuguese|Romania Romanian
Russia Russian|Scotland Scottish Scot|Senegal Senegalese|Serbia Serbian Serb|Singapore Singaporean|Slovakia Slovak
Slovenia Slovene Slovenian|Somalia Somali|Spain Spanish Spaniard|Sudan Sudanese|Sweden Swedish Swede
Switzerland Swiss|Syria Syrian|Taiwan Taiwanese|Tanzania Tanzanian|Thailand Thai|Tunisia Tunisian|Turkey Turkish Turk
Uganda Ugandan|Ukraine Ukrainian|Uruguay Uruguayan|Uzbekistan Uzbek|Venezuela Venezuelan|Vietnam Vietnamese
Wales Welsh|Yemen Yemeni|Zambia Zambian|Zimbabwe Zimbabwean|Africa African|Asia Asian
"""
_GROUPS = [group.casefold().split() for group in _COUNTRIES.replace("\n", "|").split("|") if group.strip()]
_OF = {name: group[0] for group in _GROUPS for name in group}
#: Other names that count at the start of a sentence too.
_MORE_NAMES = """
arabic hindi latin hebrew swahili bengali urdu tamil mandarin cantonese catalan basque esperanto yiddish
paris madrid berlin rome tokyo beijing london lisbon vienna athens cairo mumbai moscow oslo dublin warsaw prague budapest
chicago boston sydney toronto seattle amsterdam brussels copenhagen stockholm helsinki delhi shanghai milan barcelona munich
mars venus jupiter saturn uranus neptune mercury earth antarctica atlantic pacific arctic
monday tuesday wednesday thursday friday saturday sunday
january february april june july september october november december
romeo juliet hamlet macbeth othello quixote faust shakespeare goethe cervantes tolstoy dickens homer dante
einstein newton darwin tesla bohr galileo curie kepler edison mozart bach beethoven
alice bob mary john peter anna tom emma lily sarah david paul james maria michael robert thomas jane anne daniel
python java rust ruby haskell javascript
"""
_KNOWN = frozenset(_MORE_NAMES.split())
#: "united states" is two names, or one country.
_UNIONS = {"america": ("united", "states"), "britain": ("united", "kingdom", "great")}
#: Small letters make these another word.
_WORDS_TOO = (
    "polish turkey pole jordan georgia chile us finn china dane scot mercury earth python java rust ruby bob tom lily"
    " mars august homer newton may mali"
)
_WORD_TOO = frozenset(_WORDS_TOO.split())
_VERB_TOO = frozenset({"polish", "turkey", "pole", "jordan", "georgia", "chile", "us", "finn"})

_WORD = regex.compile(r"(?<![\p{L}\p{M}\p{N}])(?:(?:\p{Lu}\.)+\p{Lu}?(?!\w)|\p{L}[\p{L}\p{M}\p{N}]*(?:['&]\p{L}+)*)")
_MENTIONS = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:\.(?=\p{L}\b)[\p{L}])*")
_JOINED = regex.compile(r"(?<!\p{L})\p{L}++(?:['&]\p{L}++)+")
#: A letter that an answer is to be.
_LETTER = regex.compile(
    r"\b(?i:with|option|choice|letter|label|answer|only|choose|pick|say|reply|respond|is|be)\s[(\[]?(\p{Lu})(?![\w'])(?!\s\p{Ll})"
)
_LONE = regex.compile(r"(?<![\w'])\p{Lu}(?![\w'])")
_POSSESSIVE = regex.compile(r"'s?$")
_TRANSLATION = regex.compile(r"\bfrom (\p{L}+) (?:in)?to (\p{L}+)\b", regex.IGNORECASE)
_ENGLISH_ONLY = FUNCTION_WORDS - {"may", "can", "will", "am", "us", "do", "was", "about", "in", "so", "an"}
_MORE_WORDS = (
    "yes no true false please thanks thank ok okay none nothing nobody without must only i ai id hello hi hey dear note"
    " answer question let's don't doesn't isn't aren't can't won't what's who's it's that's there's here's i'm i've i'd"
    " i'll you're cannot"
)
_NO_NAMES = FUNCTION_WORDS | frozenset(_MORE_WORDS.split())
_GERMAN_WORDS = "der die das und ist nicht ein eine einen den dem von wie welche welcher wer ich auf mit für zu"
_GERMAN = frozenset(_GERMAN_WORDS.split())


@dataclass(frozen=True)
class Name:
    start: int
    end: int
    shown: str
    key: str  # small letters, the country of an adjective
    loose: bool = False  # may be missing, though not become another


def names(text: str) -> list[Name]:
    """The names of a `meaning_text.plain` text, in their order.

    A well-known name in small letters is a loose one.
    Not names: words in a text in capitals or with a capital at every word, German nouns, labels before a colon.
    """
    words = list(_WORD.finditer(text))
    inside = [_is_inside(text, match.start()) for match in words]
    capitals_count = _capitals_tell(text, words, inside)
    found = []
    for match, within in zip(words, inside, strict=True):
        word = _POSSESSIVE.sub("", match[0]).rstrip(".")
        small = word.casefold()
        if word[0].islower():
            if (small in _OF or small in _KNOWN) and small not in _WORD_TOO:
                found.append(Name(match.start(), match.start() + len(word), word, _OF.get(small, small), loose=True))
            continue
        if len(word) < 2 or not word[0].isupper() or not _NO_NAMES.isdisjoint((small, small.split("'")[0])):
            continue
        label = text[match.end() : match.end() + 1] == ":"
        known = (small in _OF or small in _KNOWN) and (within or label or small not in _VERB_TOO)
        if known or (within and capitals_count and not label):
            key = _OF.get(small, small)
            found.append(Name(match.start(), match.start() + len(word), word, key, loose=label and not within))
    return found


def compare(reference: str, variant: str, labels: frozenset[str] = frozenset()) -> str | None:
    """Which names are missing or added, as clauses; None where both texts name the same.

    The other text may have a name in small letters or at the start of a sentence. Of "from Spanish to English"
    one is enough, and a field "Spanish:" may be spelled otherwise, where no other name is there instead.
    `labels` are option labels that differ on purpose.
    """
    missing = _missing(reference, variant, labels)
    added = _missing(variant, reference, labels)
    if letters := _letters(reference, variant, labels):
        return letters
    if not (missing and added):
        missing, added = ([name for name in some if not name.loose] for some in (missing, added))
    return difference([quoted(name.shown) for name in missing], [quoted(name.shown) for name in added])


def _letters(reference: str, variant: str, labels: frozenset[str]) -> str | None:
    """A letter to answer with, "Reply with B", that has become another one."""
    texts = [meaning_labels.unlabelled(text) for text in (reference, variant)]
    asked = [dict.fromkeys(_LETTER.findall(text)) for text in texts]
    lone = [set(_LONE.findall(text)) for text in texts]
    missing = [letter for letter in asked[0] if letter not in lone[1] and letter.casefold() not in labels]
    added = [letter for letter in asked[1] if letter not in lone[0] and letter.casefold() not in labels]
    return difference(list(map(quoted, missing)), list(map(quoted, added))) if missing and added else None


def items(text: str) -> list[Item]:
    return [Item(name.start, name.end, name.shown, name.key) for name in names(text)]


def _missing(text: str, other: str, labels: frozenset[str]) -> list[Name]:
    """The names of `text` that `other` does not mention, each once; strict ones go before loose ones."""
    mentioned = _mentioned(other)
    missing: dict[str, Name] = {}
    for name in sorted(names(text), key=lambda name: name.loose):
        if name.key not in labels and name.key not in mentioned:
            missing.setdefault(name.key, name)
    for match in _TRANSLATION.finditer(text):
        pair = [_OF.get(language.casefold(), language.casefold()) for language in match.groups()]
        absent = [language for language in pair if language in missing]
        if len(absent) == 1:
            missing[absent[0]] = replace(missing[absent[0]], loose=True)
    return sorted(missing.values(), key=lambda name: name.start)


def _mentioned(text: str) -> frozenset[str]:
    """Every word of a text, small, and the countries of those words."""
    words = {word.rstrip(".") for word in _MENTIONS.findall(text.casefold())}
    words |= set(_JOINED.findall(text.casefold()))
    words |= {word.removesuffix("s") for word in words if len(word) > 3}
    words |= {_OF[word] for word in words if word in _OF and (word != "us" or regex.search(r"\bUS\b", text))}
    for country, parts in _UNIONS.items():
        if country in words:
            words |= set(parts)
        elif words.issuperset(parts[:2]):
            words.add(country)
    return frozenset(words)


def _is_inside(text: str, start: int) -> bool:
    """Whether a word stands inside a sentence: after a word, a comma, or a joining mark."""
    before = start - 1
    while before >= 0 and text[before] in " \t\u00a0\u202f":
        before -= 1
    if before < 0:
        return False
    mark = text[before]
    if mark == "'":  # a mark of quotation, or an apostrophe after an s
        return (before == start - 1 or text[before - 1 : before] not in ".?!…") and _is_inside(text, before)
    return (
        mark.isalnum() or mark in ",&%" or (mark == "-" and before == start - 1 and text[before - 1 : before].isalnum())
    )


def _capitals_tell(text: str, words: Sequence["regex.Match[str]"], inside: Sequence[bool]) -> bool:
    letters = [character for character in text if character.isalpha()]
    if all(character == character.upper() for character in letters):
        return False
    small = {match[0].casefold() for match in words}
    if len(small & _GERMAN) >= 2 and not small & {"the", "is", "of"}:
        return False
    within = [match[0] for match, is_inside in zip(words, inside, strict=True) if is_inside]
    capitals = [word for word in within if word[0].isupper()]
    titled = any(word.istitle() and word.casefold() in _ENGLISH_ONLY for word in capitals if len(word) > 1)
    return not (titled and 2 * len(capitals) >= len(within))
