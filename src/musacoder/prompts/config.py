"""Configuration of prompts: every default stands here, once. No torch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from mooreeval.config import Count, Whole
from mooreeval.verdict import Record

COMPACT = Path("compact")  # a name of `templates`, not a folder


class PromptConfig(Record):
    """What prompts say, and how long they may be."""

    templates: Path | None = Field(
        None,
        description="Folder with templates of your own; those that are not in it are the bundled ones. `compact`: a "
        "built-in set for models of a few million parameters, of little more than the task.",
    )
    tokens: Annotated[Count, Field(ge=256)] = Field(
        16384, description="Most tokens of a prompt, the conversation before it included."
    )
    system: bool = Field(True, description="Whether there is a system message; else its text begins the first turn.")
    example: bool = Field(True, description="Whether a task with a right answer is shown first.")
    metadata: bool = Field(True, description="Whether shapes, strides and dtypes are told.")
    steps: bool = Field(True, description="Whether the six steps of reasoning are asked for.")
    turns: Count = Field(4, description="Earlier answers of a conversation that are shown, the last included.")
    listed: Whole = Field(32, description="Tensors of one kind that are listed.")
    feedback_characters: Annotated[Count, Field(ge=200)] = Field(
        800, description="What is left at least of feedback that has to be cut."
    )
    answer_characters: Annotated[Count, Field(ge=200)] = Field(
        2000, description="What is left at least of an earlier answer that has to be cut."
    )

    @property
    def shows_metadata(self) -> bool:
        """Whether tensors are told, and so have to be asked for: small models read shapes in the task itself."""
        return self.metadata and not self.is_compact

    @property
    def is_compact(self) -> bool:
        """Whether the templates hold neither example nor metadata nor steps, whatever their switches say."""
        return self.templates == COMPACT
