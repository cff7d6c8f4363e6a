"""Cells of tokens: nothing is lost, no character is cut, and everything can be seen."""

import html
from itertools import pairwise

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from analysis import tokens as tk
from analysis.results import Tokens

FAMILY = "👨\u200d👩\u200d👧\u200d👦"
KEYCAP = "2\ufe0f\u20e3"
FLAG = "\U0001f1eb\U0001f1f7"
SCOTLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"

LETTERS = [*"ab .,?!\n\t\r日本語のé", "e\u0301", "ש", "م\u200c", "ภาษา", "한", "\u1112\u1161", "नई", "दिल्ली"]
SIGNS = [FAMILY, KEYCAP, FLAG, SCOTLAND, "\u0301", "\u200b", "\u200d", "\ufe0f", "\u202e", "\x00", "\x1b", "\U000e0041"]
PHRASES = ["\r\n", "  ", "<s>", "Dr. ", "1. ", "。", "\ud800"]
texts = st.lists(st.sampled_from([*LETTERS, *SIGNS, *PHRASES]), max_size=30).map("".join)


def tokens_of(text, spans, roles=None, control=None):
    return Tokens(
        text,
        ids=tuple(range(len(spans))),
        pieces=tuple(text[start:end] or f"<{index}>" for index, (start, end) in enumerate(spans)),
        spans=tuple(spans),
        roles=tuple(roles or ["text"] * len(spans)),
        control=tuple(control or [False] * len(spans)),
    )


def byte_spans(text, cuts):
    """The spans that byte-level tokenizers give to tokens that end at `cuts` among the UTF-8 bytes."""
    character = [index for index, letter in enumerate(text) for _ in letter.encode("utf-8", "surrogatepass")]
    places = sorted({0, len(character), *cuts} & set(range(len(character) + 1)))
    return [(character[start], character[end - 1] + 1) for start, end in pairwise(places)]


def by_byte(text):
    return tokens_of(text, byte_spans(text, range(10_000)))


@st.composite
def byte_level(draw):
    """The text and spans of a byte-level tokenizer's tokens."""
    text = draw(texts)
    return text, byte_spans(text, draw(st.sets(st.integers(1, 100))))


@st.composite
def anything(draw):
    """Whatever a tokenizer may report: gaps, overlaps, empty and disordered spans, a tail left over."""
    text = draw(texts)
    place = st.integers(0, len(text) + 2)
    spans = draw(st.lists(st.tuples(place, place), max_size=12))
    each = {"min_size": len(spans), "max_size": len(spans)}
    roles = draw(st.lists(st.sampled_from(["text", "template", "added"]), **each))
    return text, draw(st.just(spans) | st.just(sorted(spans))), roles, draw(st.lists(st.booleans(), **each))


def texts_of(cells):
    return [cell.text for cell in cells]


# --- laws


@given(anything() | byte_level(), st.sampled_from(tk.GROUPINGS))
def test_the_cells_put_together_are_the_text_and_hold_every_token_once(drawn, by):
    tokens = tokens_of(*drawn)
    cells = tk.cells(tokens, by)
    assert "".join(cell.text for cell in cells) == tokens.text
    assert all(tokens.text[cell.start : cell.end] == cell.text for cell in cells)
    assert [index for cell in cells for index in cell.tokens] == list(range(len(tokens)))
    if len(tokens):
        assert all(len(cell.tokens) > 0 for cell in cells)


@given(anything() | byte_level(), st.sampled_from(tk.GROUPINGS))
def test_no_cell_cuts_a_visible_character(drawn, by):
    tokens = tokens_of(*drawn)
    boundaries = {0} | {match.end() for match in regex.finditer(r"\X", tokens.text)}
    assert all({cell.start, cell.end} <= boundaries for cell in tk.cells(tokens, by))


@given(byte_level())
def test_token_cells_are_the_smallest_that_cut_no_character(drawn):
    """Any place between two tokens where no character is cut is a place between two cells."""
    tokens = tokens_of(*drawn)
    clusters = {0} | {match.end() for match in regex.finditer(r"\X", tokens.text)}
    for index in range(1, len(tokens)):
        (_, end), (start, _) = tokens.spans[index - 1], tokens.spans[index]
        if start >= end and end in clusters:
            assert any(cell.tokens.start == index for cell in tk.cells(tokens))


@given(byte_level(), st.sampled_from(tk.GROUPINGS[1:]))
def test_larger_units_are_unions_of_token_cells(drawn, by):
    tokens = tokens_of(*drawn)
    smallest = {cell.start for cell in tk.cells(tokens)} | {len(tokens.text)}
    assert all({cell.start, cell.end} <= smallest for cell in tk.cells(tokens, by))


@given(byte_level(), st.sampled_from(tk.GROUPINGS), st.data())
def test_grouping_keeps_the_total(drawn, by, data):
    tokens = tokens_of(*drawn)
    scores = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=len(tokens), max_size=len(tokens))), dtype=float)
    cells = tk.cells(tokens, by)
    assert tk.grouped(scores, cells).sum() == scores.sum()
    assert tk.grouped(scores, cells, magnitude=True).sum() == np.abs(scores).sum()
    assert tk.grouped(scores, cells).shape == (len(cells),)


@given(texts)
def test_what_is_shown_covers_the_text_and_hides_nothing(text):
    parts = tk.shown_parts(text)
    assert "".join(raw for raw, _ in parts) == text
    glyphs = tk.shown(text)
    assert not regex.search(r"[\n\t\r\x00\x1b\u200b\u202e\ud800]|^ | $|  ", glyphs)


@given(texts)
def test_plotly_text_has_no_markup_of_its_own(text):
    escaped = tk.plotly_text(text)
    assert not set("<>$") & set(escaped)
    assert html.unescape(escaped) == tk.shown(text)


# --- visible characters


@pytest.mark.parametrize("text", ["日本語のテスト", "每个人都有他的作战策略", "نعم", "שלום", "한국어"])
def test_every_character_of_a_script_shows_once_however_its_bytes_are_cut(text):
    cells = tk.cells(by_byte(text))
    assert texts_of(cells) == list(text)
    assert all(len(cell.tokens) == len(cell.text.encode()) for cell in cells)


@pytest.mark.parametrize("sign", [FAMILY, KEYCAP, FLAG, SCOTLAND, "👩🏼\u200d🦳", "❤\ufe0f", "e\u0301", "ल्ली", "\r\n"])
def test_a_sign_of_several_code_points_is_one_cell(sign):
    tokens = by_byte(f"a{sign}b")
    assert texts_of(tk.cells(tokens)) == ["a", sign, "b"]
    assert sum(len(cell.tokens) for cell in tk.cells(tokens)) == len(tokens)


def test_a_token_that_ends_inside_a_character_shares_its_cell_with_the_next():
    # " न" as a byte-level tokenizer may cut it: the blank with two bytes of three, then the last byte.
    tokens = tokens_of("a न", [(0, 1), (1, 3), (2, 3)])
    assert texts_of(tk.cells(tokens)) == ["a", " न"]


def test_real_byte_level_offsets_with_blanks_trimmed():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: index for index, letter in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True, trim_offsets=True)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    text = f"two  words\n 日本 {FAMILY} . "
    encoding = tokenizer.encode(text)
    assert (text.index("  "), text.index("  ") + 1) not in encoding.offsets  # the blanks are trimmed
    tokens = tokens_of(text, encoding.offsets)
    assert texts_of(tk.cells(tokens)) == regex.findall(r"\X", text)


@pytest.mark.parametrize(
    ("text", "tokens", "characters"),
    [
        ("日本語のテスト", 13, list("日本語のテスト")),
        ("每个人都有他的作战策略", 18, list("每个人都有他的作战策略")),
        ("她们是飞行员还是制片人", 19, list("她们是飞行员还是制片人")),
        ("भारत की राजधानी है", 21, ["भा", "र", "त", " की", " रा", "ज", "धा", "नी", " है"]),
        (f"{KEYCAP} + {FLAG}", None, [KEYCAP, " +", " " + FLAG]),
    ],
)
def test_the_default_models_tokens_show_each_character_once(default_model_folder, text, tokens, characters):
    """Token counts as published with the cases C40, C44 and C61."""
    encoding = Tokenizer.from_file(str(default_model_folder / "tokenizer.json")).encode(text, add_special_tokens=False)
    assert tokens in (None, len(encoding.ids))
    assert texts_of(tk.cells(tokens_of(text, encoding.offsets))) == characters


# --- gaps and added tokens


def test_trimmed_blanks_belong_to_the_next_token():
    tokens = tokens_of("The  end", [(0, 3), (5, 8)])
    assert texts_of(tk.cells(tokens)) == ["The", "  end"]


def test_a_lone_blank_trimmed_to_nothing_gets_its_blank_back():
    tokens = tokens_of("a  b", [(0, 1), (2, 2), (3, 4)])
    assert texts_of(tk.cells(tokens)) == ["a", " ", " b"]


def test_a_tail_without_tokens_belongs_to_the_last_token_that_stands_for_text():
    tokens = tokens_of("Hi  ", [(0, 0), (0, 2), (0, 0)], roles=["added", "text", "added"], control=[True, False, True])
    cells = tk.cells(tokens)
    assert texts_of(cells) == ["", "Hi  ", ""]
    assert [cell.name for cell in cells] == ["<0>", "Hi  ", "<2>"]
    assert [cell.control for cell in cells] == [True, False, True]


def test_an_added_token_stays_its_own_cell_in_every_grouping():
    tokens = tokens_of(
        "One two", [(0, 0), (0, 3), (3, 7)], roles=["added", "text", "text"], control=[True, False, False]
    )
    for by in tk.GROUPINGS:
        assert tk.cells(tokens, by)[0].tokens == range(0, 1)
    assert texts_of(tk.cells(tokens, "line")) == ["", "One two"]


def test_text_without_any_token_is_shown_all_the_same():
    assert texts_of(tk.cells(tokens_of("\u200b", []))) == ["\u200b"]
    assert tk.cells(tokens_of("", [])) == ()


# --- words, sentences, lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The capital  of France.", ["The", " capital", "  of", " France", "."]),
        ("It's 3.14, can’t?", ["It's", " 3.14", ",", " can’t", "?"]),
        ("a \n\n b", ["a", " \n", "\n", " b"]),
        ("日本語のテスト", ["日", "本", "語", "の", "テスト"]),
        ("नई दिल्ली", ["नई", " दिल्ली"]),
        ("one two ", ["one", " two", " "]),
    ],
)
def test_words_are_led_by_their_blanks(text, expected):
    assert texts_of(tk.cells(by_byte(text), "word")) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes. No! Why?", ["Yes.", " No!", " Why?"]),
        ('He said "Go." Then left.', ['He said "Go."', " Then left."]),
        ("Dr. Smith, e.g. J. Smith, paid 3.50. So.", ["Dr. Smith, e.g. J. Smith, paid 3.50.", " So."]),
        ("Q: Why?\nA. Paris\n1. Rome. Oslo", ["Q: Why?\n", "A. Paris\n", "1. Rome.", " Oslo"]),
        ("你好。再见！", ["你好。", "再见！"]),
        ("One. \nTwo", ["One. \n", "Two"]),
    ],
)
def test_sentences_end_with_their_marks_and_their_line(text, expected):
    assert texts_of(tk.cells(by_byte(text), "sentence")) == expected


def test_a_line_break_belongs_to_the_line_it_ends():
    assert texts_of(tk.cells(by_byte("a\n\nb\r\nc\n"), "line")) == ["a\n", "\n", "b\r\n", "c\n"]


def test_a_token_over_a_boundary_goes_where_most_of_it_is():
    assert texts_of(tk.cells(tokens_of("ab.\ncd", [(0, 2), (2, 4), (4, 6)]), "line")) == ["ab.\n", "cd"]
    assert texts_of(tk.cells(tokens_of("a\n\n\nb", [(0, 1), (1, 4), (4, 5)]), "line")) == ["a\n\n\n", "b"]
    assert texts_of(tk.cells(tokens_of("a\nbcd", [(0, 1), (1, 4), (4, 5)]), "line")) == ["a", "\nbcd"]


def test_units_end_where_the_role_changes_and_at_control_tokens():
    text = "<|im|>user\nHi there<|im|>"
    spans = [(0, 6), (6, 10), (10, 11), (11, 13), (13, 19), (19, 25)]
    roles = ["template", "template", "template", "text", "text", "template"]
    tokens = tokens_of(text, spans, roles=roles, control=[True, False, False, False, False, True])
    assert texts_of(tk.cells(tokens, "line")) == ["<|im|>", "user\n", "Hi there", "<|im|>"]
    assert [cell.role for cell in tk.cells(tokens, "line")] == ["template", "template", "text", "template"]


def test_grouped_scores_keep_leading_axes_and_what_could_not_be_computed():
    cells = tk.cells(tokens_of("ab cd", [(0, 1), (1, 2), (2, 5)]), "word")
    scores = np.array([[1.0, -3.0, 5.0], [np.nan, 1.0, 2.0]])
    np.testing.assert_array_equal(tk.grouped(scores, cells), [[-2.0, 5.0], [np.nan, 2.0]])
    np.testing.assert_array_equal(tk.grouped(scores[0], cells, magnitude=True), [4.0, 5.0])
    with pytest.raises(ValueError, match="2 scores for 3 tokens"):
        tk.grouped(np.zeros(2), cells)


# --- how it is shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" of", "·of"),
        ("two words", "two words"),
        ("a  b ", "a··b·"),
        ("x\n\ty", "x⏎⇥y"),
        ("a\u200bb", "a⟨U+200B⟩b"),
        ("\u00a0\u3000\ufeff\u00ad\u202e\u2066", "⟨U+00A0⟩⟨U+3000⟩⟨U+FEFF⟩⟨U+00AD⟩⟨U+202E⟩⟨U+2066⟩"),
        ("\x00\x1b\r\n\x7f", "⟨U+0000⟩⟨U+001B⟩⟨U+000D⟩⏎⟨U+007F⟩"),
        ("\u0301e\u0301 \u0301", "◌\u0301e\u0301·◌\u0301"),
        ("\ud800\ue000\u2800", "⟨U+D800⟩⟨U+E000⟩⟨U+2800⟩"),
        ("a\ufe0f\u200d", "a⟨U+FE0F⟩⟨U+200D⟩"),
        ("a\U000e0041", "a⟨U+E0041⟩"),
        ("2\ufe0f", "2⟨U+FE0F⟩"),
        ("<script> **b** $x$ :red[x] </s> &amp;", "<script> **b** $x$ :red[x] </s> &amp;"),
    ],
)
def test_blanks_and_invisible_characters_are_shown(text, expected):
    assert tk.shown(text) == expected


@pytest.mark.parametrize(
    "text",
    [FAMILY, KEYCAP, FLAG, SCOTLAND, "❤\ufe0f", "👩🏼\u200d🦳", "می\u200cخواهم", "क्\u200dष", "葛\U000e0100", "日本"],
)
def test_characters_that_shape_their_neighbours_stay_at_work(text):
    assert tk.shown(text) == text


def test_plotly_gets_quotes_as_they_are_and_no_mathematics():
    assert tk.plotly_text(' "</s>"') == '·"&lt;/s&gt;"'
    assert tk.plotly_text("$x$ & y") == "&#36;x&#36; &amp; y"


def test_sums_by_role_share_out_the_total():
    tokens = tokens_of("abcd", [(0, 1), (1, 2), (2, 3), (3, 4)], roles=("template", "text", "text", "template"))
    scores = np.array([0.5, -1.0, 2.0, 0.25])
    assert tk.by_role(tokens, scores) == {"template": (2, 0.75), "text": (2, 1.0)}
    assert tk.by_role(tokens, scores, magnitude=True) == {"template": (2, 0.75), "text": (2, 3.0)}
