"""What a child sees of the machine: processes of its own namespace alone, under numbers that no other child has."""

import pytest

from mooreeval.execute.launcher import own_proc_available
from mooreeval.task import make_task

TASK = """
import os, torch
class Model(torch.nn.Module):
    def forward(self, x): return x + 1
def get_inputs():
    print("numbers", sorted(int(p) for p in os.listdir("/proc") if p.isdigit()), os.getpid(), flush=True)
    with open("/proc/self/maps") as maps:
        assert "python" in maps.read()
    return [torch.rand(8)]
"""


@pytest.mark.skipif(not own_proc_available(), reason="this machine gives no process a /proc of its own")
def test_a_child_sees_itself_and_pid_1_and_no_two_share_a_number(verifier):
    seen = []
    for _ in range(2):
        with verifier._launcher.spawn("reference", {}) as child:
            fields = {
                "name": "t", "code": make_task("t", TASK).code, "candidate_text": "", "weight_seed": 1,
                "example_seed": 1,
                "budget": {
                    "elements": 10**6, "flops": 10**6, "ceiling_elements": 10**6, "ceiling_flops": 10**6,
                    "ceiling_bytes": 1 << 28,
                },
            }  # fmt: skip
            child.ask("prepare", fields, {}, 60.0)
            line = next(row for row in child.log_tail().splitlines() if row.startswith("numbers"))
            listed, own = line.removeprefix("numbers ").rsplit(" ", 1)
            assert listed == f"[1, {own}]"
            seen.append(own)
    assert len(set(seen)) == 2
