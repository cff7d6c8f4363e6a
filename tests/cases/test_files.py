"""Files of other tools, the last newline, and prompts that are too long: opened right or refused in one sentence."""

import json

import numpy as np
import pytest

from analysis.encoding import encode
from analysis.explore import Caches, analyse
from analysis.links import from_link, to_link_fragment
from analysis.open_file import load_any
from analysis.prompt_files import dump_json
from analysis.prompt_tables import load_table, pasted_variants
from analysis.prompts import Prompt, PromptSet, Variant
from analysis.report import to_csv
from analysis.validation import PromptSetError
from tests.cases.reading import CASES

FILLER = "The grass is green. The sky is blue. "
PHRASE = " PLUM-31"


def refusal(name: str) -> str:
    file = CASES[name].input["file"]
    with pytest.raises(PromptSetError) as caught:
        load_any(file["content"].encode(), file["name"])
    sentence = str(caught.value)
    assert sentence.startswith(f"{file['name']}: ")
    assert "\n" not in sentence
    return sentence


def test_c55_a_table_of_variables_names_its_columns_and_what_an_assertion_is():
    said = refusal("C55")
    assert "no column of texts among language, body, style_config, __expected" in said
    assert "is an assertion, not an answer" in said
    assert "“bonjour”" in said


def test_c55_cells_of_json_stay_texts():
    loaded = load_table(CASES["C55"].input["file"]["content"].encode(), "tests.csv", text_column="style_config")
    assert loaded.prompt_set.reference == '{"tone":"formal","length":"brief"}'
    assert loaded.prompt_set.target is loaded.prompt_set.expected is None


def test_c56_a_flow_is_refused_with_what_is_read_instead():
    said = refusal("C56")
    assert "is a ChainForge flow; what is read: a prompt set (JSON), a table" in said


def test_c57_yaml_is_refused_and_nothing_in_it_is_run():
    assert "is a PromptSource template collection, of which nothing is read or executed" in refusal("C57")


def test_c58_the_last_newline_survives_every_way_in_and_out(run):
    found = run("C58")
    text = found.case.texts()["filled + final newline"]
    assert text.endswith("Answer:\n")
    prompt_set = found.analysis.prompt_set
    again = (
        load_any(dump_json(prompt_set).encode(), "set.json").prompt_set,
        from_link(to_link_fragment(prompt_set)),
        load_any(to_csv(found.analysis).encode(), "set.csv").prompt_set,
    )
    for one in again:
        assert one.variants[1].text == text
    assert pasted_variants(dump_json_list(text, text)) == (text, text)
    assert found.trace("filled + final newline").tokens.text == text


def dump_json_list(*texts: str) -> str:
    return json.dumps(texts)


# C59: long prompts


def long_text(times: int) -> str:
    reference = CASES["C59"].texts()["reference"]
    assert reference.count(FILLER) == 10
    return reference.replace(FILLER * 10, FILLER * times)


def test_c59_a_prompt_over_the_limit_is_refused_with_count_and_limit_and_the_others_stay(default_lm, caches, run):
    counts = {times: len(encode(default_lm.encoder, Prompt(long_text(times))).ids) for times in (10, 50, 900)}
    per_filler = (counts[50] - counts[10]) // 40
    assert counts[900] == counts[10] + 890 * per_filler > 8192
    prompt_set = PromptSet(long_text(10), (Variant(long_text(900), label="900 x filler"),), target=PHRASE)
    made = analyse(default_lm, prompt_set, caches, attributions=False)
    assert made.prompts[1].trace is None
    (note,) = made.prompts[1].notes
    count = f"{counts[900]:,}".replace(",", " ")
    assert note.text == f"900 x filler has {count} tokens; SmolLM2-135M-Instruct reads at most 8 192"
    assert made.reference.trace.log_prob == run("C59").trace().log_prob


def test_c59_the_whole_prompt_that_is_shown_is_the_one_that_is_scored(run):
    found = run("C59")
    for label, text in found.case.texts().items():
        assert found.trace(label).tokens.text == text
        assert found.trace(label).tokens.spans[-1][1] == len(text)
    assert found.trace("head removed").log_prob < found.trace().log_prob - 20
    assert "a control that changes the meaning" in found.notes("head removed")


def test_c59_the_fact_at_the_head_lights_up_and_progress_is_told(default_lm):
    told: list[float] = []
    prompt_set = PromptSet(long_text(10), target=PHRASE)
    trace = analyse(default_lm, prompt_set, Caches(), report=told.append).reference.trace
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert len(told) > 10
    start = trace.tokens.text.index("PLUM-31")
    fact = [t for t, (a, b) in enumerate(trace.tokens.spans) if a < start + 7 and start < b]
    free = np.arange(1, len(trace.tokens))
    share = trace.saliency[fact].sum() / trace.saliency[free].sum()
    assert share > 3 * len(fact) / len(free)


def test_c59_a_long_run_can_be_stopped_and_leaves_nothing_behind(default_lm, run):
    class Stopped(Exception):
        pass

    def stop(fraction: float) -> None:
        if fraction > 0.1:
            raise Stopped

    caches = Caches()
    prompt_set = PromptSet(long_text(50), target=PHRASE)
    with pytest.raises(Stopped):
        analyse(default_lm, prompt_set, caches, report=stop)
    assert analyse(default_lm, PromptSet(long_text(10), target=PHRASE), caches, attributions=False).reference.trace
