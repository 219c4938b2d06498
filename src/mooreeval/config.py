"""Configuration of a verdict: every default of the judge stands here, once.

A configuration is frozen and refuses unknown fields. It comes from a YAML file and from `a.b=c` settings, later ones
winning; whatever is wrong with them is one line (`UsageError`). Units are in field names. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, Field, ValidationError

from mooreeval.errors import UsageError
from mooreeval.hashing import content_hash
from mooreeval.verdict import Record

Backend = Literal["auto", "cuda", "musa", "musa-shim", "simulator"]
Policy = Literal["native", "mixed"]
Protocol = Literal["ours", "kernelbench"]
Baseline = Literal["eager", "compile"]

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(gt=0)]


def _hex_secret(value: str | None) -> str | None:
    if value is None:
        return None
    text = value.strip().lower()
    if not text or len(text) > 128 or set(text) - set("0123456789abcdef"):
        raise ValueError("must be 1 to 128 hexadecimal digits")
    return text


class Deadlines(Record):
    """Wall seconds that one stage may take; waiting for a free worker is not counted."""

    record_seconds: Positive = 60  # the candidate's Python, import included
    build_seconds: Positive = 600  # all extensions of one candidate; 300 is known to kill right kernels
    reference_seconds: Positive = 120
    run_seconds: Positive = 120


class MemoryLimits(Record):
    """What one child may hold, in MiB."""

    build_mib: Count = 8192
    child_mib: Count = 8192
    disk_mib: Count = 4096  # the scratch folder of one child


class Tolerance(Record):
    """How far a floating output may be from the reference.

    `scaled` is our own rule (see `mooreeval.execute.compare`): base * (|ref| + rms) plus a multiple of the reference's
    own rounding error. `allclose` is `torch.allclose` with atol = rtol = base, KernelBench's rule.
    """

    rule: Literal["scaled", "allclose"] = "scaled"
    float32: NonNegative = 1e-4
    half: NonNegative = 1e-2  # float16 and bfloat16
    # Between float64's own rounding in a long sum (about 1e-12) and one rounding to float32 (6e-8): a kernel that
    # computes in float32 where float64 was asked for is told apart.
    float64: NonNegative = 1e-9
    noise_factor: NonNegative = 4  # times the largest |ref32 - ref64| in the slice


class RewardConfig(Record):
    """The paper leaves lambda and v_max open; these are our choice.

    With them a correct answer earns 1, one that is twice as fast 1.5, and nothing earns more than 3.
    """

    lambda_speedup: NonNegative = 0.5
    v_max: NonNegative = 4
    baseline: Baseline = "eager"  # what v is a speed-up over


class SimulatorConfig(Record):
    """How much work the simulator takes on before it makes the task's shapes smaller."""

    elements: Count = 4_000_000  # read and written in one forward pass
    flops: Count = 20_000_000
    # A size that the candidate carries as a literal is kept while it stays below these.
    ceiling_elements: Count = 64_000_000
    ceiling_flops: Count = 2_200_000_000  # a product of square matrices of 1024 is still below
    ceiling_mib: Count = 1536
    device_mib: Count = 4096  # memory of the simulated device
    check_budget: Count = 20_000_000  # watched memory accesses of one launch; the rest of its blocks run unwatched
    threads: Annotated[int, Field(ge=0)] = 0  # host threads that blocks are spread over; 0: all cores


class FeedbackConfig(Record):
    """Bounds of the text that a model gets for its next turn."""

    characters: Annotated[int, Field(ge=200)] = 4000
    diagnostics: Count = 3
    findings: Count = 4
    context_lines: Annotated[int, Field(ge=0)] = 2  # source lines shown before and after the one at fault
    line_characters: Annotated[int, Field(ge=40)] = 160


class VerifyConfig(Record):
    """Everything a verifier can be told."""

    backend: Backend = "auto"
    policy: Policy = "native"
    protocol: Protocol = "ours"
    trials: Count = 5
    seed: Annotated[str | None, AfterValidator(_hex_secret)] = None  # run secret, hex; None: a new one each run
    deadlines: Deadlines = Deadlines()
    memory: MemoryLimits = MemoryLimits()
    tolerance: Tolerance = Tolerance()
    simulator: SimulatorConfig = SimulatorConfig()
    reward: RewardConfig = RewardConfig()
    feedback: FeedbackConfig = FeedbackConfig()

    def effective_tolerance(self) -> Tolerance:
        """The tolerance that is applied: protocol `kernelbench` brings its own rule."""
        if self.protocol == "kernelbench":
            return self.tolerance.model_copy(update={"rule": "allclose"})
        return self.tolerance

    def with_backend(self, backend: str) -> VerifyConfig:
        """The same configuration with `auto` resolved; hash this one."""
        return VerifyConfig.model_validate({**self.model_dump(), "backend": backend})

    def config_hash(self) -> str:
        """Identity of what can change a verdict.

        The secret is left out because a verdict names it apart; reward, feedback and threads change no verdict.
        """
        return content_hash(self.model_dump(mode="json", exclude=_NOT_IN_THE_HASH))


_NOT_IN_THE_HASH: Any = {"seed": True, "reward": True, "feedback": True, "simulator": {"threads": True}}


def load_config(
    path: str | Path | None = None, settings: Iterable[str] = (), overrides: Mapping[str, Any] | None = None
) -> VerifyConfig:
    """The configuration of a YAML file (or the defaults) with `a.b=c` settings applied in order.

    `overrides` are top-level fields that win over both, such as options of a command line; None leaves a field alone.

    Raises UsageError, one line that names the field, what is wrong with it, and where it came from.
    """
    data = {} if path is None else _read_yaml(Path(path))
    for setting in settings:
        _apply_setting(data, setting)
    data.update({name: value for name, value in (overrides or {}).items() if value is not None})
    return validated(data, origin="configuration" if path is None else str(path))


def validated(data: Mapping[str, Any], *, origin: str) -> VerifyConfig:
    """A configuration from plain data; UsageError names the first field at fault."""
    try:
        return VerifyConfig.model_validate(dict(data))
    except ValidationError as error:
        raise UsageError(f"{origin}: {_first_fault(error)}") from None


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


def _apply_setting(data: dict[str, Any], setting: str) -> None:
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
    if keys == ["seed"]:
        return text  # a secret such as 0123 or 1e5 would turn into a number as YAML
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise UsageError(f"--set {setting!r}: the value is not YAML") from None


def _first_fault(error: ValidationError) -> str:
    faults = error.errors(include_url=False)
    first = faults[0]
    field = ".".join(str(part) for part in first["loc"]) or "configuration"
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    if first["type"] == "extra_forbidden":
        return f"there is no field {field}; known here: {', '.join(_known_fields(first['loc'][:-1]))}{more}"
    message = first["msg"].removeprefix("Value error, ")
    return f"{field}: {message}, not {_short(first['input'])}{more}"


def _known_fields(path: tuple[int | str, ...]) -> list[str]:
    model: Any = VerifyConfig
    for part in path:
        model = model.model_fields[str(part)].annotation
    return sorted(model.model_fields)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
