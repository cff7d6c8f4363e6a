"""Laws of the rules that make rewordings, on random texts; and what each makes of texts that people write."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.examples import EXAMPLES
from analysis.tokens import graphemes
from analysis.variants import spans
from analysis.variants.results import Generated, applied
from analysis.variants.rules import RULES, OptionContext, Rule, generate, protected_spans
from analysis.variants.spans import LINE_BREAK

RULE = {rule.name: rule for rule in RULES}
PIECES = (
    *(
        "What is the capital of France?",
        "Please write a short poem about the sea.",
        "Reply briefly.",
        "I don't know.",
        "Don’t",
    ),
    *("{question}", "{{x}}", "${name}", "%s", "<b>", "{{ choices[0] | trim }}", '{"a": {"b": 1}}', "{"),
    *(
        "`a = 1`",
        "```\nfoo()\n```",
        "def f(x):\n    return x",
        "snake_case",
        "https://example.org/a?b=1",
        "me@example.org",
    ),
    *("192.168.1.1", "3.14", "1,000", "1 000", "12", "two", "2 + 3 =", "on March 3, 2020", "H2O", "a not b", "never"),
    *(
        '"quoted text"',
        "“curly”",
        "'single'",
        "If it rains, the road is wet.",
        "\nA. one\nB. two\nC. three\nAnswer:",
        "A) x B) y",
    ),
    *(
        "Question: who?",
        "\r\n",
        "\r",
        "\n\n",
        "\u2028",
        "  ",
        "\t",
        ".",
        "?!",
        "…",
        ":",
        ",",
        "한국어",
        "日本の首都は？",
        "عاصمة",
        "שלום",
    ),
    *(
        "e\u0301te\u0301",
        "👩‍👩‍👧 ok",
        "🇫🇷",
        "straße",
        "İstanbul",
        "\u200b",
        "\u00a0",
        "naïve",
        "Was ist das?",
        "Quelle est la capitale ?",
    ),
)
texts = st.lists(
    st.sampled_from(PIECES) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=7
).map(" ".join) | st.lists(st.sampled_from(PIECES), max_size=5).map("".join)
rules = st.sampled_from(RULES)
seeds = st.integers(0, 10_000)
many = settings(max_examples=400, derandomize=True)


def one_id_a_character(text: str) -> list[int]:
    """A tokenizer that cannot tell a curly apostrophe from a straight one."""
    return [ord(letter) for letter in text.replace("’", "'")]


@many
@given(texts, rules, seeds)
def test_edits_in_order_reproduce_the_text(text: str, rule: Rule, seed: int) -> None:
    made = generate(text, rule, 5, seed)
    assert len(made.proposals) == 5 or made.reason
    for proposal in made.proposals:
        assert applied(text, proposal.edits) == proposal.text != text
        assert all(edit.before == text[edit.start : edit.end] != edit.after for edit in proposal.edits)
        assert all(one.end <= two.start for one, two in itertools.pairwise(proposal.edits))
        assert (proposal.rule, proposal.kind) == (rule.name, rule.kind)


@many
@given(texts, rules, seeds)
def test_protected_spans_stay_byte_for_byte(text: str, rule: Rule, seed: int) -> None:
    untouched = spans.merged((s.start, s.end) for s in spans.classified(text) if s.kind not in rule.lifts)
    for proposal in generate(text, rule, 5, seed).proposals:
        for edit in proposal.edits:
            assert all(edit.end <= start or edit.start >= end for start, end in untouched)
        assert all(text[start:end] in proposal.text for start, end in untouched)


@many
@given(texts, rules, seeds, st.data())
def test_what_the_user_marks_is_never_touched(text: str, rule: Rule, seed: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    for proposal in generate(text, rule, 4, seed, protected=[(start, end)]).proposals:
        if end > start:
            assert all(edit.end <= start or edit.start >= end for edit in proposal.edits)


@many
@given(texts, rules, seeds)
def test_only_whitespace_invents_or_drops_line_breaks(text: str, rule: Rule, seed: int) -> None:
    for proposal in generate(text, rule, 5, seed).proposals:
        if rule.kind != "whitespace":
            assert LINE_BREAK.findall(proposal.text) == LINE_BREAK.findall(text)


@many
@given(texts, rules, seeds)
def test_the_result_depends_on_the_arguments_alone_and_fewer_are_the_first_of_more(
    text: str, rule: Rule, seed: int
) -> None:
    more = generate(text, rule, 5, seed)
    assert generate(text, rule, 5, seed) == more
    assert generate(text, rule, 2, seed).proposals == more.proposals[:2]


@many
@given(texts, rules, seeds)
def test_no_duplicates_by_text_or_token_ids(text: str, rule: Rule, seed: int) -> None:
    first = generate(text, rule, 3, seed)
    taken = [proposal.text for proposal in first.proposals]
    made = generate(text, rule, 5, seed, ids=one_id_a_character, taken=taken)
    codes = [
        tuple(one_id_a_character(other)) for other in (text, *taken, *(proposal.text for proposal in made.proposals))
    ]
    assert len(set(codes)) >= len(made.proposals) + 1
    new = codes[1 + len(taken) :]
    assert len(set(new)) == len(new)
    assert not set(new) & set(codes[: 1 + len(taken)])


@many
@given(texts, rules, seeds)
def test_no_edit_cuts_a_character_that_people_see(text: str, rule: Rule, seed: int) -> None:
    bounds = set(itertools.accumulate(map(len, graphemes(text)), initial=0))
    for proposal in generate(text, rule, 4, seed).proposals:
        assert all(edit.start in bounds and edit.end in bounds for edit in proposal.edits)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_placeholder_of_a_question_survives_a_thousand_seeds(rule: Rule) -> None:
    for seed in range(1_000):
        for proposal in generate("Question: {question}", rule, 1, seed).proposals:
            assert proposal.text.count("{question}") == 1


def test_other_seeds_give_other_rewordings() -> None:
    text = "Please describe the most famous museum of the country, because two visitors don't know it."
    for rule in RULES:
        whole = generate(text, rule, 50).proposals
        if len(whole) > 4:
            assert len({tuple(p.text for p in generate(text, rule, 2, seed).proposals) for seed in range(12)}) > 1, (
                rule.name
            )


@pytest.mark.parametrize("text", ["hello hello", "???", "I a", "a  b", "a", "", "   ", "\n"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_shortfall_of_a_small_text_has_a_reason(text: str, rule: Rule) -> None:
    made = generate(text, rule, 60)
    assert len(made.proposals) < 60
    assert made.reason


def test_an_address_and_a_contraction_in_one_sentence() -> None:
    text = "My IP is 192.168.1.1, don't ping it"
    [only] = generate(text, RULE["contraction"], 5).proposals
    assert only.text == "My IP is 192.168.1.1, do not ping it"
    [edit] = only.edits
    assert (edit.start, edit.end, edit.before, edit.after) == (22, 27, "don't", "do not")
    for rule in RULES:
        assert all("192.168.1.1" in proposal.text for proposal in generate(text, rule, 20).proposals)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("Use {x} now", "{x}"),
        ("Use {{ x | f }} now", "{{ x | f }}"),
        ("Use ${x} now", "${x}"),
        ("Use %s now", "%s"),
        ("Use <x> now", "<x>"),
        ("Say “well done” now", "“well done”"),
        ("Say 'well done' now", "'well done'"),
        ('Say "it\'s so" now', '"it\'s so"'),
        ("Run `rm -r` now", "`rm -r`"),
        ("Go to https://a.org/b?c=1.", "https://a.org/b?c=1"),
        ("Mail me@a.org now", "me@a.org"),
        ("Add 1 000 now", "1 000"),
        ("Add 1,000.5 now", "1,000.5"),
        ("On March 3, 2020 it rained", "March 3, 2020"),
        ("Which?\nA. red\nB. blue\nAnswer:", "A. red\nB. blue"),
        ("日本の首都は：\n选项1：东京\n选项2：大阪\n答案：", "选项1：东京\n选项2：大阪"),
    ],
)
def test_protected_parts_are_found_whole(text: str, part: str) -> None:
    start = text.index(part)
    assert any(one <= start and start + len(part) <= two for one, two in protected_spans(text))


def test_an_apostrophe_opens_no_quotation() -> None:
    assert protected_spans("The users' cat and the dog's owner don't agree") == ()


def texts_of(made: Generated) -> list[str]:
    return [proposal.text for proposal in made.proposals]


# --- option order


def test_options_move_and_the_right_label_follows() -> None:
    text = "Who developed the theory of relativity?\nA. Newton\nB. Einstein\nC. Tesla\nD. Bohr\nAnswer:"
    made = generate(text, RULE["option order"], 100, options=OptionContext("B", " B"))
    assert len(made.proposals) == 23
    for proposal in made.proposals:
        label = proposal.expected or "B"
        assert f"{label}. Einstein\n" in proposal.text
        assert (proposal.target or " B") == f" {label}"
        assert sorted(proposal.text) == sorted(text)


@pytest.mark.parametrize(
    ("text", "expected", "text_after", "after"),
    [
        (
            "日本的首都是：\n选项1：东京\n选项2：大阪\n答案：",
            "选项1",
            "日本的首都是：\n选项1：大阪\n选项2：东京\n答案：",
            "选项2",
        ),
        (
            "日本的首都是：\n选项1：东京\n选项2：大阪\n答案：",
            "东京",
            "日本的首都是：\n选项1：大阪\n选项2：东京\n答案：",
            None,
        ),
        ("Sky?\n(A) red\n(B) blue\nAnswer:\n(", "B", "Sky?\n(A) blue\n(B) red\nAnswer:\n(", "A"),
        ("Sky? A) red B) blue Answer:", "(B)", "Sky? A) blue B) red Answer:", "(A)"),
        ("Sky?\r\n1. red\r\n2. blue\r\nAnswer:", " 2. blue", "Sky?\r\n1. blue\r\n2. red\r\nAnswer:", " 1. blue"),
        ("Sky?\nA. red\nB. blue\nReply with A or B.", "b", "Sky?\nA. blue\nB. red\nReply with A or B.", "a"),
    ],
)
def test_options_of_every_shape(text: str, expected: str, text_after: str, after: str | None) -> None:
    [proposal] = generate(text, RULE["option order"], 5, options=OptionContext(expected)).proposals
    assert (proposal.text, proposal.expected) == (text_after, after)


def test_equal_options_make_no_duplicates_and_keep_the_right_content() -> None:
    made = generate("Q?\nA. x\nB. x\nC. y\nAnswer:", RULE["option order"], 9, options=OptionContext("C"))
    assert sorted(texts_of(made)) == ["Q?\nA. x\nB. y\nC. x\nAnswer:", "Q?\nA. y\nB. x\nC. x\nAnswer:"]
    assert all(f"{proposal.expected}. y" in proposal.text for proposal in made.proposals)


@pytest.mark.parametrize(
    "last",
    [
        "all of the above",
        "None of these",
        "Both A and B",
        "both",
        "以上都是",
        "以上皆非",
        "A or B",
        "neither A nor B",
        "the other two",
    ],
)
def test_options_that_speak_of_others_are_not_reordered(last: str) -> None:
    made = generate(f"Which?\nA. one\nB. two\nC. {last}\nAnswer:", RULE["option order"], 3)
    assert not made.proposals
    assert f"'{last}'" in made.reason


def test_an_answer_in_the_text_stops_the_reordering() -> None:
    assert not generate("Which?\nA. one\nB. two\nAnswer: B", RULE["option order"], 3).proposals
    assert not generate("Which?\nA. {one}\nB. {two}\nAnswer:", RULE["option order"], 3).proposals
    assert not generate("Steps:\n1. wash\n2. dry\nThen rest.", RULE["option order"], 3).proposals
    marked = generate("Which?\nA. one\nB. two\nAnswer:", RULE["option order"], 3, protected=[(10, 13)])
    assert "marked" in marked.reason


def test_labels_in_the_instruction_follow_other_labels() -> None:
    made = generate("Best?\nA. tea\nB. milk\nReply with A or B.", RULE["format"], 50, options=OptionContext("A", " A"))
    [numbered] = [proposal for proposal in made.proposals if "1. tea" in proposal.text]
    assert numbered.text == "Best?\n1. tea\n2. milk\nReply with 1 or 2."
    assert (numbered.expected, numbered.target) == ("1", " 1")
    kept = generate(
        "Best?\nA. tea\nB. milk\nReply:", RULE["format"], 50, options=OptionContext("A", " A", (" A", " B"))
    )
    assert not any("1. tea" in text for text in texts_of(kept))


# --- English


@pytest.mark.parametrize(
    ("rule", "text", "one"),
    [
        ("casing", "The capital of France is", "The capital of france is"),
        ("final punctuation", "Can penguins fly?", "Can penguins fly"),
        ("final punctuation", "问题：天空？\n答案：", "问题：天空？\n答案:"),
        ("inner punctuation", "Summarise the user’s request:", "Summarise the user's request:"),
        ("inner punctuation", 'Say "yes" now', "Say “yes” now"),
        ("inner punctuation", "tea, milk and salt", "tea, milk, and salt"),
        ("whitespace", "Country: Japan\nCapital:", "Country: Japan\n\nCapital:"),
        ("whitespace", "One, two,", "One, two, "),
        ("format", "Country: Japan\nCapital:", "Country - Japan\nCapital -"),
        ("format", "Question: {question}", "QUESTION: {question}"),
        ("contraction", "He can’t find what’s the key", "He cannot find what’s the key"),
        ("contraction", "What is the largest ocean?", "What's the largest ocean?"),
        ("contraction", "Please do not shout at them.", "Please don't shout at them."),
        ("synonym", "The opposite of hot is", "The antonym of hot is"),
        ("synonym", "Give an answer in French.", "Give a response in French."),
        ("numerals", "Calculate: 2 + 3 =", "Calculate: two plus three ="),
        ("numerals", "What is 1234567 + 1?", "What is 1,234,567 + 1?"),
        ("numerals", "Write twenty-five words.", "Write 25 words."),
        ("courtesy", "Translate the text into French.", "Could you translate the text into French?"),
        ("courtesy", "What is new?", "Excuse me, what is new?"),
        ("courtesy", "Please list the planets. Thank you.", "List the planets. Thank you."),
        (
            "question frame",
            "What is the largest ocean on Earth?",
            "Could you tell me what the largest ocean on Earth is?",
        ),
        ("question frame", "Could you tell me what the capital of Peru is?", "What is the capital of Peru?"),
        ("question frame", "Can penguins fly?", "Please tell me whether penguins can fly."),
        ("question frame", "The capital of France is", "What is the capital of France? The capital of France is"),
        ("question frame", "Question: Who?\nAnswer:", "Q: Who?\nA:"),
        ("role", "What is new?", "You are a helpful expert. What is new?"),
        ("instruction", "What is new?", "What is new? Reply briefly."),
        ("instruction", "Name a city. Answer with one word.", "Answer with one word. Name a city."),
        ("instruction", "The capital of France is", "Complete the sentence: The capital of France is"),
        ("clause order", "If it rains, the road gets wet.", "The road gets wet if it rains."),
        ("clause order", "The road is wet because it rained.", "Because it rained, the road is wet."),
        ("clause order", "If {x} is odd, the result is red.", "The result is red if {x} is odd."),
        ("irrelevant suffix", "Can penguins fly?", "Can penguins fly? A bird sat on the roof."),
        ("irrelevant suffix", "The capital of France is", "A bird sat on the roof. The capital of France is"),
        ("negation", "The capital of France is", "The capital of France is not"),
        ("negation", "Don’t ping it", "Do ping it"),
        ("negation", "Which animal lays eggs?", "Which animal does not lay eggs?"),
        ("negation", "It always rains.", "It never rains."),
        ("entity swap", "The capital of France is", "The capital of Spain is"),
        ("entity swap", "Add 2 and 9.", "Add 3 and 9."),
    ],
)
def test_what_a_rule_makes_of_a_text(rule: str, text: str, one: str) -> None:
    assert one in texts_of(generate(text, RULE[rule], 300))


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("contraction", "I know it's."),
        ("contraction", "I'd go. Why don't you? The dog's home. It's been cold. Isn't Paris large?"),
        ("contraction", "Tell me what it is. Who I am is a riddle. I will."),
        ("synonym", "See the list."),
        ("numerals", "Version 2.5 of GPT-4 ran on 192.168.1.1 in 1998 with 5 % of the one."),
        ("clause order", "Tell me if it is raining."),
        ("clause order", "If it is not hot, it is"),
        ("question frame", "Hello! What is the sum called?"),
        ("question frame", "How many legs does a spider have? Why?"),
        ("courtesy", "Un, deux, trois,"),
        ("role", "You are a pirate. Speak."),
        ("casing", "日本の首都は"),
        ("final punctuation", "Calculate: 2 + 3 ="),
        *(
            (rule, "Was ist die Hauptstadt von Frankreich?")
            for rule in ("contraction", "synonym", "question frame", "negation")
        ),
        *(
            (rule, "def add(a, b):\n    return")
            for rule in ("casing", "typo", "role", "format", "irrelevant suffix", "synonym")
        ),
    ],
)
def test_what_a_rule_leaves_alone(rule: str, text: str) -> None:
    made = generate(text, RULE[rule], 5)
    assert not made.proposals
    assert made.reason


def test_slips_keep_first_and_last_letters_and_spare_names_numbers_and_negations() -> None:
    text = "Never tell Margaret about the seventeen letters without a stamp"
    for proposal in generate(text, RULE["typo"], 300).proposals:
        for edit in proposal.edits:
            assert edit.before in ("tell", "about", "letters", "stamp")
            assert (edit.before[0], edit.before[-1]) == (edit.after[0], edit.after[-1])


def test_a_text_that_is_to_be_continued_keeps_its_end() -> None:
    for name in ("courtesy", "role", "instruction", "question frame", "irrelevant suffix"):
        for proposal in generate("The capital of France is", RULE[name], 30).proposals:
            assert proposal.text.endswith("The capital of France is")


def test_every_rule_makes_something_of_the_built_in_examples() -> None:
    references = [example.prompt_set.reference for example in EXAMPLES]
    for rule in RULES:
        if rule.name != "clause order":  # no example has two clauses
            assert any(generate(text, rule, 1).proposals for text in references), rule.name
