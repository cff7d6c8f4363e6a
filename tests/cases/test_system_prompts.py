"""System prompts, the template's own turn, and instructions about the answer."""

import numpy as np
import pytest

from analysis.encoding import encode
from analysis.explore import analyse
from analysis.findings import compared
from analysis.prompts import Prompt


def joined(tokens, role):
    return "".join(tokens.text[a:b] for (a, b), r in zip(tokens.spans, tokens.roles, strict=True) if r == role)


def test_c31_a_system_prompt_is_a_stretch_of_its_own(run):
    found = run("C31")
    for label, variant in found.case.input["variants"].items():
        tokens = found.trace(label).tokens
        assert joined(tokens, "system") == variant["system"]
        assert joined(tokens, "text") == "Why is the sky blue?"
        assert set(tokens.roles) == {"template", "system", "text"}


def test_c31_without_one_the_templates_own_is_shown_as_the_templates(run):
    tokens = run("C31").trace().tokens
    assert "system" not in tokens.roles
    assert "You are a helpful AI assistant named SmolLM" in joined(tokens, "template")


def test_an_empty_system_prompt_is_an_empty_turn(default_lm):
    texts = [encode(default_lm.encoder, Prompt("Hi", mode="chat", system=system)).text for system in (None, "", "x")]
    assert "helpful" in texts[0]
    assert texts[1].startswith("<|im_start|>system\n<|im_end|>\n")
    assert texts[2] == texts[1].replace("system\n", "system\nx")


def test_c31_a_blank_at_the_end_of_a_system_prompt_is_kept(run):
    rules = run("C31").case.input["variants"]["long rules"]["system"]
    assert rules.endswith("exactly. ")
    assert rules + "<|im_end|>" in run("C31").trace("long rules").tokens.text


def test_c31_attribution_splits_into_regions(run, default_lm, caches):
    found = run("C31")
    trace = analyse(default_lm, found.case.prompt_set(), caches).prompts[1].trace
    roles = np.array(trace.tokens.roles)
    parts = {role: float(trace.gradient_x_input[roles == role].sum()) for role in ("template", "system", "text")}
    assert sum(parts.values()) == pytest.approx(float(trace.gradient_x_input.sum()), abs=1e-4)
    assert all(parts.values())


def test_c31_wordings_of_the_system_prompt_are_compared(run):
    found = run("C31")
    assert len(compared(found.analysis)) == 3
    assert [len(result.trace.tokens) for result in found.analysis.prompts] == [36, 32, 26, 226]
    assert "none changes the likeliest next token" in found.finding


def test_c62_a_rule_for_the_questions_language_favours_the_rules_own(run):
    found = run("C62")
    spanish, english = found.candidates().texts
    for label in ("English rule first", "English rule last"):
        assert found.log_prob(english, label) - found.log_prob(english) > 0.5
        assert found.log_prob(spanish, label) < found.log_prob(spanish)
        scores = found.candidates(label)
        assert int(scores.means.argmax()) == scores.texts.index(english)
    assert "The answers have 6 to 8 tokens" in found.candidate_finding
