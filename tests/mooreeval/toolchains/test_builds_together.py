"""Several processes with several threads build the same and other candidates over one cache, and one of them is
killed: the others' results are those of a process alone, and nothing is left behind."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from support.builds import GOOD, WRONG, becomes, extension, prepared_cache, working_in

from mooreeval.cache import FileCache
from mooreeval.toolchains.base import Artefact
from mooreeval.toolchains.simulator import SimulatorToolchain

TESTS = Path(__file__).parents[2]
BUILDER = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from support.builds import GOOD, WRONG, extension
from mooreeval.config import PoolConfig
from mooreeval.toolchains.simulator import SimulatorToolchain

cache, begun, turn = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
texts = [text % k for k in range(3) for text in (GOOD, WRONG)]
texts = texts[turn:] + texts[:turn]

def build(text):
    begun.touch()
    return toolchain.build(extension(text), 600)

toolchain = SimulatorToolchain(cache, pool=PoolConfig(builds=2))
with ThreadPoolExecutor(4) as threads:
    built = list(threads.map(build, texts))
print(json.dumps({t: [getattr(b, "kind", "built"), getattr(b, "reason", ""), b.seconds] for t, b in zip(texts, built)}))
"""


@pytest.mark.slow
def test_processes_that_build_together_agree_although_one_is_killed(tmp_path: Path) -> None:
    cache = prepared_cache(tmp_path / "cache")
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(TESTS)!r})\n{BUILDER}", str(cache)]
    builders = [
        subprocess.Popen([*command, str(tmp_path / f"begun{turn}"), str(turn)], stdout=subprocess.PIPE, text=True)
        for turn in range(4)
    ]
    assert becomes((tmp_path / "begun0").exists)
    assert becomes(lambda: working_in(cache))  # a compiler is at work
    builders[0].kill()
    told = [json.loads(builder.communicate(timeout=600)[0] or "{}") for builder in builders[1:]]
    builders[0].communicate()
    alone = SimulatorToolchain(prepared_cache(tmp_path / "other"))
    spent: Counter[str] = Counter()
    for k in range(3):
        for text in (GOOD % k, WRONG % k):
            expected = alone.build(extension(text), 600)
            kind = (getattr(expected, "kind", "built"), getattr(expected, "reason", ""))
            assert [tuple(each[text][:2]) for each in told] == [kind] * 3
            spent[text] = sum(each[text][2] > 0 for each in told)
            kept = SimulatorToolchain(cache).build(extension(text), 600)
            assert kept.seconds == 0.0
            if isinstance(expected, Artefact) and isinstance(kept, Artefact):
                assert kept.path.stat().st_size == expected.path.stat().st_size
    assert max(spent.values()) == 1  # nothing was built twice by those who lived
    assert becomes(lambda: not working_in(cache))
    FileCache(cache)
    assert list((cache / "staging").iterdir()) == []
