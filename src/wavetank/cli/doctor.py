"""wavetank doctor: what this machine can do, what is missing, what that costs, how to get it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wavetank.cli.output import print_tables, prints
from wavetank.tables.table import Column, Definition

if TYPE_CHECKING:
    from wavetank.doctor.finding import Finding

ABILITIES: Definition[Finding] = Definition(
    "this-machine",
    "This machine",
    (
        Column("area", "Area", lambda i: i.area),
        Column("ability", "Ability", lambda i: i.ability),
        Column("state", "State", lambda i: i.state),
        Column("found", "Found", lambda i: i.found),
        Column("without_it", "Without it", lambda i: i.cost or None, wide=True),
        Column("remedy", "Remedy", lambda i: i.remedy or None, wide=True),
    ),
    command="doctor",
)
DEFINITIONS = (ABILITIES,)


@click.command(name="doctor")
@click.option(
    "--again",
    is_flag=True,
    help="Boot a guest by KVM again, whatever one said since this machine started.",
)
@click.option(
    "--build",
    is_flag=True,
    help="Build the C parts of an installed package now, also where they were built before.",
)
@prints(lambda: DEFINITIONS)
def command(again: bool, build: bool, output_format: str) -> None:
    """Say what this machine can do, what is missing, what that costs, and how to install it.

    Exit status 1 only when the tool can do nothing here: its C parts are not built.

    Example: wavetank doctor --format json
    """
    from wavetank import native
    from wavetank.cluster.guests import kvm_probe
    from wavetank.doctor.examination import can_work, examine
    from wavetank.errors import WavetankError

    if again:
        kvm_probe.forget()
    if build:
        native.build_again()
    findings = examine()
    missing = sum(f.state != "ok" for f in findings)
    note = (
        "All is there." if not missing else f"{missing} of {len(findings)} are missing or limited."
    )
    print_tables([ABILITIES.table(findings, caption=note)], output_format)
    if not can_work(findings):
        how = (
            "The first rows say what they need"
            if native.builds()
            else "Run 'make setup' in the source directory"
        )
        raise WavetankError(
            f"nothing can be traced or replayed here: the C parts are not built. {how}"
        )
