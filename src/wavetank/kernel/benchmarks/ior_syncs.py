"""Which of IOR's options have written data on storage as an application's fsyncs do: -Y after each write, -e once at the end.

-Y is once after each write through IOR's MPI-IO interface (from 3.1 on), and through its POSIX interface in versions
before 4.0. IOR 4.0 calls fsync twice after each POSIX write: in ior.c, WriteOrReadSingle, and in aiori-POSIX.c, POSIX_Xfer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wavetank.kernel.benchmarks.syncs import Syncs


@dataclass(frozen=True)
class SyncOptions:
    """What a line that writes is given, and what of the application's fsyncs it does not do."""

    at_end: bool = False  # -e
    each: bool = False  # -Y
    notes: tuple[str, ...] = ()


def sync_options(
    syncs: Syncs, *, api: str, n_tasks: int, dealt: bool, elsewhere: bool, version: str
) -> SyncOptions:
    """The options of a line that writes.

    Args:
        syncs: of the phases that it stands for.
        api: "POSIX" or "MPIIO".
        n_tasks: IOR's.
        dealt: whether tasks make different numbers of writes (-z on a shared file).
        elsewhere: whether the file is put on storage, though not behind a write of any phase.
        version: IOR's.
    """
    if syncs.every == 1:
        if api == "POSIX":
            return SyncOptions(
                each=True, notes=tuple(_of_each(syncs, twice=version.startswith("4")))
            )
        if not (dealt or version.startswith("2")):  # MPI_File_sync is collective
            return SyncOptions(each=True, notes=tuple(_of_each(syncs, twice=False)))
    if not (syncs.n or elsewhere):
        return SyncOptions()
    found = list(_of_another_name(syncs))
    if syncs.n and not (syncs.at_end and syncs.n == n_tasks):
        how = f"after each {_times(syncs.every)}" if syncs.every else "in between"
        end = "" if syncs.at_end else ", and not after the last write"
        found.append(
            f"The application syncs {syncs.n} times, {how}{end}; IOR once a task, after its last write (-e)."
        )
    return SyncOptions(at_end=True, notes=tuple(found))


def _of_each(syncs: Syncs, *, twice: bool) -> Iterator[str]:
    if twice:
        yield "IOR 4.0 calls fsync twice after each write (-Y): the second finds nothing to write."
    if not syncs.at_end:
        yield "The application does not sync after its last write; IOR does (-Y)."
    yield from _of_another_name(syncs)


def _times(every: int) -> str:
    return "write" if every == 1 else f"{every} writes"


def _of_another_name(syncs: Syncs) -> Iterator[str]:
    if "fdatasync" in syncs.names:
        yield "fdatasync becomes fsync."
