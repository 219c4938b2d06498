"""Configuration of `bench` and `generate`: their own defaults, and those of what they are made of. No torch.

Read as the judge's configuration is: a YAML file, then `a.b=c` settings, then options of the command line. Whatever is
wrong is one line (`UsageError`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field

from mooreeval.config import Count, NonNegative, Positive, VerifyConfig, Whole
from mooreeval.config_reading import apply_setting, origin_of, plain_data, validated_as
from mooreeval.hashing import content_hash
from mooreeval.verdict import Record
from musacoder.models import ModelConfig, Sampling
from musacoder.prompts import PromptConfig
from musacoder.suites import SuiteConfig

MOST_SAMPLES = 1024
_SEEDS = 2**31 - 2 * MOST_SAMPLES  # servers take 32 bits, and sample i is drawn with the seed plus i


class ModelChoice(ModelConfig):
    """A model and everything that it can be told."""

    name: str | None = Field(
        None, description="NAME or openai:NAME on a server, hf:PATH_OR_ID in this process, or scripted:WHAT."
    )


class SamplingConfig(Record):
    """How answers are drawn. None leaves a field to the model's own default."""

    temperature: NonNegative | None = Field(0.7, description="0: the likeliest token each time.")
    top_p: Annotated[float, Field(gt=0, le=1)] | None = Field(1.0, description="Share of the likeliest tokens.")
    max_tokens: Count | None = Field(16384, description="Of one answer, its reasoning included.")
    stop: tuple[str, ...] = Field((), description="Texts at which an answer ends.")
    seed: Whole | None = Field(
        0, description="What each answer's own seed is drawn from, with its task, index and turn; none: no seeds."
    )
    logprobs: bool = Field(
        False, description="Whether token ids and log-probabilities are asked for, and kept where the model gives them."
    )

    def of(self, task_hash: str, index: int, turn: int) -> Sampling:
        """How answers from `index` on are drawn in that turn: the same however many are asked for at once."""
        base = None if self.seed is None else int(content_hash([self.seed, task_hash, turn])[:12], 16) % _SEEDS + index
        return Sampling(
            temperature=self.temperature,
            top_p=self.top_p,
            max_tokens=self.max_tokens,
            seed=base,
            stop=self.stop,
            logprobs=self.logprobs,
        )


class WorkConfig(Record):
    """How much is done at once. Changes no result, so a run may go on with other values."""

    asking: Annotated[Count, Field(le=1024)] = Field(8, description="Prompts that are asked at once.")
    judging: Annotated[Count, Field(le=64)] = Field(2, description="Answers that are judged at once.")
    waiting: Count = Field(64, description="Answers that may wait for a judge before asking pauses.")
    failing: Count | None = Field(
        10, description="Prompts in a row that get no answer by the server's doing, before asking ends; none: never."
    )


class _Loop(Record):
    """What both commands can be told."""

    samples: Annotated[Count, Field(le=MOST_SAMPLES)] = Field(8, description="Answers to the first prompt of a task.")
    model: ModelChoice = ModelChoice()
    prompt: PromptConfig = PromptConfig()
    sampling: SamplingConfig = SamplingConfig()
    verify: VerifyConfig = VerifyConfig()
    work: WorkConfig = WorkConfig()


class BenchConfig(_Loop):
    """Everything `bench` can be told."""

    turns: Annotated[Count, Field(le=100)] = Field(
        1, description="Turns of an answer that is not right: each after the first is told what was wrong."
    )
    suite: SuiteConfig = SuiteConfig()


class PoolConfig(Record):
    """What of a model's right answers it is trained on."""

    per_cluster: Count = Field(2, description="Different programs of one structure that a task's pool holds at most.")
    epochs: Annotated[Count, Field(le=1000)] = Field(
        3, description="Visits of each task; the target of each is drawn anew from the task's pool."
    )
    seed: Whole = Field(0, description="Of these draws.")


class RftConfig(BenchConfig):
    """Everything `rft` can be told."""

    programs: str | None = Field(
        None, description="File of programs whose tasks are answered, those of the training split; else `suite`."
    )
    pool: PoolConfig = PoolConfig()
    sampling: SamplingConfig = SamplingConfig(temperature=1.0, max_tokens=2048)


class BudgetConfig(Record):
    """How long a kernel is improved once it is right; what ends first ends it."""

    turns: Whole = Field(4, description="Optimisation turns; 0: none.")
    tokens: Count | None = Field(None, description="Tokens answered in the whole run; none: no bound.")
    seconds: Positive | None = Field(None, description="Spent asking and judging in the whole run; none: no bound.")


class GenerateConfig(_Loop):
    """Everything `generate` can be told."""

    task: str | None = Field(None, description="The task's file, `gallery:NAME` or `bundled:NAME`.")
    out: str | None = Field(None, description="The folder that the kernel goes to; none: the run's own.")
    repairs: Annotated[Whole, Field(le=100)] = Field(
        2, description="Repair turns of each answer, while none of them is right."
    )
    budget: BudgetConfig = BudgetConfig()
    profile: bool = Field(
        True, description="Whether right answers are profiled where a device judges, for the optimisation turns."
    )


# What may change when a run goes on: it decides how long something takes or where it goes, not what comes out.
FREE = (
    "out",
    "work",
    "model.server.api_key_env",
    "model.server.base_url",
    "model.server.concurrency",
    "model.server.requests_per_minute",
    "model.server.connect_seconds",
    "model.server.answer_seconds",
    "model.server.answers_per_request",
    "model.server.retry",
    "model.local.batch",
    "verify.pool",
    "verify.simulator.threads",
)

C = TypeVar("C", bound=Record)


def read_config(
    kind: type[C],
    path: str | Path | None = None,
    settings: Iterable[str] = (),
    options: Mapping[str, Any] | None = None,
    *,
    base: Mapping[str, Any] | None = None,
) -> C:
    """A configuration of that kind.

    Args:
        base: what settings and options change, where there is no file; none: the defaults.
        options: dotted fields that win over file and settings; None leaves a field alone.

    Raises UsageError, one line that names the field, what is wrong with it, and where it came from.
    """
    data = plain_data(path, ()) if path is not None else dict(base or {})
    for setting in settings:
        apply_setting(data, setting)
    for name, value in (options or {}).items():
        if value is not None:
            _put(data, name.split("."), value)
    return validated_as(kind, data, origin=origin_of(path))


def _put(data: dict[str, Any], keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        below = data.get(key)
        if below is not None and not isinstance(below, dict):
            return  # what stands there is refused when all is checked
        data[key] = dict(below or {})
        data = data[key]
    data[keys[-1]] = value


def plain(config: Record) -> dict[str, Any]:
    """As it is kept in a run folder."""
    return config.model_dump(mode="json")
