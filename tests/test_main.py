"""The command line: what it writes, and one line for everything that cannot be done."""

import csv
import io
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from analysis import explore
from analysis.__main__ import main
from analysis.examples import EXAMPLES
from analysis.output_file import OutputError, check, write
from analysis.prompt_files import dump_json, load_json
from analysis.prompts import PromptSet, Variant
from tests import tiny

SET = PromptSet(
    "The capital of France is",
    (Variant("What is the capital of France?"), Variant("The capital of Italy is", kind="negative control")),
    "Capitals",
    target=" Paris",
    candidates=(" Paris", " Rome"),
    expected="Paris",
    response_tokens=3,
)


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    tiny.network("llama").save_pretrained(folder)
    tiny.tokenizer().save_pretrained(folder)
    return str(folder)


@pytest.fixture
def work(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "SET.json").write_text(dump_json(SET), encoding="utf-8")
    return tmp_path


def refusal(capsys, *arguments: str) -> str:
    """The one line on the standard error of a call that ends with 2 and writes nothing."""
    before = sorted(Path.cwd().iterdir())
    assert main(list(arguments)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.endswith("\n")
    assert said.err.count("\n") == 1
    assert sorted(Path.cwd().iterdir()) == before
    return said.err


def test_a_set_is_analysed_into_json_csv_and_a_report(work, model, capsys):
    code = main(
        [
            "analyse",
            "SET.json",
            "--out",
            "RESULT.json",
            "--model",
            model,
            "--report",
            "REPORT.html",
            "--csv",
            "TABLE.csv",
            "--metrics",
            "METRICS.csv",
            "--matrices",
            "MATRICES.csv",
        ]
    )
    assert (code, capsys.readouterr()) == (0, ("", ""))
    result = json.loads((work / "RESULT.json").read_bytes())
    assert load_json(json.dumps(result["set"]), "") == SET
    assert (result["model"]["name"], result["model"]["dtype"], result["model"]["device"]) == ("tiny", "float32", "cpu")
    assert [row["label"] for row in result["prompts"]] == ["reference", "rewording 1", "rewording 2"]
    assert all(row["answer"] is not None and len(row["candidates"]) == 2 for row in result["prompts"])
    assert len(result["pairs"]) == 3
    figures = result["sensitivity"]
    assert (figures["prompts"], figures["left_out"]["controls"], figures["judged"]) == (2, 1, 2)
    assert figures["posix"] > 0
    with (work / "TABLE.csv").open(encoding="utf-8-sig", newline="") as file:
        assert [row["text"] for row in csv.DictReader(file)][1] == "What is the capital of France?"
    report = (work / "REPORT.html").read_text(encoding="utf-8")
    assert "One rewording" in report
    with (work / "METRICS.csv").open(encoding="utf-8-sig", newline="") as file:
        metrics = {row["key"]: row["value"] for row in csv.DictReader(file)}
    assert float(metrics["posix"]) == figures["posix"]
    assert [one["key"] for one in figures["metrics"]] == list(metrics)
    with (work / "MATRICES.csv").open(encoding="utf-8-sig", newline="") as file:
        assert {row["matrix"] for row in csv.DictReader(file)} == {"delta", "jsd", "response"}
    assert sorted(path.name for path in work.iterdir()) == [
        "MATRICES.csv",
        "METRICS.csv",
        "REPORT.html",
        "RESULT.json",
        "SET.json",
        "TABLE.csv",
    ]


def test_answers_can_be_left_out(work, model):
    assert main(["analyse", "SET.json", "--out", "RESULT.json", "--model", model, "--no-answers"]) == 0
    result = json.loads((work / "RESULT.json").read_bytes())
    assert {row["answer"] for row in result["prompts"]} == {None}
    assert result["sensitivity"]["posix"] is result["sensitivity"]["flip_rate"] is None
    assert result["sensitivity"]["spread"] > 0


def test_patch_curves_are_added_on_demand(work, model):
    for option, rows in ([], None), (["--patch"], 2):
        assert main(["analyse", "SET.json", "--out", "RESULT.json", "--model", model, "--no-answers", *option]) == 0
        patches = json.loads((work / "RESULT.json").read_bytes())["patches"]
        assert (None if patches is None else len({patch["b"] for patch in patches})) == rows


def test_the_model_of_the_set_is_used_unless_another_is_named(work, model):
    (work / "own.json").write_text(dump_json(PromptSet("one two", model=model, response_tokens=1)))
    assert main(["analyse", "own.json", "--out", "RESULT.json"]) == 0
    assert json.loads((work / "RESULT.json").read_bytes())["model"]["name"] == "tiny"


def test_the_result_goes_to_the_standard_output(work, model, capsysbinary):
    assert main(["analyse", "SET.json", "--out", "-", "--model", model, "--no-answers"]) == 0
    assert json.loads(capsysbinary.readouterr().out)["version"] == 1
    assert not (work / "-").exists()


def test_a_set_comes_from_the_standard_input(work, model, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((work / "SET.json").read_bytes())))
    assert main(["analyse", "-", "--out", "RESULT.json", "--model", model, "--no-answers"]) == 0


def test_a_table_is_analysed_like_a_set(work, model, capsys):
    (work / "table.csv").write_text("text,remark\none two,x\nthree,y\n")
    assert main(["analyse", "table.csv", "--out", "RESULT.json", "--model", model, "--no-answers"]) == 0
    assert capsys.readouterr().err == "table.csv: columns left out: remark\n"
    result = json.loads((work / "RESULT.json").read_bytes())
    assert [row["text"] for row in result["prompts"]] == ["one two", "three"]


def test_a_row_that_fails_is_said_and_the_others_are_written(work, model, capsys):
    long = PromptSet("one two", (Variant("six " * 400), Variant("three")), target=" four")
    (work / "long.json").write_text(dump_json(long))
    assert main(["analyse", "long.json", "--out", "RESULT.json", "--model", model, "--no-answers"]) == 0
    assert re.fullmatch(r"long\.json: rewording 1 has \d+ tokens; tiny reads at most 256\n", capsys.readouterr().err)
    rows = json.loads((work / "RESULT.json").read_bytes())["prompts"]
    assert [row["error"] is None for row in rows] == [True, False, True]


# --- bad input


def test_a_missing_file(work, capsys):
    assert refusal(capsys, "analyse", "none.json", "--out", "x") == (
        "none.json: cannot be read (no such file or directory)\n"
    )


def test_a_folder_in_place_of_a_file(work, capsys):
    assert refusal(capsys, "analyse", str(work), "--out", "x").startswith(f"{work}: cannot be read (is a directory)")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "SET.json: not valid JSON at line 1, column 2"),
        ('{"version": 1, "reference": "a", "varaints": []}', 'SET.json: the set has an unknown key "varaints"'),
        ('{"version": 2, "reference": "a"}', "SET.json: version 2 is not known"),
        ('{"version": 1, "reference": "a", "variants": [{"kind": "typo"}]}', 'SET.json: variants[0] has no "text"'),
        ('{"version": 1, "reference": "a", "response_tokens": 900}', "SET.json: response_tokens"),
        ("", "SET.json: is an empty file"),
        ("\x00\x01", "SET.json: is not a text file"),
    ],
)
def test_a_file_that_is_no_prompt_set(work, capsys, content, reason):
    (work / "SET.json").write_text(content)
    assert refusal(capsys, "analyse", "SET.json", "--out", "x").startswith(reason)


@pytest.mark.parametrize("output", ["out", "report", "csv"])
def test_an_output_without_a_name_is_refused_before_the_work(work, capsys, output):
    out = [] if output == "out" else ["--out", "x"]
    assert "is a folder; name a file in it" in refusal(capsys, "analyse", "SET.json", *out, f"--{output}", "")


def test_an_output_whose_name_is_too_long_is_refused_before_the_work(work, capsys):
    said = refusal(capsys, "analyse", "SET.json", "--out", "x" * 300)
    assert said.endswith("x: cannot be written (file name too long)\n")


def test_a_file_that_is_too_large_or_has_no_end(work, capsys):
    (work / "large.txt").write_bytes(b"a" * 3_000_000)
    for name in ("large.txt", "/dev/zero"):
        said = refusal(capsys, "analyse", name, "--out", "x")
        assert said == f"{name}: is larger than 2 MB (2 097 152 bytes), and no larger file is opened\n"


def test_a_name_with_a_line_break_stays_on_one_line(work, capsys):
    assert "cannot be read" in refusal(capsys, "analyse", "a\nb.json", "--out", "x")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--model", "/nowhere/at/all"], "--model: the path '/nowhere/at/all' does not exist"),
        (["--model", "not a model"], "--model: 'not a model' is not a model"),
        (["--dtype", "float3"], "SET.json: model: dtype 'float3' is not one of float32, bfloat16, float16"),
        (["--device", "tpu"], "SET.json: model: device 'tpu' is not available on this machine"),
        (["--model", "gemma-3-270m"], "--model: Gemma 3 270M comes under its maker's terms of use"),
    ],
)
def test_a_model_that_cannot_be_used(work, capsys, arguments, reason):
    assert refusal(capsys, "analyse", "SET.json", "--out", "x", *arguments).startswith(reason)


def test_a_reference_that_cannot_be_analysed(work, model, capsys):
    (work / "long.json").write_text(dump_json(PromptSet("six " * 400, target=" four")))
    said = refusal(capsys, "analyse", "long.json", "--out", "x", "--model", model)
    assert re.fullmatch(r"long\.json: reference has \d+ tokens; tiny reads at most 256\n", said)


def test_a_target_that_cannot_be_scored(work, model, capsys):
    (work / "far.json").write_text(dump_json(PromptSet("one two", target=(100_000,))))
    said = refusal(capsys, "analyse", "far.json", "--out", "x", "--model", model)
    assert said.startswith("far.json: reference: token id 100000 is not in the vocabulary of tiny")


@pytest.mark.parametrize(
    ("output", "reason"),
    [(".", ".: is a folder"), ("none/RESULT.json", "none/RESULT.json: cannot be written, because there is no folder")],
)
def test_an_output_that_cannot_be_written_is_refused_before_the_work(work, capsys, monkeypatch, output, reason):
    monkeypatch.setattr(explore, "analyse", pytest.fail)
    assert refusal(capsys, "analyse", "SET.json", "--out", output).startswith(reason)
    assert refusal(capsys, "analyse", "SET.json", "--out", "fine.json", "--csv", output).startswith(reason)


def test_the_set_and_another_output_are_not_overwritten(work, capsys):
    assert "SET.json: is the prompt set already" in refusal(capsys, "analyse", "SET.json", "--out", "./SET.json")
    assert "--csv same: is the output of --out already" in refusal(
        capsys, "analyse", "SET.json", "--out", "same", "--csv", "same"
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["analyse", "SET.json"], "the following arguments are required: --out"),
        (["analyze"], "argument COMMAND: invalid choice: 'analyze'"),
        (["example", "nothing"], "there is no example 'nothing'; the examples are capital_of_france, "),
    ],
)
def test_a_call_that_makes_no_sense(work, capsys, arguments, reason):
    assert refusal(capsys, *arguments).startswith(reason)


def test_stopping_leaves_no_file_behind(work, model, capsys, monkeypatch):
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(explore, "answers_of", stop)
    assert main(["analyse", "SET.json", "--out", "RESULT.json", "--model", model]) == 130
    assert capsys.readouterr().err == "stopped\n"
    assert [path.name for path in work.iterdir()] == ["SET.json"]


# --- examples


def test_examples_are_listed_and_printed(work, capsysbinary):
    assert main(["examples"]) == 0
    lines = capsysbinary.readouterr().out.decode().splitlines()
    assert [line.split()[0] for line in lines] == [example.key for example in EXAMPLES]
    for example in EXAMPLES:
        assert main(["example", example.key]) == 0
        assert load_json(capsysbinary.readouterr().out, "") == example.prompt_set


def test_a_program_of_its_own_ends_with_the_code_and_the_line(work):
    """In a shell, where no test framework stands between; the output in UTF-8 whatever the locale."""
    run = [sys.executable, "-m", "analysis"]
    root = str(Path(explore.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": root, "PYTHONIOENCODING": "ascii"}
    bad = subprocess.run([*run, "analyse", "none.json", "--out", "x"], capture_output=True, env=environment, text=True)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "none.json: cannot be read (no such file or directory)\n"
    good = subprocess.run([*run, "example", "french"], capture_output=True, env=environment)
    assert (good.returncode, good.stderr) == (0, b"")
    assert b"quatre" in good.stdout


# --- files written whole or not at all


def test_a_file_is_replaced_with_its_permissions_and_links_kept(tmp_path):
    (tmp_path / "old").write_text("old")
    (tmp_path / "old").chmod(0o600)
    (tmp_path / "link").symlink_to("old")
    write(tmp_path / "link", "a\r\nb\n")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "old").read_bytes() == b"a\r\nb\n"
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o600


def test_a_new_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").write_text("")
    write(tmp_path / "new", "text")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_device_is_written_to_and_not_replaced():
    check(Path(os.devnull))
    write(Path(os.devnull), "text")
    assert not Path(os.devnull).is_file()


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=r"file: cannot be written \(no space left on device\)"):
        write(tmp_path / "file", "new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "old")]


def test_checking_a_file_leaves_no_trace(tmp_path):
    check(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
