"""From what a person types to a model."""

from __future__ import annotations

from pathlib import Path

from mooreeval.errors import UsageError
from musacoder.models.config import ModelConfig
from musacoder.models.types import Model

SPECS = "NAME or openai:NAME with a server's address, hf:PATH_OR_ID, scripted:gallery or scripted:FOLDER"


def open_model(spec: str, config: ModelConfig | None = None) -> Model:
    """The model that a specification names:

    `NAME`, `openai:NAME`   that model of an OpenAI-compatible server (`config.server`)
    `hf:PATH_OR_ID`         a checkpoint, run in this process by transformers
    `scripted:gallery`      the bundled gallery's candidates as answers
    `scripted:FOLDER`       answers from files, see `musacoder.models.scripted`

    Raises UsageError where there is no such model or it can't be had. A server is not asked yet.
    """
    kind, _, rest = spec.partition(":")
    name = rest.strip() if kind in ("openai", "hf", "scripted") else spec.strip()
    if not name:
        raise UsageError(f"--model {spec!r} names no model; it is {SPECS}")
    if kind == "hf":
        from musacoder.models.local import LocalModel, TogetherModel

        return TogetherModel(name, config) if config and config.local.together else LocalModel(name, config)
    if kind == "scripted":
        from musacoder.models.scripted import folder_model, gallery_model

        return gallery_model(config) if name == "gallery" else folder_model(Path(name), config)
    from musacoder.models.openai_server import OpenAIServer

    return OpenAIServer(name, config)
