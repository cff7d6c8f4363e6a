"""The sentence over the Variants page, and the names of what is kept."""

import pytest

from analysis.judgement import Judged
from analysis.meaning import Check
from analysis.variant_findings import labels, proposals
from analysis.variants.results import Proposal

FAILS = (Check("negations", False, "'not' is added"),)


def judged(rule="typo", kind="typo", checks=(), similarity=None, verdict=None, chosen=None):
    return Judged(Proposal("text", rule, kind, ()), "text", checks, similarity, verdict, chosen)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ([], "No rewording of the chosen kinds could be made of this prompt."),
        ([judged()], "1 rewording of 1 kind: it passes every hard check."),
        ([judged(), judged()], "2 rewordings of 1 kind: all pass the hard checks of their meaning."),
        ([judged(), judged(checks=FAILS)], "2 rewordings of 1 kind: 1 of 2 may mean something else."),
        ([judged(checks=FAILS, verdict=True)], "1 rewording of 1 kind: it passes every hard check."),
        (
            [judged(), judged("negation", "negative control", FAILS), judged("irrelevant suffix", "control")],
            "3 rewordings of 3 kinds: it passes every hard check; 1 negative control changes the meaning on purpose;"
            " 1 control adds what has nothing to do with it.",
        ),
        ([judged(similarity=0.5)], "1 rewording of 1 kind: it passes every hard check; 1 is less similar than 0.80."),
    ],
)
def test_the_sentence_counts_rewordings_doubts_and_controls(found, sentence):
    assert proposals(found, "a prompt") == sentence


@pytest.mark.parametrize(
    ("one", "kept"),
    [
        (judged(), True),
        (judged(checks=FAILS), False),
        (judged(checks=FAILS, verdict=True), True),
        (judged(verdict=False), False),
        (judged("negation", "negative control", FAILS), True),
        (judged("self-paraphrase", "self-paraphrase"), False),
        (judged("self-paraphrase", "self-paraphrase", verdict=True), True),
        (judged(checks=FAILS, chosen=True), True),
        (judged(chosen=False), False),
    ],
)
def test_what_nobody_chose_is_kept_where_it_passes(one, kept):
    assert one.kept is kept


def test_labels_are_new_in_the_set():
    assert labels([judged(), judged()], ["typo 1", "x"]) == ["typo 2", "typo 3"]
