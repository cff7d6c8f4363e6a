"""Which kinds are risky: every rewording's effect is what the engine says of the same text."""

import numpy as np
import pytest

from analysis import explore
from analysis.encoding import encode
from analysis.prompts import Prompt, PromptSet, Variant
from analysis.risky_kinds import alignment, risky_kinds
from analysis.risky_kinds_results import KindsError
from analysis.variants.rules import RULES
from tests import plain

ONE = PromptSet("Please answer the question, because she doesn't know the capital of Italy", target=" Rome", name="one")
OTHER = PromptSet("What is the capital of France?", target=None, mode="chat", name="other")
SETS = [("one", ONE), ("other", OTHER)]


def test_effects_are_what_the_engine_says_of_the_same_texts() -> None:
    lm = plain.loaded()
    found = risky_kinds(lm, SETS, count=2)
    assert found.sets == ("one", "other")
    for name, prompt_set in SETS:
        effects = [e for kind in found.kinds for e in kind.effects if e.set_name == name and not e.own_target]
        assert len(effects) > 8
        variants = tuple(Variant(effect.text) for effect in effects)
        again = explore.analyse(
            lm,
            PromptSet(prompt_set.reference, variants, target=prompt_set.target, mode=prompt_set.mode),
            explore.Caches(),
        )
        base = again.reference.trace
        assert base is not None
        for effect, result in zip(effects, again.prompts[1:], strict=True):
            trace = result.trace
            assert trace is not None
            assert effect.delta == pytest.approx(result.delta, abs=1e-4)
            moved = np.linalg.norm(trace.hidden[0, -1] - base.hidden[0, -1])
            assert effect.displacement == pytest.approx(moved, rel=1e-3)
            assert effect.flipped == (trace.next_log_probs.argmax() != base.next_log_probs.argmax())


def test_every_rule_is_there_with_its_effects_or_its_reason() -> None:
    found = risky_kinds(plain.loaded(), SETS, count=2)
    assert sorted(kind.rule for kind in found.kinds) == sorted(rule.name for rule in RULES)
    for kind in found.kinds:
        missing = sum(one.asked - one.made for one in kind.shortfalls)
        assert len(kind.effects) + missing == 2 * len(SETS)
        assert all(one.reason for one in kind.shortfalls)
        assert len({effect.text for effect in kind.effects}) == len(kind.effects)


def test_the_order_is_by_median_and_controls_come_last() -> None:
    found = risky_kinds(plain.loaded(), SETS, count=2)
    medians = [kind.summary("delta") or 0.0 for kind in found.meant]
    assert medians == sorted(medians, reverse=True)
    assert found.controls
    there = [kind.is_control for kind in found.kinds if kind.effects]
    assert there == sorted(there)


def test_the_result_depends_on_the_seed_alone() -> None:
    lm = plain.loaded()
    one, same, other = (risky_kinds(lm, SETS, count=2, seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_what_the_user_protects_in_the_first_prompt_stays() -> None:
    start = ONE.reference.index("question")
    found = risky_kinds(plain.loaded(), SETS, count=4, protected=[(start, start + len("question"))])
    texts = [effect.text for kind in found.kinds for effect in kind.effects if effect.set_name == "one"]
    assert all("question" in text for text in texts)


def test_options_in_another_order_are_scored_on_the_letter_of_the_same_answer() -> None:
    text = "Question: Which animal lays eggs?\nA. hen\nB. dog\nC. cow\nD. cat\nAnswer:"
    options = PromptSet(text, target=" A", expected="A")
    rules = [rule for rule in RULES if rule.name == "option order"]
    (kind,) = risky_kinds(plain.loaded(), [("options", options)], rules=rules, count=4).kinds
    own = [effect for effect in kind.effects if effect.own_target]
    assert own
    for effect in own:
        letter = next(line[0] for line in effect.text.splitlines() if line.endswith(". hen"))
        assert letter != "A"
        base, moved = (
            explore.analyse(plain.loaded(), PromptSet(given, target=f" {name}"), explore.Caches()).reference.trace
            for given, name in ((text, "A"), (effect.text, letter))
        )
        assert base is not None
        assert moved is not None
        assert effect.delta == pytest.approx(moved.log_prob - base.log_prob, abs=1e-4)


def test_a_set_that_cannot_be_run_is_left_out_with_a_reason() -> None:
    found = risky_kinds(plain.loaded(), [("blank", PromptSet(" ")), ("one", ONE)], count=1)
    assert found.sets == ("one",)
    assert found.left_out[0][0] == "blank"
    with pytest.raises(KindsError, match="no prompt can be compared"):
        risky_kinds(plain.loaded(), [("blank", PromptSet(" "))])
    with pytest.raises(KindsError, match="no prompt set is chosen"):
        risky_kinds(plain.loaded(), [])
    with pytest.raises(KindsError, match="no rewording of the chosen kinds"):
        risky_kinds(plain.loaded(), SETS, rules=())


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([1, 2, 3], [1, 9, 3], "modification"),
        ([1, 2, 3], [1, 2, 3, 4], "misalignment"),
        ([1, 2, 3], [2, 3], "misalignment"),
        ([1, 2, 3, 4], [2, 3, 4, 5], "misalignment"),  # as many tokens, each moved by one
        ([1, 2], [2, 1], "modification"),  # two exchanged tokens are two changes in place, by Levenshtein too
    ],
)
def test_alignment_is_a_modification_where_no_token_moves(a: list[int], b: list[int], expected: str) -> None:
    assert alignment(a, b) == expected


def test_the_measured_alignment_is_that_of_the_tokens() -> None:
    lm = plain.loaded()
    reference = encode(lm.encoder, Prompt(ONE.reference)).ids
    for kind in risky_kinds(lm, [("one", ONE)], count=2).kinds:
        for effect in kind.effects:
            ids = encode(lm.encoder, Prompt(effect.text)).ids
            assert effect.alignment == alignment(reference, ids)
            assert 0 <= effect.place <= 1


def test_the_work_can_be_stopped_and_says_how_far_it_is() -> None:
    seen: list[float] = []
    risky_kinds(plain.loaded(), [("one", ONE)], count=1, report=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1

    def stop(fraction: float) -> None:
        if fraction > 0.1:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        risky_kinds(plain.loaded(), [("one", ONE)], count=1, report=stop)
