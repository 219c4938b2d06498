"""Models that answer prompts: a server, a checkpoint in this process, a script; one protocol for all."""

from musacoder.models.config import ModelConfig
from musacoder.models.types import Completion, Failure, FailureKind, Message, Model, Sampling

__all__ = ["Completion", "Failure", "FailureKind", "Message", "Model", "ModelConfig", "Sampling"]
