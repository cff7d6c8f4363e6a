"""Slips of the keyboard: neighbouring keys, two letters exchanged, one left out, one doubled."""

import random
import re
from collections.abc import Iterator

from analysis.variants import english
from analysis.variants.source import MAX_PLACES, Change, Piece, Refused, Source

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_WORD = re.compile(r"(?<![\w'’\u0300-\u036f\-])[A-Za-z]{4,24}(?![\w'’\u0300-\u036f\-])")
#: Words whose slip would change the meaning: negations and numbers, also of other languages.
_SPARED = english.words(
    "none never nothing nobody nowhere neither without cannot except unless hardly barely nicht kein keine keinen nichts"
    " niemals ohne jamais rien sans aucun aucune nunca nada ningún ninguna ninguno nessun nessuno niente senza nunca nenhum"
    " zero three four five seven eight nine eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
    " twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion first second third half twice"
)
#: Words that a slip of another word must not make.
_WORDS = english.words(
    "form from then than them were where there three their they quite quiet trail trial united untied causal casual being"
    " begin bring been seen seem sacred scared angel angle diary dairy lost loss least last list most must best beast"
    " thing think thin though through thought tough were wear will well what when went want while whole whose word world"
    " work walk talk take tale tell tall able table also another ever every even over cover some same sane song sing"
    " good god food flood blood hold hole hope home come came game name sold sole tool pool poll pull full fill fell"
    " feel feet felt left life like line link love live lives leave lease reset rest reach react read real heat head here"
    " hear heart earth tried tired post past paste part party port sport spot stop step steep sleep state stats start"
    " sort short shot shoot shut just lust dust trust test text next nest need seed feed deed died dead deal meal mean"
    " marital martial clam calm exits exist bread beard broad board bored fried fired finds"
    " wide wife wise pint pints paint wand warn warm worm bear bare pong ping pine"
    " pins pens coat cost cast fine find fiend field filed"
)


def typos(source: Source, rng: random.Random) -> Iterator[Change]:
    """A slip in one word, or in up to three of a longer text.

    Words of four letters or more keep their first and last; names, numbers, negations and words in capitals are spared,
    and no slip makes another common word.
    """
    text = source.text
    places = [match.span() for match in _WORD.finditer(text) if _usable(source, *match.span())]
    if not places:
        raise Refused("the text has no word of four letters or more that is no name, number or negation")
    if len(places) > MAX_PLACES:
        places = [places[index] for index in sorted(rng.sample(range(len(places)), MAX_PLACES))]
    slips = [[(start, end, after) for after in _slips(text[start:end])] for start, end in places]
    slips = [alternatives for alternatives in slips if alternatives]
    singles = [piece for alternatives in slips for piece in alternatives]
    rng.shuffle(singles)
    most = min(3, len(slips) // 4 + 1)
    if most == 1:
        yield from (Change((piece,)) for piece in singles)
        return
    for piece in singles:
        several = rng.randint(1, most)
        others = [other for other in rng.sample(slips, several) if other[0][0] != piece[0]][: several - 1]
        pieces: list[Piece] = [piece, *(rng.choice(other) for other in others)]
        yield Change(tuple(pieces))


def _usable(source: Source, start: int, end: int) -> bool:
    word = source.text[start:end]
    plain = word.casefold()
    if plain in _SPARED or not source.free(start, end) or not (word.islower() or word.istitle()):
        return False
    return word.islower() or (source.starts_sentence(start) and plain in english.KNOWN)


def _slips(word: str) -> list[str]:
    """All slips of `word`, in the order of its letters."""
    found = []
    for place in range(1, len(word) - 1):
        letter = word[place]
        if place + 1 < len(word) - 1 and letter != word[place + 1]:
            found.append(word[:place] + word[place + 1] + letter + word[place + 2 :])
        found.append(word[:place] + word[place + 1 :])
        found.append(word[:place] + letter + word[place:])
        found += [word[:place] + key + word[place + 1 :] for key in _neighbours(letter)]
    known = english.KNOWN | _WORDS
    return [slip for slip in dict.fromkeys(found) if slip != word and slip.casefold() not in known]


def _neighbours(letter: str) -> str:
    """The keys left and right of a letter, and the two that touch it above and below."""
    for number, row in enumerate(_ROWS):
        place = row.find(letter)
        if place >= 0:
            near = row[max(0, place - 1) : place] + row[place + 1 : place + 2]
            if number:
                near += _ROWS[number - 1][place : place + 2]
            if number + 1 < len(_ROWS):
                near += _ROWS[number + 1][max(0, place - 1) : place + 1]
            return near
    return ""
