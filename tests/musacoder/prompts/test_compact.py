"""The built-in templates for small models: little more than the task, the same prompt wherever it is made."""

import pytest
from support.verdicts import CODE, full, verdict

from mooreeval import gallery
from mooreeval.candidate import Candidate
from mooreeval.extract import extract
from mooreeval.feedback import feedback
from mooreeval.task import load_task
from mooreeval.task_metadata import read_metadata
from mooreeval.verdict import Status, Timing
from musacoder.config import BenchConfig, plain, read_config
from musacoder.prompts import PromptConfig, Target, Templates, Turn, build_first, build_optimise, build_repair
from musacoder.prompts.cutting import brief

TASK = load_task(gallery.FOLDER / "layer_norm" / "task.py")
COMPACT = PromptConfig.model_validate({"templates": "compact"})
ANSWER = f"```python\n{CODE}```\n"
TENSOR = {"shape": [4], "stride": [1], "dtype": "float32"}
METADATA = read_metadata(
    {
        "init_inputs": [], "inputs": [TENSOR], "parameters": {}, "buffers": {}, "outputs": TENSOR, "elements": 4,
        "flops": 4, "bytes": 16, "assumptions": [],
    },
    "t",
)  # fmt: skip


def turn(status, **fields):
    found = verdict(status, **fields) if fields or status is Status.CORRECT else full(status)
    return Turn(ANSWER, found, feedback(found, CODE))


def test_the_first_turn_is_the_task_and_one_line():
    (message,) = build_first(TASK, COMPACT, Target()).messages
    assert message.role == "user"
    assert message.content == f"```python\n{TASK.code.strip()}\n```\nModelNew in CUDA C++, one ```python fence:"


@pytest.mark.parametrize("switch", ["example", "metadata", "steps", "system"])
@pytest.mark.parametrize("value", [True, False])
def test_no_switch_and_no_metadata_changes_the_prompt(switch, value):
    other = COMPACT.model_copy(update={switch: value})
    prompt = build_first(TASK, other, Target(emulated=True), METADATA)
    assert prompt.messages == build_first(TASK, COMPACT, Target()).messages
    assert prompt.shortened == ()
    assert not other.shows_metadata


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.CORRECT])
def test_a_repair_turn_tells_the_fault_in_a_few_lines(status):
    messages = build_repair(TASK, [turn(status)], COMPACT, Target()).messages
    assert [m.role for m in messages] == ["user", "assistant", "user"]
    told = messages[-1].content.splitlines()
    assert 2 <= len(told) <= 5
    assert all(len(line) <= 160 for line in told)
    assert told[0] == feedback(full(status), CODE).splitlines()[0]
    if status is not Status.NO_CANDIDATE:
        assert isinstance(extract(messages[1].content), Candidate)


def test_an_optimisation_turn_tells_the_times():
    timing = Timing(candidate_ms=0.5, eager_ms=0.75, compile_ms=0.25)
    told = build_optimise(TASK, [turn(Status.CORRECT, timing=timing)], COMPACT, Target()).messages[-1].content
    assert told.splitlines()[:2] == ["correct", "yours: 0.5 ms"]


def test_of_a_quotation_the_line_that_is_pointed_out_is_left_or_the_last():
    excerpt = "at line 7:\n```\n   6 | a\n>  7 | b\n     | ^\n```"
    text = f"Error\n\n{excerpt}\n\nraised:\n````\nTraceback\n```\nIndexError\n````\nx\ny"
    assert brief(text).splitlines() == ["Error", "at line 7:", "7 | b", "raised:"]
    assert brief(text, lines=9).splitlines() == ["Error", "at line 7:", "7 | b", "raised:", "IndexError", "x", "y"]
    assert brief("a" * 400, width=20) == "a" * 20
    assert brief("") == ""


def test_the_name_survives_a_run_folder_and_is_another_identity_than_the_bundled_templates():
    config = read_config(BenchConfig, settings=["prompt.templates=compact"])
    assert plain(config)["prompt"]["templates"] == "compact"
    assert config.prompt.is_compact
    assert Templates(config.prompt.templates).content_hash() != Templates().content_hash()
