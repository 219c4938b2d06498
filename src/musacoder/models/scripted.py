"""A model without a model: its answers are files. For demonstrations, tests, and answers that others have published.

    scripted:gallery    the candidates of mooreeval's gallery that end by themselves, right and wrong ones mixed, as a
                        model would wrap them
    scripted:FOLDER     any folder below FOLDER with a `task.py` is a task; its other *.py files, wrapped, and *.md
                        files, as they are, are the answers in the order of their names
    scripted:FILE.json  {TASK: [ANSWER, ...]}: TASK is the path of a task's file or a task's hash, ANSWER a text or the
                        path of a file as above; paths are relative to FILE.json

It is told nothing but the prompt: the task is the one whose source stands in it, the last one where several do. Answer
i of n is answer number `seed + i`, counted around. Where the prompt holds earlier answers, it is the one that follows
the last of them. In the gallery half of all repairs of a wrong candidate give a right one, and the others another wrong
one; a right one is followed by the next right one.
"""

from __future__ import annotations

import functools
import json
import random
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mooreeval import gallery
from mooreeval.candidate import Candidate
from mooreeval.errors import UsageError
from mooreeval.extract import extract
from mooreeval.hashing import content_hash
from mooreeval.source_text import decode, normalise, read_regular_file
from mooreeval.verdict import Status
from musacoder.models.config import ModelConfig
from musacoder.models.replies import completion_of
from musacoder.models.tokens import estimated_tokens, token_counter
from musacoder.models.types import Completion, Failure, FailureKind, Message, NamedModel, OnCompletion, Sampling

MAX_ANSWER_BYTES = 4 << 20
_HASH = re.compile(r"[0-9a-f]{64}")
_FENCE = re.compile(r"^(`{3,})[a-z]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Answer:
    """One answer as a model would give it. `is_right`: None where nobody says so."""

    text: str
    is_right: bool | None = None


@dataclass(frozen=True)
class ScriptedTask:
    """A task, by its source or its hash, and all answers to it."""

    source: str
    task_hash: str
    answers: tuple[Answer, ...]


class ScriptedModel(NamedModel):
    """Answers from a list. Safe for several threads; see `types.Model`."""

    def __init__(self, name: str, tasks: Sequence[ScriptedTask], config: ModelConfig | None = None) -> None:
        self._name, self._tasks = name, tuple(tasks)
        self._count = token_counter(config or ModelConfig())
        self._is_closed = False

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return self._count(messages)

    def close(self) -> None:
        self._is_closed = True

    def sample(
        self, messages: Sequence[Message], n: int, sampling: Sampling, *, on_completion: OnCompletion | None = None
    ) -> list[Completion]:
        task, found = self._task_in(messages), []
        prompt_tokens = self.count_tokens(messages)
        for index in range(n):
            start = time.monotonic()
            completion = self._completion(task, messages, (sampling.seed or 0) + index)
            fields = {"model": self._name, "prompt_tokens": prompt_tokens, "seconds": time.monotonic() - start}
            found.append(replace(completion, **fields))
            if on_completion:
                on_completion(index, found[-1])
        return found

    def _completion(self, task: ScriptedTask | None, messages: Sequence[Message], number: int) -> Completion:
        if self._is_closed:
            return Completion(failure=Failure(FailureKind.CLOSED, "the model was closed"))
        if task is None:
            words = "no task of the script has its source in this prompt"
            return Completion(failure=Failure(FailureKind.UNKNOWN_TASK, words))
        before = next((m.content for m in reversed(messages) if m.role == "assistant"), None)
        answer = _first(task, number) if before is None else _next(task, before, number)
        tokens = estimated_tokens([Message("assistant", answer.text)])
        return completion_of(answer.text, None, "stop", completion_tokens=tokens)

    def _task_in(self, messages: Sequence[Message]) -> ScriptedTask | None:
        """The task whose source stands last in what the user said first."""
        said = [normalise(m.content) for m in messages if m.role == "user"]
        for text in said:
            hashes = {content_hash(match[2] + end): match.start() for match in _FENCE.finditer(text) for end in _ENDS}
            places = [max(_place(text, task), hashes.get(task.task_hash, -1)) for task in self._tasks]
            best = max(range(len(places)), key=lambda i: (places[i], len(self._tasks[i].source)), default=None)
            if best is not None and places[best] >= 0:
                return self._tasks[best]
        return None


_ENDS = ("", "\n")  # a fence ends a source with one line end, whatever the file does


def _place(text: str, task: ScriptedTask) -> int:
    return text.rfind(task.source) if task.source else -1


def _first(task: ScriptedTask, number: int) -> Answer:
    return task.answers[number % len(task.answers)]


def _next(task: ScriptedTask, before: str, number: int) -> Answer:
    """The answer to a prompt in which `before` was the last answer."""
    at = _index_of(task, before)
    after = [task.answers[(at + step) % len(task.answers)] for step in range(1, len(task.answers) + 1)]
    right = [a for a in after if a.is_right]
    if not right or after[-1].is_right is None:
        return after[0]
    wrong = [a for a in after if not a.is_right]
    if after[-1].is_right:
        return right[0]
    is_repaired = random.Random(f"{task.task_hash} {at} {number}").random() < 0.5
    return right[number % len(right)] if is_repaired else wrong[0]


def _index_of(task: ScriptedTask, before: str) -> int:
    """Which answer that was, by its code; the first where it was shortened beyond recognition."""
    codes = [_code(answer.text) for answer in task.answers]
    code = _code(before)
    return codes.index(code) if code in codes else 0


@functools.lru_cache(maxsize=1024)
def _code(text: str) -> str:
    found = extract(text)
    return (found.code if isinstance(found, Candidate) else text).strip()


def gallery_model(config: ModelConfig | None = None) -> ScriptedModel:
    """The bundled gallery's candidates, those of each task in an order that is always the same.

    Without those that only a deadline ends: each time one of them is asked for, its judge waits for minutes.
    """
    entries = [entry for entry in gallery.load() if entry.expected.ends_by_itself]
    tasks = []
    for name in sorted({entry.task_name for entry in entries}):
        mine = [entry for entry in entries if entry.task_name == name]
        source = _read(mine[0].task_path)
        answers = [
            Answer(wrapped(_read(entry.candidate_path)), entry.expected.status is Status.CORRECT) for entry in mine
        ]
        random.Random(name).shuffle(answers)
        tasks.append(_task(source, answers))
    return ScriptedModel("scripted:gallery", tasks, config)


def wrapped(code: str) -> str:
    """A candidate's file as a model answers with it."""
    thought = "One thread or block for each piece of the output; what lies beyond the edge is left alone."
    return f"<think>\n{thought}\n</think>\n\nThe operation in a kernel of its own:\n\n```python\n{code.rstrip()}\n```\n"


def folder_model(path: Path, config: ModelConfig | None = None) -> ScriptedModel:
    """The answers of a folder or a JSON file. Raises UsageError where it holds none, naming what is wrong."""
    tasks = list(_tasks_of_json(path) if path.suffix == ".json" else _tasks_of_folder(path))
    if not tasks:
        raise UsageError(f"scripted:{path}: no folder in it holds a task.py and answers beside it (*.py, *.md)")
    return ScriptedModel(f"scripted:{path.name}", tasks, config)


def _tasks_of_folder(folder: Path) -> Iterable[ScriptedTask]:
    if not folder.is_dir():
        raise UsageError(f"scripted:{folder}: no such folder, and no JSON file")
    for source in sorted(folder.rglob("task.py")):
        files = sorted(p for p in source.parent.iterdir() if p.suffix in (".py", ".md") and p.name != "task.py")
        if files:
            yield _task(_read(source), [_answer_of(file) for file in files])


def _tasks_of_json(path: Path) -> Iterable[ScriptedTask]:
    try:
        table = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"scripted:{path}: not JSON: {error}") from None
    if not isinstance(table, dict):
        raise UsageError(f"scripted:{path}: must be an object of tasks and lists of answers")
    for key, answers in table.items():
        if not isinstance(answers, list) or not answers or not all(isinstance(a, str) for a in answers):
            raise UsageError(f"scripted:{path}: {key}: must be a list of answers, texts or names of files")
        found = [_answer_of(path.parent / a) if _is_file_name(a) else Answer(a) for a in answers]
        if _HASH.fullmatch(key):
            yield ScriptedTask("", key, tuple(found))
        else:
            yield _task(_read(path.parent / key), found)


def _is_file_name(answer: str) -> bool:
    return "\n" not in answer and answer.endswith((".py", ".md"))


def _answer_of(file: Path) -> Answer:
    text = _read(file)
    return Answer(wrapped(text) if file.suffix == ".py" else text)


def _task(source: str, answers: Sequence[Answer]) -> ScriptedTask:
    return ScriptedTask(source.strip(), content_hash(source), tuple(answers))


def _read(path: Path) -> str:
    data: Any = read_regular_file(path, MAX_ANSWER_BYTES)
    if len(data) > MAX_ANSWER_BYTES:
        raise UsageError(f"{path} is larger than {MAX_ANSWER_BYTES >> 20} MiB")
    text = decode(data)
    if text is None:
        raise UsageError(f"{path} is not text")
    return text
