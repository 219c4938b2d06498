"""A run folder keeps what was written through crashes, threads and other versions, and refuses what does not fit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.cli import environment
from support.runs import judged, manifest, sample

from mooreeval.errors import NotJudged, UsageError
from mooreeval.verdict import Status
from musacoder.runlog import SCHEMA_VERSION, Key, Manifest, RunFolder, Sample, TokensTold

CONFIG = {"samples": 2, "sampling": {"temperature": 0.7, "stop": ["a"]}, "workers": 2}


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "runs" / "small"


def created(path: Path) -> RunFolder:
    return RunFolder.create(path, manifest(), CONFIG)


def test_what_was_written_is_read_back_equal(path):
    written = sample(reasoning="hm", shortened=("the example was left out",), prompt_tokens=7)
    lost = sample(index=1, failure=("rate_limit", "429"))
    with created(path) as run:
        run.add_sample(written)
        run.add_sample(lost)
        run.add_verdict(judged(status=Status.INCORRECT, reward=-1.0, feedback="no"))
        run.add_metrics({"pass@1": 0.0})
    read = RunFolder.open(path)
    assert list(read.samples()) == [written, lost]
    assert list(read.verdicts()) == [judged(status=Status.INCORRECT, reward=-1.0, feedback="no")]
    assert [m["pass@1"] for m in read.metrics()] == [0.0]
    assert (read.manifest, read.config) == (manifest(), CONFIG)


def test_a_run_that_goes_on_is_read_while_it_is_written(path):
    with created(path) as run:
        run.add_sample(sample())
        assert [s.key for s in RunFolder.open(path).samples()] == [Key("relu", 0, 1)]


@pytest.mark.parametrize("torn", [b"{", b'{"schema_version": 1, "task": "re', b'{"whole": "but without a line break"}'])
def test_a_torn_last_line_is_ignored_and_cut_off_at_the_next_start(path, torn):
    with created(path) as run:
        run.add_sample(sample())
    with (path / "samples.jsonl").open("ab") as file:
        file.write(torn)
    assert len(list(RunFolder.open(path).samples())) == 1
    with RunFolder.resume(path, manifest(), CONFIG) as run:
        run.add_sample(sample(index=1))
    assert [s.index for s in RunFolder.open(path).samples()] == [0, 1]


def test_a_torn_line_longer_than_what_is_read_at_once_is_cut_off_too(path):
    with created(path) as run:
        run.add_sample(sample())
    whole = (path / "samples.jsonl").read_bytes()
    (path / "samples.jsonl").write_bytes(whole + b"x" * 300_000)
    RunFolder.resume(path, manifest(), CONFIG).close()
    assert (path / "samples.jsonl").read_bytes() == whole


def test_a_damaged_line_in_the_middle_is_told_with_its_place(path):
    with created(path) as run:
        run.add_sample(sample())
    (path / "samples.jsonl").write_text("{broken\n" + (path / "samples.jsonl").read_text())
    with pytest.raises(UsageError, match=r"samples\.jsonl, line 1 is not valid JSON"):
        list(RunFolder.open(path).samples())


def test_lines_of_many_threads_stay_whole(path):
    with created(path) as run, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: run.add_sample(sample(index=i, answer="x" * 5000 * (i % 3 + 1))), range(100)))
        list(pool.map(lambda i: run.add_verdict(judged(index=i)), range(100)))
        assert run.sample(Key("relu", 99, 1)).index == 99
    read = RunFolder.open(path)
    assert sorted(s.index for s in read.samples()) == list(range(100))
    assert sorted(v.index for v in read.verdicts()) == list(range(100))


def test_a_resumed_run_knows_what_it_has(path):
    with created(path) as run:
        run.add_sample(sample())
        run.add_sample(sample(index=1))
        run.add_verdict(judged())
    with RunFolder.resume(path, manifest(created_at=2000.0), CONFIG) as run:
        assert [run.has_sample(Key("relu", i, 1)) for i in (0, 1, 2)] == [True, True, False]
        assert [run.has_verdict(Key("relu", i, 1)) for i in (0, 1)] == [True, False]
        assert run.sample(Key("relu", 1, 1)) == sample(index=1)
        assert run.verdict(Key("relu", 0, 1)) == judged()


def test_a_key_is_written_once_and_a_verdict_needs_its_sample(path):
    with created(path) as run:
        run.add_sample(sample())
        with pytest.raises(ValueError, match="already"):
            run.add_sample(sample())
        with pytest.raises(ValueError, match="no sample"):
            run.add_verdict(judged(index=1))
    assert len(list(RunFolder.open(path).samples())) == 1


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ({**CONFIG, "samples": 4}, "samples: 2 -> 4"),
        ({**CONFIG, "sampling": {"temperature": 1.0, "stop": ["a"]}}, "sampling.temperature: 0.7 -> 1.0"),
        ({**CONFIG, "sampling": {"temperature": 0.7, "stop": []}}, r"sampling.stop: \['a'\] -> \[\]"),
        ({k: v for k, v in CONFIG.items() if k != "samples"}, "samples: 2 -> not set"),
    ],
)
def test_resuming_with_another_configuration_is_refused_with_its_keys_named(path, now, told):
    created(path).close()
    with pytest.raises(UsageError, match=told):
        RunFolder.resume(path, manifest(), now)
    RunFolder.resume(path, manifest(), CONFIG).close()  # and nothing is lost or locked by that


def test_what_changes_no_result_may_change(path):
    created(path).close()
    RunFolder.resume(path, manifest(), {**CONFIG, "workers": 64}, free=("workers",)).close()


def test_a_task_that_was_edited_is_named(path):
    created(path).close()
    edited = manifest(tasks=[{"name": "relu", "hash": "8" * 64}])
    with pytest.raises(UsageError, match=r"tasks\.relu\.hash: 7777.* -> 8888"):
        RunFolder.resume(path, edited, CONFIG)


def test_two_processes_never_write_to_one_run(path):
    with created(path), pytest.raises(UsageError, match="another process is writing"):
        RunFolder.resume(path, manifest(), CONFIG)
    RunFolder.resume(path, manifest(), CONFIG).close()


def test_a_run_is_never_created_over_another(path):
    created(path).close()
    with pytest.raises(UsageError, match="already"):
        created(path)


def test_a_folder_whose_creation_was_cut_short_is_no_run_and_can_be_created(path):
    created(path).close()
    (path / "manifest.json").unlink()
    with pytest.raises(UsageError, match="there is no run in"):
        RunFolder.open(path)
    created(path).close()


def everything(path: Path) -> list[object]:
    run = RunFolder.open(path)
    return [run.manifest, *run.samples(), *run.verdicts()]


def rewritten(file: Path, **fields: object) -> None:
    data = json.loads(file.read_text())
    file.write_text(json.dumps({**data, **fields}) + "\n")


@pytest.mark.parametrize(
    ("version", "told"),
    [
        (SCHEMA_VERSION + 1, "newer version"),
        (0, "older than any"),
        (None, "no schema_version"),
        ("1", "no schema_version"),
    ],
)
@pytest.mark.parametrize("name", ["manifest.json", "samples.jsonl", "verdicts.jsonl"])
def test_another_schema_is_one_clear_line(path, name, version, told):
    with created(path) as run:
        run.add_sample(sample())
        run.add_verdict(judged())
    rewritten(path / name, schema_version=version)
    with pytest.raises(UsageError, match=told) as refused:
        everything(path)
    assert name in str(refused.value)
    assert "\n" not in str(refused.value)
    with pytest.raises(UsageError, match=told):
        RunFolder.resume(path, manifest(), CONFIG)


def test_a_verdict_of_a_newer_schema_is_told_as_that(path):
    with created(path) as run:
        run.add_sample(sample())
        run.add_verdict(judged())
    line = json.loads((path / "verdicts.jsonl").read_text())
    rewritten(path / "verdicts.jsonl", verdict={**line["verdict"], "schema_version": 2, "unheard_of": 1})
    with pytest.raises(UsageError, match=r"the verdict in .* newer version"):
        list(RunFolder.open(path).verdicts())


def test_a_record_of_the_first_schema_without_later_fields_is_read(path):
    with created(path) as run:
        run.add_sample(sample())
    line = json.loads((path / "samples.jsonl").read_text())
    kept = {k: v for k, v in line.items() if k in (*Sample.model_fields,) and v is not None and v != []}
    (path / "samples.jsonl").write_text(json.dumps(kept) + "\n")
    assert list(RunFolder.open(path).samples()) == [sample()]
    rewritten(path / "samples.jsonl", schema_version=1)
    assert [s.tokens for s in RunFolder.open(path).samples()] == [None]


def test_tokens_are_read_back_as_they_were_given():
    ids, logprobs = (0, 151_643, 2**32 - 1), (-0.0, -1.2345678, -1e-9)
    both = TokensTold.of(ids, logprobs)
    assert both.token_ids == ids
    assert both.log_probabilities == pytest.approx(logprobs, rel=1e-6)
    assert (TokensTold.of(ids, None).log_probabilities, TokensTold.of(None, logprobs).token_ids) == (None, None)
    assert TokensTold.of(None, None) is TokensTold.of((), ()) is None


def test_tokens_take_a_fraction_of_what_their_numbers_do():
    ids, logprobs = [(i * 7919) % 151_643 for i in range(1000)], [-1 / (i + 1) ** 2 for i in range(1000)]
    assert len(TokensTold.of(ids, logprobs).model_dump_json()) < len(json.dumps([ids, logprobs])) / 2


@pytest.mark.parametrize("told", ["AAAA", "not base64", TokensTold.of((1, 2), None).ids])
def test_tokens_that_are_damaged_say_so(told):
    with pytest.raises(ValueError, match="these are not 3 numbers"):
        _ = TokensTold(count=3, ids=told).token_ids


def test_a_full_disk_is_told_and_leaves_the_file_whole(path, monkeypatch):
    with created(path) as run:
        run.add_sample(sample())
        real = os.write
        monkeypatch.setattr("musacoder.runlog.lines.os.write", lambda handle, data: real(handle, data[:10]))
        with pytest.raises(NotJudged, match=r"cannot write .*samples\.jsonl"):
            run.add_sample(sample(index=1))
        monkeypatch.undo()
        run.add_sample(sample(index=1))
    assert [s.index for s in RunFolder.open(path).samples()] == [0, 1]


def test_a_run_that_was_opened_to_read_is_not_written_to(path):
    created(path).close()
    with pytest.raises(NotJudged, match="not open for writing"):
        RunFolder.open(path).add_sample(sample())


def test_text_that_is_no_unicode_is_kept_as_far_as_it_can_be(path):
    with created(path) as run:
        run.add_sample(sample(answer="half \ud800 a pair"))
    assert [s.answer for s in RunFolder.open(path).samples()] == ["half ? a pair"]


def test_the_manifest_and_the_samples_say_only_what_they_may():
    for fields in ({"answer": "x", "failure": ("empty", "nothing")}, {"answer": None}):
        with pytest.raises(ValueError, match="an answer or a failure"):
            sample(**fields)
    with pytest.raises(ValueError, match="unheard_of"):
        manifest(unheard_of=1)
    assert Manifest.model_validate(manifest().model_dump(mode="json")) == manifest()


WRITER = """
import sys
sys.path[:0] = sys.argv[2:]
from pathlib import Path
from support.runs import manifest, sample
from musacoder.runlog import RunFolder
with RunFolder.create(Path(sys.argv[1]), manifest(), {"a": 1}) as run:
    for index in range(10**6):
        run.add_sample(sample(index=index, answer="x" * 3000))
        print(index, flush=True)
"""


def test_what_was_told_as_written_survives_sigkill(path):
    tests = str(Path(__file__).parents[1])
    writer = subprocess.Popen([sys.executable, "-c", WRITER, path, tests], stdout=subprocess.PIPE, env=environment())
    assert writer.stdout is not None
    seen = [int(writer.stdout.readline()) for _ in range(20)]
    writer.send_signal(signal.SIGKILL)
    seen += [int(line) for line in writer.stdout.read().splitlines()]
    writer.wait()
    with RunFolder.resume(path, manifest(), {"a": 1}) as run:
        found = [s.index for s in run.samples()]
    assert found[: len(seen)] == seen
    assert len(found) - len(seen) <= 1
