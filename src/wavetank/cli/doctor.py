"""wavetank doctor: what this machine can do, what is missing, what that costs, how to get it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from wavetank.cli.output import print_lines, print_tables, prints, terminal_width
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
    "--all", "everything", is_flag=True, help="Print all abilities, not only what is missing."
)
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
def command(everything: bool, again: bool, build: bool, output_format: str) -> None:
    """Say what this machine can do, and of what is missing what that costs and how to install it.

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
    if output_format == "table" and not everything:
        print_lines(_missing_lines(findings, terminal_width()))
    else:
        print_tables([ABILITIES.table(findings, caption=_summary(findings))], output_format)
    if not can_work(findings):
        how = (
            "The first rows say what they need"
            if native.builds()
            else "Run 'make setup' in the source directory"
        )
        raise WavetankError(
            f"nothing can be traced or replayed here: the C parts are not built. {how}"
        )


def _summary(findings: Sequence[Finding]) -> str:
    """What works here, in one sentence."""
    missing = sum(each.state != "ok" for each in findings)
    works = ", ".join(each.ability for each in findings if each.area == "file systems" and each.state == "ok")  # fmt: skip
    clusters = f"Clusters can have {works}. " if works else ""
    return (
        f"{clusters}{missing} of {len(findings)} abilities are missing or limited."
        if missing
        else f"{clusters}Nothing is missing."
    )


def _missing_lines(findings: Sequence[Finding], width: int | None) -> list[str]:
    """The summary, and what is missing: what that costs, and what to do."""
    from wavetank.cli.answer import screen

    told = [
        f"  {each.ability}: {f'{each.cost}. ' if each.cost else ''}{each.remedy}"
        for each in findings
        if each.state != "ok"
    ]
    return screen(
        [_summary(findings)], told, "Everything, with what was found: wavetank doctor --all", width
    )
