"""Lists, tables and files of other tools: opened right, or one sentence that says what is read instead."""

import codecs
import csv
import io
import json
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.limits import MAX_UPLOAD_BYTES
from analysis.open_file import load_any
from analysis.prompt_files import dump_json
from analysis.prompt_tables import NoTextColumn, load_lines, load_table, pasted_variants
from analysis.prompts import PromptSet, Variant
from analysis.validation import PromptSetError
from tests.strategies import filled, prompt_sets


def texts(loaded):
    return [loaded.prompt_set.reference, *(variant.text for variant in loaded.prompt_set.variants)]


def table(text, **options):
    return load_table(text.encode(), "texts.csv", **options)


def fault(data, filename="file.json"):
    with pytest.raises(PromptSetError) as caught:
        load_any(data if isinstance(data, bytes) else data.encode(), filename)
    sentence = str(caught.value)
    assert sentence.startswith(f"{filename}: ")
    assert "\n" not in sentence
    return sentence


def written(rows, **options):
    file = io.StringIO(newline="")
    csv.writer(file, **options).writerows(rows)
    return file.getvalue()


# Lists


def test_the_first_line_is_the_reference_and_nothing_but_line_ends_goes():
    loaded = load_lines(" a \r\n\r\n\tb\u2028c\n \n'd'\re")
    assert texts(loaded) == [" a ", "\tb\u2028c", "'d'", "e"]


def test_a_list_without_text_is_refused():
    for empty in ("", "\n \n", '""'):
        with pytest.raises(PromptSetError, match="the list: holds no text"):
            load_lines(empty)


def test_a_list_over_the_limit_is_refused_with_its_size():
    with pytest.raises(PromptSetError, match="holds 66 texts; a set has a reference and at most 64 rewordings"):
        load_lines("\n".join(f"text {number}" for number in range(66)))


def test_texts_with_newlines_can_be_pasted_as_json():
    wanted = ("Q: a\nA:", ' "b" ')
    assert pasted_variants(json.dumps(wanted)) == wanted
    assert pasted_variants(json.dumps(wanted, indent=2)) == wanted
    assert pasted_variants("\n".join(json.dumps(text) for text in wanted)) == wanted


def test_lines_that_are_not_all_json_strings_stay_as_they_are():
    for lines in (['"a" said b', "c"], ['"a"', "b"], ["[1]", "[2]"], ['"a", "b"', '"c"'], ['"a"], ["b"']):
        assert pasted_variants("\n".join(lines)) == tuple(lines)


@given(
    st.lists(
        filled.filter(
            lambda text: not any(end in text for end in "\r\n") and not text.startswith(("\ufeff", '"', "["))
        ),
        min_size=1,
        max_size=6,
    )
)
def test_lines_come_back_as_they_were(lines):
    assert pasted_variants("\n".join(lines)) == tuple(lines)


@given(st.lists(filled, min_size=1, max_size=6))
def test_json_texts_come_back_as_they_were(lines):
    assert pasted_variants(json.dumps(lines)) == tuple(lines)
    assert pasted_variants("\n".join(json.dumps(line) for line in lines)) == tuple(lines)


# Tables


def test_a_header_names_the_columns():
    loaded = table(
        "label,text,kind,target,expected,system,prefill,mode\n"
        ',The capital of France is,," Paris",Paris,,,\n'
        'possessive,"France\'s capital, in short, is",paraphrase,,,,,\n'
        "chat,What is the capital of France?,template,Paris,,Be brief.,The,Chat\n"
    )
    assert loaded.prompt_set == PromptSet(
        "The capital of France is",
        (
            Variant("France's capital, in short, is", "paraphrase", "possessive"),
            Variant(
                "What is the capital of France?", "template", "chat", mode="chat",
                system="Be brief.", prefill="The", target="Paris",
            ),
        ),
        target=" Paris",
        expected="Paris",
    )  # fmt: skip
    assert loaded.notes == ()


def test_separators_encodings_and_line_ends_do_not_matter():
    rows = [["text", "kind"], ["a; b, c\td", ""], ["e\nf", "typo"], ['g "h"', "casing"]]
    for delimiter in ",;\t":
        for end in ("\r\n", "\n"):
            text = written(rows, delimiter=delimiter, lineterminator=end)
            for data in (text.encode(), codecs.BOM_UTF8 + text.encode(), text.encode("utf-16")):
                loaded = load_table(data, "texts.csv")
                assert texts(loaded) == ["a; b, c\td", "e\nf", 'g "h"']
                assert [variant.kind for variant in loaded.prompt_set.variants] == ["typo", "casing"]


@given(st.lists(filled, min_size=1, max_size=5), st.sampled_from(",;\t"), st.sampled_from(["\n", "\r\n"]))
def test_quoted_texts_come_back_as_they_were(lines, delimiter, end):
    rows = [["text", "label"], *([line, "x"] for line in lines)]
    text = written(rows, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL)
    assert texts(table(text)) == lines
    assert texts(table(written([row[:1] for row in rows], lineterminator=end, quoting=csv.QUOTE_ALL))) == lines


def test_excels_line_about_the_separator_is_followed():
    assert texts(table("sep=;\r\ntext;kind\r\na, b;typo\r\nc;typo\r\n")) == ["a, b", "c"]


def test_blank_rows_and_cells_are_skipped_and_counted():
    loaded = table("text;kind\na;\n;typo\n\nb;\n  ;\n")
    assert texts(loaded) == ["a", "b"]
    assert loaded.notes == ("3 rows without a text were skipped",)


def test_columns_that_are_not_known_are_named():
    assert table("text,Score,id\na,1,2\nb,3,4\n").notes == ("columns left out: score, id",)


def test_without_a_header_the_first_column_holds_the_texts():
    assert texts(table("The capital of France is\nFrance's capital is\n")) == [
        "The capital of France is",
        "France's capital is",
    ]
    loaded = table("one text,x\nanother,y\n")
    assert texts(loaded) == ["one text", "another"]
    assert "a second column without a header was left out" in loaded.notes[0]


def test_commas_of_prose_do_not_cut_a_list():
    lines = ["Well, the capital of France is", "So, the capital of France is"]
    assert texts(table("\n".join(lines))) == lines
    lines = ["Hello, my name is", "My name is", "I am called, as you know,"]
    assert texts(table("\n".join(lines))) == lines
    assert texts(table("text\n" + "\n".join(lines))) == lines


def test_a_row_cut_at_its_commas_is_refused():
    with pytest.raises(PromptSetError, match=r"row 3 has 3 cells, the header 2; .* must be in quotation marks"):
        table("text,kind\na,typo\nHello, my name, is\n")


def test_a_mode_that_does_not_exist_is_named_with_its_row():
    with pytest.raises(PromptSetError, match="row 3: mode must be completion or chat, it is “base”"):
        table("text,mode\na,chat\nb,base\n")


def test_a_quotation_mark_left_open_is_named():
    with pytest.raises(PromptSetError, match="a quotation mark in or before line 4 is not closed"):
        table('text,kind\n"a,typo\nb,typo\nc,typo\n')


def test_a_table_without_texts_is_refused():
    for text, reason in (("text,kind\n,typo\n", "the column “text” holds no text"), ("\n\n", "holds no text")):
        with pytest.raises(PromptSetError, match=reason):
            table(text)


def test_latin_1_is_refused_with_advice():
    assert "line 2 is not UTF-8 text (byte 0xE9); save the file as UTF-8" in fault(b"text\ncaf\xe9\n", "texts.csv")


def test_other_columns_can_be_chosen():
    text = "question,topic\nWhat is 1 + 1?,sums\nHow much is 1 + 1?,sums\n"
    with pytest.raises(NoTextColumn) as caught:
        table(text)
    assert caught.value.columns == ("question", "topic")
    assert texts(table(text, text_column="question")) == ["What is 1 + 1?", "How much is 1 + 1?"]
    assert texts(table(text, text_column="topic")) == ["sums", "sums"]
    with pytest.raises(NoTextColumn):
        table(text, text_column="absent")


@given(st.text(max_size=60) | st.text(st.sampled_from('text,kind;"\n\ta '), max_size=60))
def test_any_table_gives_a_set_or_one_sentence(text):
    try:
        loaded = table(text)
    except PromptSetError as error:
        loaded = None
        sentence = str(error)
    assert loaded or (sentence.startswith("texts.csv: ") and "\n" not in sentence)


# Whatever the user has


@given(prompt_sets)
def test_a_saved_set_is_opened(prompt_set):
    loaded = load_any(dump_json(prompt_set).encode(), "SET.json")
    assert loaded.prompt_set.variants == prompt_set.variants
    assert loaded.prompt_set.name == (prompt_set.name or "SET")


def test_a_set_without_a_name_takes_the_files():
    assert load_any(b"a\nb\n", "C:\\texts\\My list.txt").prompt_set.name == "My list"
    assert load_any(b"text\na\n", "my.texts.csv").prompt_set.name == "my.texts"


def test_the_content_decides_where_the_name_does_not():
    text = dump_json(PromptSet("a", (Variant("b"),)))
    assert texts(load_any(text.encode(), "set.txt")) == ["a", "b"]
    assert texts(load_any(text.encode("utf-16"), "set")) == ["a", "b"]
    assert texts(load_any(b'["a", "b\\nc"]', "list.json")) == ["a", "b\nc"]
    assert texts(load_any(b"{curly} start\n[square] start\n", "list.txt")) == ["{curly} start", "[square] start"]


def test_a_set_is_a_set_under_the_name_of_a_table():
    text = dump_json(PromptSet("a", (Variant("b"),)))
    assert texts(load_any(text.encode(), "set.csv")) == ["a", "b"]
    assert texts(load_any(b"\xef\xbb\xbf\n" + text.encode(), "set.tsv")) == ["a", "b"]
    assert texts(load_any(b"text\n{not JSON}\n", "set.csv")) == ["{not JSON}"]


def test_a_name_that_is_not_utf_8_gives_a_set_that_can_be_saved():
    loaded = load_any(b"a", "caf\udce9.txt").prompt_set
    assert loaded.name == "caf\ufffd"
    dump_json(loaded)


def test_a_setting_that_has_two_columns_is_refused():
    assert "the column “label” is there 2 times" in fault("text,label,Label\na,b,c\n", "table.csv")


def test_utf_32_is_called_what_it_is():
    for ending in ("json", "csv", "txt"):
        assert "is text in UTF-32; save the file as UTF-8" in fault("text\na\n".encode("utf-32"), f"set.{ending}")


def test_the_last_newline_survives():
    prompt_set = PromptSet("What is 1 + 2?\nA. 3\nB. 4\nAnswer:\n", (Variant("b\n\n"),))
    assert texts(load_any(dump_json(prompt_set).encode(), "set.json")) == [prompt_set.reference, "b\n\n"]
    assert texts(table('text\n"a\n"\n"b\n\n"\n')) == ["a\n", "b\n\n"]


def test_a_result_opens_as_the_set_it_was_computed_from():
    result = {"version": 1, "model": {}, "set": {"version": 1, "reference": "a"}, "prompts": [], "pairs": []}
    loaded = load_any(json.dumps(result).encode(), "RESULT.json")
    assert loaded.prompt_set == PromptSet("a", name="RESULT")
    assert "this is a result" in loaded.notes[0]
    result["set"] = {"version": 2, "reference": "a"}
    assert "set: version 2 is not known" in fault(json.dumps(result), "RESULT.json")


def test_a_file_over_the_limit_is_refused_with_its_size():
    data = b"a" * (MAX_UPLOAD_BYTES + 1)
    assert "has 2 097 153 bytes; files of up to 2 MB (2 097 152 bytes) are opened" in fault(data, "list.txt")
    assert "is an empty file" in fault(b"", "list.txt")


def test_files_that_are_not_text_are_called_what_they_are():
    sheet, archive = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(sheet, "w") as file:
        file.writestr("xl/workbook.xml", "<workbook/>")
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a.txt", "a")
    assert "is a spreadsheet; save the table as CSV (UTF-8)" in fault(sheet.getvalue(), "book.xlsx")
    assert "is a ZIP archive" in fault(archive.getvalue(), "a.zip")
    assert "is an image; what is read: a prompt set (JSON)" in fault(b"\x89PNG\r\n\x1a\n", "a.png")
    assert "is a PDF document" in fault(b"%PDF-1.7", "a.pdf")
    assert "is a Parquet table; save the table as CSV" in fault(b"PAR1\x00", "a.parquet")
    assert "is an old Excel or Word file" in fault(b"\xd0\xcf\x11\xe0\xa1", "a.xls")
    assert "is not a text file" in fault(b"a\x00b", "a.csv")
    assert "is JSON Lines" in fault(b'{"prompt": "a"}\n{"prompt": "b"}\n', "a.jsonl")


def test_json_of_other_tools_is_called_what_it_is():
    assert "is a promptfoo configuration" in fault('{"prompts": ["a"], "providers": ["b"], "tests": []}')
    assert "is a chat request" in fault('{"model": "m", "messages": []}')
    assert '"version" is missing' in fault('{"a": 1}')
    assert "a prompt set is a JSON object, this is a list" in fault('[{"text": "a"}]')


@given(st.binary(max_size=60), st.sampled_from(["a.json", "a.csv", "a.txt", "a", "a.yaml", "a.cforge", "<b>.csv"]))
def test_any_file_gives_a_set_or_one_sentence(data, filename):
    try:
        loaded = load_any(data, filename)
    except PromptSetError as error:
        loaded = None
        sentence = str(error)
    assert loaded or (sentence.startswith(f"{filename}: ") and "\n" not in sentence)


# Cases that people met in public


C55 = (
    "language,body,style_config,__expected\n"
    'French,"Hello world","{""tone"":""formal"",""length"":""brief""}","icontains:bonjour"\n'
    'Pirate,"I\'m hungry","{""tone"":""authentic""}","icontains:grub"\n'
)


def test_c55_columns_are_named_and_an_assertion_is_not_an_answer():
    sentence = fault(C55, "tests.csv")
    assert "no column of texts among language, body, style_config, __expected" in sentence
    assert "“icontains:bonjour” in the column __expected is an assertion, not an answer" in sentence
    assert "use “bonjour” as the expected answer" in sentence
    with pytest.raises(NoTextColumn) as caught:
        table(C55)
    assert caught.value.columns == ("language", "body", "style_config", "__expected")


def test_c55_a_chosen_column_opens_and_json_cells_stay_text():
    loaded = table(C55, text_column="body")
    assert texts(loaded) == ["Hello world", "I'm hungry"]
    assert loaded.prompt_set.expected is None
    assert sum("is an assertion" in note for note in loaded.notes) == 2
    assert texts(table(C55, text_column="style_config"))[0] == '{"tone":"formal","length":"brief"}'


def test_c55_only_operands_that_are_answers_are_offered():
    loaded = table("text,__expected\na,Paris\nb,not-contains:Rome\nc,llm-rubric(0.5):is polite\nd,equals:Paris\n")
    assert loaded.prompt_set.expected == "Paris"
    assert ["as the expected answer" in note for note in loaded.notes] == [False, False, True]


def flow(answers):
    rows = [{"prompt": "honey, detective", "ideal": '["NONE"]'}, {"prompt": "tool, without", "ideal": '["a, b"]'}]
    nodes = [{"type": "prompt", "data": {"prompt": "{prompt}"}}, {"type": "table", "data": {"rows": rows}}]
    return json.dumps({"flow": {"nodes": nodes, "edges": []}, "cache": {"answers": ["x" * 100] * answers}})


def test_c56_a_flow_is_refused_in_one_sentence_whatever_its_size():
    for answers in (0, 13_000):  # 1.3 MB
        sentence = fault(flow(answers), "mini.cforge")
        assert "is a ChainForge flow; what is read: a prompt set (JSON), a table with a column named text" in sentence
    assert "is a ChainForge flow" in fault(flow(0), "mini.json")


C57 = """dataset: demo
templates:
  t1: !Template
    answer_choices: ['Yes', 'No']
    jinja: 'Sentence 1: {{premise}}

      Sentence 2: {{hypothesis}}

      Same meaning? |||

      {{answer_choices[label]}}'
    name: same?
"""


def test_c57_yaml_is_refused_and_its_tags_are_not_executed():
    assert "is a PromptSource template collection, of which nothing is read or executed" in fault(C57, "templates.yaml")
    assert "is a PromptSource template collection" in fault(C57, "templates.txt")
    assert "is YAML, of which nothing is read or executed" in fault("!!python/object/apply:os.system ['exit']", "a.yml")
