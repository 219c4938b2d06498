"""The pipeline end to end on the simulator: what a candidate does to its own process is its own verdict."""

import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from mooreeval.candidate import Candidate, NoCandidate
from mooreeval.config import load_config
from mooreeval.errors import NotJudged, TaskError
from mooreeval.hashing import content_hash
from mooreeval.task import make_task
from mooreeval.verdict import Status, Verdict
from mooreeval.verify import LocalVerifier, ScriptedVerifier

from .conftest import SCALE_CANDIDATE, SCALE_TASK, changed


def test_an_honest_kernel_is_correct_and_the_verdict_names_what_it_rests_on(verifier, scale_task):
    verdict = verifier.verify(scale_task, Candidate(SCALE_CANDIDATE))
    assert verdict.status is Status.CORRECT, verdict.reason
    assert verdict.q == 1
    assert verdict.evidence == "emulation"
    assert verdict.timing is None
    assert len({t.seed for t in verdict.trials}) == len(verdict.trials) == 5
    assert {t.schedule for t in verdict.trials} >= {"checked forward", "reverse", "random"}
    assert verdict.launches[0].count == 5
    compiler = subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    assert verdict.versions["g++"] == compiler
    assert "torch" in verdict.versions
    assert content_hash(verdict.config) == verdict.config_hash
    assert [str(s) for s in verdict.shapes] == ["input[0] 32x64 float32", "output 32x64 float32"]
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


def test_the_same_seed_gives_the_same_verdict(verifier, scale_task):
    first, second = (verifier.verify(scale_task, Candidate(SCALE_CANDIDATE)) for _ in range(2))
    drop = {"stage_seconds"}
    assert first.model_dump(exclude=drop) == second.model_dump(exclude=drop)


def test_a_verdict_is_reached_again_from_the_configuration_and_the_seed_that_it_names(verifier, scale_task, tmp_path):
    wrong = changed(("x[i] * factor", "x[i] * factor + (i == 7)"))
    first = verifier.verify(scale_task, wrong)
    file = tmp_path / "config.json"
    file.write_text(json.dumps(first.config))
    with LocalVerifier(load_config(file, overrides={"seed": first.seed})) as other:
        second = other.verify(scale_task, wrong)
    assert first.status is Status.INCORRECT
    assert second.model_dump(exclude={"stage_seconds"}) == first.model_dump(exclude={"stage_seconds"})


def test_paths_in_place_of_a_task_and_a_candidate_are_told_with_what_reads_them(verifier, scale_task):
    with pytest.raises(TypeError, match=r"task is a str, not a Task: load_task\(path\)"):
        verifier.verify("task.py", "candidate.py")
    with pytest.raises(TypeError, match=r"candidate is a PosixPath, not a Candidate: load_candidate\(path\)"):
        verifier.verify(scale_task, Path("candidate.py"))
    with LocalVerifier(verifier.config) as other, pytest.raises(TypeError, match="load_task"):
        other.verify_many([("task.py", "candidate.py")])


def test_what_is_built_once_is_told_beforehand(verifier, scale_task, tmp_path, monkeypatch):
    verifier.verify(scale_task, Candidate(SCALE_CANDIDATE))
    assert not verifier.needs_preparation()
    monkeypatch.setenv("MOOREEVAL_CACHE", str(tmp_path))
    with LocalVerifier(verifier.config) as other:
        assert other.needs_preparation()


def test_wrong_values_are_described(verifier, scale_task):
    verdict = verifier.verify(scale_task, changed(("x[i] * factor", "2 * x[i] * factor")))
    assert verdict.status is Status.INCORRECT
    assert verdict.q == 0
    assert verdict.trials[0].mismatch.wrong > 1000


def test_parameters_created_in_another_order_are_no_error(verifier, scale_task):
    verdict = verifier.verify(
        scale_task,
        changed(("        self.factor = factor\n", "        self.factor = factor\n        torch.randn(100)\n")),
    )
    assert verdict.status is Status.CORRECT, verdict.reason


def test_values_from_a_torch_operator_without_any_launch_are_illegal(verifier, scale_task, source_unread):
    verdict = verifier.verify(
        scale_task, changed(("ext.run(x, self.bias, self.factor)", "x * self.factor + self.bias"))
    )
    assert verdict.status is Status.ILLEGAL
    assert verdict.rules[0].rule == "no_kernel_launched"


def test_a_branch_that_skips_the_kernel_in_one_trial_is_illegal(verifier, scale_task, source_unread):
    body = (
        "        self.calls = getattr(self, 'calls', 0) + 1\n"
        "        if self.calls == 3: return x * self.factor + self.bias\n"
    )
    verdict = verifier.verify(scale_task, changed(("        return ext.run", body + "        return ext.run")))
    assert verdict.status is Status.ILLEGAL


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("os._exit(0)", "exited with code 0"),
        ("os.kill(os.getpid(), 9)", "signal 9"),
        ("sys.exit(3)", "SystemExit"),
        ("raise KeyError('k')", "KeyError"),
        ("os.abort()", "abort"),
        ("[os.write(fd, b'x' * 64) for fd in range(3, 20) if os.path.exists(f'/proc/self/fd/{fd}')]; os._exit(0)", ""),
        ("os.closerange(3, 64)", ""),
        ("while True: pass", "did not finish in time"),
    ],
)
@pytest.mark.parametrize("where", ["import", "forward"])
def test_a_process_that_dies_hangs_or_forges_is_a_runtime_error_of_that_candidate(
    verifier, scale_task, source_unread, statement, said, where
):
    if where == "import":
        hostile = changed(("source = r'''", f"{statement}\nsource = r'''"))
    else:
        hostile = changed(("        return ext.run", f"        {statement}\n        return ext.run"))
    verdict = verifier.verify(scale_task, hostile)
    assert verdict.status is Status.RUNTIME_ERROR, verdict.reason
    assert said in verdict.reason
    assert verifier.verify(scale_task, Candidate(SCALE_CANDIDATE)).status is Status.CORRECT


def test_nothing_that_a_candidate_started_outlives_its_verdict(verifier, scale_task, source_unread):
    mark = f"sleep-{os.getpid()}-{time.monotonic_ns()}"
    start = f"import subprocess; subprocess.Popen(['bash', '-c', 'exec -a {mark} sleep 300'], start_new_session=True)"
    verifier.verify(scale_task, changed(("        return ext.run", f"        {start}\n        return ext.run")))
    alive = [p for p in Path("/proc").glob("[0-9]*/cmdline") if _read(p).startswith(mark.encode())]
    assert not alive


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_other_sources_than_were_recorded_are_refused(verifier, scale_task):
    verdict = verifier.verify(
        scale_task, changed(("cuda_sources=source", "cuda_sources=source + f'// {os.urandom(8)}'"))
    )
    assert verdict.status is Status.ILLEGAL
    assert verdict.rules[0].rule == "unrecorded_sources"


SECOND_IN_FORWARD = (
    "        return ext.run(x, self.bias, self.factor)",
    """        declared = "torch::Tensor run(torch::Tensor, torch::Tensor, double);"
        second = load_inline(name="second", cpp_sources=declared,
                             cuda_sources=source.replace("threadIdx.x;", "threadIdx.x; // too"), functions=["run"])
        return second.run(x, self.bias, self.factor)
""",
)
FALLS_BACK = (
    SECOND_IN_FORWARD[0],
    f"""        try:
    {SECOND_IN_FORWARD[1].replace(chr(10), chr(10) + "    ").rstrip()}
        except Exception:
            return x
""",
)


@pytest.mark.parametrize("in_forward", [SECOND_IN_FORWARD, FALLS_BACK], ids=["plain", "with_a_way_out"])
def test_an_extension_that_only_a_forward_pass_asks_for_is_built_too(verifier, scale_task, in_forward):
    candidate = changed(in_forward)
    assert "second.run" in candidate.code
    verdict = verifier.verify(scale_task, candidate)
    assert verdict.status is Status.CORRECT, verdict.reason


RETURN = "return ext.run(x, self.bias, self.factor)"
MUTATES_ITS_INPUT = (RETURN, "y = ext.run(x, self.bias, self.factor); x.fill_(0); return y")
WRITES_PAST_THE_END = ("y[i] =", "y[i + 1] =")


@pytest.mark.parametrize(
    ("replacement", "status"),
    [
        (("class ModelNew", "class Other"), Status.NO_CANDIDATE),
        (("def forward(self, x):", "def forward(self, x:"), Status.COMPILE_ERROR),
        (("int i = blockIdx.x", "undeclared_name = 1; int i = blockIdx.x"), Status.COMPILE_ERROR),
        (("def forward(self, x):", "def forward(self):"), Status.RUNTIME_ERROR),
        (("def __init__(self, factor):", "def __init__(self):"), Status.RUNTIME_ERROR),
        ((RETURN, "return None"), Status.ILLEGAL),
        ((RETURN, RETURN + "[:5]"), Status.INCORRECT),
        ((RETURN, RETURN + ".cpu()"), Status.INCORRECT),
        (MUTATES_ITS_INPUT, Status.INCORRECT),
        (WRITES_PAST_THE_END, Status.RUNTIME_ERROR),
    ],
)  # fmt: skip
def test_each_kind_of_fault_has_its_status(verifier, scale_task, replacement, status):
    verdict = verifier.verify(scale_task, changed(replacement))
    assert verdict.status is status, verdict.reason


def test_a_mutated_input_is_told_as_such(verifier, scale_task):
    verdict = verifier.verify(scale_task, changed(MUTATES_ITS_INPUT))
    assert verdict.trials[0].mismatch.kind == "mutated_input"


def test_an_out_of_bounds_write_names_the_line_in_the_candidates_own_file(verifier, scale_task):
    hostile = changed(WRITES_PAST_THE_END)
    verdict = verifier.verify(scale_task, hostile)
    finding = next(f for f in verdict.findings if f.severity == "error")
    assert finding.kind == "out_of_bounds"
    assert finding.place.file == "candidate"
    assert "y[i + 1] =" in hostile.code.splitlines()[finding.place.line - 1]


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("    cudaTextureObject_t texture = 0;  // HERE", Status.UNSUPPORTED),
        ("    cudaGraphLaunch(nullptr, nullptr);  // HERE", Status.ILLEGAL),
        ('    extern "C" void moore_sim_reset();  // HERE', Status.ILLEGAL),
    ],
)
def test_what_the_source_alone_convicts_is_at_a_line_of_the_candidates_own_file(verifier, scale_task, line, status):
    the_candidate = changed(("    int n = x.numel();\n", f"    int n = x.numel();\n{line}\n"))
    verdict = verifier.verify(scale_task, the_candidate)
    where = 1 + next(i for i, row in enumerate(the_candidate.code.split("\n")) if "// HERE" in row)
    assert verdict.status is status, verdict.reason
    assert verdict.place is not None
    assert (verdict.place.file, verdict.place.line) == ("candidate", where)
    assert f"candidate:{where}: " in verdict.reason


def test_a_compilers_warning_is_at_a_line_of_the_candidates_own_file(verifier, scale_task):
    the_candidate = changed(("    int n = x.numel();\n", "    int n = x.numel();\n#warning look here\n"))
    verdict = verifier.verify(scale_task, the_candidate)
    where = 1 + the_candidate.code.split("\n").index("#warning look here")
    assert verdict.status is Status.CORRECT
    assert [w for w in verdict.warnings if w.startswith(f"candidate:{where}: ") and "look here" in w]


def test_no_candidate_needs_no_process(verifier, scale_task):
    verdict = verifier.verify(scale_task, NoCandidate("nothing there", "text"))
    assert verdict.status is Status.NO_CANDIDATE
    assert verdict.reason == "nothing there"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("return [torch.randn(32, 64)]", "while True: pass", "did not finish"),
        ("return [torch.randn(32, 64)]", "import os; os._exit(4)", "exited with code 4"),
        ("return [torch.randn(32, 64)]", "raise ValueError('bad day')", "bad day"),
        ("return x * self.factor + self.bias", "return None", "no tensor"),
        ("return x * self.factor + self.bias", "return x @ x", "forward"),
        ("return [3.0]", "return []", "Model"),
    ],
)
def test_a_bad_task_is_a_task_error_of_one_line(verifier, old, new, said):
    assert old in SCALE_TASK
    task = make_task("bad", SCALE_TASK.replace(old, new))
    config = verifier.config
    seconds = 4 if "while True" in new else 120  # what is not about time must hold on a busy machine too
    verifier.config = config.model_copy(
        update={"deadlines": config.deadlines.model_copy(update={"reference_seconds": seconds})}
    )
    try:
        with pytest.raises(TaskError) as error:
            verifier.verify(task, Candidate(SCALE_CANDIDATE))
    finally:
        verifier.config = config
    assert said in str(error.value)
    assert str(error.value).startswith("task bad: ")
    assert "\n" not in str(error.value)


def test_many_verdicts_keep_their_order_and_one_killed_child_harms_no_other(verifier, scale_task, source_unread):
    killed = changed(("        return ext.run", "        os.kill(os.getpid(), 9)\n        return ext.run"))
    pairs = [(scale_task, Candidate(SCALE_CANDIDATE)), (scale_task, killed)] * 3
    outcomes = verifier.verify_many(pairs, workers=3)
    assert [o.verdict.status for o in outcomes] == [Status.CORRECT, Status.RUNTIME_ERROR] * 3


def test_a_verdict_that_a_verifier_is_closed_under_blames_nobody_and_is_not_tried_again(scale_task):
    slow = make_task("slow", f"import time\n{scale_task.code}".replace("():\n", "():\n    time.sleep(60)\n"))
    began = []
    with LocalVerifier(load_config(settings=["backend=simulator"])) as verifier:

        def close_soon(stage: str) -> None:
            began.append(stage)
            if stage == "reference":
                threading.Timer(1.0, verifier.close).start()

        with pytest.raises(NotJudged, match="closed"):
            verifier.verify(slow, Candidate(SCALE_CANDIDATE), close_soon)
    assert began.count("reference") == 1


def test_a_lost_launcher_is_started_again(verifier, scale_task):
    verifier.verify(scale_task, Candidate(SCALE_CANDIDATE))  # a process of the task's is kept
    os.kill(verifier._launcher._process.pid, signal.SIGKILL)
    assert verifier.verify(scale_task, Candidate(SCALE_CANDIDATE)).status is Status.CORRECT


def test_a_kept_process_of_a_task_that_dies_is_not_held_against_the_task(verifier, scale_task):
    verifier.verify(scale_task, Candidate(SCALE_CANDIDATE))
    kept = verifier._launcher.kept
    child = kept.take("reference", scale_task.task_hash)
    assert child is not None
    child.is_alive = lambda: True  # it dies right after it was looked at
    signal.pidfd_send_signal(child._pidfd, signal.SIGKILL)
    kept.give("reference", scale_task.task_hash, child, {"reference": 4})
    assert verifier.verify(scale_task, Candidate(SCALE_CANDIDATE)).status is Status.CORRECT


@pytest.mark.parametrize(
    ("statement", "rule"),
    [("os.kill(os.getpid(), 9)", "process"), ("import subprocess", "process"), ("x = torch.relu(x)", "torch_compute")],
)
def test_what_breaks_a_rule_by_source_is_illegal_before_it_can_fail(verifier, scale_task, statement, rule):
    hostile = changed(("        return ext.run", f"        {statement}\n        return ext.run"))
    broken = changed(("        return ext.run", f"        {statement}\n        return ext.run"), ("int i =", "itn i ="))
    where = 1 + next(k for k, row in enumerate(hostile.code.split("\n")) if row.strip() == statement)
    for candidate in (hostile, broken):
        verdict = verifier.verify(scale_task, candidate)
        assert verdict.status is Status.ILLEGAL
        assert (verdict.rules[0].rule, verdict.rules[0].place.line) == (rule, where)
        assert verdict.reason.startswith(f"candidate:{where}: ")


def test_policy_mixed_lets_pytorch_compute_beside_a_kernel_and_nothing_else(verifier, scale_task, monkeypatch):
    monkeypatch.setattr(verifier, "config", verifier.config.model_copy(update={"policy": "mixed"}))
    mixed = verifier.verify(scale_task, changed((RETURN, RETURN.replace("return ", "return torch.clone(") + " * 1)")))
    assert mixed.status is Status.CORRECT, mixed.reason
    tampering = verifier.verify(scale_task, changed((RETURN, f"torch.relu = None; {RETURN}")))
    assert tampering.rules[0].rule == "patching"


def test_the_scripted_verifier_answers_from_its_script_and_knows_nothing_else(verifier, scale_task):
    known = Candidate(SCALE_CANDIDATE)
    verdict = verifier.verify(scale_task, NoCandidate("x", "y"))
    scripted = ScriptedVerifier({known.candidate_hash: verdict})
    assert scripted.verify(scale_task, known) is verdict
    with pytest.raises(NotJudged):
        scripted.verify(scale_task, Candidate("other"))
