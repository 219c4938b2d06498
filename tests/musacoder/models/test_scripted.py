"""A scripted model is told nothing but the prompt, and answers from files."""

import json

import pytest
from support.verdicts import verdict

from mooreeval import gallery
from mooreeval.errors import UsageError
from mooreeval.extract import extract
from mooreeval.task import load_task
from mooreeval.verdict import Status
from musacoder.models import FailureKind, Message, Sampling, open_model
from musacoder.models.scripted import folder_model
from musacoder.prompts import PromptConfig, Target, Turn, build_first, build_optimise, build_repair

ENTRIES = gallery.load()
NAMES = sorted({entry.task_name for entry in ENTRIES})
CODES = {
    (e.task_name, extract(e.candidate_path.read_text()).code): e for e in ENTRIES if e.candidate_name != "no_class"
}


def gallery_task(name):
    return load_task(gallery.FOLDER / name / "task.py")


def entry_of(name, text):
    found = extract(text)
    return CODES.get((name, getattr(found, "code", "")))


def ask(model, messages, n, seed=0):
    return [c.text for c in model.sample(messages, n, Sampling(seed=seed))]


@pytest.fixture(scope="module")
def model():
    with open_model("scripted:gallery") as opened:
        yield opened


@pytest.mark.parametrize("name", NAMES)
def test_the_gallerys_candidates_that_end_by_themselves_are_the_answers_to_its_tasks_each_once(model, name):
    mine = [e for e in ENTRIES if e.task_name == name and e.expected.ends_by_itself]
    answers = ask(model, build_first(gallery_task(name), PromptConfig(), Target()).messages, len(mine))
    found = {entry.candidate_name for a in answers if (entry := entry_of(name, a))}
    assert found == {e.candidate_name for e in mine} - {"no_class"}


def test_no_answer_keeps_its_judge_until_a_deadline(model):
    endless = {(e.task_name, e.candidate_name) for e in ENTRIES if not e.expected.ends_by_itself}
    assert {"never_returns", "stride_of_zero"} <= {name for _, name in endless}
    for name in {task for task, _ in endless}:
        answers = ask(model, build_first(gallery_task(name), PromptConfig(), Target()).messages, 20)
        assert endless.isdisjoint({(name, e.candidate_name) for a in answers if (e := entry_of(name, a))})


def test_a_seed_is_where_the_answers_begin(model):
    messages = build_first(gallery_task("relu"), PromptConfig(), Target()).messages
    whole = ask(model, messages, 8)
    assert ask(model, messages, 3, seed=2) == whole[2:5]
    assert [ask(model, messages, 1, seed=i)[0] for i in range(8)] == whole


def repaired(model, name, number):
    """The status of the first answer of that number, and of the one to a prompt that repairs it."""
    task = gallery_task(name)
    (answer,) = ask(model, build_first(task, PromptConfig(), Target()).messages, 1, seed=number)
    before = entry_of(name, answer)
    if before is None:
        return None
    turn = Turn(answer, verdict(before.expected.status), "It was wrong.")
    build = build_optimise if before.expected.status is Status.CORRECT else build_repair
    (after,) = ask(model, build(task, [turn], PromptConfig(), Target()).messages, 1, seed=number)
    found = entry_of(name, after)
    return before.expected.status, found.expected.status if found else Status.NO_CANDIDATE


def test_some_repairs_turn_a_wrong_answer_into_a_right_one_and_none_breaks_a_right_one(model):
    pairs = [pair for name in NAMES for i in range(6) if (pair := repaired(model, name, i))]
    wrong = [after for before, after in pairs if before is not Status.CORRECT]
    right = [after for before, after in pairs if before is Status.CORRECT]
    assert set(right) == {Status.CORRECT}
    share = sum(s is Status.CORRECT for s in wrong) / len(wrong)
    assert 0.3 < share < 0.9


def test_answers_look_like_a_models(model):
    (found,) = model.sample(build_first(gallery_task("relu"), PromptConfig(), Target()).messages, 1, Sampling(seed=0))
    assert found.reasoning
    assert found.text.startswith("The operation")
    assert found.text.count("```") == 2
    assert (found.finish_reason, found.attempts) == ("stop", 1)


def test_a_prompt_without_a_known_task_is_a_failure_of_its_own_class(model):
    found = model.sample([Message("user", "Hello?")], 2, Sampling())
    assert [c.failure.kind for c in found] == [FailureKind.UNKNOWN_TASK] * 2


def test_the_last_task_in_a_prompt_counts(model):
    first, last = (gallery_task(name).code for name in ("matmul", "relu"))
    (answer,) = ask(model, [Message("user", f"An example:\n{first}\nYour task:\n{last}")], 1)
    assert entry_of("relu", answer)


@pytest.fixture
def folder(tmp_path):
    task = tmp_path / "level1" / "19_ReLU"
    task.mkdir(parents=True)
    (task / "task.py").write_text(gallery_task("relu").code)
    (task / "b.py").write_text("class ModelNew:\n    pass\n")
    (task / "a.md").write_text("<think>so</think>No code today.")
    (task / "notes.txt").write_text("not an answer")
    return tmp_path


PROMPT = build_first(gallery_task("relu"), PromptConfig(), Target()).messages


def test_a_folders_answers_come_in_the_order_of_their_names_and_go_round(folder):
    with open_model(f"scripted:{folder}") as opened:
        found = opened.sample(PROMPT, 3, Sampling(seed=0))
    assert [c.text for c in found[::2]] == ["No code today."] * 2
    assert found[0].reasoning == "so"
    assert extract(found[1].text).code == "class ModelNew:\n    pass\n"


def test_a_repair_gets_the_answer_after_the_last(folder):
    turn = Turn("No code today.", verdict(Status.NO_CANDIDATE), "No candidate.")
    messages = build_repair(gallery_task("relu"), [turn], PromptConfig(), Target()).messages
    with open_model(f"scripted:{folder}") as opened:
        assert "class ModelNew" in ask(opened, messages, 1)[0]


@pytest.mark.parametrize("by_hash", [True, False])
def test_a_json_file_maps_tasks_to_answers(folder, by_hash):
    task = gallery_task("relu")
    key = task.task_hash if by_hash else "level1/19_ReLU/task.py"
    file = folder / "answers.json"
    file.write_text(json.dumps({key: ["first", "level1/19_ReLU/b.py"]}))
    with open_model(f"scripted:{file}") as opened:
        first, second = ask(opened, PROMPT, 2)
    assert first == "first"
    assert "class ModelNew" in second


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("[]", "must be an object"),
        ('{"t.py": []}', "t.py: must be a list of answers"),
        ('{"t.py": [1]}', "t.py: must be a list of answers"),
        ('{"missing.py": ["x"]}', "no such file"),
        ("{}", "holds a task.py"),
    ],
)
def test_a_json_file_that_is_none_is_one_line(tmp_path, text, words):
    file = tmp_path / "answers.json"
    file.write_text(text)
    with pytest.raises(UsageError) as error:
        folder_model(file)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_folder_without_answers_is_told(tmp_path):
    (tmp_path / "task.py").write_text("x = 1")
    with pytest.raises(UsageError, match="no folder in it holds a task"):
        folder_model(tmp_path)
    with pytest.raises(UsageError, match="no such folder"):
        folder_model(tmp_path / "missing")


def test_an_answer_that_is_no_text_is_told_by_name(folder):
    (folder / "level1" / "19_ReLU" / "c.py").write_bytes(b"\0\1\2")
    with pytest.raises(UsageError, match=r"c\.py is not text"):
        folder_model(folder)
