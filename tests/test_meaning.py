"""Hard checks find what changes a meaning, and let pass what only changes the wording."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.examples import EXAMPLES
from analysis.meaning import Check, hard_checks
from analysis.meaning_negations import negations
from analysis.meaning_numbers import numbers
from analysis.meaning_text import plain
from analysis.prompts import CONTROL_KINDS

ROWS = [
    pytest.param(example.prompt_set.reference, variant, id=f"{example.key}: {variant.label}")
    for example in EXAMPLES
    for variant in example.prompt_set.variants
]


def failed(reference: str, variant: str) -> dict[str, str]:
    return {check.name: check.detail for check in hard_checks(reference, variant) if not check.passed}


@pytest.mark.parametrize(("reference", "variant"), ROWS)
def test_paraphrases_of_the_examples_pass_and_their_negative_controls_do_not(reference, variant):
    checks = hard_checks(reference, variant.text, same_language=variant.kind != "language")
    if variant.kind in CONTROL_KINDS:
        assert not all(check.passed for check in checks)
    else:
        assert [check for check in checks if not check.passed] == []


def test_there_are_negative_controls_to_catch():
    kinds = [variant.kind for example in EXAMPLES for variant in example.prompt_set.variants]
    assert kinds.count("negative control") >= 5


def test_checks_come_in_a_fixed_order_each_with_a_sentence():
    checks = hard_checks("The capital of France is", "The capital of France is not")
    assert [check.name for check in checks] == ["numbers", "negations", "placeholders", "quotes", "names", "examples"]
    assert checks[1] == Check("negations", False, "'not' is added.")
    assert all(check.detail[0].isupper() or check.detail[0] == "'" for check in checks)
    assert all(check.detail.endswith(".") for check in checks)


def test_across_languages_only_what_has_no_language_is_compared():
    names = [
        check.name
        for check in hard_checks("The capital of Spain is", "La capital de España no es", same_language=False)
    ]
    assert names == ["numbers", "placeholders", "quotes"]


# --- numbers


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("two", [2]),
        ("Twenty-one and 21", [21, 21]),
        ("1,000 or 1000 or 1'000 or 1\u202f000 or 1 000", [1000] * 5),
        ("two and three", [2, 3]),
        ("one two three", [1, 2, 3]),
        ("two thousand and twenty four", [2024]),
        ("one hundred and five", [105]),
        ("a dozen, two dozen", [12, 24]),
        ("1.5 million, 5k", [1_500_000, 5000]),
        ("1.000.000", [1_000_000]),
        ("12,34,567", [1_234_567]),
        ("-3, 5-3", [-3, 5, 3]),
        ("192.168.1.1", [192, 168, 1, 1]),
        ("H2O and x2", []),
        ("someone often", []),
        ("٣", [3]),
    ],
)
def test_numbers_are_read_from_digits_and_words(text, values):
    assert [number.value for number in numbers(text)] == values


@given(st.integers(0, 999_999_999))
def test_a_number_is_the_same_with_and_without_separators(value):
    for other in (f"{value:,}", f"{value:_}", f"{value:,}".replace(",", " "), f"{value:,}".replace(",", "\u202f")):
        assert failed(f"Add {value} to it", f"Add {other} to it") == {}


def in_words(value: int) -> str:
    """English words for 0 to 999 999, written the other way round from how they are read."""
    small = (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
        " seventeen eighteen nineteen"
    )
    tens = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
    if value < 20:
        return small.split()[value]
    if value < 100:
        return tens[value // 10] + (f"-{in_words(value % 10)}" if value % 10 else "")
    if value < 1000:
        return f"{in_words(value // 100)} hundred" + (f" and {in_words(value % 100)}" if value % 100 else "")
    rest = value % 1000
    joint = " and " if 0 < rest < 100 else " "
    return f"{in_words(value // 1000)} thousand" + (joint + in_words(rest) if rest else "")


@given(st.integers(0, 999_999))
def test_a_number_is_the_same_in_words(value):
    assert [number.value for number in numbers(in_words(value))] == [value]
    assert failed(f"Add {value} to it", f"Add {in_words(value)} to it") == {}


@given(st.integers(3, 9999), st.integers(3, 9999))
def test_another_number_fails_whether_in_digits_or_words(one, other):
    for text in (str(other), in_words(other)):
        assert ("numbers" in failed(f"Add {one} to it", f"Add {text} to it")) == (one != other)


@pytest.mark.parametrize(
    ("reference", "variant", "detail"),
    [
        ("Add 12", "Add 21", "12 became 21."),
        ("Answer in one word", "Answer in two words", "'one' became 'two'."),
        ("50% of it", "50 of it", "50% became 50."),
        ("List 3 facts", "List facts", "3 is missing."),
        ("List facts", "List three facts", "'three' is added."),
        ("the 21st century", "the 20th century", "21st became 20th."),
        ("Subtract 2 from 5", "Subtract 5 from 2", "2 and 5 have changed places."),
        ("The first one", "The second one", "'first' became 'second'."),
    ],
)
def test_a_changed_number_is_named(reference, variant, detail):
    assert failed(reference, variant) == {"numbers": detail}


@pytest.mark.parametrize(
    ("reference", "variant"),
    [
        ("50% of it", "fifty percent of it"),
        ("the 21st century", "the twenty-first century"),
        ("2 + 3", "3 + 2"),
        ("Water is", "The two elements in water are"),
        ("Pick a colour", "Pick one colour"),
        ("Sum 100 200 300", "Sum 100, 200, 300"),
        ("Which is it?\n1. hen\n2. dog\nAnswer:", "Which is it?\nA. hen\nB. dog\nAnswer:"),
        ("Which is it?\nA. 3\nB. 5\nAnswer:", "Which is it?\nA. 5\nB. 3\nAnswer:"),
    ],
)
def test_the_same_numbers_pass(reference, variant):
    assert failed(reference, variant) == {}
    assert failed(variant, reference) == {} or "two" in variant


# --- negations


@pytest.mark.parametrize("mark", "'’ʼ＇‘")
@pytest.mark.parametrize("verb", ["do", "does", "is", "were", "could", "has", "ai"])
def test_contracted_negations_are_negations_with_any_apostrophe(verb, mark):
    assert negations(plain(f"They {verb}n{mark}t go")).cues["not"] == 1
    assert failed(f"They {verb} go", f"They {verb}n{mark}t go").keys() == {"negations"}
    assert failed(f"They {verb}n't go", f"They {verb} not go") == {}


def test_cannot_is_can_not_and_apostrophes_may_be_left_out():
    assert failed("I can't swim", "I cannot swim") == failed("I cannot swim", "I can not swim") == {}
    assert failed("I dont swim", "I do not swim") == {}


NEGATIONS = "not never no none without nothing nobody unless nicht kein jamais nunca"


@pytest.mark.parametrize("word", NEGATIONS.split())
def test_a_negation_more_or_less_is_named(word):
    assert failed("Say it", f"Say it {word}") == {"negations": f"'{word}' is added."}
    assert failed(f"Say it {word}", "Say it") == {"negations": f"'{word}' is missing."}


@pytest.mark.parametrize(
    ("reference", "variant"),
    [
        ("Never answer in French", "Do not answer in French"),
        ("Is it spam?", "Is it spam or not?"),
        ("Answer yes or no", "Answer with Yes/No"),
        ("Be brief and kind", "Be not only brief but also kind"),
        ("Tell me a joke", "Why don't you tell me a joke"),
        ("Tell me a joke", "Couldn't you tell me a joke"),
        ("The opposite of hot is", "What is not hot is"),
        ("Do not use lists", "Avoid lists"),
        ("Neither cats nor dogs", "Not cats or dogs"),
        ("See no. 5", "See 5"),
    ],
)
def test_what_negates_as_often_passes(reference, variant):
    assert failed(reference, variant) == failed(variant, reference) == {}


def test_a_stacked_negation_counts():
    # mem0ai/mem0#1884: "only" is "not anything except", and neither half can go
    reference = "List one colour. Reply only with JSON."
    stacked = "List one colour. Do not reply with anything except JSON."
    assert failed(reference, stacked) == failed(stacked, reference) == {}
    assert failed(stacked, "List one colour. Do not reply with JSON.") == {"negations": "'except' is missing."}
    assert "negations" in failed(reference, "List one colour. Do not reply with JSON.")
    assert failed("I don't know it", "I don't not know it") == {"negations": "'not' is added."}
    assert failed("The opposite of hot is", "The opposite of hot is not") == {"negations": "'not' is added."}


ORDINARY = "the answer is a word that you find in texts of all kinds here"
WORDS = st.lists(st.sampled_from(ORDINARY.split()), min_size=1)


@given(WORDS, st.data(), st.sampled_from(["not", "never", "don't", "isn’t", "without"]))
def test_a_negation_put_anywhere_is_found(words, data, negation):
    place = data.draw(st.integers(0, len(words)))
    text, changed = " ".join(words), " ".join([*words[:place], negation, *words[place:]])
    if "why not" not in changed:
        assert "negations" in failed(text, changed)


# --- placeholders and quotations


@pytest.mark.parametrize(
    "placeholder", ["{x}", "{{x}}", "{{ user.name }}", "${x}", "%s", "%(x)s", "<x>", "{0}", "{}", "{x:.2f}", "[NAME]"]
)
def test_placeholders_are_kept(placeholder):
    text = f"Answer this: {placeholder} now"
    assert failed(text, f"Now answer {placeholder}, please") == {}
    assert "placeholders" in failed(text, "Answer this: it now")
    assert "placeholders" in failed("Answer this: it now", text)
    assert "placeholders" in failed(text, text.replace(placeholder, "{other}"))


def test_braces_of_json_and_a_per_cent_sign_are_no_placeholders():
    assert failed('Reply with JSON like {"colour": "..."}.', "Reply with JSON like {colour: string}.") == {}
    assert failed("a 50%discount", "a 50 percent discount") == {}


def test_quotations_are_kept_with_any_marks_or_without():
    assert failed('The word "gato" means', "The word gato means") == {}
    assert failed('Say "I am here."', "Say “I am here”") == {}
    assert failed('The word "gato" means', 'The word "perro" means') == {"quotes": "'gato' became 'perro'."}
    assert failed('Say "hot"', "Say hotter") == {"quotes": "'hot' is missing."}
    assert failed("See https://a.org/x.", "See https://b.org/x.").keys() == {"quotes"}
    assert failed("Run `ls` now", "Run now") == {"quotes": "'ls' is missing."}


def test_every_answer_option_is_kept():
    text = "Which is a fruit?\nA. carrot\nB. apple\nAnswer:"
    assert failed(text, "Name the fruit: (a) apple, (b) carrot.") == {}
    assert failed(text, "Which is a fruit?") == {"quotes": "'carrot' and 'apple' are missing."}


# --- names


@pytest.mark.parametrize(
    ("reference", "variant", "detail"),
    [
        ("The capital of Germany is", "The capital of Austria is", "'Germany' became 'Austria'."),
        ("The capital of Austria is", "The capital of Australia is", "'Austria' became 'Australia'."),
        ("Who is Ada Lovelace?", "Who is Ada?", "'Lovelace' is missing."),
        ("France's capital is", "Spain's capital is", "'France' became 'Spain'."),
        (
            "Translate from Spanish to English: gato",
            "Translate from English to Spanish: gato",
            "Spanish and English have changed places.",
        ),
        ("Did Romeo love Juliet?", "Did Juliet love Romeo?", "Romeo and Juliet have changed places."),
        ("Ask O'Brien about it", "Ask O’Neill about it", "'O'Brien' became 'O'Neill'."),
    ],
)
def test_another_name_is_found(reference, variant, detail):
    assert failed(reference, variant) == {"names": detail}


@pytest.mark.parametrize(
    ("reference", "variant"),
    [
        ("The capital of France is", "France's capital city is"),
        ("The capital of France is", "France’s capital city is"),
        ("The capital of France is", "The French capital is"),
        ("The capital of France is", "THE CAPITAL OF FRANCE IS"),
        ("the capital of france is", "The Capital Of France Is"),
        ("Who leads the United States?", "Who is the American leader?"),
        ("Who leads the US?", "Who leads the United States?"),
        ("Is it true?", "Is It True?"),
        ("Calculate it", "Compute it"),
        ("You are here. Where are you?", "Where are you? You are here."),
        ("I think I'm here", "Here I am, I think"),
        ("Romeo and Juliet was written by", "The author of Juliet and Romeo is"),
        ("Do not stop", "Do NOT stop"),
        ("Ask O'Brien about it", "ask o’brien about it"),
        ("Country: Japan\nCapital:", "Country: Japan | Capital:"),
        ("Die Hauptstadt von Spanien ist", "Die Stadt, die Hauptstadt von Spanien ist, ist"),
    ],
)
def test_the_same_names_pass(reference, variant):
    assert failed(reference, variant) == failed(variant, reference) == {}


# --- examples with answers


EXCHANGE = ("Review: Slow.\nSentiment: bad\n\nReview: A joy.\nSentiment: good\n\nReview: Fine.\nSentiment:",
            "Review: Slow.\nSentiment: good\n\nReview: A joy.\nSentiment: bad\n\nReview: Fine.\nSentiment:")  # fmt: skip


def test_exchanged_answers_of_examples_are_found_in_any_layout():
    assert failed(*EXCHANGE) == {"examples": "'slow' is answered 'good' instead of 'bad'."}
    arrows = "Slow. => good\nA joy. => bad\nFine. =>"
    assert failed(EXCHANGE[0], arrows) == {"examples": "'slow' is answered 'good' instead of 'bad'."}


def test_examples_may_move_and_answers_may_be_renamed():
    one, two, rest = EXCHANGE[0].split("\n\n")
    assert failed(EXCHANGE[0], f"{two}\n\n{one}\n\n{rest}") == {}
    assert failed(EXCHANGE[0], EXCHANGE[0].replace("bad", "negative").replace("good", "positive")) == {}


# --- all of them


@given(st.text(max_size=80))
@settings(max_examples=300)
def test_a_text_says_what_it_says(text):
    assert failed(text, text) == {}


@given(st.text(max_size=80), st.text(max_size=80))
@settings(max_examples=300)
def test_what_is_missing_one_way_is_added_the_other_way(one, other):
    there, back = failed(one, other), failed(other, one)
    assert there.keys() - {"examples", "numbers"} == back.keys() - {"examples", "numbers"}


def test_invisible_characters_and_look_alikes_change_nothing():
    text = "Welcome to the United States, do not enter"
    assert failed(text, "Welcome\u00a0to the Uni\u200bted Stаtes, do\u00adn\u200b't enter") == {}


def test_long_texts_are_compared_too():
    text = 'In 1969 Neil didn\'t say "one {x}" to Buzz (see no. 5, or not). ' * 900
    assert len(text) > 50_000
    assert failed(text, text) == {}
    assert failed(text, text.replace("Buzz", "Mike")) == {"names": "'Buzz' became 'Mike'."}
