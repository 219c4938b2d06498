"""A prompt never exceeds its budget, whatever is in it; what was shortened is said, and the task itself never is."""

import random

import pytest
from support.verdicts import verdict

from mooreeval.task import make_task
from mooreeval.task_metadata import read_metadata
from mooreeval.verdict import Status
from musacoder.models.tokens import estimated_tokens
from musacoder.prompts import PromptConfig, PromptTooLong, Target, Turn, build_first, build_repair
from musacoder.prompts.cutting import cut_in_the_middle

CUDA = Target()


def words(messages):
    """A counter that is nothing like the estimate: what stands between spaces, and a bit for each message."""
    return sum(len(m.content.split()) + 3 for m in messages)


def task(lines):
    body = "\n".join(f"        x = x + {i}  # line {i}" for i in range(lines))
    return make_task(
        "t",
        f"import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n{body}\n        return x\n\n"
        "def get_inputs():\n    return [torch.rand(3)]\n",
    )


def metadata(tensors):
    tensor = {"shape": [64, 64, 3, 3], "stride": [576, 9, 3, 1], "dtype": "float32"}
    fields = {"init_inputs": [], "inputs": [tensor], "buffers": {}, "outputs": tensor, "assumptions": []}
    counts = {"elements": 1, "flops": 2, "bytes": 3}
    return read_metadata({**fields, **counts, "parameters": {f"layer.{i}.weight": tensor for i in range(tensors)}}, "t")


def answer(draw):
    code = "\n".join(f"float a{i} = {i};" for i in range(draw.randrange(1, 400)))
    prose = "So I think. " * draw.randrange(0, 200)
    return f'{prose}\n```python\nsource = r"""\n{code}\n"""\nclass ModelNew:\n    pass\n```\n{prose}'


def turns(draw, count):
    said = lambda: "\n".join(f"error {i}: expected a thing" for i in range(draw.randrange(1, 300)))  # noqa: E731
    return [Turn(answer(draw), verdict(Status.COMPILE_ERROR), said()) for _ in range(count)]


@pytest.mark.parametrize("count", [estimated_tokens, words])
@pytest.mark.parametrize("seed", range(12))
def test_no_prompt_is_longer_than_its_budget_and_the_task_is_always_whole(seed, count):
    draw = random.Random(seed)
    for _ in range(12):
        made, told = task(draw.randrange(1, 80)), metadata(draw.choice([0, 1, 10, 200]))
        config = PromptConfig(tokens=int(2 ** draw.uniform(8, 15)))
        history = turns(draw, draw.randrange(0, 5))
        try:
            if history:
                prompt = build_repair(made, history, config, CUDA, told, count_tokens=count)
            else:
                prompt = build_first(made, config, CUDA, told, count_tokens=count)
        except PromptTooLong:
            continue
        assert prompt.tokens == count(prompt.messages) <= config.tokens
        assert made.code.strip() in prompt.messages[1].content


def test_with_room_for_everything_nothing_is_shortened():
    history = turns(random.Random(0), 3)
    prompt = build_repair(task(20), history, PromptConfig(tokens=10**6), CUDA, metadata(10))
    assert prompt.shortened == ()
    assert [m.content for m in prompt.messages if m.role == "assistant"] == [t.answer for t in history]


def shrinking(build, least=256):
    """Prompts for budgets from plenty down to too little."""
    tokens = 30_000
    while tokens >= least:
        try:
            yield build(PromptConfig(tokens=tokens))
        except PromptTooLong:
            return
        tokens = tokens * 19 // 20


def test_a_first_turn_loses_the_tensors_first_then_the_example_the_steps_and_the_metadata():
    made, told = task(20), metadata(200)
    seen = []
    for prompt in shrinking(lambda config: build_first(made, config, CUDA, told)):
        seen += [words for words in prompt.shortened if words not in seen]
    assert seen == [
        "196 tensors of the metadata left out",
        "the worked example left out",
        "the six steps left out",
        "the metadata left out",
    ]


def test_a_repair_loses_prose_and_old_turns_before_the_feedback_and_the_answer_last():
    history = turns(random.Random(3), 4)
    seen = []
    for prompt in shrinking(lambda config: build_repair(task(5), history, config, CUDA, metadata(3))):
        kinds = [w.split(",")[0] for w in prompt.shortened]
        seen += [kind for kind in kinds if kind not in seen]
    assert seen[0] == "of earlier answers only the code is shown"
    assert [kind.split(" ", 1)[1] for kind in seen[1:4]] == ["of 4 earlier turns left out"] * 3
    assert seen[4:] == [
        "the worked example left out",
        "the feedback cut in the middle",
        "the six steps left out",
        "the metadata left out",
        "the last answer cut in the middle",
    ]


def test_what_is_missing_is_said_where_it_is_missing():
    history = turns(random.Random(3), 4)
    prompts = list(shrinking(lambda config: build_repair(task(5), history, config, CUDA, metadata(3))))
    told = {name: [p for p in prompts if any(name in w for w in p.shortened)] for name in ("turns", "feedback", "last")}
    for prompt in told["turns"]:
        gone = next(w for w in prompt.shortened if "turns left out" in w).split()[0]
        assert f"({gone} earlier attempt" in prompt.messages[-1].content
    assert all("characters left out ...]" in p.messages[-1].content for p in told["feedback"])
    assert all("# [... " in p.messages[-2].content for p in told["last"])
    assert all(told.values())


def test_a_cut_keeps_as_much_as_there_is_room_for():
    history, made = turns(random.Random(5), 1), task(5)
    cut = 0
    for tokens in range(2200, 6000, 100):
        prompt = build_repair(made, history, PromptConfig(tokens=tokens, example=False), CUDA)
        if [w for w in prompt.shortened if w.startswith("the feedback cut")] == list(prompt.shortened[-1:]):
            assert tokens - prompt.tokens < 40  # two lines of it
            cut += 1
    assert cut > 3


def test_more_turns_than_are_shown_are_told():
    history = turns(random.Random(1), 6)
    prompt = build_repair(task(3), history, PromptConfig(tokens=10**6, turns=2), CUDA)
    assert prompt.shortened == ("4 of 6 earlier turns left out, the oldest",)
    assert "(4 earlier attempts are not shown.)" in prompt.messages[-1].content
    assert [m.content for m in prompt.messages if m.role == "assistant"] == [t.answer for t in history[-2:]]


def test_a_task_that_is_longer_than_the_budget_is_told_with_both_numbers():
    with pytest.raises(PromptTooLong, match=r"^task t: its shortest prompt has \d+ tokens, the budget is 300 .*$"):
        build_first(task(500), PromptConfig(tokens=300), CUDA)


@pytest.mark.parametrize("characters", [200, 500, 1000, 2999, 3000, 5000])
def test_a_cut_text_keeps_both_ends_and_counts_what_is_gone(characters):
    text = "".join(f"line {i:03}\n" for i in range(333))
    short = cut_in_the_middle(text, characters)
    if characters >= len(text):
        assert short == text
        return
    gone = int(short.split("[... ")[1].split()[0])
    assert len(short) - len(f"[... {gone} characters left out ...]\n") == len(text) - gone <= characters
    assert short.startswith("line 000\n")
    assert short.endswith("line 332\n")


def test_a_cut_within_a_fence_closes_and_opens_it():
    text = "before\n```\n" + "code\n" * 500 + "```\nafter\n"
    short = cut_in_the_middle(text, 300)
    head, tail = short.split("[... ")
    assert head.count("```") == 2
    assert tail.count("```") == 2
    assert cut_in_the_middle("a\n" * 500, 100).count("```") == 0
