"""Where tasks come from: a file, a folder tree, JSONL or parquet rows, a data set on disk or on the Hugging Face hub.

    load_tasks(spec) -> rows (task_id, level, code, source) -> make_task -> filtered by levels and ids

Rows use our column names (`task_id`, `level`, `code`) or those of KernelBench's data set (`problem_id`, `name`,
`level`, `code`). A bad row is an error that names its file and row; nothing is skipped silently. A file of a folder
that is no task is an error too, or is handed to whoever asked for such files.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from mooreeval.errors import TaskError, UsageError
from mooreeval.hub import look_for_hub
from mooreeval.task import Task, id_and_level, load_task, make_task

DATA_EXTRA = "data"  # the extra of our distribution that brings `datasets` and `pyarrow`

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_LEVEL_SPLIT = re.compile(r"level_?(\d+)", re.IGNORECASE)
_SAVED_DATASET_FILES = ("dataset_dict.json", "state.json")
_DATA_SUFFIXES = frozenset((".parquet", ".jsonl", ".json", ".csv", ".arrow"))

NoTask = Callable[[Path, UsageError], None]  # a TaskError, or why the file cannot be read


def load_tasks(
    spec: str | Path,
    *,
    levels: Iterable[int] | None = None,
    ids: Iterable[str] | None = None,
    on_no_task: NoTask | None = None,
) -> list[Task]:
    """All tasks that `spec` names, in natural order of their ids.

    Args:
        spec: a `.py`, `.jsonl` or `.parquet` file, a folder of tasks, a data set in a folder (as the hub or
            `save_to_disk` lays it out), or a Hugging Face data set id (`owner/name`).
        levels: keep only these levels.
        ids: keep only these task ids, each of which must exist.
        on_no_task: called with each Python file of a folder that is no task or cannot be read, which is then left out.

    Raises:
        UsageError: nothing there, an unknown kind of file, a missing package, an unknown id.
        TaskError: a task or row that cannot be used, named.
    """
    wanted_levels = None if levels is None else set(levels)
    wanted_ids = None if ids is None else set(ids)
    found = _read(spec, on_no_task)
    if not found:
        raise UsageError(f"no tasks in {spec}")
    _refuse_duplicates(found)
    if wanted_ids is not None and (unknown := wanted_ids - {task.task_id for task in found}):
        raise UsageError(f"no task {', '.join(sorted(unknown))} in {spec}; it has e.g. {found[0].task_id}")
    kept = [
        task
        for task in found
        if (wanted_levels is None or task.level in wanted_levels) and (wanted_ids is None or task.task_id in wanted_ids)
    ]
    if not kept:
        raise UsageError(f"none of the {len(found)} tasks in {spec} is of level {sorted(wanted_levels or ())}")
    return sorted(kept, key=lambda task: natural(task.task_id))


def _read(spec: str | Path, on_no_task: NoTask | None) -> list[Task]:
    path = Path(spec)
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except (OSError, ValueError):  # a name too long, or with a null byte
        is_folder = exists = False
    if is_folder and any((path / name).is_file() for name in _SAVED_DATASET_FILES):
        return list(_from_saved_dataset(path))
    if is_folder:
        return list(_from_folder(path, on_no_task)) or list(_from_data_files(path))
    if exists:
        return list(_from_file(path))
    if _may_be_on_hub(str(spec)):
        return list(_from_hub(str(spec)))
    raise UsageError(f"no such file or folder: {spec} (a Hugging Face data set is named owner/name)")


def _may_be_on_hub(name: str) -> bool:
    """`owner/name` that is no path: not a Python file, nor below a folder that is here."""
    return _HUB_ID.fullmatch(name) is not None and not name.endswith(".py") and not Path(name).parent.is_dir()


def _from_file(path: Path) -> Iterator[Task]:
    match path.suffix.lower():
        case ".py":
            yield load_task(path)
        case ".jsonl" | ".ndjson":
            yield from _from_jsonl(path)
        case ".parquet":
            yield from _from_parquet(path)
        case suffix:
            raise UsageError(f"{path}: tasks come from .py, .jsonl or .parquet files, not {suffix or 'this'}")


def _from_folder(root: Path, on_no_task: NoTask | None) -> Iterator[Task]:
    """Every Python file below `root`, except hidden ones and those that begin with an underscore."""
    for path, task_id, level in _python_files(root):
        try:
            yield make_task(task_id, load_task(path).code, level=level, source=str(path))
        except UsageError as error:
            if on_no_task is None:
                raise
            on_no_task(path, error)


def _python_files(root: Path) -> Iterator[tuple[Path, str, int | None]]:
    """Path, task id and level of each."""
    # The root's own name counts, so that `KernelBench/level1` gives the same ids as `KernelBench`.
    base = root.resolve().name
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = sorted(name for name in subfolders if name[0] not in "._")
        for name in sorted(files):
            if not name.endswith(".py") or name[0] in "._":
                continue
            path = Path(folder, name)
            relative = path.relative_to(root).parts
            task_id, level = id_and_level((base, *relative))
            yield path, task_id if level is not None else "/".join(relative).removesuffix(".py"), level


def _from_jsonl(path: Path) -> Iterator[Task]:
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _task_of_row(_parsed(line, f"{path}, line {number}"), f"{path}, line {number}")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None


def _parsed(line: bytes, place: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", None) or type(error).__name__
        raise TaskError(f"{place}: not valid JSON ({reason})") from None


def _from_parquet(path: Path) -> Iterator[Task]:
    arrow, parquet = _package("pyarrow"), _package("pyarrow.parquet")
    try:
        file = parquet.ParquetFile(path)
        numbered = enumerate((row for batch in file.iter_batches(64) for row in batch.to_pylist()), start=1)
        for number, row in numbered:
            yield _task_of_row(row, f"{path}, row {number}")
    except (OSError, arrow.ArrowException) as error:
        raise UsageError(f"{path}: not a readable parquet file ({_first_line(error)})") from None


def _from_saved_dataset(path: Path) -> Iterator[Task]:
    datasets = _package("datasets")
    try:
        data = datasets.load_from_disk(str(path))
    except Exception as error:  # noqa: BLE001  the library raises whatever its readers raise
        raise UsageError(f"{path}: not a readable data set ({_first_line(error)})") from None
    yield from _from_dataset(data, str(path))


def _from_data_files(root: Path) -> Iterator[Task]:
    """A folder laid out as on the hub: `data/train-00000-of-00001.parquet`, `train.jsonl` and the like."""
    if any(path.suffix.lower() in _DATA_SUFFIXES for path in root.rglob("*")):
        yield from _loaded(str(root.absolute()), str(root), f"{root}: not a readable data set")


def _from_hub(name: str) -> Iterator[Task]:
    _package("datasets")
    if look_for_hub():
        yield from _loaded(name, name, f"{name}: no such file, and no data set of that name loads")
    else:
        unheard = f"{name}: no such file, the Hugging Face hub is out of reach, and its cache has no such data set"
        yield from _loaded(_snapshot(name) or name, name, unheard)


def _snapshot(name: str) -> str | None:
    """The folder of a data set that was downloaded as its files; None where it was not."""
    from huggingface_hub import snapshot_download

    try:
        return snapshot_download(name, repo_type="dataset", local_files_only=True)
    except (OSError, ValueError):  # not there, and not a name
        return None


def _loaded(source: str, name: str, complaint: str) -> Iterator[Task]:
    datasets = _package("datasets")
    try:
        with _without_log_lines("huggingface_hub", "datasets"), _without_bars(datasets):
            data = datasets.load_dataset(source)
    except Exception as error:  # noqa: BLE001  network, login, no such set, bad files: all reach us as different classes
        raise UsageError(f"{complaint} ({_first_line(error)})") from None
    yield from _from_dataset(data, name)


@contextmanager
def _without_log_lines(*names: str) -> Generator[None]:
    """What these libraries log of each attempt is not shown: what it comes to is told in one line."""
    levels = {logger: logger.level for logger in map(logging.getLogger, names)}
    for logger in levels:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


@contextmanager
def _without_bars(datasets: ModuleType) -> Generator[None]:
    """A few hundred tasks are prepared in no time, and a bar for each split is in the way of what we say."""
    had_none = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if not had_none:
            datasets.enable_progress_bars()


def _from_dataset(data: Any, name: str) -> Iterator[Task]:
    splits: Mapping[str, Any] = data if isinstance(data, Mapping) else {"": data}
    for split, rows in splits.items():
        match = _LEVEL_SPLIT.fullmatch(split)
        for number, row in enumerate(rows, start=1):
            place = f"{name}, {split + ' ' if split else ''}row {number}"
            yield _task_of_row(row, place, default_level=int(match[1]) if match else None)


def _task_of_row(row: Any, place: str, *, default_level: int | None = None) -> Task:
    if not isinstance(row, Mapping):
        raise TaskError(f"{place}: a row is an object with `task_id`, `level` and `code`, not {type(row).__name__}")
    code = row.get("code")
    if not isinstance(code, str):
        raise TaskError(f"{place}: column `code` is missing or not text; the row has {', '.join(map(str, row))}")
    level = row.get("level", default_level)
    level = default_level if level is None else level
    if level is not None and (isinstance(level, bool) or not isinstance(level, int)):
        raise TaskError(f"{place}: `level` is {level!r}, not a whole number")
    return make_task(_row_id(row, level, place), code, level=level, source=place)


def _row_id(row: Mapping[str, Any], level: int | None, place: str) -> str:
    """`task_id` as given; else from KernelBench's columns, equal to the id that its folder tree gives."""
    task_id = row.get("task_id")
    if task_id is not None:
        if isinstance(task_id, (str, int)) and str(task_id).strip():
            return str(task_id)
        raise TaskError(f"{place}: `task_id` is {task_id!r}, not text")
    number, name = row.get("problem_id"), row.get("name")
    if number is None and not isinstance(name, str):
        raise TaskError(f"{place}: needs `task_id`, or `problem_id` and `name`")
    stem = (name or "").removesuffix(".py") if isinstance(name, str) else ""
    if number is not None and not stem.startswith(f"{number}_"):
        stem = f"{number}_{stem}" if stem else str(number)
    return stem if level is None else f"level{level}/{stem}"


def _refuse_duplicates(tasks: list[Task]) -> None:
    seen: dict[str, Task] = {}
    for task in tasks:
        if task.task_id in seen:
            raise TaskError(f"two tasks are named {task.task_id}: {seen[task.task_id].source} and {task.source}")
        seen[task.task_id] = task


def _package(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise UsageError(
            f"this needs the package {package}, which is not installed: pip install 'musacoder[{DATA_EXTRA}]'"
        ) from None


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


def natural(text: str) -> list[tuple[int, int, str]]:
    """Sort key that puts `2_x` before `10_x`."""
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", text) if part]
