"""Configurations from YAML files and `a.b=c` settings; whatever is wrong with one is one line (`UsageError`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from mooreeval.errors import UsageError

M = TypeVar("M", bound=BaseModel)


def plain_data(path: str | Path | None, settings: Iterable[str]) -> dict[str, Any]:
    """What a YAML file (or none) says, with the settings applied in order; not checked yet."""
    data = {} if path is None else _read_yaml(Path(path))
    for setting in settings:
        apply_setting(data, setting)
    return data


def origin_of(path: str | Path | None) -> str:
    """What messages call the configuration."""
    return "configuration" if path is None else str(path)


def validated_as(model: type[M], data: Mapping[str, Any], *, origin: str) -> M:
    """A configuration from plain data; UsageError names the first field at fault."""
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        raise UsageError(f"{origin}: {_first_fault(model, error)}") from None


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read the configuration {path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not YAML: {_one_line(error)}") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise UsageError(f"{path} must hold a mapping of fields, e.g. `trials: 5`, not a {type(data).__name__}")
    return data


def apply_setting(data: dict[str, Any], setting: str) -> None:
    """Put one `a.b=c` where it belongs."""
    name, equals, text = setting.partition("=")
    keys = name.strip().split(".")
    if not equals or not all(keys):
        raise UsageError(f"--set {setting!r} is not of the form a.b=c, e.g. deadlines.run_seconds=60")
    for depth, key in enumerate(keys[:-1]):
        below = data.setdefault(key, {})
        if not isinstance(below, dict):
            raise UsageError(f"--set {setting!r}: {'.'.join(keys[: depth + 1])} has no fields")
        data[key] = below = dict(below)  # never edit what another setting or a caller may still hold
        data = below
    data[keys[-1]] = _setting_value(setting, keys, text)


def _setting_value(setting: str, keys: list[str], text: str) -> Any:
    if keys[-1] == "seed":
        return text  # a secret such as 0123 or 1e5 would turn into a number as YAML
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise UsageError(f"--set {setting!r}: the value is not YAML") from None


def _first_fault(model: type[BaseModel], error: ValidationError) -> str:
    faults = error.errors(include_url=False)
    first = faults[0]
    field = ".".join(str(part) for part in first["loc"]) or "configuration"
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    if first["type"] == "extra_forbidden":
        return f"there is no field {field}; known here: {', '.join(_known_fields(model, first['loc'][:-1]))}{more}"
    return f"{field} {_demand(first['type'], first.get('ctx', {}), first['msg'])}, not {_short(first['input'])}{more}"


def _demand(kind: str, context: Mapping[str, Any], message: str) -> str:
    """What a value must be, in words for someone who never heard of the library that checks it."""
    for begin, words in _DEMANDS.items():
        if kind.startswith(begin):
            return words.format(**context)
    return message.removeprefix("Value error, ")


_DEMANDS = {
    "int_": "must be a whole number",
    "float_": "must be a number",
    "finite_number": "must be a finite number",
    "greater_than_equal": "must be {ge:g} or more",
    "greater_than": "must be more than {gt:g}",
    "less_than_equal": "must be {le:g} or less",
    "literal_error": "must be {expected}",
    "string_": "must be text",
    "model_": "has fields of its own and must be a mapping of them",
}


def _known_fields(model: Any, path: tuple[int | str, ...]) -> list[str]:
    for part in path:
        model = model.model_fields[str(part)].annotation
    return sorted(model.model_fields)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
