"""wavetank doctor: what this machine can do, what is missing, what that costs, how to get it."""

from __future__ import annotations

import click

from wavetank.cli.output import format_option, print_tables
from wavetank.tables.table import plain_table


@click.command(name="doctor")
@format_option
def command(output_format: str) -> None:
    """Say what this machine can do, what is missing, what that costs, and how to install it.

    Exit status 1 only when the tool can do nothing here: its C parts are not built.

    Example: wavetank doctor --format json
    """
    from wavetank.doctor import can_work, examine
    from wavetank.errors import WavetankError

    findings = examine()
    columns = ["area", "ability", "state", "found", "without_it", "remedy"]
    rows = [
        [f.area, f.ability, f.state, f.found, f.cost or None, f.remedy or None] for f in findings
    ]
    shown = [[f.area, f.ability, f.state, f.found, f.cost, f.remedy] for f in findings]
    missing = sum(f.state != "ok" for f in findings)
    note = (
        "All is there." if not missing else f"{missing} of {len(findings)} are missing or limited."
    )
    print_tables([plain_table("This machine", columns, rows, shown, note)], output_format)
    if not can_work(findings):
        raise WavetankError(
            "nothing can be traced or replayed here: the C parts are not built. Run 'make setup' in the source directory"
        )
