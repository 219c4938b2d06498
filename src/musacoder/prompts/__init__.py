"""Prompts: what a model is asked, from templates that a user may replace, within a budget of tokens."""

from musacoder.prompts.build import build_first, build_optimise, build_repair
from musacoder.prompts.config import PromptConfig
from musacoder.prompts.rehearsal import rehearse
from musacoder.prompts.target import Target, target_of
from musacoder.prompts.templates import Templates
from musacoder.prompts.types import Prompt, PromptTooLong, Turn

__all__ = [
    "Prompt",
    "PromptConfig",
    "PromptTooLong",
    "Target",
    "Templates",
    "Turn",
    "build_first",
    "build_optimise",
    "build_repair",
    "rehearse",
    "target_of",
]
