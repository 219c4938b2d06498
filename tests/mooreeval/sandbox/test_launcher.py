"""The launcher's own process: gone when it is closed, however early."""

import time

import pytest
from support.walled import launcher_in, none_runs

from mooreeval.execute.children import Launcher
from mooreeval.sandbox.modes import MODES


@pytest.mark.parametrize("mode", MODES)
def test_a_launcher_that_is_closed_while_it_starts_leaves_no_process(mode):
    with launcher_in(mode):
        for seconds in (0.0, 0.002, 0.005, 0.01, 0.03):
            launcher = Launcher()
            launcher.start()
            time.sleep(seconds)
            launcher.close()
            assert none_runs(str(launcher.root))
