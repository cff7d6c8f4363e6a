"""Small changes of meaning fail a hard check whichever way they go, and small fair ones pass."""

import pytest

from analysis.meaning import hard_checks

CHANGED = [
    ("She can not only sing but also dance.", "She can only sing but also dance."),
    ("It's its own reward, isn't it?", "It's its own reward, is it?"),
    ("No doubt it is true.", "Doubt it is true."),
    ("Is paris the capital?", "Is berlin the capital?"),
    ("Who is the king of spain?", "Who is the king of sweden?"),
    ("It costs $5.", "It costs €5."),
    ("Run 5 km", "Run 5 miles"),
    ("if x > 5", "if x < 5"),
    ("if x >= 5", "if x > 5"),
    ("50% of it", "50 of it"),
    ("List at least 3 facts", "List at most 3 facts"),
    ("Use more than 50 words", "Use fewer than 50 words"),
    ("Use more than 50 words", "Use less than 50 words"),
    ("Wash hands before eating", "Wash hands after eating"),
    ("Always reply in French", "Never reply in French"),
    ("It rarely rains", "It often rains"),
    ("Is it possible to go?", "Is it impossible to go?"),
    ("Does the price increase?", "Does the price decrease?"),
    ("Answer only with A.", "Answer only with B."),
    ("Prices will increase by 5%", "Prices will decrease by 5%"),
    ("What is 2 + 2?", "What is 2 + 2 + 2?"),
    ("What is 2 + 2?", "What is 2 - 2?"),
    ("What is 2 + 2?", "What is 2?"),
    ("Use no more than 50 words", "Use more than 50 words"),
    ("Use no more than 50 words", "Use no less than 50 words"),
    ("Answer in one word", "Answer in one sentence"),
    ("Is the sky blue?", "Is the sky not blue?"),
    ("The sky is blue", "The sky isn't blue"),
    ("What is the temperature, 20 °C?", "What is the temperature, 20 °F?"),
    ("Half of them", "Half of them and 3"),
    ("Half of them", "30% of them"),
    ("did romeo love juliet?", "did juliet love romeo?"),
    ("Why don't you tell me a joke", "Why do you tell me a joke"),
    ("Which?\n1. hen\n2. dog\nAnswer with 1.", "Which?\n1. hen\n2. dog\nAnswer with 2."),
    ("Round up to 3 digits", "Round down to 3 digits"),
    ("Come at 3:30 am", "Come at 3:30 pm"),
    ("1) 50 2) 100", "P) 50 Q) 90"),
    ("Which?\nA. hen\nB. dog\nAnswer with A.", "Which?\nA. hen\nB. dog\nAnswer with B."),
    ("The temperature is -5", "The temperature is 5"),
]
FAIR = [
    ("It is not only good but cheap", "It  is  not  only  good but cheap"),
    ("It is not only good but cheap", "It is not olny good but cheap"),
    ("It is good and cheap", "It  is  not  only  good  but cheap"),
    ("Is it cold?", "Is  it  cold  or  not?"),
    ("It is cold, isn't it?", "It is cold, isn't it"),
    ("It is cold, isn't it?", "It is cold,  isn't  it?"),
    ("It is cold.", "It is cold, isn't it"),
    (
        "The president of the US in 2010 was",
        "Who was the president of the US in 2010? The president of the US in 2010 was",
    ),
    ("Who wrote 1984?", "Who wrote 1984? The author of 1984 is"),
    ("Which?\n(1) six\n(2) eight\nAnswer:", "Which?\n(P) six\n(Q) eight\nAnswer:"),
    ("Which is it? 1) 50 2) 100", "Which is it? P) 50 Q) 100"),
    ("Pick it: 1) 50 2) 100 3) 7", "Pick it: P) 50 Q) 100 R) 7"),
    ("The items: 1) 50 2) 100 3) 7", "The items: P) 50 Q) 100 R) 7"),
    ("A. hen\nB. dog", "1. hen\n2. dog"),
    ("He asked, 'What's up?'", "He asked, 'What's up?' Keep the answer short."),
    (
        "1. Open the door.\n2. Go in.\n3. Close the door.",
        "1. Open the door.\n2. Go in.\n3. Close the door. Give only the answer.",
    ),
    ("Buy a dozen eggs", "Buy a dzoen eggs"),
    ("50 percent of it", "50 percnet of it"),
    ("It costs $5.", "It costs 5 dollars."),
    ("Run 5 km", "Run five kilometres"),
    ("x > 5", "5 < x"),
    ("It happened on 5 March 2020", "It happened on March 5th, 2020"),
    ("Half of them", "50% of them"),
    ("Half of them", "Fifty percent of them"),
    ("Wash hands before eating", "Eat after washing hands"),
    ("Is Paris larger than Rome?", "Is Rome smaller than Paris?"),
    ("It is not possible to go", "It is impossible to go"),
    ("Use at most 50 words", "Use no more than 50 words"),
    ("Use at least 50 words", "Use no fewer than 50 words"),
    ("Answer only with A.", "Reply with A only."),
    ("ANSWER ONLY WITH A", "Answer only with a."),
    ("He said 'Hello.' Then he left.", "Then he left, after he had said 'Hello.'"),
    ("It takes 5 min", "It takes 5 minutes"),
    ("Is 1 the answer? 1. yes 2. no", "Is 1 the answer? A. yes B. no"),
    ("Translate from english to french", "Translate english into French"),
    ("Compute 3 × 4", "Compute 3 * 4"),
    ("Use less than 50 words", "Use fewer than 50 words"),
    ("Is it true that 5 > 3?", "Is 5 greater than 3?"),
]


def failed(reference: str, variant: str) -> list[str]:
    return [check.detail for check in hard_checks(reference, variant) if not check.passed]


@pytest.mark.parametrize(("reference", "variant"), [*CHANGED, *(pair[::-1] for pair in CHANGED)])
def test_a_change_of_meaning_fails(reference, variant):
    assert failed(reference, variant)


@pytest.mark.parametrize(("reference", "variant"), [*FAIR, *(pair[::-1] for pair in FAIR)])
def test_a_fair_rewording_passes(reference, variant):
    assert failed(reference, variant) == []


@pytest.mark.parametrize(
    ("reference", "variant", "detail"),
    [
        ("It costs $5.", "It costs €5.", "'$5' became '€5'."),
        ("Run 5 km", "Run 5 miles", "'5 km' became '5 miles'."),
        ("if x >= 5", "if x > 5", "'>= 5' became '> 5'."),
        ("List at least 3 facts", "List at most 3 facts", "'at least' became 'at most'."),
        ("You can not only sing but dance", "You can only sing but dance", "'not only' is missing."),
        ("It's good, is it?", "It's good, isn't it?", "'isn't it' is added."),
        ("Is paris big?", "Is Berlin big?", "'paris' became 'Berlin'."),
        ("Reply with A.", "Reply with B.", "'A' became 'B'."),
    ],
)
def test_what_changed_is_named(reference, variant, detail):
    assert failed(reference, variant) == [detail]


@pytest.mark.parametrize(
    "text", ["1 ", "at least 3 km ", "a 5 - 5 > ", "isn't it, ", "(1) a (2) b ", "before x after y "]
)
def test_the_work_grows_with_the_text(text):
    long = text * (4_000 // len(text))
    assert failed(long, long) == []
    assert len(failed(long, f"{long} not")) == 1
    failed(long, long[: len(long) // 2])
