"""A run of stages: each is done once, its facts stay, and another configuration is refused by name."""

import pytest
from support.gallery_author import gallery_program
from support.synth_runs import opened, small_config

from mooreeval.errors import UsageError
from musacoder.data.records import Program
from musacoder.data.trusted import Audited, Disagreement, verified
from musacoder.synth.auditing import audit_programs
from musacoder.synth.command import synth_config
from musacoder.synth.config import SynthConfig
from musacoder.synth.folder import AUDIT, PROGRAMS
from musacoder.synth.pipeline import Stage, run_stages
from musacoder.synth.run import SynthRun


def run_in(folder, config=None):
    return SynthRun(folder, config or small_config(), quiet=True)


def test_a_stage_that_is_done_is_not_run_again_and_one_that_fails_is(tmp_path):
    ran = []

    def first(_run):
        ran.append("first")
        return {"made": 3}

    def second(_run):
        ran.append("second")
        if ran.count("second") == 1:
            raise UsageError("no")
        return {}

    stages = [Stage("first", first), Stage("second", second)]
    with opened(tmp_path) as folder, pytest.raises(UsageError):
        run_stages(run_in(folder), stages)
    with opened(tmp_path) as folder:
        ended = run_stages(run_in(folder), stages)
    assert ran == ["first", "second", "second"]
    assert [(done.stage, done.facts) for done in ended] == [("first", {"made": 3}), ("second", {})]


def test_another_configuration_is_refused_by_the_names_of_its_keys(tmp_path):
    opened(tmp_path, small_config()).__exit__(None, None, None)
    with pytest.raises(UsageError, match=r"another configuration \(programs.count: 8 -> 9\)"):
        opened(tmp_path, small_config(count=9))
    more_workers = SynthConfig.model_validate({**small_config().model_dump(), "work": {"workers": 7}})
    opened(tmp_path, more_workers).__exit__(None, None, None)


def test_a_run_that_goes_on_needs_no_settings_again(tmp_path):
    config = synth_config(tmp_path, None, ["programs.count=12"])
    opened(tmp_path, config).__exit__(None, None, None)
    again = synth_config(tmp_path, None, [])
    assert again == config and again.verify.seed


def test_only_one_process_writes(tmp_path):
    with opened(tmp_path), pytest.raises(UsageError, match="another process is writing"):
        opened(tmp_path)


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [("config.yaml", "[", "damaged"), ("run.json", "{", "damaged"), ("run.json", '{"schema_version": 99}', "newer")],
)
def test_a_damaged_or_newer_run_is_told(tmp_path, file, text, told):
    opened(tmp_path).__exit__(None, None, None)
    (tmp_path / file).write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=told):
        opened(tmp_path)


@pytest.mark.slow
def test_the_audit_stops_at_a_program_that_the_judge_does_not_call_correct_and_stays_stopped(tmp_path):
    right, wrong = gallery_program("relu/plain", 1), gallery_program("relu/missing_tail", 2)
    config = SynthConfig.model_validate({**small_config().model_dump(), "audit": {"share": 1}})
    with opened(tmp_path, config) as folder:
        folder.replace(PROGRAMS, map(verified, (right, wrong)))
        named = rf"program {wrong.program_hash[:12]} \(family relu, seed 2\)"
        with pytest.raises(Disagreement, match=named):
            audit_programs(run_in(folder, config))
        said = {each.program_hash: each.status for each in folder.read(AUDIT, Audited)}
        assert said[wrong.program_hash] == "incorrect"
        size = (tmp_path / AUDIT).stat().st_size
        with pytest.raises(Disagreement, match=named):
            audit_programs(run_in(folder, config))
        assert (tmp_path / AUDIT).stat().st_size == size
        folder.replace(PROGRAMS, [verified(right)])
        assert audit_programs(run_in(folder, config)) == {"audited": 1, "of": 1, "agree": 1}
        assert [p.judged_by for p in folder.read(PROGRAMS, Program)] == ["trusted batch"]
