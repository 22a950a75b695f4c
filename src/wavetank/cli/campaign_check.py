"""``wavetank check`` and ``export``: results against a baseline, for continuous integration of a storage system."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.output import print_lines, print_tables, prints, terminal_width
from wavetank.cli.table_sets import check_definitions
from wavetank.errors import UsageError, WavetankError

if TYPE_CHECKING:
    from wavetank.compare.regression import Check

_PATH = click.Path(path_type=Path)
_FILE = click.Path(path_type=Path, dir_okay=False)
_PERCENT = click.FloatRange(0, 1000, min_open=True)


@click.command("check", short_help="Say whether results are slower than a baseline.")
@click.argument("results", type=_PATH)
@click.option(
    "--against", "baseline", type=_PATH, required=True, metavar="BASELINE",
    help="Results folder of an earlier campaign, or a file of 'wavetank export'.",
)  # fmt: skip
@click.option(
    "--smallest-difference", type=_PERCENT, default=3, show_default=True, metavar="PERCENT",
    help="Medians that are closer are not told apart.",
)  # fmt: skip
@click.option(
    "--rule-out", type=_PERCENT, metavar="PERCENT",
    help="What is not told apart cannot be told where its interval holds a slowdown of so much.  [default: not asked]",
)  # fmt: skip
@click.option(
    "--tell", type=_PERCENT, metavar="PERCENT",
    help="Slowdown that is waited for: how many repetitions tell it is said.  [default: 10, or --smallest-difference where "
    "that is more]",
)  # fmt: skip
@click.option(
    "--cannot-tell", "undecided", type=click.IntRange(0, 125), default=3, show_default=True, metavar="STATUS",
    help="Exit status where nothing is slower and something cannot be told; 0 lets it pass.",
)  # fmt: skip
@click.option("--junit", type=_FILE, help="Write JUnit XML to this file, a test for each configuration.")  # fmt: skip
@click.option("--markdown", type=_FILE, help="Write a summary to this file.")
@prints(check_definitions, answers=True)
def check_command(
    *, results: Path, baseline: Path, smallest_difference: float, rule_out: float | None, tell: float | None, undecided: int,
    junit: Path | None, markdown: Path | None, output_format: str,
) -> None:  # fmt: skip
    """Say whether RESULTS, of the same campaign as BASELINE, are slower. RESULTS is a folder or an exported file.

    Exit status: 0 none is slower, 1 one is slower, 2 wrong use or input, 3 something cannot be told.

    Example: wavetank check results --against baseline.json --junit check.xml
    """
    from wavetank.campaign.baseline import read_baseline
    from wavetank.compare.check_formats import junit_text, markdown_text
    from wavetank.compare.regression import CHANGE, check
    from wavetank.compare.tables.check import answer, check_table
    from wavetank.document import write_whole

    if tell is None:
        tell = max(100 * CHANGE, smallest_difference)
    if tell < smallest_difference:
        raise UsageError(
            f"--tell {tell:g}: medians that are less than {smallest_difference:g} % apart are never told apart. Lower "
            "--smallest-difference, or wait for a larger slowdown"
        )
    try:
        found = check(
            read_baseline(results),
            read_baseline(baseline),
            smallest_difference=smallest_difference / 100,
            rule_out=None if rule_out is None else rule_out / 100,
            tell=tell / 100,
        )
        if junit is not None:
            write_whole(junit, junit_text(found, undecided_fails=undecided != 0))
        if markdown is not None:
            write_whole(markdown, markdown_text(found))
    except WavetankError as error:  # 1 would say that something is slower
        raise UsageError(str(error)) from error
    if output_format == "brief":
        click.echo(answer(found))
    elif output_format == "answer":
        _print_answer(found)
    else:
        print_tables([check_table(found)], output_format)
        for note in found.notes:
            click.echo(f"note: {note}", err=True)
    sys.exit(1 if found.n("slower") else undecided if found.n("cannot tell") else 0)


def _print_answer(found: Check) -> None:
    from wavetank.cli.answer import screen, table_lines
    from wavetank.compare.tables.check import MOST_SHOWN, answer, check_table, reasons

    width = terminal_width()
    lines = table_lines(check_table(found, MOST_SHOWN), width)
    first = screen(
        [answer(found), ""],
        [*lines, "", *reasons(found), *found.notes],
        "Everything: the same with --full",
        width,
    )
    print_lines(first)


@click.command("export", short_help="Write results as a baseline, or a ReFrame test.")
@click.argument("results", type=_PATH)
@click.option(
    "--to", "target", type=click.Choice(["baseline", "reframe"]), required=True,
    help="A file for 'check --against', or a test of ReFrame 4 that measures and checks.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=_PATH, metavar="OUT",
    help="File to write; one that exists is refused.  [default: standard output]",
)  # fmt: skip
def export_command(*, results: Path, target: str, output: Path | None) -> None:
    """Write the results of a campaign, from its output folder RESULTS, in the form of something else.

    Example: wavetank export results --to baseline -o baseline.json
    """
    from wavetank.campaign.baseline import read_baseline
    from wavetank.campaign.reframe import reframe_text
    from wavetank.compare.regression import baseline_notes
    from wavetank.document import write_whole

    if output is not None and output.exists():
        raise UsageError(f"{output} exists already. Choose another name with -o, or remove it")
    found = read_baseline(results)
    text = found.to_json() if target == "baseline" else reframe_text(found)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_whole(output, text)
        click.echo(f"wrote {output}", err=True)
    for note in baseline_notes(found):
        click.echo(f"note: {note}", err=True)
