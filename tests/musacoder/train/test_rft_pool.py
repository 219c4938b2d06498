"""What of a model's right answers becomes a target, and which is drawn when."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest
from support.runs import judged, manifest, sample

from mooreeval import gallery
from mooreeval.errors import UsageError
from mooreeval.verdict import Status
from musacoder.data.records import RowKind
from musacoder.runlog import MessageTold, RunFolder
from musacoder.train.diversity import diversity_of, entropy, expected_clusters
from musacoder.train.pool import (
    Origin,
    PoolEntry,
    best_of_one,
    drawn,
    fill_pool,
    read_pool,
    row_of,
    targets_of,
    visits,
)


def _entry(task: str = "relu", index: int = 0, cluster: str = "a", program: str | None = None, **fields) -> PoolEntry:
    known = {
        "task_hash": f"hash of {task}",
        "turn": 1,
        "program": program or f"{task} {index}",
        "reward": 1.0,
        "evidence": "emulation",
        "answer": f"answer {index}",
        "prompt": (MessageTold(role="user", content=f"write {task}"),),
    }
    return PoolEntry(task=task, index=index, cluster=cluster, **{**known, **fields})


def _code(name: str) -> str:
    task, candidate = name.split("/")
    (path,) = [e.candidate_path for e in gallery.load() if (e.task_name, e.candidate_name) == (task, candidate)]
    return f"```python\n{path.read_text(encoding='utf-8')}\n```"


def _run(folder: Path, answers: list[tuple[str, Status]]) -> Path:
    with RunFolder.create(folder, manifest("relu", samples=len(answers)), {}) as run:
        for index, (answer, status) in enumerate(answers):
            run.add_sample(sample("relu", index, answer=answer))
            run.add_verdict(judged("relu", index, status=status, reward=1.0 if status is Status.CORRECT else -1.0))
    return folder


def _filled(folder: Path) -> list[PoolEntry]:
    with RunFolder.resume(folder, RunFolder.open(folder).manifest, {}) as run:
        return fill_pool(run)


def test_right_answers_alone_are_in_the_pool(tmp_path):
    answers = [
        (_code("relu/plain"), Status.CORRECT),
        (_code("relu/grid_stride"), Status.ILLEGAL),
        (_code("relu/float4_with_tail"), Status.CORRECT),
        (_code("relu/missing_tail"), Status.INCORRECT),
    ]
    entries = _filled(_run(tmp_path / "run", answers))
    assert [e.index for e in entries] == [0, 2]
    assert len({e.cluster for e in entries}) == 2
    assert entries[0].answer == answers[0][0]
    assert entries[0].prompt[0].content == "write relu"


def test_a_pool_that_was_cut_short_is_completed_and_stays_as_it_was(tmp_path):
    answers = [(_code(f"relu/{name}"), Status.CORRECT) for name in ("plain", "grid_stride", "float4_with_tail")]
    folder = _run(tmp_path / "run", answers)
    whole = _filled(folder)
    written = (folder / "pool.jsonl").read_bytes()
    (folder / "pool.jsonl").write_bytes(written[: len(written) * 2 // 3])
    assert _filled(folder) == whole
    assert (folder / "pool.jsonl").read_bytes() == written
    assert _filled(folder) == list(read_pool(folder / "pool.jsonl")) == whole


def test_a_damaged_pool_is_named(tmp_path):
    folder = _run(tmp_path / "run", [(_code("relu/plain"), Status.CORRECT)])
    _filled(folder)
    with (folder / "pool.jsonl").open("a") as file:
        file.write('{"schema_version": 1, "task": "relu"}\n')
    with pytest.raises(UsageError, match=r"pool.jsonl, line 2 is damaged"):
        _filled(folder)


def test_a_renamed_answer_is_no_second_target(tmp_path):
    plain = _code("relu/plain")
    renamed = plain.replace("relu_kernel", "clamp_kernel").replace("out", "result")
    assert renamed != plain
    entries = _filled(_run(tmp_path / "run", [(plain, Status.CORRECT), (renamed, Status.CORRECT)]))
    assert len({e.cluster for e in entries}) == 1
    assert [e.index for e in targets_of(entries, 5)["relu"]] == [0]


def test_a_cluster_gives_so_many_targets_at_most_and_no_program_twice():
    entries = [_entry(index=i, cluster="a") for i in range(4)]
    entries += [_entry(index=4, cluster="b"), _entry(index=5, cluster="b", program="relu 4")]
    entries += [_entry("matmul", index=0, cluster="a")]
    targets = targets_of(reversed(entries), 2)
    assert [(e.index, e.cluster) for e in targets["relu"]] == [(0, "a"), (1, "a"), (4, "b")]
    assert len(targets["matmul"]) == 1


def test_best_of_one_takes_the_highest_reward_and_of_equals_the_first():
    entries = [_entry(index=0, reward=1.0), _entry(index=1, reward=1.5), _entry(index=2, reward=1.5)]
    entries += [_entry("matmul", index=i) for i in range(3)]
    assert {task: [e.index for e in of] for task, of in best_of_one(entries).items()} == {"relu": [1], "matmul": [0]}


def test_each_visit_draws_anew_and_every_target_is_as_likely():
    targets = [_entry(index=i, cluster=str(i)) for i in range(4)]
    counts = Counter(drawn(targets, 3, epoch).index for epoch in range(2000))
    assert set(counts) == {0, 1, 2, 3}
    assert all(abs(n - 500) < 4 * math.sqrt(2000 * 0.25 * 0.75) for n in counts.values())
    assert [drawn(targets, 3, e) for e in range(20)] != [drawn(targets, 4, e) for e in range(20)]


def test_tasks_draw_independently_of_each_other_and_visits_are_the_same_again():
    targets = {f"t{n}": [_entry(f"t{n}", i, cluster=str(i)) for i in range(2)] for n in range(50)}
    first = [(epoch, e.task, e.index) for epoch, e in visits(targets, 3, 0)]
    assert first == [(epoch, e.task, e.index) for epoch, e in visits(dict(reversed(targets.items())), 3, 0)]
    assert Counter((epoch, task) for epoch, task, _ in first) == {(e, f"t{n}"): 1 for e in range(3) for n in range(50)}
    for epoch in range(3):
        assert 10 < sum(index for of, _, index in first if of == epoch) < 40


def test_best_of_one_has_the_same_visits_with_one_target_each():
    entries = [_entry(f"t{n}", i, cluster=str(i)) for n in range(5) for i in range(3)]
    many, one = visits(targets_of(entries, 2), 4, 0), list(visits(best_of_one(entries), 4, 0))
    assert [(epoch, e.task) for epoch, e in many] == [(epoch, e.task) for epoch, e in one]
    assert len({(e.task, e.index) for _, e in one}) == 5


def test_a_row_asks_the_tasks_prompt_and_answers_as_the_model_did():
    row = row_of(_entry(index=3), 2, "hf:model", Origin("elementwise", ("relu",), "MIT"))
    assert row.kind is RowKind.GENERATION
    assert [(t.role, t.content) for t in (*row.prompt, *row.completion)] == [
        ("user", "write relu"),
        ("assistant", "answer 3"),
    ]
    assert (row.source, row.licence, row.family, row.cluster) == ("policy:hf:model", "MIT", "elementwise", "a")
    assert row.facts["epoch"] == 2


def test_figures_of_diversity_are_those_computed_by_hand():
    entries = [_entry("a", i, cluster="xxxy"[i]) for i in range(4)]
    entries += [_entry("b", i, cluster="uv"[i]) for i in range(2)]
    found = diversity_of(entries)
    of_a = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert (found.tasks, found.answers, found.clusters) == (2, 6, 2.0)
    assert found.entropy == pytest.approx((of_a + math.log(2)) / 2, abs=1e-6)
    assert found.effective == pytest.approx((math.exp(of_a) + 2) / 2, abs=1e-6)
    assert (found.clusters_in_4, found.tasks_with_4) == (2.0, 1)


def test_clusters_among_so_many_answers_are_counted_over_all_choices():
    assert expected_clusters({"a": 5, "b": 1}, 1) == pytest.approx(1)
    assert expected_clusters({"a": 2, "b": 2}, 2) == pytest.approx(1 + 4 / 6)
    assert expected_clusters({"a": 2, "b": 2}, 4) == pytest.approx(2)


def test_one_way_has_no_entropy_and_no_answers_no_figures():
    assert entropy({"a": 7}) == 0
    assert diversity_of([]).clusters is None
