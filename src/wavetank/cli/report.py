"""``wavetank report``: a campaign's results as one file for people."""

from __future__ import annotations

from pathlib import Path

import click

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
    help="Say what changed: results folder of an earlier campaign, or a file of 'campaign export'.",
)
def command(campaign: Path, output: Path | None, report_format: str, against: Path | None) -> None:
    """Write the report of CAMPAIGN, a folder that 'wavetank campaign run' left.

    One HTML file that opens without network: ranking, plots, models, clusters, provenance.
    With --against it begins with what changed, by the test of 'wavetank campaign check'.

    Example: wavetank report results -o report.html
    """
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
