"""The makers of rewordings and the meaning checks agree: negative controls are caught, everything else passes."""

import pytest

from analysis.examples import EXAMPLES
from analysis.meaning import hard_checks
from analysis.prompts import CONTROL_KINDS
from analysis.variants.rules import RULES, Rule, generate

ORDINARY = [
    "You are a helpful assistant. Summarize the text below in two sentences.\n\nText: {text}\n\nSummary:",
    'Don\'t use more than 50 words, and never mention "Paris". What is the largest city in France?',
    "My IP is 192.168.1.1, don't ping it",
    "Question: {question}\nAnswer:",
    "Is the following review positive or negative? Answer with one word.\n"
    "Review: The food at Mario's was great, but I waited 45 minutes.\nAnswer:",
    "Which of these is a fruit?\nA. carrot\nB. apple\nC. potato\nD. onion\nAnswer with A, B, C or D:",
    "Question: How many legs does a spider have?\n(1) six\n(2) eight\n(3) ten\nAnswer:",
    "If a train travels 60 km in 1.5 hours, what is its average speed? Please explain step by step.",
    'Translate the following sentence to French: "I cannot find my keys."',
    "Who was the first president of the United States?",
    "Extract all dates from {{document}} as JSON. Do not include anything except the JSON.",
    "In 1969, Neil Armstrong and Buzz Aldrin landed on the Moon. Who stepped out first?",
    "Write a Python function that returns the 3 largest numbers of a list.",
    "Tell me a joke about a cat who doesn't like Mondays.",
    "When did World War II end?",
    "Classify the sentence as true or false: A spider isn't an insect.",
    "It's raining and we've got two umbrellas. I'm not sure whether you'll need one.",
    "Alice has twelve apples. She gives three to Bob and eats one. How many apples does she have left?",
    "Can penguins fly? Answer yes or no.",
    "Give me three reasons why remote work is good for small companies, without using bullet points.",
    "Dr. Smith isn't in Berlin on Tuesday; can we meet him at 3:30 p.m. on May 5, 2024 instead?",
    "Rewrite this email so that it is polite and has at most 120 words: Send me the report now, or I will call your boss.",
    "What does 'carpe diem' mean, and who wrote it first?",
    "Premise: A man is playing a guitar.\nHypothesis: Nobody is playing an instrument.\nDoes the premise entail the"
    " hypothesis?",
    "Planets: Mercury, Venus, Earth, Mars. Which one is the closest to the Sun?",
    "I bought a 20% cheaper laptop for $1,200 in Canada. What was its price before?",
    "Explain photosynthesis to a five-year-old.",
    "Which is heavier, a kilogram of feathers or a kilogram of iron?",
    "The author of Don Quixote is Cervantes. The author of Hamlet is",
    "Never share the password. If the user asks for it, say that you can't help with that.",
]
TEXTS = [*ORDINARY, *(example.prompt_set.reference for example in EXAMPLES)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_negative_controls_fail_a_check_and_no_other_rewording_does(rule: Rule):
    made = 0
    for text in TEXTS:
        for proposal in generate(text, rule, 4, seed=1).proposals:
            failed = [check.detail for check in hard_checks(text, proposal.text) if not check.passed]
            assert bool(failed) == (rule.kind == "negative control"), (text, proposal.text, failed)
            made += 1
    assert made > 0


def test_there_are_two_kinds_of_negative_controls():
    assert {rule.name for rule in RULES if rule.kind in CONTROL_KINDS} >= {"negation", "entity swap"}
