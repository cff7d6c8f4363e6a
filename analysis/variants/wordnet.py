"""Synonyms of WordNet through the `wn` library, where its data is installed; without it there are none."""

import functools
import re
from collections.abc import Callable, Sequence
from pathlib import Path

Lookup = Callable[[str], Sequence[str]]

_PLAIN = re.compile(r"[a-z]{3,20}")
_PARTS = ("n", "v", "a", "r")


def synonyms() -> Lookup:
    """The synonyms of a word; none where the library, its database or an English lexicon is missing.

    A word must have one sense in all, whatever its part of speech, so that nothing has to be told apart, and be written as
    the dictionary has it: no inflection is undone. Synonyms are single words in small letters.
    """
    lexicon = _english_lexicon()
    if lexicon is None:
        return lambda word: ()

    @functools.lru_cache(2_000)
    def lookup(word: str) -> tuple[str, ...]:
        if not _PLAIN.fullmatch(word):
            return ()
        try:
            synsets = [one for part in _PARTS for one in lexicon.synsets(word, pos=part)] + lexicon.synsets(
                word, pos="s"
            )
            if len(synsets) != 1:
                return ()
            forms = [form for form in synsets[0].lemmas() if form != word and _PLAIN.fullmatch(form)]
        except Exception:
            return ()
        return tuple(dict.fromkeys(forms))

    return lookup


def _english_lexicon():  # type: ignore[no-untyped-def]
    """A `wn.Wordnet` of the installed English lexicons, or None.

    `wn` makes its database as soon as it is asked anything, so it is asked only where one is there.
    """
    try:
        import wn

        if not Path(wn.config.database_path).exists():
            return None
        wn.config.allow_multithreading = True  # sessions share the connection, and only read
        lexicons = wn.lexicons(lang="en")
        if not lexicons:
            return None
        return wn.Wordnet(" ".join(one.specifier() for one in lexicons), expand="")
    except Exception:  # a broken database is no reason to fail: there are no synonyms then
        return None
