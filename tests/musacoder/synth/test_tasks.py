"""The stage of expansion within a run of synth."""

import pytest
from support.module_folders import module, write

from musacoder.synth.config import SynthConfig
from musacoder.synth.folder import SynthFolder
from musacoder.synth.run import SynthRun
from musacoder.synth.tasks import EXPANSION, expanded_tasks


def run_over(path, **expand):
    config = SynthConfig.model_validate({"expand": {"graphs": 0, "variants": False, **expand}, "work": {"workers": 1}})
    with SynthFolder.opened(path, config, {}) as folder:
        return expanded_tasks(SynthRun(folder, config, quiet=True))


def test_nothing_is_expanded_where_nothing_is_asked_for(tmp_path):
    assert run_over(tmp_path / "run") == {"tasks": 0}
    assert not (tmp_path / "run" / EXPANSION).exists()


@pytest.mark.slow
def test_a_folder_of_modules_becomes_admitted_tasks_and_reasons(tmp_path):
    files = {"good.py": module("return torch.relu(self.fc(x)) ** 2"), "bad.py": module("return x.argmax(-1)")}
    facts = run_over(tmp_path / "run", folders=[str(write(tmp_path / "files", files))], configurations=1)
    assert (facts["tasks"], facts["of"], facts["left_out"]) == (1, 1, {"unverifiable": 1})
    assert [path.name for path in (tmp_path / "run" / EXPANSION / "tasks/module").glob("*.py")] == ["good_Planted_1.py"]
