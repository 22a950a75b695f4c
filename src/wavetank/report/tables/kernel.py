"""What was measured instead of the application: how exact it is, and the nearest lines of IOR and mdtest."""

from __future__ import annotations

from wavetank.kernel.document.kernel import Kernel, by_reason
from wavetank.tables.table import Cell, Column, Definition, Table
from wavetank.tables.words import DASH, id_range

_Line = tuple[tuple[int, ...], str | None, list[str], str]
"""Phases, command line, what it does not reproduce, or why there is none."""


def kernel_words(kernel: Kernel) -> tuple[str, ...]:
    """What the replay does not reproduce, a sentence each."""
    whence: tuple[str, ...] = (
        ()
        if kernel.extrapolation is None
        else (f"The model is {kernel.extrapolation.sentence()}.",)
    )
    if kernel.approximation is not None:
        whence += tuple(f"Assumed: {sentence}" for sentence in kernel.approximation.assumed)
    if not kernel.not_reproduced:
        return (*whence, "The replay is exact: it issues the operations of the model.")
    return (
        *whence,
        *(f"Not reproduced exactly: {sentence}" for sentence in kernel.not_reproduced),
    )


def _definition(name: str, program: str, ids: str, help: str = "") -> Definition[_Line]:
    return Definition(
        name,
        f"Nearest {program} command lines",
        (
            Column(ids, "Phases", lambda i: Cell(id_range(i[0]) or DASH, list(i[0])), kind="list", help=help),
            Column("command", "Command", lambda i: Cell(i[1] or "none", i[1]), wide=True),
            Column("not_reproduced", "Not reproduced", lambda i: Cell(" ".join(i[2]) or i[3] or "nothing", i[2]), kind="list",
                   wide=True),
            Column("refused", "Why there is none", lambda i: i[3] or None, machine=True),
        ),
    )  # fmt: skip


IOR = _definition("ior", "IOR", "ph_ids")
MDTEST = _definition("mdtest", "mdtest", "md_ids", "of calls that move no data")
DEFINITIONS = (IOR, MDTEST)


def ior_table(kernel: Kernel) -> Table:
    """The nearest IOR command lines (P15 table II), with what each leaves out or why there is none."""
    lines: list[_Line] = [
        (
            tuple(line.ph_ids),
            line.command if line.before is None else f"{line.before}; {line.command}",
            list(line.not_reproduced),
            "",
        )
        for line in kernel.ior
    ]
    refused = by_reason((one.ph_ids, one.reason) for one in kernel.ior_refused)
    return IOR.table(
        [*lines, *((tuple(ids), None, [], reason) for ids, reason in refused)],
        caption="For comparison with other sites; measurements are replays, unless an application names another program.",
    )


def mdtest_table(kernel: Kernel) -> Table:
    """The nearest mdtest command lines of calls that move no data."""
    lines: list[_Line] = [
        (tuple(line.md_ids), line.command, list(line.not_reproduced), "") for line in kernel.mdtest
    ]
    refused = by_reason((one.md_ids, one.reason) for one in kernel.mdtest_refused)
    return MDTEST.table(
        [*lines, *((tuple(ids), None, [], reason) for ids, reason in refused)],
        caption="For comparison with other sites; measurements are replays.",
    )
