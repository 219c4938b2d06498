"""Models that answer prompts: a server, a checkpoint in this process, a script; one protocol for all.

open_model ──┬── OpenAIServer    openai_server.py  (pace.py, reach.py, faults.py, replies.py)
             ├── LocalModel      local.py, generation.py
             └── ScriptedModel   scripted.py
"""

from musacoder.models.config import ModelConfig
from musacoder.models.opening import open_model
from musacoder.models.types import Completion, Failure, FailureKind, Message, Model, Sampling

__all__ = ["Completion", "Failure", "FailureKind", "Message", "Model", "ModelConfig", "Sampling", "open_model"]
