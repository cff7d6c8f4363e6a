"""Every page, alone and through `app.py`: what users do, and what they get to read, without a browser.

The model is a tiny random one: these tests are about the pages, not about its answers.
"""

import pytest
from streamlit.testing.v1 import AppTest

from analysis.examples import EXAMPLES
from analysis.limits import MAX_LINK_CHARACTERS, MAX_PROMPT_CHARACTERS, MAX_TARGET_TOKENS, MAX_VARIANTS
from analysis.links import from_link, to_link_fragment
from analysis.prompt_files import dump_json
from analysis.prompts import Message, PromptSet, Variant
from pages.shared.attributing import METHODS
from tests.in_app import (
    ATTRIBUTION,
    DISPERSION,
    EXPLORE,
    ROOT,
    SENSITIVITY,
    SMALL,
    VARIANTS,
    charts,
    click,
    finding,
    open_popover,
    prompt_set,
    row_names,
    run,
    said,
    texts,
)

# --- every page


@pytest.mark.parametrize("page", [EXPLORE, ATTRIBUTION, "app.py"])
def test_a_page_runs_by_itself_and_again_from_what_is_cached(open_app, page):
    app = open_app(None, page)
    first = texts(app)
    assert "Paris" in finding(app)
    run(app)
    assert len(texts(app)) >= len(first)
    assert charts(app)


def test_every_page_opens_in_the_app(open_app):
    app = open_app()
    app.switch_page(ATTRIBUTION)
    for _ in range(2):
        run(app)
        assert "Scores in reading order" in charts(app)[0]
    app.switch_page(EXPLORE)
    assert "rewordings" in finding(run(app))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.key)
def test_every_example_loads_on_every_page(open_app, example):
    app = open_popover(open_app(), "examples")
    click(app, f"example {example.key}")
    assert prompt_set(app) == example.prompt_set
    assert len(row_names(app)) == len(example.prompt_set.rows())
    for page in (ATTRIBUTION, DISPERSION, VARIANTS, SENSITIVITY):
        app.switch_page(page)
        assert charts(run(app)) or page == VARIANTS  # which draws none unasked
        assert prompt_set(app) == example.prompt_set


def test_pages_share_the_set_and_the_selected_wording(open_app):
    app = open_app()
    wording = next(box for box in app.selectbox if box.label == "Wording")
    click(app, "select 1" if wording.value == 2 else "select 2")
    chosen = next(box.value for box in app.selectbox if box.label == "Wording")
    app.text_area("reference/0").set_value("Another reference")
    run(app)
    app.switch_page(ATTRIBUTION)
    run(app)
    assert next(box.value for box in app.selectbox if box.label == "Wording") == chosen
    assert app.text_area("reference/0").value == "Another reference"
    app.switch_page(EXPLORE)
    assert run(app).text_area("reference/0").value == "Another reference"


# --- what is typed


@pytest.mark.parametrize("page", [EXPLORE, ATTRIBUTION, DISPERSION, VARIANTS, SENSITIVITY])
@pytest.mark.parametrize("reference", ["", "   \n "])
def test_an_empty_reference_gets_a_sentence_and_loses_nothing(open_app, page, reference):
    app = open_app(SMALL, page)
    app.text_area("reference/0").set_value(reference)
    run(app)
    assert said(app, "the prompt is", "type some text")
    assert prompt_set(app).reference == reference
    app.text_area("reference/0").set_value("The capital of Italy is")
    assert "rewordings" in finding(run(app)) or page != EXPLORE
    assert not said(app, "type some text")


@pytest.mark.parametrize("text", ["", "   "])
def test_an_empty_rewording_is_left_out_and_the_others_keep_their_results(open_app, text):
    app = open_app()
    app.text_area("text 0/0").set_value(text)
    run(app)
    assert said(app, "rewording 1 is empty and left out")
    assert len(row_names(app)) == 2
    assert "One rewording" in finding(app)


def test_one_prompt_alone_asks_for_a_paraphrase(open_app):
    app = open_app(PromptSet("The capital of France is", response_tokens=2))
    assert "Add a paraphrase" in finding(app)
    assert said(app, "add a paraphrase to see differences")
    app.switch_page(ATTRIBUTION)
    assert charts(run(app))


def test_duplicates_are_marked_and_differ_by_nothing(open_app):
    app = open_app()
    app.text_area("text 0/0").set_value(SMALL.reference)
    app.text_area("text 1/0").set_value(SMALL.reference)
    run(app)
    assert sum("same tokens as the reference" in text for text in texts(app)) == 2
    assert texts(app).count("0") == 2  # Δ
    assert "exactly where it is" in finding(app)


def test_sixty_four_rewordings_are_analysed_and_a_sixty_fifth_is_not_offered(open_app):
    variants = tuple(Variant(f"{count} is a number") for count in range(MAX_VARIANTS))
    app = open_app(PromptSet("One is a number", variants, response_tokens=1))
    assert "64 rewordings" in finding(app)
    assert len(row_names(app)) < MAX_VARIANTS  # in part, until they are asked for
    app.toggle("all rows").set_value(True)
    assert len(row_names(run(app))) == 1 + MAX_VARIANTS
    assert app.button("add").disabled
    open_popover(app, "open")
    app.text_area("pasted").set_value("one more\nand another")
    click(app, "add pasted")
    assert said(app, "2 rewordings were given", f"at most {MAX_VARIANTS}", "0 were added")
    assert len(prompt_set(app).variants) == MAX_VARIANTS


def test_a_prompt_over_the_models_limit_is_named_with_its_size(open_app):
    app = open_app()
    app.text_area("text 0/0").set_value("one two " * 2000)
    run(app)
    assert said(app, "rewording 1 has", "tokens; **tiny**_x reads at most 1 024")
    assert "One rewording" in finding(app)
    app.text_area("reference/0").set_value("one two " * 2000)
    assert said(run(app), "reference has", "reads at most 1 024")
    assert len(prompt_set(app).reference) == 16_000


def test_a_prompt_over_the_limit_of_characters_is_named_with_its_size(open_app):
    app = open_app()
    app.text_area("text 0/0").set_value("a" * (MAX_PROMPT_CHARACTERS + 1))
    run(app)
    assert said(app, "rewording 1 has 60 001 characters; at most 60 000")
    assert len(prompt_set(app).variants[0].text) == MAX_PROMPT_CHARACTERS + 1


def test_a_blank_at_the_end_of_a_prompt_is_warned_of(open_app):
    app = open_app()
    app.text_area("reference/0").set_value("The capital of France is ")
    assert said(run(app), "ends in white space")
    assert prompt_set(app).reference.endswith("is ")


def test_without_a_target_the_likeliest_token_is_taken(open_app):
    app = open_app()
    app.text_input("target/0").set_value("")
    run(app)
    assert prompt_set(app).target is None
    assert said(app, "the likeliest next token after the reference")
    assert "log p(" in finding(app)


def test_a_target_over_the_limit_gets_a_sentence_and_stays(open_app):
    app = open_app()
    long = " Paris" * (MAX_TARGET_TOKENS + 8)
    app.text_input("target/0").set_value(long)
    run(app)
    assert said(app, "the target has", f"at most {MAX_TARGET_TOKENS} can be scored")
    assert app.text_input("target/0").value == long
    app.text_input("target/0").set_value(" Rome")
    assert "Rome" in finding(run(app))


def test_the_tokens_of_a_target_are_shown_before_anything_runs(open_app):
    app = open_app()
    app.text_input("target/0").set_value(" Paris is")
    assert said(run(app), "2 tokens: ·Paris | ·is")


@pytest.mark.parametrize("text", ["\n", " a\n b\n", "\r\n"])
def test_a_short_field_shows_the_line_breaks_of_its_text(open_app, text):
    app = open_app(PromptSet("Hello", (Variant("Hi", label="a\nb"),), target=text, foil=text, name="a\nb"))
    open_popover(app, "more", "details 0/0")
    assert [area.value for area in app.text_area if area.label in ("Target", "Foil")] == [text, text]
    assert [area.value for area in app.text_area if area.label in ("Name of the set", "Label")] == ["a\nb"] * 2


def test_a_target_given_by_its_tokens_is_named_in_its_field(open_app):
    app = open_app(PromptSet("Hello", target=(240,), foil=(7, 8), response_tokens=1))
    open_popover(app, "more")
    assert app.text_input("target/0").placeholder == "picked: token 240"
    assert app.text_input("foil/0").placeholder == "picked: token 7, 8"


def test_candidates_with_line_breaks_are_shown_and_kept(open_app):
    app = open_popover(open_app(PromptSet("Hello", candidates=("a\nb", "c"), response_tokens=1)), "more")
    assert said(app, "a⏎b\nc")
    assert prompt_set(app).candidates == ("a\nb", "c")


def test_a_next_token_can_be_made_the_target(open_app):
    app = open_app()
    box = app.selectbox("next token")
    token = box.options.index(next(name for name in box.options if "id" in name))
    app.selectbox("next token").select_index(token)
    click(app, "pick target")
    chosen = prompt_set(app).target
    assert isinstance(chosen, str) or len(chosen) == 1
    assert said(app, "1 token: ")


def test_rewordings_are_added_duplicated_switched_off_and_removed(open_app):
    app = open_app()
    click(app, "add")
    app.text_area("text 2/0").set_value("Its capital")
    run(app)
    click(app, "duplicate 2/0")
    assert [variant.text for variant in prompt_set(app).variants][2:] == ["Its capital", "Its capital"]
    app.checkbox("on 3/0").uncheck()
    assert len(row_names(run(app))) == 4
    click(app, "remove 2/0")
    assert len(row_names(app)) == 3
    click(app, "undo")
    assert len(row_names(app)) == 4
    assert not prompt_set(app).variants[3].enabled


def test_a_pasted_list_becomes_rewordings(open_app):
    app = open_popover(open_app(), "open")
    app.text_area("pasted").set_value("  two blanks \n\nthe second")
    click(app, "add pasted")
    assert [variant.text for variant in prompt_set(app).variants][2:] == ["  two blanks ", "the second"]
    assert app.text_area("pasted").value == ""
    click(app, "add pasted")
    assert said(app, "the list is empty")


def test_any_row_can_become_the_reference_and_be_had_back(open_app):
    app = click(open_app(), "reference 1")
    assert app.text_area("reference/1").value == "France's capital is"
    assert app.text_area("text 0/1").value == SMALL.reference
    click(app, "undo")
    assert prompt_set(app) == SMALL


def test_details_of_a_rewording_override_the_set(open_app):
    app = open_popover(open_app(), "details 0/0")
    app.text_input("label 0/0").set_value("my own")
    app.selectbox("kind 0/0").set_value("negative control")
    app.text_input("target 0/0").set_value(" Rome")
    app.text_input("expected 0/0").set_value("Rome")
    run(app)
    assert prompt_set(app).variants[0] == Variant(
        "France's capital is", "negative control", "my own", target=" Rome", expected="Rome"
    )
    assert said(app, "compared on its own target")
    assert said(app, "a control that changes the meaning")


def test_chat_mode_has_a_system_prompt_turns_and_a_prefill(open_app):
    app = open_app()
    app.button_group("mode/0").set_value("chat")
    run(app)
    app.checkbox("system on/0").check()
    run(app)
    app.text_area("system/0").set_value("You are brief.")
    click(app, "add turn")
    app.text_area("turn text 0 of 1/0").set_value("Hello")
    click(app, "add turn")
    app.text_area("turn text 1 of 2/0").set_value("Hi")
    app.text_area("prefill/0").set_value("It is")
    run(app)
    now = prompt_set(app)
    assert (now.system, now.prefill) == ("You are brief.", "It is")
    assert now.turns == (Message("user", "Hello"), Message("assistant", "Hi"))
    assert "rewordings" in finding(app)
    click(app, "remove turn 0 of 2/0")
    assert prompt_set(app).turns == (Message("assistant", "Hi"),)


def test_a_rewording_may_have_a_system_prompt_of_its_own(open_app):
    app = open_app(PromptSet("Hello", (Variant("Hello"),), mode="chat", response_tokens=1))
    open_popover(app, "details 0/0")
    app.checkbox("own system 0/0").check()
    run(app)
    app.checkbox("system 0 on/0").check()
    run(app)
    app.text_area("system 0/0").set_value("Be brief.")
    run(app)
    assert prompt_set(app).variants[0].system == "Be brief."
    assert not said(app, "same tokens as the reference")


# --- models


def ask_for_model(app: AppTest, source: str) -> AppTest:
    open_popover(app, "model picker")
    app.selectbox("model choice").set_value("another model")
    run(app)
    app.text_input("model source").set_value(source)
    run(app)
    return click(app, "load model")


@pytest.mark.parametrize("source", ["nobody/**no** :red[model]", "nobody/no-such-model", "/no/such/folder"])
def test_a_model_that_does_not_load_leaves_the_page_as_it_is(open_app, source):
    app = open_app()
    before = finding(app)
    ask_for_model(app, source)
    assert said(app, "The model was not loaded: ", source)
    assert "**tiny**_x" in texts(app)
    assert finding(app) == before
    app.text_area("reference/0").set_value("The capital of Italy is")
    assert finding(run(app)) != before


def test_a_session_whose_only_model_does_not_load_can_ask_for_another(open_app, tiny_model_folder, monkeypatch):
    monkeypatch.setenv("PSL_MODEL", "/no/such/folder")
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    run(app)
    assert said(app, "The model was not loaded", "/no/such/folder")
    app.selectbox("model choice").set_value("another model")
    run(app)
    app.text_input("model source").set_value(str(tiny_model_folder))
    run(app)
    click(app, "load model")
    assert "**tiny**_x" in texts(app)
    assert not said(app, "The model was not loaded")


def test_chat_mode_needs_a_template(open_app, model_without_template):
    app = ask_for_model(open_app(), str(model_without_template))
    assert "plain" in texts(app)
    app.button_group("mode/0").set_value("chat")
    run(app)
    assert said(app, "plain has no chat template: use completion mode.")
    app.button_group("mode/0").set_value("completion")
    assert "rewordings" in finding(run(app))


def test_a_set_of_another_model_says_so_and_loads_nothing_unasked(open_app):
    app = open_app(PromptSet("Hello", (Variant("Hi"),), model="nobody/**other**", response_tokens=1))
    assert said(app, "This set was made with the model nobody/**other**.")
    assert "**tiny**_x" in texts(app)
    click(app, "load the set's model")
    assert said(app, "The model was not loaded", "nobody/**other**")


# --- links and files


def test_a_shared_link_opens_the_same_set(open_app):
    app = open_app(None)
    app.text_area("reference/0").set_value("  Typed\twith\nall its blanks  ")
    app.text_input("target/0").set_value("  Rome ")
    run(app)
    open_popover(app, "share")
    fragment = app.query_params["set"]
    assert app.code[0].value.endswith(f"?set={to_link_fragment(prompt_set(app))}")
    assert from_link(fragment) == prompt_set(app)
    assert prompt_set(open_app(link=fragment)) == prompt_set(app)


@pytest.mark.parametrize("link", ["<script>", "x" * 200, to_link_fragment(SMALL)[:-5], "A" * (MAX_LINK_CHARACTERS + 1)])
def test_a_broken_link_opens_the_first_example_and_stays_explained(open_app, link):
    app = open_app(link=link)
    assert prompt_set(app) == EXAMPLES[0].prompt_set
    for _ in range(2):
        assert said(app, "the link: ")
        run(app)
    click(app, "hush")
    assert not said(app, "the link: ")


def test_a_set_too_long_for_a_link_can_be_saved(open_app):
    app = open_app()
    app.text_area("reference/0").set_value("".join(chr(0x4E00 + (k * 7919) % 20000) for k in range(9000)))
    open_popover(app, "share")
    assert said(app, "the set is too long for a link", "download the file instead")
    assert app.download_button("save")
    assert "set" not in app.query_params


def upload(app: AppTest, name: str, data: bytes) -> AppTest:
    open_popover(app, "open")
    app.file_uploader("upload").upload(name, data)
    return run(app)


@pytest.mark.parametrize(
    ("name", "data", "fault"),
    [
        ("set.json", b"{", "set.json: "),
        ("set.json", b'{"version": 1, "reference": "a", "varants": []}', "varants"),
        ("set.json", b'{"version": 9, "reference": "a"}', "version"),
        ("**bold**.json", b"[]", "**bold**.json: "),
        ("picture.png", b"\x89PNG\r\n", "picture.png: is an image"),
        ("empty.csv", b"", "empty.csv: is an empty file"),
    ],
)
def test_a_bad_file_is_named_with_its_fault_and_the_editor_keeps_its_set(open_app, name, data, fault):
    app = upload(open_app(), name, data)
    assert said(app, fault)
    assert prompt_set(app) == SMALL
    run(app)
    assert said(app, fault)


def test_a_saved_set_opens_as_it_was(open_app):
    saved = PromptSet(" a\r\nb ", (Variant("\u200b", label="zero"), Variant("x")), name="<b>", candidates=("A", " A"))
    app = upload(open_app(), "saved.json", dump_json(saved).encode())
    assert prompt_set(app) == saved
    assert said(app, "the text gives") or row_names(app)


def test_a_table_with_byte_order_mark_semicolons_and_blank_cells_opens(open_app):
    app = upload(open_app(), "table.csv", "\ufefftext;label\nfirst one;\n;\nsecond, with comma;two\n".encode())
    now = prompt_set(app)
    assert now.reference == "first one"
    assert [variant.text for variant in now.variants if variant.text] == ["second, with comma"]


def test_a_table_asks_which_column_holds_the_texts(open_app):
    app = upload(open_app(), "table.csv", b"**a**,:red[b],expected\none,two,\nthree,four,\n")
    assert prompt_set(app) == SMALL
    assert app.selectbox("upload column").options[:2] == ["**a**", ":red[b]"]
    app.selectbox("upload column").set_value(":red[b]")
    run(app)
    click(app, "open column")
    assert (prompt_set(app).reference, prompt_set(app).variants[0].text) == ("two", "four")


# --- Explore


def test_candidates_are_scored_together(open_app):
    app = open_popover(open_app(), "more")
    app.text_area("candidates/0").set_value(" Paris\nRome\n yes")
    run(app)
    assert prompt_set(app).candidates == (" Paris", "Rome", " yes")
    assert any("Log-prob of the answers" in title for title in charts(app))
    for toggle in ("mean per token", "merge forms"):
        app.toggle(toggle).set_value(True)
        run(app)


def test_rows_are_ordered_by_their_delta(open_app):
    app = open_app(EXAMPLES[0].prompt_set)

    def deltas() -> list[float]:
        values = [text.replace("−", "-") for text in texts(app) if text[:1] in "+−" and text[1:2].isdigit()]
        return [float(value) for value in values]

    app.selectbox("order").set_value("Δ, lowest first")
    assert deltas() != sorted(deltas())
    run(app)
    assert deltas() == sorted(deltas())
    app.selectbox("order").set_value("Δ, highest first")
    run(app)
    assert deltas() == sorted(deltas(), reverse=True)


def test_views_of_the_strips_and_charts_can_be_chosen(open_app):
    app = open_app()
    for key, choice in [
        ("group by", "word"),
        ("group by", "sentence"),
        ("group by", "line"),
        ("view", "magnitude"),
        ("distance view", "relative"),
        ("distance view", "cosine"),
        ("picture format", "svg"),
    ]:
        app.button_group(key).set_value(choice)
        run(app)
    app.slider("layer").set_value(0)
    app.toggle("distance log").set_value(True)
    assert any("States at layer 0" in title for title in charts(run(app)))


def test_presenter_mode_is_there_at_once_and_on_every_page(open_app):
    app = open_app()
    app.toggle("presenter").set_value(True)
    run(app)
    assert any("20px" in html.value for html in app.html)
    app.switch_page(ATTRIBUTION)
    assert any("20px" in html.value for html in run(app).html)


def test_a_target_of_several_tokens_is_shown_token_by_token(open_app):
    labels = ("token", "Δ", "reference")
    app = open_app(PromptSet("one two", tuple(Variant("one", label=name) for name in labels), target=" Paris is"))
    for index, name in enumerate(("token", "Δ", "reference (3)"), start=1):
        next(box for box in app.selectbox if box.label == "Wording").set_value(index)
        run(app)
        table = app.dataframe[0].value
        assert list(table.columns) == ["token", "reference", f"wording “{name}”", "Δ"]
        assert list(table["token"]) == ["·Paris", "·is"]


# --- Attribution


@pytest.mark.parametrize("method", METHODS)
def test_every_method_scores_with_and_without_a_foil(open_app, method):
    app = open_app(SMALL, ATTRIBUTION)
    app.button_group("method").set_value(method)
    run(app)
    alone = charts(app)
    assert "Paris" in finding(app)
    open_popover(app, "more")
    app.text_input("foil/0").set_value(" Rome")
    run(app)
    assert "Rome" in finding(app)
    assert charts(app)[:1] == alone[:1]
    run(app)


def test_integrated_gradients_say_whether_they_converged(open_app):
    app = open_app(SMALL, ATTRIBUTION)
    app.button_group("method").set_value("integrated gradients")
    assert said(run(app), "onverged", "local errors add up to")
    for key, choice in [("baseline", "mean"), ("rule", "fixed 50")]:
        app.button_group(key).set_value(choice)
        assert said(run(app), "onverged", "local errors add up to")


def test_a_foil_that_cannot_be_used_gets_a_sentence(open_app):
    app = open_popover(open_app(SMALL, ATTRIBUTION), "more")
    app.text_input("foil/0").set_value(" Rome" * 40)
    assert said(run(app), "The foil cannot be used", f"at most {MAX_TARGET_TOKENS}")
    assert charts(app)


def test_the_deletion_curve_is_drawn_when_asked_for(open_app):
    app = open_app(SMALL, ATTRIBUTION)
    assert not any("elet" in title for title in charts(app)[2:])
    app.toggle("deletion curve").set_value(True)
    assert any("elet" in title for title in charts(run(app))[2:])


def test_every_target_token_gets_a_map(open_app):
    app = open_app(
        PromptSet("one two three", (Variant("one two"),), target=" Paris is", response_tokens=1), ATTRIBUTION
    )
    before = len(charts(app))
    app.toggle("target matrix").set_value(True)
    assert len(charts(run(app))) == before + 1


def test_the_pair_view_is_left_out_for_the_reference(open_app):
    app = open_app(SMALL, ATTRIBUTION)
    assert "The same tokens in the reference" in [head.value for head in app.subheader]
    next(box for box in app.selectbox if box.label == "Wording").set_value(0)
    run(app)
    assert "The same tokens in the reference" not in [head.value for head in app.subheader]


def test_a_new_set_is_empty_and_the_old_one_comes_back(open_app):
    app = open_popover(open_app(), "open")
    click(app, "new")
    assert prompt_set(app) == PromptSet("", model=SMALL.model)
    assert said(app, "type some text")
    app.text_area(next(area.key for area in app.text_area if area.label == "Reference prompt")).set_value("one two")
    assert "After the reference" in finding(run(app))
    click(app, "undo")
    assert prompt_set(app) == SMALL
