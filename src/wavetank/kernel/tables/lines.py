"""The nearest lines of IOR, mdtest and fio: what they leave out, and what has none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from wavetank.kernel.benchmarks.fio import FioJob, FioPlan
from wavetank.kernel.benchmarks.ior import parse_command
from wavetank.kernel.document.kernel import Kernel, by_reason
from wavetank.kernel.document.operations import Totals
from wavetank.kernel.fidelity.benchmark_certificate import ior_fidelity
from wavetank.notes import Note, texts
from wavetank.tables.table import Cell, Column, Definition, Table
from wavetank.tables.words import DASH, id_range, words

_Said = tuple[tuple[int, ...], str]
"""Phases, and a sentence about them."""


@dataclass(frozen=True)
class _Line:
    """A line of a benchmark, or phases that have none.

    Attributes:
        ids: phases that it performs.
        of_data: for mdtest: phases of the data that it writes and reads.
        before: it makes what the next line reads.
        request: bytes of the application's first request and of the line's.
        model, line: operations and bytes of the application and of the line.
    """

    ids: tuple[int, ...]
    command: str | None
    of_data: tuple[int, ...] = ()
    before: bool = False
    request: tuple[int, int] | None = None
    model: Totals | None = None
    line: Totals | None = None
    not_reproduced: tuple[Note, ...] = ()
    refused: str | None = None


def _becomes(ours: int | None, theirs: int | None) -> Cell:
    """The application's number; for people the line's too, where it is another."""
    if ours is None or theirs is None:
        return Cell(DASH, None)
    return Cell(words(ours) if ours == theirs else f"{words(ours)} -> {words(theirs)}", ours)


def _ids(ids: Sequence[int], before: str = "") -> Cell:
    return Cell(before + id_range(ids) if ids else DASH, sorted(ids))


_COMMAND: tuple[Column[_Line], ...] = (
    Column("command", "Command", lambda i: Cell(i.command or "none", i.command), wide=True),
)
_LEFT_OUT: tuple[Column[_Line], ...] = (
    Column(
        "not_reproduced", "Not reproduced",
        lambda i: Cell(" ".join(texts(i.not_reproduced)) or i.refused or "nothing", list(texts(i.not_reproduced))),
        kind="list", wide=True,
    ),
    Column("refused", "Why there is none", lambda i: i.refused, machine=True),
)  # fmt: skip

IOR: Definition[_Line] = Definition(
    "ior",
    "Nearest IOR command lines",
    (
        Column("ph_ids", "Phases", lambda i: _ids(i.ids, "before " if i.before else ""), kind="list"),
        *_COMMAND,
        Column("before", "Before", lambda i: i.before, kind="boolean", machine=True,
               help="the line makes what the next one reads"),
        Column("request_bytes", "Request size", lambda i: _becomes(*i.request or (None, None)), unit="B",
               help="of the application's first operation"),
        Column("ior_request_bytes", "Request size of IOR", lambda i: i.request[1] if i.request else None, unit="B", machine=True),
        Column("operations", "Operations", lambda i: _counts(i, "operations"), kind="integer", help="of the application"),
        Column("ior_operations", "Operations of IOR", lambda i: i.line.operations if i.line else None, kind="integer",
               machine=True),
        Column("bytes", "Bytes", lambda i: _counts(i, "bytes"), unit="B", help="of the application"),
        Column("ior_bytes", "Bytes of IOR", lambda i: i.line.bytes if i.line else None, unit="B", machine=True),
        *_LEFT_OUT,
    ),
    command="kernel",
)  # fmt: skip

MDTEST: Definition[_Line] = Definition(
    "mdtest",
    "Nearest mdtest command lines",
    (
        Column("md_ids", "Phases", lambda i: _ids(i.ids), kind="list", help="of calls that move no data"),
        Column("ph_ids", "Phases of data", lambda i: _ids(i.of_data), kind="list", help="that the line writes and reads"),
        *_COMMAND,
        *_LEFT_OUT,
    ),
    command="kernel",
)  # fmt: skip

FIO_JOBS: Definition[FioJob] = Definition(
    "fio-jobs",
    "fio jobs",
    (
        Column("phase", "Phase", lambda i: i.ph_id, kind="integer"),
        Column("rank", "Rank", lambda i: i.rank, kind="integer"),
        Column("file", "File", lambda i: i.file),
        Column("ioengine", "ioengine", lambda i: i.engine),
        Column("rw", "rw", lambda i: "write" if i.write else "read"),
        Column("bs", "bs", lambda i: i.block, unit="B", show=words),
        Column("skip", "Skip", lambda i: i.skip, unit="B", show=words, help="from the end of a block to the next one"),
        Column("number_ios", "number_ios", lambda i: i.count, kind="integer"),
    ),
    command="kernel",
)  # fmt: skip


def _said(name: str, title: str, what: str, ids: str = "ph_ids") -> Definition[_Said]:
    return Definition(
        name,
        title,
        (
            Column(ids, "Phases", lambda i: _ids(i[0]), kind="list"),
            Column(what, what.capitalize(), lambda i: i[1], wide=True),
        ),
        command="kernel",
    )


NOT_BY_IOR = _said("not-reproduced-by-ior", "Not reproduced by IOR", "what")
NOT_BY_FIO = _said("not-reproduced-by-fio", "Not reproduced by fio", "what")
NOT_BY_MDTEST = _said("not-reproduced-by-mdtest", "Not reproduced by mdtest", "what", "md_ids")
REFUSED_BY_IOR = _said("refused-by-ior", "Refused by IOR", "reason")
REFUSED_BY_FIO = _said("refused-by-fio", "Refused by fio", "reason")
REFUSED_BY_MDTEST = _said("refused-by-mdtest", "Refused by mdtest", "reason", "md_ids")

DEFINITIONS = (
    IOR, MDTEST, FIO_JOBS, NOT_BY_IOR, NOT_BY_FIO, NOT_BY_MDTEST, REFUSED_BY_IOR,
    REFUSED_BY_FIO, REFUSED_BY_MDTEST,
)  # fmt: skip
"""Of one command's JSON each has a key of its own; the columns of ``ior`` and ``mdtest`` are those of a report."""

_IN_COLUMNS = ("bytes", "operations", "request size")
"""Subjects of notes that columns of the IOR table show."""
_SITES = "For comparison with other sites; measurements are replays"


def _counts(line: _Line, which: str) -> Cell:
    ours, theirs = (None if of is None else getattr(of, which) for of in (line.model, line.line))
    return _becomes(ours, theirs)


def ior_table(kernel: Kernel) -> Table:
    """The nearest IOR command lines (P15 table II), with what each leaves out or why there is none."""
    refused = by_reason((one.ph_ids, one.reason) for one in kernel.ior_refused)
    return IOR.table(
        [*_ior_lines(kernel, None), *_without(refused)],
        caption=f"{_SITES}, unless an application names another program.",
    )


def ior_tables(kernel: Kernel, directory: Path | None = None) -> list[Table]:
    """The lines to be run, what they leave out (each sentence once for people), and what has none.

    Args:
        kernel: which has them.
        directory: of the files that they name.
    """
    tables = []
    if kernel.ior:
        where = " in a directory of their own" if directory is None else ""
        tables += [
            IOR.table(
                _ior_lines(kernel, directory),
                caption=f"Run them in this order{where}; lines marked 'before' make what the next one reads.",
                columns={"not_reproduced": {"machine": True}},
            ),
            NOT_BY_IOR.table(by_reason(_ior_sentences(kernel))),
        ]
    if kernel.ior_refused:
        note = None if kernel.approximate else "With --approximate it gets lines that come near."
        rows = by_reason((one.ph_ids, one.reason) for one in kernel.ior_refused)
        tables.append(REFUSED_BY_IOR.table(rows, caption=note))
    return tables


def _ior_lines(kernel: Kernel, directory: Path | None) -> Iterator[_Line]:
    issued = {row.ph_ids: row for row in ior_fidelity(kernel, kernel.phases)} if kernel.ior else {}
    request = {phase.ph_id: phase.pattern[0].rs for phase in kernel.phases}
    for line in kernel.ior:
        if line.before is not None:
            yield _Line(line.ph_ids, _in(line.before, directory), before=True)
        row = issued[line.ph_ids]
        theirs = parse_command(line.command).transfer
        yield _Line(
            line.ph_ids,
            _in(line.command, directory),
            request=(request[line.ph_ids[0]], theirs),
            model=row.model,
            line=row.kernel,
            not_reproduced=tuple(line.not_reproduced),
        )


def _in(command: str, directory: Path | None) -> str:
    """An IOR line with its file in a directory; without one as it is."""
    if directory is None:
        return command
    options, name = command.rsplit(" -o ", 1)
    return f"{options} -o {quote(str(directory / name))}"


def _without(refused: Iterable[_Said]) -> Iterator[_Line]:
    return (_Line(ids, None, refused=reason) for ids, reason in refused)


def _ior_sentences(kernel: Kernel) -> Iterator[_Said]:
    """What IOR's lines do not reproduce and no column shows."""
    return (
        (line.ph_ids, str(note))
        for line in kernel.ior
        for note in line.not_reproduced
        if note.subject not in _IN_COLUMNS
    )


def mdtest_table(kernel: Kernel) -> Table:
    """The nearest mdtest command lines of calls that move no data, with what each leaves out or why there is none."""
    refused = by_reason((one.md_ids, one.reason) for one in kernel.mdtest_refused)
    return MDTEST.table([*_mdtest_lines(kernel), *_without(refused)], caption=f"{_SITES}.")


def mdtest_tables(kernel: Kernel) -> list[Table]:
    """The lines to be run, what they leave out, and what has none."""
    tables = []
    if kernel.mdtest:
        tables.append(
            MDTEST.table(
                _mdtest_lines(kernel),
                caption="Phases of calls that move no data are numbered by themselves (md_id). Run each in an empty directory.",
                columns={"not_reproduced": {"machine": True}},
            )
        )
        missing = [
            (line.md_ids, what) for line in kernel.mdtest for what in texts(line.not_reproduced)
        ]
        if missing:
            tables.append(NOT_BY_MDTEST.table(missing))
    if kernel.mdtest_refused:
        rows = by_reason((one.md_ids, one.reason) for one in kernel.mdtest_refused)
        tables.append(REFUSED_BY_MDTEST.table(rows))
    return tables


def _mdtest_lines(kernel: Kernel) -> Iterator[_Line]:
    for line in kernel.mdtest:
        yield _Line(
            tuple(line.md_ids), line.command, of_data=tuple(line.ph_ids), not_reproduced=tuple(line.not_reproduced)
        )  # fmt: skip


def fio_tables(plan: FioPlan) -> list[Table]:
    """The jobs, what they leave out, and what has none."""
    missing = [
        ((ph_id,), what) for ph_id, notes in plan.not_reproduced.items() for what in texts(notes)
    ]
    refused = REFUSED_BY_FIO.table(by_reason((one.ph_ids, one.reason) for one in plan.refused))
    return [
        FIO_JOBS.table(plan.jobs),
        NOT_BY_FIO.table(missing),
        *([refused] if plan.refused else []),
    ]
