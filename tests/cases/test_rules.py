"""B1 to B9: what is right in every case, on inputs of other scripts, signs and sizes."""

import unicodedata
from dataclasses import replace

import numpy as np
import pytest
import torch

from analysis import findings
from analysis.encoding import encode, encode_target
from analysis.explore import Caches, analyse, candidate_scores, rank
from analysis.limits import MAX_VARIANTS
from analysis.model import assemble
from analysis.prompt_files import dump_json, load_json
from analysis.prompts import Prompt, PromptSet, Variant
from analysis.report import to_csv
from analysis.results import Answer
from analysis.sensitivity import compared, sensitivity
from analysis.text import describe
from analysis.tokens import cells, graphemes, plotly_text, shown
from tests import tiny

TEXTS = {
    "Thai": "สวัสดีครับ ยินดีต้อนรับ น้ำ",
    "Devanagari conjuncts": "क्षत्रिय और स्त्री ज्ञान",
    "Arabic with diacritics": "بِسْمِ ٱللَّهِ ٱلرَّحْمَٰنِ",
    "Hebrew and digits": "בשנת 1948, ב-14 במאי",
    "Hangul": "한국어 텍스트",
    "family": "👨\u200d👩\u200d👧\u200d👦 and 👍🏽",
    "flags": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f or 🇫🇷",
    "CR LF": "Q: a\r\nA: b\r\n",
    "form feed": "page one\x0cpage two",
    "NUL": "a\x00b",
    "line separator": "one\u2028two\u2029three",
    "zero width": "Fra\u200bnce\u200c \u2060is",
    "bidirectional controls": "a\u202eb\u2066c\u2069",
    "decomposed": "cafe\u0301 A\u030angstro\u0308m",
    "ligatures and fractions": "ﬁve ½ Ⅷ ﬀ",
    "blanks": "  two  before,\u00a0\u3000 after \t ",
    "markup": "<script>alert(1)</script> **b** $x$ :red[x] `c` # h &amp; <img src=x>",
    "format fields": "{} {0} {{a}} %s %d ${x} \\n \\u0041",
    "private and unassigned": "\ue000 \U000f0000 \u0378",
    "very long word": "Donaudampfschifffahrtsgesellschaft" * 40,
}
every_text = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())

CHANGES = {
    "a space at the end": lambda text: text + " ",
    "a space at the beginning": lambda text: " " + text,
    "a doubled space": lambda text: text.replace(" ", "  ", 1),
    "a no-break space": lambda text: text.replace(" ", "\u00a0", 1),
    "a tab": lambda text: text.replace(" ", "\t", 1),
    "a newline at the end": lambda text: text + "\n",
    "CR LF for a newline": lambda text: text.replace("\n", "\r\n", 1),
    "a zero-width space": lambda text: text[:2] + "\u200b" + text[2:],
    "a soft hyphen": lambda text: text[:2] + "\u00ad" + text[2:],
    "a byte order mark": lambda text: "\ufeff" + text,
    "a Cyrillic letter": lambda text: text.replace("a", "\u0430", 1),
    "a curly apostrophe": lambda text: text.replace("'", "\u2019", 1),
    "an ellipsis": lambda text: text.replace("...", "…", 1),
}


@pytest.fixture(scope="module")
def small():
    return assemble(tiny.network("llama"), tiny.tokenizer(), "tiny")


# B1: text is scored as typed


@every_text
def test_b1_a_text_is_read_as_it_was_typed(default_lm, text):
    encoder = default_lm.encoder
    completion = encode(encoder, Prompt(text, special_tokens=False))
    assert completion.text == text
    assert encoder.full.decode(list(completion.ids), skip_special_tokens=False) == text
    chat = encode(encoder, Prompt(text, mode="chat", system=text, prefill=text, control_tokens=False))
    assert chat.text.count(text) == 3
    assert encoder.full.decode(list(chat.ids), skip_special_tokens=False) == chat.text


@every_text
def test_b1_a_text_goes_through_files_and_tables_unchanged(small, text):
    prompt_set = PromptSet(text, (Variant(text + "!", target=text[:3]),), target="x")
    assert load_json(dump_json(prompt_set), "set") == prompt_set


# B2: every difference can be seen


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_b2_a_small_change_shows(change):
    text = "It's a capital\nof France ... is it"
    changed = change(text)
    assert changed != text
    assert shown(changed) != shown(text) or describe(changed) != describe(text)
    if not describe(changed):  # then it is seen: a blank at an end, or a sign of its own
        assert (
            unicodedata.normalize("NFKC", shown(changed)) != unicodedata.normalize("NFKC", shown(text))
            or "…" in changed
        )


@every_text
def test_b2_every_character_shows_once(default_lm, text):
    tokens = encode(default_lm.encoder, Prompt(text, special_tokens=False))
    made = cells(tokens)
    assert "".join(cell.text for cell in made) == text
    assert [sign for cell in made for sign in graphemes(cell.text)] == graphemes(text)
    for sign in shown(text):
        assert not unicodedata.category(sign).startswith("C") or sign in "\u200c\u200d" or ord(sign) >= 0xE0020


# B3: ids are joined, never encoded anew


@pytest.mark.parametrize(
    ("prompt", "target"),
    [
        ("The capital of France is", " Paris"),
        ("The capital of France is ", "Paris"),
        ("The capital of France is ", " Paris"),
        ("import num", "py"),
        ("print", "f"),
        ("1 + 1 = ", "2"),
        ("เมืองหลวง", "ของ"),
        ("Answer:\n", "\nA"),
        ("don", "'t"),
    ],
)
def test_b3_a_note_stands_exactly_where_the_joined_text_has_other_tokens(default_lm, caches, prompt, target):
    made = analyse(default_lm, PromptSet(prompt, special_tokens=False, target=target), caches, attributions=False)
    trace = made.reference.trace
    alone = default_lm.encoder.full.encode(prompt, add_special_tokens=False).ids
    together = default_lm.encoder.full.encode(prompt + target, add_special_tokens=False).ids
    assert list(trace.tokens.ids) == alone
    said = " ".join(note.text for note in made.reference.notes)
    noted = "ends inside a token" in said or "splits into other tokens" in said
    assert noted == (list(trace.tokens.ids + trace.target.ids) != together)


def test_b3_the_score_is_that_of_the_joined_ids(default_lm, caches):
    made = analyse(default_lm, PromptSet("import num", target="py as np"), caches, attributions=False)
    trace = made.reference.trace
    ids = [*trace.tokens.ids, *trace.target.ids]
    with torch.no_grad():
        logs = torch.log_softmax(default_lm.network.model(torch.tensor([ids])).logits[0].double(), -1)
    expected = sum(float(logs[len(trace.tokens) - 1 + k, index]) for k, index in enumerate(trace.target.ids))
    assert trace.log_prob == pytest.approx(expected, abs=1e-3)


# B4: the target's tokens, and its other form


@pytest.mark.parametrize(
    ("prompt", "target"),
    [
        ("The capital of France is", " Paris"),
        ("The capital of France is", "Paris"),
        ("Q: What is the capital of Italy?\nA:\n", " Rome"),
        ("The capital of India is", "New Delhi"),
        ("The capital of India is", " New Delhi"),
        ("1, 2, 3, 4,", "5"),
        ("def add(a, b):\n    return", "a + b"),
    ],
)
def test_b4_the_other_form_is_named_exactly_where_it_is_one_nat_likelier(default_lm, caches, prompt, target):
    other = target[1:] if target.startswith(" ") else " " + target
    prompt_set = PromptSet(prompt, target=target, candidates=(target, other))
    made = analyse(default_lm, prompt_set, caches, attributions=False)
    own, others = candidate_scores(default_lm, made, caches)[0].sums
    said = [note.text for note in made.notes if "likelier than" in note.text]
    assert bool(said) == (others - own > 1)
    if said:
        assert f"is {others - own:.1f} nats likelier" in said[0]
    assert made.target.text == target  # a hint, not a change


def test_b4_the_tokens_of_a_target_need_no_run(default_lm):
    prompt = Prompt("The capital of India is")
    target = encode_target(default_lm.encoder, prompt, encode(default_lm.encoder, prompt), " New Delhi")
    assert target.pieces == (" New", " Delhi")


# B5: stable is not good by itself


def answers(*texts):
    return [Answer(text, (1,), (text,), (-0.1,), True) for text in texts]


def test_b5_an_unlikely_target_is_not_called_stable(default_lm, caches):
    variants = (Variant("The capital city of France is"),)
    made = analyse(
        default_lm, PromptSet("The capital of France is", variants, target=" penguin"), caches, attributions=False
    )
    assert "unlikely after every wording" in made.notes[0].text
    assert "a small change is not a stable answer" in findings.explore(made)
    for result in made.prompts:
        assert rank(result.trace) > 100


def test_b5_an_answer_that_is_wrong_everywhere_is_said_to_be(small):
    variants = (Variant("b"), Variant("c", kind="negative control"))
    made = analyse(small, PromptSet("a", variants, target="x", expected="Rome"), Caches())
    wrong = findings.explore(made, answers("Paris", "Paris", "Rome"))
    assert "it does not change the answer" in wrong
    assert 'The answer is wrong after every one of them (expected: "Rome").' in wrong
    assert "wrong" not in findings.explore(made, answers("Rome", "Paris", "Rome"))
    assert "wrong" not in findings.explore(made)
    assert sensitivity(made, answers("Paris", "Paris", "Rome")).any_right is False


# B6: text is literal


@every_text
def test_b6_charts_draw_a_text_and_not_its_markup(text):
    drawn = plotly_text(text)
    assert "<" not in drawn.replace("<br>", "")
    assert "$" not in drawn


def test_b6_sentences_quote_a_text_as_it_is(small):
    label, target = "**b** $x$ :red[x]", "<b>{0}</b>"
    made = analyse(small, PromptSet("a", (Variant("b", label=label), Variant("b")), target=target), Caches())
    assert f'log p("{target}")' in findings.explore(made)
    assert f"same tokens as “{label}”" in made.prompts[2].notes[0].text


# B7: controls and other targets


def test_b7_controls_and_rows_with_other_targets_are_left_out_and_counted(small):
    variants = (
        Variant("two"),
        Variant("three", kind="control"),
        Variant("four", target="other"),
        Variant("five", target="x"),
    )
    made = analyse(small, PromptSet("one", variants, target="x"), Caches())
    assert [result.label for result in findings.compared(made)] == ["rewording 1", "rewording 4"]
    assert "Left out: 1 on their own target, 1 controls." in findings.explore(made)
    taken = compared(made)
    assert taken.places == (0, 1, 4)
    assert (taken.left_out.controls, taken.left_out.own_target) == (1, 1)
    alone = analyse(small, PromptSet("one", (variants[0], variants[3]), target="x"), Caches())
    assert sensitivity(made).spread == pytest.approx(sensitivity(alone).spread, abs=1e-5)
    assert "a control that changes the meaning" in made.prompts[2].notes[0].text
    assert "compared on its own target 'other'" in made.prompts[3].notes[0].text


# B8 is in test_duplicates

# B9: one failing row


FAILING = {
    "too many tokens": ("one two " * 600, "tokens; tiny reads at most 256"),
    "too many characters": ("x" * 60_001, "has 60 001 characters; at most 60 000 are analysed"),
    "only blanks": ("   ", "the prompt is only white space (3 characters)"),
    "empty": ("", "the prompt is empty"),
    "half a character": ("a\ud800b", "half a surrogate pair (U+D800) at character 2"),
}


@pytest.mark.parametrize(("text", "reason"), FAILING.values(), ids=FAILING.keys())
def test_b9_one_of_sixty_four_fails_in_one_sentence_and_the_others_stay(small, text, reason):
    variants = [Variant(f"one two three {number}", label=f"v{number}") for number in range(MAX_VARIANTS)]
    variants[40] = Variant(text, label="the failing one")
    made = analyse(small, PromptSet("one two", tuple(variants), target=" x"), Caches())
    failed = [result for result in made.prompts if result.trace is None]
    assert [result.label for result in failed] == ["the failing one"]
    (note,) = failed[0].notes
    assert note.level == "error"
    assert note.text.startswith("the failing one")
    assert reason in note.text
    assert "\n" not in note.text
    assert "Left out: 1 could not be analysed." in findings.explore(made)
    others = analyse(small, PromptSet("one two", (*variants[:40], *variants[41:]), target=" x"), Caches())
    kept = [result.trace.log_prob for result in made.prompts if result.trace]
    assert kept == pytest.approx([result.trace.log_prob for result in others.prompts], abs=1e-4)
    assert to_csv(made).count("the failing one") >= 1


def test_b9_a_target_that_cannot_be_scored_fails_in_its_row_alone(small):
    variants = (Variant("two", target="x" * 200, label="long"), Variant("three"))
    made = analyse(small, PromptSet("one", variants, target="x"), Caches())
    assert [result.trace is None for result in made.prompts] == [False, True, False]
    assert made.prompts[1].notes[0].text.startswith("long: the target has ")
    assert "at most 32 can be scored" in made.prompts[1].notes[0].text


def test_b9_candidates_that_cannot_be_scored_are_named_and_the_rest_stays(small):
    variants = (Variant("two", candidates=("a", "b" * 200)), Variant("three"))
    made = analyse(small, PromptSet("one", variants, target="x", candidates=("a", "b")), Caches())
    scores = candidate_scores(small, made, Caches())
    assert [one is None for one in scores] == [False, True, False]
    (problem,) = [note for note in made.notes if note.level == "error"]
    assert problem.text.startswith("“bbb")
    assert "at most 32 can be scored" in problem.text


def test_b9_a_failing_reference_leaves_a_sentence_everywhere(small):
    made = analyse(small, PromptSet(" ", (Variant("two"),), target="x"), Caches())
    assert [result.trace is None for result in made.prompts] == [True, True]
    assert all(len(result.notes) == 1 for result in made.prompts)
    assert findings.explore(made).startswith("The reference could not be analysed")


def test_b9_a_model_that_returns_nan_says_so(small):
    broken = assemble(tiny.network("llama"), tiny.tokenizer(), "tiny")
    with torch.no_grad():
        broken.network.embedding.weight[broken.encoder.full.token_to_id("z")] = float("nan")
    made = analyse(broken, PromptSet("one", (Variant("z"), Variant("two")), target="x"), Caches())
    assert [result.trace is None for result in made.prompts] == [False, True, False]
    assert "the model returned NaN or infinity" in made.prompts[1].notes[0].text
    assert np.isfinite(made.prompts[2].delta)


def test_rows_are_named_by_their_labels_and_not_by_their_text(small):
    prompt_set = PromptSet("one", (Variant("two", label="reference"), Variant("three")), target="x")
    made = analyse(small, replace(prompt_set, name="x"), Caches())
    assert [result.label for result in made.prompts] == ["reference", "reference (1)", "rewording 2"]
