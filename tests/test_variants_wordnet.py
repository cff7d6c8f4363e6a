"""Synonyms of WordNet: from a small lexicon made here, and none where nothing is installed."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from analysis.variants import wordnet
from analysis.variants.rules import RULES, generate

LEXICON = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE LexicalResource SYSTEM "http://globalwordnet.github.io/schemas/WN-LMF-1.1.dtd">
<LexicalResource xmlns:dc="https://globalwordnet.github.io/schemas/dc/">
  <Lexicon id="tiny" label="Tiny" language="en" email="a@example.org" license="none" version="1">
    <LexicalEntry id="w1"><Lemma writtenForm="doctor" partOfSpeech="n"/><Sense id="s1" synset="y1"/></LexicalEntry>
    <LexicalEntry id="w2"><Lemma writtenForm="physician" partOfSpeech="n"/><Sense id="s2" synset="y1"/></LexicalEntry>
    <LexicalEntry id="w3"><Lemma writtenForm="medical man" partOfSpeech="n"/><Sense id="s3" synset="y1"/></LexicalEntry>
    <LexicalEntry id="w4">
      <Lemma writtenForm="bank" partOfSpeech="n"/><Sense id="s4" synset="y2"/><Sense id="s5" synset="y3"/>
    </LexicalEntry>
    <LexicalEntry id="w5"><Lemma writtenForm="shore" partOfSpeech="n"/><Sense id="s6" synset="y3"/></LexicalEntry>
    <Synset id="y1" ili="" partOfSpeech="n"/>
    <Synset id="y2" ili="" partOfSpeech="n"/>
    <Synset id="y3" ili="" partOfSpeech="n"/>
  </Lexicon>
</LexicalResource>
"""
SYNONYM = next(rule for rule in RULES if rule.name == "synonym")


@pytest.fixture
def data_directory(tmp_path: Path) -> Iterator[Path]:
    """An empty place for WordNet's data, instead of the user's."""
    import wn

    before = wn.config._data_directory, wn.config.allow_multithreading
    wn.config.data_directory, wn.config.allow_multithreading = tmp_path / "wn", True
    yield tmp_path / "wn"
    wn.config.data_directory, wn.config.allow_multithreading = before


def test_words_with_one_sense_get_their_synonyms(data_directory: Path) -> None:
    import wn

    (data_directory.parent / "tiny.xml").write_text(LEXICON, encoding="utf-8")
    wn.add(data_directory.parent / "tiny.xml", progress_handler=None)
    lookup = wordnet.synonyms()
    assert lookup("doctor") == ("physician",)
    with ThreadPoolExecutor(1) as other:
        assert other.submit(lambda: wordnet.synonyms()("physician")).result() == ("doctor",)
    assert lookup("bank") == ()  # two senses
    assert lookup("unknown") == ()
    made = generate("The doctor is at the bank.", SYNONYM, 5)
    assert [proposal.text for proposal in made.proposals] == ["The physician is at the bank."]


def test_without_data_there_are_none_and_no_folder_is_made(data_directory: Path) -> None:
    assert wordnet.synonyms()("doctor") == ()
    assert not generate("The doctor is at the bank.", SYNONYM, 5).proposals
    assert not data_directory.exists()


def test_a_broken_database_means_none(data_directory: Path) -> None:
    data_directory.mkdir()
    (data_directory / "wn.db").write_bytes(b"no database")
    assert wordnet.synonyms()("doctor") == ()
