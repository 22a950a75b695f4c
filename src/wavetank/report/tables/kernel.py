"""What was measured instead of the application: how exact it is, and the nearest lines of IOR and mdtest."""

from __future__ import annotations

from wavetank.kernel.document.kernel import Kernel, by_reason
from wavetank.report.tables.table import Column, ReportTable, id_range, text


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


def ior_table(kernel: Kernel) -> ReportTable:
    """The nearest IOR command lines (P15 table II), with what each leaves out or why there is none."""
    rows = [
        (
            text(id_range(line.ph_ids)),
            text(line.command if line.before is None else f"{line.before}; {line.command}"),
            text(" ".join(line.not_reproduced) or "nothing"),
        )
        for line in kernel.ior
    ]
    rows += [
        (text(id_range(ph_ids)), text("none"), text(reason))
        for ph_ids, reason in by_reason((one.ph_ids, one.reason) for one in kernel.ior_refused)
    ]
    return ReportTable(
        name="ior",
        title="Nearest IOR command lines",
        columns=(
            Column("ph_ids", "Phases"),
            Column("command", "Command", wide=True),
            Column("not_reproduced", "Not reproduced", wide=True),
        ),
        rows=tuple(rows),
        caption="For comparison with other sites; measurements are replays, unless an application names another program.",
        filterable=len(rows) > 12,
    )


def mdtest_table(kernel: Kernel) -> ReportTable | None:
    """The nearest mdtest command lines of calls that move no data; None where there are no such calls."""
    rows = [
        (
            text(id_range(line.md_ids) if line.md_ids else "\N{EN DASH}"),
            text(line.command),
            text(" ".join(line.not_reproduced) or "nothing"),
        )
        for line in kernel.mdtest
    ]
    rows += [
        (text(id_range(md_ids)), text("none"), text(reason))
        for md_ids, reason in by_reason((one.md_ids, one.reason) for one in kernel.mdtest_refused)
    ]
    if not rows:
        return None
    return ReportTable(
        name="mdtest",
        title="Nearest mdtest command lines",
        columns=(
            Column("md_ids", "Phases", help="of calls that move no data"),
            Column("command", "Command", wide=True),
            Column("not_reproduced", "Not reproduced", wide=True),
        ),
        rows=tuple(rows),
        caption="For comparison with other sites; measurements are replays.",
        filterable=len(rows) > 12,
    )
