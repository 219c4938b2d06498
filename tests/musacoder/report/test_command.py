"""`musacoder report` as a shell sees it: files, strict JSON, and one line for what it cannot read."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pytest
from support.cli import environment
from support.report_runs import write_run
from support.runs import judged
from support.small_runs import small_run, verdict_of

from musacoder.cli import run as musacoder
from musacoder.evaluate import Metrics, Run
from musacoder.runlog import RunFolder


@pytest.fixture
def runs(tmp_path):
    write_run(tmp_path / "base", tasks=4, samples=2, turns=2, skill=0.4)
    return tmp_path


def written(path, run: Run):
    """A run folder with these records."""
    with RunFolder.create(path, run.manifest, {}) as folder:
        for sample in run.samples:
            folder.add_sample(sample)
        for verdict in run.verdicts:
            folder.add_verdict(verdict)
    return path


def test_a_report_is_written_into_the_runs_folder_and_says_how_large_it_is(runs, capsys):
    assert musacoder(["report", str(runs / "base")]) == 0
    page = runs / "base" / "report.html"
    out = capsys.readouterr().out
    assert page.read_text().startswith("<!doctype html>")
    assert f"{page}  {page.stat().st_size / 1e3:.0f} kB" in out
    assert "model-base, first turn" in out


def test_every_form_is_written_where_it_is_asked_for(runs, capsys):
    page, tables = runs / "deep" / "p.html", runs / "t.md"
    page.parent.mkdir()
    assert musacoder(["report", str(runs / "base"), "--out", str(page), "--markdown", str(tables), "--no-code"]) == 0
    assert "this report was made without code" in page.read_text()
    assert tables.read_text().startswith("# MusaCoder report\n")
    assert not (runs / "base" / "report.html").exists()
    assert {f.name for f in page.parent.iterdir()} == {"p.html"}
    assert "p.html" in capsys.readouterr().out


def test_json_is_all_that_is_printed_and_reads_back(runs, capsys):
    assert musacoder(["report", str(runs / "base"), "--json", "--seed", "7"]) == 0
    told = json.loads(capsys.readouterr().out)
    (metrics,) = (Metrics.model_validate(run) for run in told["runs"])
    assert (metrics.run, metrics.bootstrap_seed, told["comparisons"]) == ("base", 7, [])
    assert not (runs / "base" / "report.html").exists()


def test_as_a_process_the_command_needs_no_torch(runs):
    program = "import sys; sys.modules['torch'] = None; from musacoder.start import main; main()"
    command = [sys.executable, "-c", program, "report", str(runs / "base"), "--out", "r.html"]
    done = subprocess.run(command, cwd=runs, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (runs / "r.html").stat().st_size > 10_000


def refused(arguments, capsys) -> str:
    assert musacoder(["report", *map(str, arguments)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    return told.err


def test_a_folder_without_a_run_is_one_line(tmp_path, capsys):
    assert "there is no run in" in refused([tmp_path], capsys)
    assert "there is no run in" in refused([tmp_path / "nowhere"], capsys)


@pytest.mark.parametrize("name", ["manifest.json", "samples.jsonl", "verdicts.jsonl"])
def test_a_newer_schema_is_refused_with_the_place(runs, name, capsys):
    path = runs / "base" / name
    path.write_text(re.sub(r'("schema_version":\s*)\d+', r"\g<1>9", path.read_text(), count=1))
    line = refused([runs / "base"], capsys)
    assert name in line
    assert "newer version" in line


def test_torn_last_lines_are_left_out(runs, capsys):
    for name in ("samples.jsonl", "verdicts.jsonl"):
        path = runs / "base" / name
        path.write_bytes(path.read_bytes()[:-30])
    assert musacoder(["report", str(runs / "base"), "--json"]) == 0
    coverage = json.loads(capsys.readouterr().out)["runs"][0]["coverage"]
    assert coverage["asked"] == 8


def test_a_damaged_line_in_the_middle_is_named(runs, capsys):
    path = runs / "base" / "verdicts.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], "{half\n", *lines[1:]]))
    assert "verdicts.jsonl, line 2 is not valid JSON" in refused([runs / "base"], capsys)


def test_a_run_that_has_only_begun_has_a_report(tmp_path, capsys):
    folder = written(tmp_path / "empty", small_run({"a": ["-"], "b": ["-"]}))
    assert musacoder(["report", str(folder), "--markdown", str(tmp_path / "t.md")]) == 0
    assert "2 of 2 candidates not scored in their first turn: 2 missing." in (tmp_path / "t.md").read_text()
    capsys.readouterr()


def test_a_run_without_timing_says_that_speed_is_unknown(tmp_path, capsys):
    folder = written(tmp_path / "untimed", small_run({"a": ["correct"], "b": ["incorrect"]}, evidence="emulation"))
    assert musacoder(["report", str(folder), "--markdown", str(tmp_path / "t.md")]) == 0
    text = (tmp_path / "t.md").read_text()
    assert (
        "| untimed (scripted:gallery) | 2 | 1 | 50.0 (0.0–100.0) | 50.0 (0.0–100.0) | 50.0 (0.0–100.0) | – | – |"
        in text
    )
    assert "says nothing about speed" in text
    assert "fast_p" not in (tmp_path / "untimed" / "report.html").read_text()
    capsys.readouterr()


def test_mixed_evidence_has_a_table_for_each_kind(tmp_path, capsys):
    run = small_run({"a": ["2/1", "correct"]})
    run.verdicts[1] = judged("a", 1, verdict=verdict_of("correct", "emulation"))
    folder = written(tmp_path / "mixed", run)
    assert musacoder(["report", str(folder), "--markdown", str(tmp_path / "t.md")]) == 0
    text = (tmp_path / "t.md").read_text()
    device, emulation = (text.index(f"## Results, {how}") for how in ("judged on a device", "judged by emulation"))
    assert "published in" in text[device:emulation]
    assert "published in" not in text[emulation : text.index("## Run", emulation)]
    assert text.count("other evidence") >= 2
    capsys.readouterr()


def test_runs_of_different_evidence_are_shown_and_not_compared(tmp_path, capsys):
    one = written(tmp_path / "one", small_run({"a": ["2/1"]}))
    two = written(tmp_path / "two", small_run({"a": ["correct"]}, evidence="emulation"))
    page, tables = tmp_path / "r.html", tmp_path / "t.md"
    assert musacoder(["report", str(one), str(two), "--out", str(page), "--markdown", str(tables)]) == 0
    assert "rest on different evidence" in tables.read_text()
    assert "compared" not in [line for line in tables.read_text().splitlines() if line.startswith("## ")]
    capsys.readouterr()


def test_a_place_that_cannot_be_written_is_one_line_and_leaves_nothing(runs, capsys):
    line = refused([runs / "base", "--out", runs / "missing" / "r.html"], capsys)
    assert "cannot write" in line
    (runs / "taken").mkdir()
    assert "cannot write" in refused([runs / "base", "--out", runs / "taken"], capsys)
    assert not list(runs.rglob("*.part"))


def test_an_earlier_report_is_replaced_and_the_run_is_not_touched(runs, capsys):
    before = {f.name: f.read_bytes() for f in (runs / "base").iterdir()}
    for _ in range(2):
        assert musacoder(["report", str(runs / "base")]) == 0
    after = {f.name: f.read_bytes() for f in (runs / "base").iterdir() if f.name != "report.html"}
    assert before == after
    shutil.rmtree(runs / "base")
    capsys.readouterr()


def test_another_model_than_was_asked_is_told_of_in_every_form(tmp_path, capsys):
    run = small_run({"a": ["correct", "incorrect"]})
    samples = [s.model_copy(update={"warnings": ("asked m, answered by <gpt-evil>",)}) for s in run.samples]
    folder = written(tmp_path / "other", Run(run.manifest, samples, run.verdicts))
    page, tables = tmp_path / "r.html", tmp_path / "t.md"
    assert musacoder(["report", str(folder), "--out", str(page), "--markdown", str(tables)]) == 0
    assert "<li>2 answers: asked m, answered by &lt;gpt-evil&gt;.</li>" in page.read_text()
    assert "- **2 answers: asked m, answered by &lt;gpt-evil&gt;.**" in tables.read_text()
    capsys.readouterr()


@pytest.mark.parametrize(("rows", "turns"), [(["correct"], "1 turn"), (["incorrect correct"], "2 turns")])
def test_a_run_of_generate_tells_the_turns_that_it_took_and_not_its_budget(tmp_path, capsys, rows, turns):
    folder = written(tmp_path / "made", small_run({"a": rows}, kind="generate", turns=7, evidence="emulation"))
    assert musacoder(["report", str(folder), "--markdown", str(tmp_path / "t.md")]) == 0
    text = (tmp_path / "t.md").read_text()
    assert f"1 sample each, {turns} used at most" in text
    assert "7 turns" not in text + (tmp_path / "made" / "report.html").read_text()
    capsys.readouterr()


@pytest.mark.parametrize(("command", "usage"), [("report", "[OPTIONS] RUN..."), ("admit", "[OPTIONS] TASK...")])
def test_the_usage_line_names_what_may_be_repeated_once(command, usage, capsys):
    assert musacoder([command, "--help"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "Usage" in line)
    assert line.split(f"{command} ")[1].strip() == usage
