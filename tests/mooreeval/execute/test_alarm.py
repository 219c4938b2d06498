"""A trial's alarm, shortly before its deadline, is told to whoever listens and ends nobody."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import time
from mooreeval.execute import candidate_child
from mooreeval.execute.candidate_child import CandidateChild, alarm
class Elsewhere:
    name, tensor_device, operator_log = "a device without our run time", "cpu", None
candidate_child.open_device = lambda backend, options: Elsewhere()
CandidateChild().handle("start", {"backend": "cuda", "options": {}}, {})
with alarm(0.6):
    time.sleep(0.55)
print("went on")
"""


def test_the_alarm_of_a_trial_does_not_end_a_process_in_which_no_run_time_takes_it():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "went on\n")
