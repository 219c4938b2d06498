"""Expansion end to end: every reason has a module that is dropped for it, hostile files cost nothing, a run goes on."""

import json
from pathlib import Path

import pytest
from support.module_folders import HEAD, module, package, write

from mooreeval.errors import UsageError
from mooreeval.task import load_task
from musacoder.data.expand.records import ExpandConfig, Reason
from musacoder.data.expand.run import EXPLORED, admitted_tasks, expand_tasks, read_explored, read_proved, summary

pytestmark = pytest.mark.slow

# What reading the text alone does not tell:
REACH = "import warnings\nos = warnings.sys.modules['os']\nsocket = warnings.sys.modules['socket']\n"


def hostile(precious: Path) -> dict[str, str]:
    """Modules that do harm when they are loaded, made or run."""
    in_class = module("return x", before=REACH).replace("    def __init__", "    {}\n\n    def __init__")
    tree = "[os.remove(os.path.join(at, f)) for at, _, files in os.walk({!r}) for f in files]"
    return {
        "hangs_at_import": in_class.format("while True: pass"),
        "removes_at_import": in_class.format(f"os.remove({str(precious / 'kept')!r})"),
        "removes_a_tree": in_class.format("GONE = " + tree.format(str(precious)) + "; os.stat('/nowhere')"),
        "network": in_class.format("socket.create_connection(('127.0.0.1', 9), 1)"),
        "forks": in_class.format("KIDS = [os.fork() for _ in range(64)]; os._exit(0)"),
        "exits": in_class.format("os._exit(3)"),
        "hangs_when_made": module("return x", init="while True: pass"),
        "hangs_in_forward": module("while True: x = x + 1"),
        "lies": in_class.format("warnings.sys.modules['torch'].set_num_threads = lambda n: os.write(3, b'x' * 100)"),
    }


PLANTED = {
    "external_state": module("return x", before="import os\nHOME = os.listdir('/')", init="self.home = HOME"),
    "not_self_contained": module("return np.abs(x)", before="import numpy as np"),
    "fails_to_load": module("return x", before="TABLE = {}['missing']", init="self.table = TABLE"),
    "abstract": f"{HEAD}class Planted(nn.Module):\n    def helper(self, x):\n        return x\n",
    "no_arguments": module("return x", arguments=", magic", init="raise ValueError('not magic enough')"),
    "no_inputs": module("raise ValueError('never')"),
    "randomness": module("return self.fc(x) + torch.rand(1)", init="self.fc = nn.Linear(16, 8)"),
    "unstable_control_flow": module("return self.fc(x) if x.sum() > 0 else -self.fc(x)"),
    "unverifiable": module("return x.argmax(-1)"),
    "refused": module("return torch.relu(x) + y * 0").replace("forward(self, x)", "forward(self, x, y)"),
    "weak": module("return torch.sign(x)"),
}
OTHERS = {
    "remembers": (
        module("self.n += 1; return self.fc(x) * self.n", init="self.fc = nn.Linear(16, 8); self.n = 0"),
        Reason.UNSTABLE_CONTROL_FLOW,
    ),
    "returns_its_input": (module("return x"), Reason.UNVERIFIABLE),
    "ignores_its_input": (module("return torch.arange(5.0)"), Reason.UNVERIFIABLE),
    "too_large": (module("return x + len(TABLE)", before=f"TABLE = {list(range(9000))}"), Reason.TOO_LARGE),
}


@pytest.fixture(scope="module")
def expanded(tmp_path_factory):
    """(folder of the expansion, precious folder, lines of progress)"""
    root = tmp_path_factory.mktemp("expanded")
    precious = write(root / "precious", {"kept": "here", "below/kept": "here"})
    files = {f"{name}.py": text for name, text in {**PLANTED, **hostile(precious)}.items()}
    files |= {f"{name}.py": text for name, (text, _) in OTHERS.items()}
    good = module("return torch.relu(self.fc(x)) ** 2")
    files |= {"good.py": good, "twin.py": good, "not_python.py": "def (:\n"}
    write(root / "files", files)
    lines: list[str] = []
    config = ExpandConfig(
        folders=(str(root / "files"), str(package(root / "package") / "pack")),
        licences={"pack": "MIT"},
        graphs=0,
        variants=False,
        configurations=2,
        trial_seconds=8,
    )
    expand_tasks(config, root / "out", lines.append)
    return root, config, lines


@pytest.fixture(scope="module")
def outcomes(expanded):
    """Of each file: the reason for which it was dropped, None where it gave tasks."""
    return {e.what.partition(":")[0]: e.dropped and e.dropped.reason for e in read_explored(expanded[0] / "out")}


@pytest.mark.parametrize("reason", [name for name in PLANTED if name not in ("refused", "weak")])
def test_each_reason_drops_the_module_that_was_planted_for_it(outcomes, reason):
    assert outcomes[reason] == reason


@pytest.mark.parametrize("name", list(OTHERS))
def test_other_modules_that_are_no_tasks_are_told_apart(outcomes, name):
    assert outcomes[name] == OTHERS[name][1]


def test_admission_has_the_last_word(expanded):
    outcomes = {p.task_id: p.outcome for p in read_proved(expanded[0] / "out")}
    assert outcomes["module/refused_Planted_1"] == "refused"
    assert outcomes["module/weak_Planted_1"] == "weak"
    assert not list((expanded[0] / "out/tasks/module").glob("weak*"))


def test_hostile_files_cost_nothing_and_have_a_clear_line(expanded, outcomes):
    root, _config, lines = expanded
    assert (root / "precious/kept").read_text() == (root / "precious/below/kept").read_text() == "here"
    assert outcomes["hangs_at_import"] == outcomes["hangs_in_forward"] == outcomes["hangs_when_made"] == Reason.HANGS
    assert outcomes["exits"] == Reason.ENDS_PROCESS
    assert outcomes["removes_at_import"] == outcomes["removes_a_tree"] == outcomes["network"] == Reason.EXTERNAL_STATE
    assert outcomes["forks"] in (Reason.EXTERNAL_STATE, Reason.ENDS_PROCESS, Reason.HANGS)
    assert outcomes["lies"] in (Reason.ENDS_PROCESS, Reason.UNVERIFIABLE)
    told = next(line for line in lines if line.startswith("hangs_at_import:"))
    assert "did not come to an end within 8 s" in told
    assert all("\n" not in line for line in lines)


def test_of_two_equal_modules_one_is_a_task(outcomes):
    assert sorted([outcomes["good"], outcomes["twin"]], key=str) == [None, Reason.DUPLICATE]


def test_an_admitted_task_is_a_file_of_its_own_with_its_inputs_beside_it(expanded):
    tasks = [t for t in admitted_tasks(expanded[0] / "out") if t.made_from == "pack.gated:Gated"]
    assert tasks
    assert {t.licence for t in tasks} == {"MIT"}
    path = expanded[0] / "out/tasks" / f"{tasks[0].task_id}.py"
    assert load_task(path).code == tasks[0].code
    sets = json.loads(path.with_suffix(".inputs.json").read_text())["sets"]
    by_name = {each["name"]: each for each in sets}
    assert by_name["odd_batch"]["supported"]
    assert by_name["transposed"]["supported"]
    last = max(name for name in by_name if name.endswith("plus_one"))
    assert not by_name[last]["supported"]  # the width of a Linear is no choice of its inputs'
    assert "mat1" in by_name[last]["why"]


def test_the_table_has_every_reason_with_its_example(expanded):
    found = summary(expanded[0] / "out")
    assert {row.reason for row in found.dropped} == set(Reason)
    assert found.admitted == found.by_origin["module"] >= 3
    assert found.classes == 2  # Gated, and one of the twins


def test_an_interrupted_expansion_goes_on_where_it_stopped(expanded, tmp_path):
    root, config, _lines = expanded
    whole = [json.loads(line) for line in (root / "out" / EXPLORED).read_text().splitlines()]
    for name in ("config.json", "proved.jsonl"):
        (tmp_path / name).write_bytes((root / "out" / name).read_bytes())
    kept = [e for e in whole if not e["what"].startswith("exits")]
    (tmp_path / EXPLORED).write_text("".join(json.dumps(e) + "\n" for e in kept) + '{"what": "torn')
    lines: list[str] = []
    expand_tasks(config, tmp_path, lines.append)
    assert [line.partition(":")[0] for line in lines] == ["exits"]
    assert {e.what for e in read_explored(tmp_path)} == {e["what"] for e in whole}


def test_going_on_with_another_configuration_is_refused_with_the_key_named(expanded):
    root, config, _lines = expanded
    with pytest.raises(UsageError, match="configurations: 2 -> 3"):
        expand_tasks(config.model_copy(update={"configurations": 3}), root / "out")


def test_what_was_not_judged_is_tried_again_when_a_run_goes_on(expanded, tmp_path):
    root, config, _lines = expanded
    for name in ("config.json", EXPLORED):
        (tmp_path / name).write_bytes((root / "out" / name).read_bytes())
    whole = [json.loads(line) for line in (root / "out/proved.jsonl").read_text().splitlines()]
    lost = next(p for p in whole if p["outcome"] == "admitted")
    others = [p if p is not lost else {**p, "outcome": "not_judged"} for p in whole]
    (tmp_path / "proved.jsonl").write_text("".join(json.dumps(p) + "\n" for p in others))
    found = expand_tasks(config, tmp_path)
    assert (found.not_judged, found.admitted) == (0, summary(root / "out").admitted)


def test_a_folder_that_is_named_twice_is_a_usage_error(tmp_path):
    folder = str(write(tmp_path / "files", {"a.py": module("return x")}))
    with pytest.raises(UsageError, match="a:Planted is there 2 times"):
        expand_tasks(ExpandConfig(folders=(folder, folder), graphs=0, variants=False), tmp_path / "out")
