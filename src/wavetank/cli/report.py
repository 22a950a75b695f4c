"""``wavetank report``: a campaign's results as one file for people."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("report")
@click.argument("campaign", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("report.html"),
    show_default=True,
    help="The file to write.",
)
def command(campaign: Path, output: Path) -> None:
    """Write the report of CAMPAIGN, a folder that 'wavetank campaign run' left.

    One HTML file that opens without network: ranking, plots, models, clusters, provenance.

    Example: wavetank report results -o report.html
    """
    from wavetank.report.gather import read_folder
    from wavetank.report.html import write_html

    write_html(read_folder(campaign), output)
    click.echo(f"wrote {output} ({output.stat().st_size / 1e6:.1f} MB)", err=True)
