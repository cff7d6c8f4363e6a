"""The default model against what independent implementations computed.

The values and how they were made are described beside them, in reference/README.md. Their Δ points
from the second prompt to the first, ours from the first to the second.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from analysis import divergence, taylor
from analysis.answers import answers
from analysis.encoding import encode, encode_target
from analysis.model import LanguageModel
from analysis.prompts import Prompt
from analysis.responses import response_log_probs
from analysis.results import Trace
from analysis.sensitivity import posix
from analysis.trace import Item, traces

REFERENCE = Path(__file__).parents[2] / "shared" / "reference"
SETS = ("arc_challenge", "openbookqa")
TEMPLATES = 12
LAYERS = 31


@pytest.fixture(scope="session")
def lm(default_lm: LanguageModel) -> LanguageModel:
    return default_lm


@dataclass(frozen=True, eq=False)
class Known:
    """A reference set: its prompts, question by question, and what is known of them and of their pairs."""

    items: list[Item]
    log_probs: np.ndarray  # prompt
    pairs: dict[str, np.ndarray]  # pair, or pair × layer
    first: np.ndarray  # place of the pair's first prompt
    second: np.ndarray


def known(lm: LanguageModel, name: str) -> Known:
    lines = (REFERENCE / f"{name}_prompts.jsonl").read_text(encoding="utf-8").splitlines()
    items, log_probs = [], []
    for row in map(json.loads, lines):
        for template in range(1, TEMPLATES + 1):
            prompt = Prompt(row["prompts"][f"prompt_{template}"], special_tokens=False)
            tokens = encode(lm.encoder, prompt)
            items.append(Item(tokens, encode_target(lm.encoder, prompt, tokens, row["target"])))
            log_probs.append(row["log_prob"][f"prompt_{template}"])
    with np.load(REFERENCE / f"{name}_pairs.npz") as file:
        pairs = dict(file)
    first, second = (TEMPLATES * pairs["question"] + pairs[key] - 1 for key in ("prompt_0", "prompt_1"))
    return Known(items, np.array(log_probs), pairs, first, second)


@dataclass(frozen=True, eq=False)
class Run:
    """A reference set with our traces, and our pairs in the reference's order."""

    known: Known
    traces: list[Trace]
    pairs: list[taylor.TokenPair]

    def of_pairs(self, name: str) -> np.ndarray:
        return np.array([getattr(pair, name) for pair in self.pairs])


@pytest.fixture(scope="session", params=SETS)
def run(request: pytest.FixtureRequest, lm: LanguageModel) -> Run:
    """Traced once, in the last-token mode."""
    given = known(lm, request.param)
    found = [trace for trace in traces(lm, given.items, attributions=False) if isinstance(trace, Trace)]
    pairs = [taylor.compare(found[a], found[b]) for a, b in zip(given.first, given.second, strict=True)]
    return Run(given, found, pairs)


arc_challenge = pytest.mark.parametrize("run", ["arc_challenge"], indirect=True)


def close(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Within 1 %, or 1e-5 where the values are tiny."""
    return np.abs(found - wanted) <= np.maximum(0.01 * np.abs(wanted), 1e-5)


def test_log_probs_match(run):
    found = np.array([trace.log_prob for trace in run.traces])
    assert np.abs(found - run.known.log_probs).max() <= 1e-3


def test_every_pair_of_templates_is_there(run):
    assert len(run.pairs) == 12 * TEMPLATES * (TEMPLATES - 1) // 2
    assert np.abs(run.of_pairs("delta") + run.known.pairs["delta_log_prob"]).max() <= 1e-3


def test_gradient_norms_match_at_every_layer(run):
    norms = np.array([np.linalg.norm(run.traces[a].gradient[0], axis=-1) for a in run.known.first])
    assert norms.shape[1] == LAYERS
    assert close(norms, run.known.pairs["grad_norm"]).all()


def test_distances_of_states_match_at_every_layer(run):
    assert close(run.of_pairs("distance"), run.known.pairs["delta_h_norm"]).all()


def test_taylor_estimates_match_at_every_layer(run):
    error = np.abs(run.of_pairs("taylor") + run.known.pairs["taylor"])
    assert (error <= 0.01 * run.of_pairs("bound") + 1e-5).all()


def test_deltas_lie_in_the_certified_interval(run):
    delta = run.of_pairs("delta")
    assert (run.of_pairs("lower") - 1e-4 <= delta).all()
    assert (delta <= run.of_pairs("upper") + 1e-4).all()
    assert (np.abs(delta) <= run.of_pairs("certified") + 1e-4).all()


def test_the_ends_of_the_interval_are_divergences(run):
    for pair, a, b in zip(run.pairs, run.known.first, run.known.second, strict=True):
        p, q = run.traces[a].next_log_probs, run.traces[b].next_log_probs
        assert pair.upper == pytest.approx(pair.delta + divergence.kl(p, q), abs=1e-3)
        assert pair.lower == pytest.approx(pair.delta - divergence.kl(q, p), abs=1e-3)


def test_no_bound_is_violated_at_the_last_layer(run):
    assert sum(pair.violations[-1] for pair in run.pairs) == 0


@arc_challenge
def test_bounds_are_violated_at_early_layers(run):
    violations = np.array([pair.violations for pair in run.pairs]).sum(axis=0)
    assert np.abs(violations[[0, 1, 5, 15, 30]] - [294, 206, 57, 11, 0]).max() <= 2
    means = run.of_pairs("bound").mean(axis=0)
    np.testing.assert_allclose(means[[0, 1, 12, 25, 30]], [18, 55, 75, 36, 68], atol=0.6)


@arc_challenge
def test_other_ways_to_the_same_numbers(lm, run):
    """Alone, in reverse order, and with attributions, on the first question's templates."""
    items, expected = run.known.items[:TEMPLATES], run.traces[:TEMPLATES]
    alone = [traces(lm, [item], attributions=False)[0] for item in items]
    backwards = traces(lm, items[::-1], attributions=False)[::-1]
    attributed = traces(lm, items, attributions=True)
    for others in (alone, backwards, attributed):
        for other, trace in zip(others, expected, strict=True):
            assert isinstance(other, Trace)
            assert other.log_prob == pytest.approx(trace.log_prob, abs=1e-4)
            for found, wanted in ((other.gradient, trace.gradient), (other.hidden, trace.hidden)):
                error = np.linalg.norm(found - wanted, axis=-1)
                assert (error <= 1e-3 * np.linalg.norm(wanted, axis=-1) + 1e-6).all()


@pytest.mark.parametrize("case", json.loads((REFERENCE / "posix.json").read_text()), ids=lambda case: case["name"])
def test_responses_and_posix_match(lm, case):
    prompts = [encode(lm.encoder, Prompt(text)).ids for text in case["prompts"]]
    responses = [answer.ids for answer in answers(lm, prompts, 5)]
    assert [list(ids) for ids in responses] == case["response_ids"]
    log_probs = response_log_probs(lm, prompts, responses)
    np.testing.assert_allclose(log_probs, case["log_prob"], atol=1e-3)
    assert posix(log_probs, [len(ids) for ids in responses]) == pytest.approx(case["posix_paper_formula"], abs=1e-3)
