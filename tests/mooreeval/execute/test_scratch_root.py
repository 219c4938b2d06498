"""What a killed judge leaves is removed by the next one, and nothing of one that lives."""

import signal
import subprocess
import sys
from pathlib import Path

from mooreeval.execute.scratch_root import OWNER, PREFIX, ScratchRoot, sweep

HOLDS = """
import sys, time
from pathlib import Path
from mooreeval.execute.scratch_root import ScratchRoot
root = ScratchRoot(Path(sys.argv[1]))
(root.path / "deep").mkdir(mode=0o700)
(root.path / "deep" / "file").write_text("scratch")
(root.path / "deep").chmod(0)
print(root.path, flush=True)
time.sleep(600)
"""


def test_a_folder_goes_with_the_next_sweep_once_its_owner_was_killed_and_not_before(tmp_path):
    with subprocess.Popen([sys.executable, "-c", HOLDS, str(tmp_path)], stdout=subprocess.PIPE, text=True) as judge:
        assert judge.stdout is not None
        folder = Path(judge.stdout.readline().strip())
        assert sweep(tmp_path) == 0
        assert folder.is_dir()
        judge.send_signal(signal.SIGKILL)
        judge.wait()
    assert sweep(tmp_path) == 1
    assert not folder.exists()


def test_a_folder_of_ones_own_stays_until_it_is_removed_and_may_be_removed_twice(tmp_path):
    root = ScratchRoot(tmp_path)
    assert sweep(tmp_path) == 0
    root.remove()
    root.remove()
    assert not root.path.exists()


def test_what_is_no_judges_folder_is_left_alone(tmp_path):
    (tmp_path / f"{PREFIX}without").mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / OWNER).touch()
    (tmp_path / f"{PREFIX}link").symlink_to(elsewhere)
    pipe = tmp_path / f"{PREFIX}pipe"
    pipe.mkdir()
    (pipe / OWNER).symlink_to("/dev/null")
    (tmp_path / f"{PREFIX}file").touch()
    assert sweep(tmp_path) == 0
    assert len(list(tmp_path.iterdir())) == 5
