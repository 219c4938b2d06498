"""What the commands share: the form of their usage lines, their common options, their exit codes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

OK, NOT_CORRECT, BAD_USAGE, NOT_JUDGED = 0, 1, 2, 3


class Command(typer.core.TyperCommand):
    """A command whose usage line says TASK and RUN..., as the rest of its help does, not {TASK} and {RUN...}...."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        bare = (piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx))
        return [piece.replace("......", "...") for piece in bare]


ConfigFile = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="YAML file with the configuration.")]
Settings = Annotated[list[str] | None, typer.Option("--set", metavar="A.B=C", help="Set one configuration field.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="More detail; tracebacks on errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print strict JSON, and nothing else, on standard output.")]
Backend = Annotated[str | None, typer.Option("--backend", metavar="NAME", help="As for verify.")]
Policy = Annotated[str | None, typer.Option("--policy", metavar="NAME", help="native or mixed.")]
Protocol = Annotated[str | None, typer.Option("--protocol", metavar="NAME", help="ours or kernelbench.")]
