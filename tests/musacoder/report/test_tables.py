"""Tables say what the metrics say, and never mix what must not be compared."""

from __future__ import annotations

from support.small_runs import metrics_of, small_run

from musacoder.evaluate import compare
from musacoder.report import published, tables
from musacoder.report.gather import Part
from musacoder.report.markdown import escaped, table
from musacoder.report.words import decimal, duration, number, one_line, percent, size, times


def part(rows, **fields) -> Part:
    return Part("mine", metrics_of(small_run(rows, **fields)))


def texts(content: tables.Table) -> list[list[str]]:
    return [[cell.text for cell in row.cells] for row in content.rows]


def test_the_headline_has_the_runs_figures_beside_the_published_ones():
    content = tables.headline([part({"a": ["2/1", "incorrect"], "b": ["1/", "1/"]}, suite="KernelBench")], "device")
    # Pass@1 and Avg: (1/2 + 1) / 2; Pass@2: 1; faster than eager: 1 of 4; than compile: 0 of 2, b has no such baseline.
    assert texts(content)[0] == [
        "mine",
        "2",
        "2",
        "75.0",
        "100.0",
        "75.0",
        "25.0",
        "0.0",
        decimal((1.5 - 1 + 1 + 1) / 4),
    ]
    assert [row.published for row in content.rows] == [False, *[True] * 8]
    assert ["MusaCoder-9B-RL", "250", "8", "–", "83.6", "77.2", "12.6", "7.9", "–"] in texts(content)
    assert "not measured here" in texts(content)[1][0]


def test_published_figures_are_those_of_the_paper():
    rows = {row.model: row for row in (*published.CUDA, *published.MUSA)}
    best = rows["MusaCoder-27B-RL"]
    assert (best.pass_at_8, best.avg_at_8, best.faster_eager, best.faster_compile) == (93.2, 88.6, 15.0, 9.2)
    assert rows["Qwen3.5-9B (base)"].avg_at_8 == 7.05
    assert rows["MusaCoder-27B-RL, on MUSA"].faster_compile is None


def test_published_figures_never_stand_in_a_table_of_emulation():
    content = tables.headline([part({"a": ["correct"]}, evidence="emulation")], "emulation")
    assert not any(row.published for row in content.rows)
    assert texts(content)[0][-3:-1] == ["–", "–"]  # speed is unknown, not zero
    assert any("nothing about speed" in note for note in content.notes)


def test_a_musa_run_stands_beside_the_musa_row():
    content = tables.headline([part({"a": ["2/"]}, backend="musa")], "device")
    assert "MusaCoder-27B-RL, on MUSA" in [row[0] for row in texts(content)]


def test_another_suite_than_the_published_one_is_said():
    content = tables.headline([part({"a": ["2/"]}, suite="gallery")], "device")
    assert any("other suites here: gallery" in note for note in content.notes)


def test_candidates_without_a_baseline_and_short_tasks_are_told_of():
    notes = tables.headline([part({"a": ["2/1", "2/", "wmma?"], "b": ["1/1", "1/1", "1/1"]})], "device").notes
    assert "mine: 1 candidate left the rate against compile, which was not timed." in notes
    assert any("of 1 task with fewer than n scored candidates" in note for note in notes)


def test_several_turns_make_two_rows_of_each_rate():
    content = tables.headline([part({"a": ["incorrect correct"]})], "device")
    assert [row[3] for row in texts(content)[:2]] == ["0.0", "100.0"]
    assert "best of 2 turns" in content.rows[1].cells[0].small


def test_confirmed_rates_stand_beside_point_estimates():
    content = tables.confirmed_table(part({"a": ["1.15/", "2/"]}))
    assert [row[1:3] for row in texts(content)] == [["100.0", "50.0"]]
    assert tables.confirmed_table(part({"a": ["correct"]})) is None


def test_a_comparison_marks_only_what_the_interval_is_sure_of():
    first = small_run({f"t{i}": ["incorrect", "correct" if i % 2 else "incorrect"] for i in range(12)}, name="old")
    second = small_run({f"t{i}": ["correct", "correct" if i % 2 else "incorrect"] for i in range(12)}, name="new")
    content = tables.comparison_table(compare(first, second))
    assert content.columns[1:3] == ("old", "new")
    rows = {row.cells[0].text: row.cells for row in content.rows}
    assert (rows["Avg"][3].text, rows["Avg"][3].kind) == ("+50.0", "better")
    same = tables.comparison_table(compare(first, first))
    assert {(row.cells[3].text, row.cells[3].kind) for row in same.rows} <= {("±0.0", ""), ("±0.00", "")}


def test_a_run_of_one_turn_is_compared_by_one_view():
    run = small_run({"a": ["correct"], "b": ["incorrect"]})
    assert {row.cells[0].small for row in tables.comparison_table(compare(run, run)).rows} == {"first turn"}


def test_outcomes_add_up_to_every_attempt():
    content = tables.outcomes_table(part({"a": ["correct", "incorrect correct", "wmma?"], "b": ["-", "!x", "illegal"]}))
    assert sum(int(row[1]) for row in texts(content)) == 6
    assert [row[2] for row in texts(content)] == ["1", "–", "–", "–", "–", "–"]


def test_markdown_cells_are_text_whatever_they_hold():
    assert escaped("a|b *c* <b>`d`</b> [e](f)\n# g") == r"a\|b \*c\* &lt;b&gt;\`d\`&lt;/b&gt; \[e\](f) \# g"
    content = tables.tasks_table([part({"x|y\n<script>": ["2/1"]})])
    line = table(content).splitlines()[2]
    assert line.startswith(r"| x\|y &lt;script&gt; | – | unknown | admitted | 1/1 | 1/1 | 2.00× | 1.00× |")


def test_every_row_of_a_markdown_table_has_as_many_cells_as_its_head():
    rows = table(tables.headline([part({"a": ["2/1", "1/1"]})], "device")).splitlines()
    rows = [row for row in rows if row.startswith("|")]
    assert {row.count("|") for row in rows} == {10}


def test_numbers_are_shown_with_their_units():
    assert (percent(0.8364), percent(None), percent(1)) == ("83.6", "–", "100.0")
    assert (times(1.234), times(45.6), times(None)) == ("1.23×", "46×", "–")
    assert (duration(59.94), duration(600), duration(9000), duration(None)) == ("59.9 s", "10 min", "2.5 h", "–")
    assert (number(1234567), size(1_234_567), size(2500), decimal(-0.5)) == (
        "1\u202f234\u202f567",
        "1.2 MB",
        "2 kB",
        "−0.50",
    )
    assert one_line("a\n\n  b" + "c" * 300, 10) == "a bcccccc…"
