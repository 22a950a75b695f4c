"""``wavetank report``: a campaign's results as one file for people."""

from __future__ import annotations

import os
from pathlib import Path

import click

from wavetank.errors import UsageError

FORMATS = {"html": "html", "markdown": "md", "csv": "csv", "json": "json"}


@click.command("report")
@click.argument("campaign", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write; '-' for standard output.  [default: report.html, .md, .csv, .json]",
)
@click.option(
    "--format",
    "report_format",
    type=click.Choice(list(FORMATS)),
    default="html",
    show_default=True,
    help="html is for people; csv and json hold all tables in bytes and seconds.",
)
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="BASELINE",
    help="Say what changed: results folder of an earlier campaign, or a file of 'wavetank export'.",
)
@click.option(
    "--watch",
    is_flag=True,
    help="Write no file: show the campaign in a browser of this machine while it runs, until Ctrl-C.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="With --watch: of 127.0.0.1; 0 is any that is free.  [default: 8642]",
)
def command(
    campaign: Path,
    output: Path | None,
    report_format: str,
    against: Path | None,
    watch: bool,
    port: int | None,
) -> None:
    """Write the report of CAMPAIGN, a folder that 'wavetank run' left.

    One HTML file that opens without network: ranking, plots, models, clusters, provenance.
    With --against it begins with what changed, by the test of 'wavetank check'.
    With --watch the page is served to browsers of this machine alone, and renews itself.

    Example: wavetank report results -o report.html
    """
    if watch:
        if output is not None or report_format != "html":
            raise UsageError("--watch writes no file: leave --output and --format out")
        _watch(campaign, against, port)
        return
    if port is not None:
        raise UsageError("--port is for --watch: give both, or none")
    from wavetank.document import write_whole
    from wavetank.report.gather import read_folder
    from wavetank.report.page import text_formats
    from wavetank.report.page.html import render

    renderers = {
        "html": render,
        "markdown": text_formats.markdown,
        "csv": text_formats.csv_text,
        "json": text_formats.json_text,
    }
    text = renderers[report_format](read_folder(campaign, against))
    path = output if output is not None else Path(f"report.{FORMATS[report_format]}")
    if str(path) == "-":
        click.echo(text, nl=False)
        return
    write_whole(path, text)
    click.echo(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)", err=True)


def _watch(campaign: Path, against: Path | None, port: int | None) -> None:
    from wavetank.report.watch.serve import PORT, watch

    def told(address: str) -> None:
        click.echo(address)
        click.echo(
            "wavetank: open this page in a browser of this machine; Ctrl-C ends it", err=True
        )

    os.nice(10)  # what is measured beside it comes first
    try:
        watch(
            campaign,
            against,
            PORT if port is None else port,
            told,
            lambda sentence: click.echo(f"wavetank: {sentence}", err=True),
        )
    except KeyboardInterrupt:
        click.echo("wavetank: the page is not served any more", err=True)
