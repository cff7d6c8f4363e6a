"""Texts that a rule has to leave alone, or to change in one way only, so that each rewording still says the same."""

import re

import pytest

from analysis.variants import options
from analysis.variants.rules import RULES, OptionContext, generate

RULE = {rule.name: rule for rule in RULES}
PRIME = "Which is a prime?\nA. 4\nB. 7\nC. 9\nAnswer:"


def made(rule: str, text: str, **context: str | tuple[str, ...]) -> list[str]:
    """All texts the rule makes, at most 300."""
    known = OptionContext(**context)  # type: ignore[arg-type]
    return [proposal.text for proposal in generate(text, RULE[rule], 300, options=known).proposals]


@pytest.mark.parametrize("text", ["Ich habe 5 Äpfel und du hast nicht 3", "Combien font 7 pommes et 2 poires ?"])
def test_numbers_of_other_languages_stay_digits(text: str) -> None:
    assert not made("numerals", text)


@pytest.mark.parametrize(
    "answer",
    [
        "The answer is B.",
        "B because 7 is prime",
        "**B**",
        "Option B, I think",
        "b, of course",
        "It's B",
        "B's",
        "_B_",
        "B\n",
    ],
)
def test_an_answer_follows_its_option_or_nothing_moves(answer: str) -> None:
    for name in ("expected", "target"):
        for rule in ("option order", "format"):
            for proposal in generate(PRIME, RULE[rule], 99, options=OptionContext(**{name: answer})).proposals:
                [line] = [line for line in proposal.text.splitlines() if "7" in line]
                label = line.strip(" ([")[0]
                new = (getattr(proposal, name) or answer).replace("_", " ")
                assert re.search(rf"\b{label}\b", new, re.IGNORECASE)


@pytest.mark.parametrize("answer", ["The answer is 7.", "7", "It is a prime number: 7"])
def test_an_answer_that_names_a_content_stays(answer: str) -> None:
    found = generate(PRIME, RULE["option order"], 9, options=OptionContext(answer)).proposals
    assert len(found) == 5
    assert {proposal.expected for proposal in found} == {None}


def test_candidates_with_contents_stop_the_reordering() -> None:
    assert not made("option order", PRIME, candidates=("A. 4", "B. 7", "C. 9"))
    assert made("option order", PRIME, candidates=("A", " B", "(C)"))


@pytest.mark.parametrize("last", ["A or B", "Both A and B", "A and B only", "only A", "A & B", "A, B", "Same as B"])
def test_options_that_name_others_keep_their_labels_and_order(last: str) -> None:
    text = f"Which?\nA. tea\nB. milk\nC. {last}\nAnswer:"
    assert not made("option order", text)
    assert not [one for one in made("format", text) if "A" not in one.split("tea")[0]]


@pytest.mark.parametrize(
    "text",
    [
        "The answer is A if unsure.\nSky?\nA. red\nB. blue\nAnswer:",
        "Sky?\nA. red\nB. blue\nIf unsure, say a.\nAnswer:",
        "Prefer B over A.\nSky?\nA. red\nB. blue\nAnswer:",
        "Sky? If you do not know, choose the last option.\nA. red\nB. blue\nAnswer:",
        "The options are in alphabetical order. Sky?\nA. blue\nB. red\nAnswer:",
    ],
)
def test_labels_and_places_named_outside_stop_the_reordering(text: str) -> None:
    assert not made("option order", text)


@pytest.mark.parametrize(
    "text",
    [
        "Reply with A or B.\nSky?\nA. red\nB. blue\nA:",
        "A bird sees a tree. Which colour?\nA. red\nB. blue\nAnswer:",
        "Sea?\nA. blue\nB. red\nAnswer: A\n\nSky?\nA. red\nB. blue\nAnswer:",
        "How many?\nA. between 1 and 5\nB. more than 5\nAnswer:",
        "Choose.\rA. one\rB. two\rAnswer:",
        "Choose.\n- A. one\n- B. two\nAnswer:",
        "Choose.\n**A.** one\n**B.** two\nAnswer:",
        "Choose.\u2028A) one\u2028B) two\u2028Answer:",
    ],
)
def test_options_that_can_be_reordered(text: str) -> None:
    block = options.blocks(text)[-1]
    one, two = (text[option.start : option.end] for option in block.options)
    [new] = made("option order", text)
    assert new == f"{text[: block.start]}{text[block.start :].replace(one, '@').replace(two, one).replace('@', two)}"


@pytest.mark.parametrize(
    "text",
    [
        "Answer the question.\n1. What is 2+2?\n2. What is 3+3?",
        "Answer these:\n1. Name a city.\n2. List two rivers.",
    ],
)
def test_numbered_questions_are_no_options(text: str) -> None:
    assert not options.blocks(text)
    assert not made("option order", text)


# --- format


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("great => positive\nawful => negative\nfine =>", r"great(.+)positive\nawful\1negative\nfine(.*)"),
        ("Name - Bob\nAge - 5\nCity -", r"name(.+)bob\nage\1[5]\ncity(.*)"),
        ("Name - Bob\nHobby - tea\nCity -", r"name(.+)bob\nhobby\1tea\ncity(.*)"),
        ("Text: x | Label: y\nText: z | Label:", r"text(.+)x(.+)label\1y\ntext\1z\2label(.*)"),
        ("Text: x\rLabel: y\rText: z\rLabel:", r"text(.+)x\rlabel\1y\rtext\1z\rlabel(.*)"),
        (
            "Country: Japan\nCapital city of it: Tokyo\nRiver:",
            r"country(.+)japan\ncapital city of it\1tokyo\nriver(.*)",
        ),
    ],
)
def test_all_fields_with_one_separator_change_together(text: str, pattern: str) -> None:
    for new in made("format", text):
        found = re.fullmatch(pattern, new.casefold())
        assert found
        assert found[found.re.groups] == found[1].rstrip()


@pytest.mark.parametrize(
    "text",
    ["Option A: go left. Option B: go right.", "5 - 3 =\n6 - 2 =", "I like tea - a lot - very much.\nMilk - no."],
)
def test_what_is_no_list_of_fields_keeps_its_format(text: str) -> None:
    assert not made("format", text)


# --- negative controls


@pytest.mark.parametrize(
    "text",
    [
        "He is not only kind but also smart.",
        "It is cold, isn't it?",
        "The sky is blue, is it not?",
        "I can't help it.",
        "I cannot wait to see you.",
        "Never mind the dog.",
        "Isn't Paris large?",
        "Why don't you go?",
        "Do you know the answer?",
        "I do not have any time.",
        "What do bees make?",
        "When was the Eiffel Tower built?",
        "The people who've won it",
        "Do your best.",
        "Is this sentence grammatical?",
        "Is the red car fast?",
        "How are you?",
        "What colour is the sky?",
        "Where can I buy it?",
        "Do not do that.",
        "Do it now.",
    ],
)
def test_no_negation_where_it_would_say_nothing_or_break_the_sentence(text: str) -> None:
    assert not made("negation", text)


@pytest.mark.parametrize(
    ("text", "one"),
    [
        ("What is the capital of France?", "What is not the capital of France?"),
        ("Which planet is the largest?", "Which planet is not the largest?"),
        ("Who wrote Hamlet?", "Who did not write Hamlet?"),
        ("Is a whale a mammal?", "Is a whale not a mammal?"),
        ("Do not write a poem.", "Do write a poem."),
        ("Write a poem.", "Do not write a poem."),
    ],
)
def test_clauses_that_are_negated(text: str, one: str) -> None:
    assert one in made("negation", text)


@pytest.mark.parametrize(
    "text", ["Does the Earth revolve?", "Life in South Africa", "Where does Paris Hilton live?", "The Paris Agreement"]
)
def test_names_that_are_part_of_a_name_or_have_an_article_stay(text: str) -> None:
    assert not made("entity swap", text)


def test_the_article_before_a_name_stays_right() -> None:
    assert made("entity swap", "He is a French painter.")
    assert not [one for one in made("entity swap", "He is a French painter.") if re.search(r"\ba [AEIOU]", one)]


# --- English around and inside the text


@pytest.mark.parametrize(
    "text",
    [
        "What do bees make?",
        "What colour is the sky?",
        "What books has he written?",
        "Which dog breeds are small?",
        "Where were the 2016 Olympics held?",
        "Where was the last war fought?",
        "What was the man told?",
        "Who can I ask?",
        "Can sports cars fly?",
    ],
)
def test_questions_of_uncertain_order_are_framed_by_labels_only(text: str) -> None:
    assert all(text in new for new in made("question frame", text))


@pytest.mark.parametrize(
    ("text", "one"),
    [
        ("Which country has the largest population?", "Could you tell me which country has the largest population?"),
        ("Which animal lays eggs?", "Could you tell me which animal lays eggs?"),
        ("Where is the Eiffel Tower?", "Could you tell me where the Eiffel Tower is?"),
    ],
)
def test_questions_that_are_asked_indirectly(text: str, one: str) -> None:
    assert one in made("question frame", text)


@pytest.mark.parametrize(
    "text",
    [
        "When does the store close, and where is it?",
        "If it rains, and the road is wet.",
        "Is it wet when it rains and is it cold?",
        "The road is wet and the car is cold because it rained.",
        "If it rains, but not much.",
    ],
)
def test_coordinated_clauses_keep_their_order(text: str) -> None:
    assert not made("clause order", text)


CONTENTS = (
    "Complete the sentence: The quick brown fox",
    "Please complete the sentence: The quick brown fox",
    "Correct the spelling: recieve",
    "Correct the grammar: He don't like the movie because it's a boring story",
    "Translate the text to Spanish: I do not like apples.",
    "Translate to French:\n\nGive a short answer.",
    "Summarise the text below.\nRewrite this: It's a good idea",
)


@pytest.mark.parametrize("text", CONTENTS)
@pytest.mark.parametrize(
    "rule", ["courtesy", "instruction", "role", "irrelevant suffix", "synonym", "contraction", "question frame"]
)
def test_the_content_of_an_instruction_stays_as_it_is_and_last(rule: str, text: str) -> None:
    content = text.partition(":")[2]
    assert all(new.endswith(f":{content}") for new in made(rule, text))


@pytest.mark.parametrize(
    "text",
    [
        "Hello! You are a pirate.",
        "[INST] What is new? [/INST]",
        "User: Hi\nAssistant:",
        "From now on, act as a pirate.",
    ],
)
def test_no_role_in_front_of_a_role_or_a_turn(text: str) -> None:
    assert not made("role", text)


def test_no_instruction_in_front_of_an_instruction() -> None:
    assert not [one for one in made("courtesy", "Select the odd one out") if "ollowing" in one or "help me" in one]
    assert not [one for one in made("courtesy", "Select the odd one out.\nred, two, blue") if "ollowing" in one]


@pytest.mark.parametrize(
    "text",
    [
        "What is the subject of the sentence?",
        "What is the area of the circle?",
        "Make this text shorter.",
        "List of ways to save water",
        "Please translate it to Spanish.",
        "That is the question.",
        "Extract 3 names.",
        "Solve the problem of the day with the right angle",
        "Keep the result of the sum short.",
        "Tell me a joke.",
        "Convert 5 km to miles.",
        "Replace the noun with a verb.",
        "Reply with one word.",
        "What is the reason?",
    ],
)
def test_words_with_other_senses_have_no_synonym(text: str) -> None:
    assert not re.search(
        r"query|region|topic|create|manner|render|take|issue|outcome|retain|inform|transform|substitute|term|cause|correct",
        "".join(made("synonym", text)).casefold(),
    )


@pytest.mark.parametrize(
    "text",
    [
        "Call +1 (555) 123-4567 now.",
        "Call 555 1234 or dial 5551234 or the number 0123456.",
        "We meet on 5 March.",
        "We meet on the 5 of May.",
        "The new iPhone 5 is out.",
        "The old Windows 7 and the Boeing 747",
        "What is Two x 3?",
        "What is 3 x 4?",
        "Compute three * (4 + 5)",
        "The next number of 3 5 7 is",
        "What comes after 3, 5, 7?",
        "What comes after three, five, seven?",
        "Go to the point (1, 2) and the point [3].",
        "See chapter 5 and page 7.",
        "He is 5 feet 3 tall.",
        "It is 5 pm.",
        "The ZIP code is 90210.",
    ],
)
def test_numbers_that_are_a_part_of_something_stay(text: str) -> None:
    assert not made("numerals", text)


@pytest.mark.parametrize(
    "text",
    [
        "Tell me, tea or milk?",
        "In May, cats and dogs play.",
        "The firm has a boss, Jane Doe, who resigned.",
        "The boss, Jane Doe, resigned.",
        "User: Hi\nAssistant: Hello!",
        "Hypothesis: A man",
        "Option A: left\nOption B: right",
    ],
)
def test_commas_and_colons_that_mean_something_stay(text: str) -> None:
    assert not made("inner punctuation", text)


@pytest.mark.parametrize(
    ("text", "one"),
    [
        ("I like tea, milk, bread and salt.", "I like tea, milk, bread, and salt."),
        ("Paris, Rome, and Oslo", "Paris; Rome; and Oslo"),
        ("Translate to Spanish: I go", "Translate to Spanish - I go"),
    ],
)
def test_marks_of_a_series_and_of_an_instruction(text: str, one: str) -> None:
    assert one in made("inner punctuation", text)
