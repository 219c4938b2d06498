"""Configuration of models: every default stands here, once. Units are in field names. No torch."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from mooreeval.config import Count, Positive
from mooreeval.verdict import Record


class RetryConfig(Record):
    """How faults that may pass are waited out: the wait doubles from `first_seconds`, each time drawn at random below.

    A server's Retry-After is waited for in full, up to `longest_seconds`.
    """

    attempts: Count = Field(7, description="Requests for one answer, the first included.")
    timed_out: Count = Field(2, description="Of these, how many may run into `answer_seconds`.")
    # With seven attempts a minute on average, and two at most: a limit by the minute passes, and so does a restart.
    first_seconds: Positive = Field(2, description="Most that is waited before the second request.")
    longest_seconds: Positive = Field(120, description="Most that is waited at once.")
    start_seconds: Positive = Field(
        10, description="How long a server that takes no connection, and never did, is waited for."
    )
    restart_seconds: Positive = Field(900, description="The same, where it has answered before.")


class ServerConfig(Record):
    """An OpenAI-compatible server: vLLM, SGLang, llama.cpp, `transformers serve`, or a hosted one."""

    base_url: str | None = Field(
        None, description="Address with its version, such as http://localhost:8000/v1. None: OpenAI's own."
    )
    api_key_env: str | None = Field(
        None,
        description="Environment variable that holds the key, which itself is never written down. None: no key, or "
        "OPENAI_API_KEY where there is no `base_url`.",
    )
    concurrency: Annotated[Count, Field(le=4096)] = Field(16, description="Requests at the same time.")
    requests_per_minute: Positive | None = Field(None, description="None: as many as `concurrency` lets through.")
    connect_seconds: Positive = Field(10, description="To reach the server.")
    answer_seconds: Positive = Field(1800, description="For one answer, from the request to its last byte.")
    answers_per_request: Annotated[Count, Field(le=128)] | None = Field(
        None, description="None: all that are wanted; a server that refuses more than one is asked one by one."
    )
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = Field(
        "max_tokens", description="What the server calls the bound of an answer's tokens."
    )
    answer_mib: Annotated[Count, Field(le=1024)] = Field(16, description="Largest reply that is read.")
    extra_body: dict[str, Any] = Field(
        default_factory=dict, description="Fields added to each request, e.g. {top_k: 20}."
    )
    retry: RetryConfig = RetryConfig()


class LocalConfig(Record):
    """A checkpoint that is run in this process by transformers."""

    device: str = Field("auto", description="cpu, cuda:0, ...; auto: the first accelerator, else the CPU.")
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto", description="auto: as the checkpoint was saved."
    )
    batch: Count = Field(8, description="Answers generated at the same time; fewer where memory does not suffice.")
    together: bool = Field(
        False,
        description="Whether answers to different prompts are in one batch, `batch` at most: much faster with "
        "hundreds. For models with full attention; the checkpoint's own top_k and penalties are not applied.",
    )


class ModelConfig(Record):
    """Everything a model can be told besides its name."""

    context_tokens: Count | None = Field(
        None, description="Tokens of prompt and answer together; none: what the model itself says, if it does."
    )
    tokenizer: str | None = Field(
        None, description="Folder or Hugging Face id of the model's tokenizer, to count a prompt's tokens exactly."
    )
    bytes_per_token: Positive = Field(
        2.5, description="For an estimate of a prompt's tokens where no tokenizer is known. Code has 3 to 4."
    )
    server: ServerConfig = ServerConfig()
    local: LocalConfig = LocalConfig()
