"""What a task's tensors look like is told by a process of the task's own, once."""

import pytest

from mooreeval.errors import TaskError
from mooreeval.task import make_task

from .conftest import SCALE_TASK


def test_a_task_is_described_at_its_own_size_and_the_second_time_from_the_cache(verifier, scale_task):
    found = verifier.describe(scale_task)
    assert found["inputs"][0]["dtype"] == "float32"
    assert found["outputs"]["shape"] == found["inputs"][0]["shape"]
    begun = verifier._launcher._serial.__reduce__()  # how many processes were started so far
    assert verifier.describe(scale_task) == found
    assert verifier._launcher._serial.__reduce__() == begun


@pytest.mark.parametrize(
    ("body", "told"),
    [("raise ValueError('no')", "ValueError: no"), ("import os; os._exit(3)", "exited with code 3")],
)
def test_a_task_that_does_not_run_is_told_in_one_line(verifier, body, told):
    broken = make_task("broken", SCALE_TASK + f"\n\ndef get_inputs():\n    {body}\n")
    with pytest.raises(TaskError, match=told) as error:
        verifier.describe(broken)
    assert "\n" not in str(error.value)
