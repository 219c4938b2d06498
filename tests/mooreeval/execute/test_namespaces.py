"""What a child sees of the machine: processes of its own namespace alone, under numbers that no other child has."""

import pytest
from support.walled import launcher_in, told


@pytest.mark.parametrize("mode", ["bubblewrap", "namespaces"])
def test_a_child_sees_itself_and_pid_1_and_no_two_share_a_number(mode):
    with launcher_in(mode) as launcher:
        look = "tell([sorted(int(p) for p in os.listdir('/proc') if p.isdigit()), os.getpid()])"
        seen = [told(launcher, look) for _ in range(2)]
    assert all(listed == [1, own] for listed, own in seen)
    assert len({own for _listed, own in seen}) == 2
