"""What a prompt tells, what it does not tell, and that a user's own templates take its place."""

import re

import pytest
from support.verdicts import CODE, full, verdict

from mooreeval import gallery
from mooreeval.candidate import Candidate
from mooreeval.errors import UsageError
from mooreeval.extract import extract
from mooreeval.feedback import feedback
from mooreeval.task import load_task
from mooreeval.task_metadata import read_metadata
from mooreeval.verdict import KernelProfile, Profile, Status, Timing
from musacoder.prompts import (
    PromptConfig,
    Target,
    Templates,
    Turn,
    build_first,
    build_optimise,
    build_repair,
    target_of,
)
from musacoder.suite import bundled_tasks

TASK = load_task(gallery.FOLDER / "layer_norm" / "task.py")
TENSOR = {"shape": [12, 31, 200], "stride": [6200, 200, 1], "dtype": "float32"}
FIELDS = {
    "init_inputs": [200],
    "inputs": [TENSOR, {"shape": [4, 3], "stride": [1, 4], "dtype": "int64"}],
    "parameters": {"norm.weight": {"shape": [200], "stride": [1], "dtype": "float32"}},
    "buffers": {},
    "outputs": {"y": TENSOR, "loss": 41.25},
    "elements": 149_944,
    "flops": 74_400,
    "bytes": 599_776,
    "assumptions": [],
}
METADATA = read_metadata(FIELDS, "t")
CUDA = Target()
STEPS = (
    "semantic decomposition",
    "scalar mathematics",
    "shape computation",
    "index mapping",
    "boundary handling",
    "error pre-analysis",
)
ANSWER = f"Here is the kernel.\n\n```python\n{CODE}```\n"
TIMING = Timing(candidate_ms=0.5, eager_ms=0.75, compile_ms=0.25)


def text_of(prompt):
    return "\n\n".join(m.content for m in prompt.messages)


def turn(status, answer=ANSWER, **fields):
    found = verdict(status, **fields) if fields or status is Status.CORRECT else full(status)
    return Turn(answer, found, feedback(found, CODE))


def test_the_first_turn_holds_the_task_its_tensors_the_steps_and_the_form_of_the_answer():
    prompt = build_first(TASK, PromptConfig(), CUDA, METADATA)
    assert [m.role for m in prompt.messages] == ["system", "user"]
    text = text_of(prompt)
    assert TASK.code.strip() in text
    assert "input[0]: shape (12, 31, 200), stride (6200, 200, 1) (contiguous), float32" in text
    assert "input[1]: shape (4, 3), stride (1, 4) (not contiguous), int64" in text
    assert "norm.weight: shape (200,), stride (1,) (contiguous), float32" in text
    assert "argument[0]: 200" in text
    positions = [text.rindex(step) for step in ("Semantic decomposition", "Error pre-analysis")]
    assert positions == sorted(positions)
    assert all(text.lower().count(step) == 2 for step in STEPS)  # asked for, and shown in the example
    assert "```python: the imports, `load_inline` at the top level, and `class ModelNew(nn.Module)`" in text
    assert prompt.shortened == ()


def test_no_value_of_an_output_is_told():
    text = text_of(build_first(TASK, PromptConfig(example=False), CUDA, METADATA))
    assert "output['loss']: float" in text
    assert "41.25" not in text


def test_without_metadata_the_prompt_says_less_and_works():
    text = text_of(build_first(TASK, PromptConfig(), CUDA, None))
    assert "stride" not in text.split("Now your task.")[1].split("Think in six steps")[0]
    assert TASK.code.strip() in text


@pytest.mark.parametrize(
    ("setting", "gone"),
    [
        ({"example": False}, "Here is a task and a right answer"),
        ({"metadata": False}, "Its tensors"),
        ({"steps": False}, "six steps"),
    ],
)
def test_every_part_can_be_left_out(setting, gone):
    assert gone in text_of(build_first(TASK, PromptConfig(), CUDA, METADATA))
    prompt = build_first(TASK, PromptConfig(**setting), CUDA, METADATA)
    assert gone not in text_of(prompt)
    assert prompt.shortened == ()


def test_without_a_system_message_its_text_begins_the_first_turn():
    prompt = build_first(TASK, PromptConfig(system=False), CUDA)
    assert [m.role for m in prompt.messages] == ["user"]
    assert prompt.messages[0].content.startswith("You write GPU kernels in CUDA C++.")


def test_the_worked_example_is_an_answer_as_it_is_asked_for():
    shown = Templates().example(CUDA)
    found = extract(shown["answer"])
    assert isinstance(found, Candidate)
    assert not found.truncated
    assert "load_inline(" in found.code
    assert shown["answer"].startswith("<think>")


def test_the_example_is_no_task_that_is_judged():
    example = Templates().example(CUDA)["task"].strip()
    judged = [*(entry.task_path for entry in gallery.load()), *(task.path for task in bundled_tasks())]
    assert len(judged) > 40
    assert all(load_task(path).code.strip() != example for path in judged)


def test_prompts_for_musa_differ_where_the_target_does_and_nowhere_else():
    cuda, musa = (build_first(TASK, PromptConfig(), Target(api), METADATA) for api in ("CUDA", "MUSA"))
    names = {
        "from torch_musa.utils.musa_extension import": "from torch.utils.cpp_extension import",
        '["-O3", "--offload-arch=mp_31"]': '["-O3"]',
        "muBLAS, muDNN, CUB, Thrust or MUTLASS": "cuBLAS, cuDNN, CUB, Thrust or CUTLASS",
        "musa_": "cuda_",
        "_musa": "_cuda",
        "MUSA": "CUDA",
    }
    text = text_of(musa)
    for theirs, ours in names.items():
        text = text.replace(theirs, ours)
    assert text == text_of(cuda)
    assert text_of(musa) != text_of(cuda)
    assert "cuda" not in text_of(musa).lower()


@pytest.mark.parametrize(
    ("backend", "evidence", "expected"),
    [
        ("cuda", "device", Target("CUDA", "H200")),
        ("simulator", "emulation", Target("CUDA", None, emulated=True)),
        ("musa", None, Target("MUSA", "H200")),
        ("musa-shim", None, Target("MUSA", None, emulated=True)),
    ],
)
def test_a_backend_has_its_target(backend, evidence, expected):
    assert target_of(backend, device="H200", evidence=evidence) == expected


def test_the_policy_and_the_simulator_change_the_rules():
    native, mixed = (text_of(build_first(TASK, PromptConfig(), Target(policy=p))) for p in ("native", "mixed"))
    assert "All computation of `forward` happens in your own kernels" in native
    assert "may compute a part of it" in mixed
    assert "simulator" in text_of(build_first(TASK, PromptConfig(), Target(emulated=True)))
    assert "simulator" not in native


def test_a_repair_turn_appends_the_answer_and_what_the_judge_said():
    history = [turn(Status.COMPILE_ERROR), turn(Status.RUNTIME_ERROR)]
    first = build_first(TASK, PromptConfig(), CUDA, METADATA)
    prompt = build_repair(TASK, history, PromptConfig(), CUDA, METADATA)
    assert [m.role for m in prompt.messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert prompt.messages[:2] == first.messages
    assert prompt.messages[2].content == ANSWER
    assert history[0].feedback in prompt.messages[3].content
    assert history[1].feedback in prompt.messages[5].content
    assert "Your answer was judged: runtime error." in prompt.messages[5].content


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.CORRECT])
def test_every_verdict_makes_a_repair_turn(status):
    prompt = build_repair(TASK, [turn(status)], PromptConfig(), CUDA)
    assert status.value.replace("_", " ") in prompt.messages[-1].content


def test_an_optimisation_turn_tells_times_and_profile():
    kernel = KernelProfile(
        kernel="scale", grid=(4, 1, 1), block=(256, 1, 1), launches=2, duration_us=10.5, memory_percent=41.0,
        registers=32, limit="latency",
    )  # fmt: skip
    profile = Profile(kernels=(kernel,), advice=("Load four floats at once.",))
    found = turn(Status.CORRECT, timing=TIMING, profile=profile)
    text = build_optimise(TASK, [found], PromptConfig(), Target(device="NVIDIA H200")).messages[-1].content
    assert "Time of one call on NVIDIA H200:" in text
    assert "yours: 0.5 ms" in text
    assert "PyTorch eager: 0.75 ms, so yours is 1.5 times as fast" in text
    assert "torch.compile: 0.25 ms, so yours is 0.5 times as fast" in text
    assert "scale: 2 x 10.5 us, grid 4x1x1, block 256x1x1" in text
    assert "41 % of the memory's peak; 32 registers a thread; limited by latency" in text
    assert "- Load four floats at once." in text
    assert "fastest right answer" not in text


def test_an_optimisation_turn_without_times_says_that_speed_is_unknown():
    text = build_optimise(TASK, [turn(Status.CORRECT)], PromptConfig(), Target(emulated=True)).messages[-1].content
    assert "Its speed is not known" in text
    assert "Time of one call" not in text
    assert "profiler" not in text


def test_a_slower_answer_is_told_the_fastest_so_far():
    slower = TIMING.model_copy(update={"candidate_ms": 2.0})
    history = [turn(Status.CORRECT, timing=TIMING), turn(Status.CORRECT, timing=slower)]
    messages = build_optimise(TASK, history, PromptConfig(), CUDA).messages
    assert "fastest right answer so far takes 0.5 ms" in messages[-1].content
    assert "fastest right answer" not in messages[3].content
    assert "yours: 0.5 ms" in messages[3].content


def test_code_with_fences_of_its_own_stays_within_the_tasks_fence():
    task = load_task(gallery.FOLDER / "relu" / "task.py")
    odd = type(task)(task.task_id, task.code + '\nNOTE = """\n```\n"""\n')
    text = text_of(build_first(odd, PromptConfig(example=False), CUDA))
    assert re.search(r"^````python\n.*\n````$", text, re.MULTILINE | re.DOTALL)


def test_a_users_template_takes_the_place_of_the_bundled_one_and_the_others_stay(tmp_path):
    (tmp_path / "system.md.j2").write_text("Be quick, in {{ target.language }}.")
    prompt = build_first(TASK, PromptConfig(templates=tmp_path), CUDA, METADATA)
    assert prompt.messages[0].content == "Be quick, in CUDA C++."
    assert prompt.messages[1] == build_first(TASK, PromptConfig(), CUDA, METADATA).messages[1]
    assert Templates(tmp_path).content_hash() != Templates().content_hash()


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("system.md.j2", "{{ nothing }}", "system.md.j2: 'nothing' is undefined"),
        ("system.md.j2", "a\n{% if %}", "system.md.j2, line 2: "),
        ("system.md.j2", "{{ 1 / 0 }}", "system.md.j2: division by zero"),
        ("sistem.md.j2", "x", "sistem.md.j2 is no template of a prompt; there are answer.md.j2"),
    ],
)
def test_a_wrong_template_is_one_line_that_names_it(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError) as error:
        build_first(TASK, PromptConfig(templates=tmp_path), CUDA)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_folder_of_templates_that_is_not_there_is_told(tmp_path):
    with pytest.raises(UsageError, match="is no folder"):
        build_first(TASK, PromptConfig(templates=tmp_path / "missing"), CUDA)


def test_a_prompt_is_the_same_each_time():
    assert build_first(TASK, PromptConfig(), CUDA, METADATA) == build_first(TASK, PromptConfig(), CUDA, METADATA)
