"""`musacoder report`: what runs say, as HTML, Markdown or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from musacoder.cli_options import OK, AsJson, Command, Verbose
from musacoder.runlog.whole import write_whole

DEFAULT_NAME = "report.html"
SCHEMA_VERSION = 1


def register(app: typer.Typer) -> None:
    """Give the command line this command."""
    app.command(cls=Command)(report)


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders, of bench or generate.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The HTML page. By default report.html, of one run in its folder."),
    ] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="The tables as Markdown, too.")] = None,
    no_code: Annotated[
        bool, typer.Option("--no-code", help="Leave out all that a model wrote and all that may quote it.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap that intervals come from.")] = 0,
    json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Show what runs say: rates with intervals, curves, causes, comparisons, every answer with its verdict."""
    from musacoder.evaluate.rates import Bootstrap
    from musacoder.report.gather import gather

    del verbose  # it acts where errors are told
    findings = gather(runs, Bootstrap(seed=seed))
    page = out or (None if json else _default(runs))
    written = _written(findings, page, markdown, code=not no_code)
    if json:
        from mooreeval.render import strict_json

        print(strict_json(document(findings), indent=2))
    else:
        _tell(findings, written)
    raise typer.Exit(OK)


def document(findings: Any) -> dict[str, Any]:
    """What --json prints: the metrics of each run and the comparisons; nothing that a model wrote."""
    return {
        "schema_version": SCHEMA_VERSION,
        "runs": [part.metrics.model_dump(mode="json") for part in findings.parts],
        "comparisons": [comparison.model_dump(mode="json") for comparison in findings.comparisons],
        "not_compared": list(findings.not_compared),
    }


def _default(runs: Sequence[Path]) -> Path:
    return runs[0] / DEFAULT_NAME if len(runs) == 1 else Path(DEFAULT_NAME)


def _written(findings: Any, page: Path | None, markdown_file: Path | None, *, code: bool) -> list[tuple[Path, int]]:
    """The files that were written, with their sizes in bytes."""
    made, files = _made(), []
    if page is not None:
        files.append((page, write_whole(page, _page(findings, made, code=code))))
    if markdown_file is not None:
        from musacoder.report.markdown import markdown

        files.append((markdown_file, write_whole(markdown_file, markdown(findings, made))))
    return files


def _page(findings: Any, made: str, *, code: bool) -> str:
    """The page, with its progress on a terminal: thousands of answers take a minute."""
    from rich.console import Console

    from musacoder.progress import progress
    from musacoder.report.page import html

    total = sum(len(run.run.manifest.tasks) for run in findings.runs)
    with progress("writing", total, quiet=not Console(stderr=True).is_terminal, verbose=False) as advance:
        return html(findings, made, code=code, advance=advance)


def _made() -> str:
    from datetime import UTC, datetime

    from mooreeval import __version__

    return f"made by musacoder {__version__} on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"


def _tell(findings: Any, written: Sequence[tuple[Path, int]]) -> None:
    """The headline of every run in the terminal, and where the rest is."""
    from rich.console import Console
    from rich.table import Table

    from mooreeval.render import print_whole
    from musacoder.report.tables import headline
    from musacoder.report.words import size

    console = Console(highlight=False)
    for evidence, parts in findings.by_evidence():
        content = headline(parts, evidence)
        shown = Table(title=f"by evidence of {evidence}", box=None, pad_edge=False, title_justify="left")
        for number, column in enumerate(content.columns):
            shown.add_column(column, justify="left" if number == 0 else "right")
        for row in (row for row in content.rows if not row.published):
            shown.add_row(*(f"{c.text} ({c.small})" if c.small else c.text for c in row.cells))
        print_whole(console, shown)
    for path, count in written:
        print(f"{path}  {size(count)}")
