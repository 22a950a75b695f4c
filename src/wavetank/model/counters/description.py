"""What an approximate model keeps of the counters, what bounds they give, and what is assumed: its ``Approximation``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from wavetank.model.counters.records import Use
from wavetank.model.counters.sizes import STREAM_BUFFER
from wavetank.model.counters.trace import Approximated
from wavetank.model.document.approximation import Approximation, Quantity
from wavetank.model.document.file import ModelFile
from wavetank.trace.ops import DATA_KINDS, OPS
from wavetank.trace.schema import Level, OpKind, Trace


def approximation_of(made: Approximated, files: Sequence[ModelFile]) -> Approximation:
    """The facts about a model.

    Args:
        made: what it was extracted from.
        files: of the model.
    """
    return Approximation.model_construct(
        made_from=_source(made.trace),
        quantities=tuple(_quantities(made, files)),
        exact=tuple(_exact(made)),
        assumed=tuple(_assumed(made)),
    )


def _source(trace: Trace) -> str:
    return "Darshan's counters" if trace.source.startswith("darshan") else "counters"


# --- quantities ---------------------------------------------------------------------------------------


def _quantities(made: Approximated, files: Sequence[ModelFile]) -> Iterable[Quantity]:
    records = [use.record for use in made.uses]
    moving = {record.file for record in records if record.n_operations}
    yield Quantity.model_construct(
        what="files", counted=len(moving), model=sum(f.n_operations > 0 for f in files)
    )
    table = made.trace.folds
    for way, kind in (("reads", OpKind.READ), ("writes", OpKind.WRITE)):
        codes = [code for code, op in OPS.items() if op.kind is kind]
        some = np.isin(table.op, codes)
        ways = [getattr(record, way) for record in records]
        participle = "read" if way == "reads" else "written"
        n, model_n = sum(one.n for one in ways), int(table.count[some].sum())
        if not n and not model_n:
            continue
        yield Quantity.model_construct(
            what=f"bytes {participle}",
            counted=sum(one.moved for one in ways),
            model=int((table.count[some] * table.size[some]).sum()),
        )
        streams = sum(
            max(getattr(record, way).n, 1) for record in records if record.streams and getattr(record, way).moved
        )  # fmt: skip
        fewest = sum(
            -(-getattr(record, way).moved // STREAM_BUFFER) for record in records if record.streams
        )
        least = min(n - streams + min(fewest, streams), model_n)
        yield Quantity.model_construct(
            what=way, counted=n, model=model_n, least=least if streams else None, most=n if streams else None
        )  # fmt: skip
    yield from _steps(made, files)
    yield from _of_one_rank(made)


def _steps(made: Approximated, files: Sequence[ModelFile]) -> Iterable[Quantity]:
    """Sequential and consecutive operations of the files of which they are counted."""
    by_file: dict[int, list[Use]] = defaultdict(list)
    for use in made.uses:
        by_file[use.record.file].append(use)
    names = {made.trace.files[number].path: uses for number, uses in by_file.items()}
    counted = [
        (file, uses)
        for file in files
        if file.n_operations
        and (uses := names.get(file.file_name))
        and all(not u.record.streams and u.record.level == Level.POSIX for u in uses)
    ]
    if not counted:
        return
    for kind in ("sequential", "consecutive"):
        yield Quantity.model_construct(
            what=f"{kind} POSIX reads and writes",
            counted=sum(
                max(0, (getattr(way, f"n_{kind}") or 0) - sizes.n_empty)
                for _, uses in counted
                for use in uses
                for way, sizes in zip((use.record.reads, use.record.writes), use.sizes, strict=True)
            ),
            model=sum(getattr(file, f"n_{kind}") or 0 for file, _ in counted),
        )


def _of_one_rank(made: Approximated) -> Iterable[Quantity]:
    """Bytes of the rank that moved most."""
    n_ranks, table = made.trace.n_ranks, made.trace.folds
    codes = [code for code, op in OPS.items() if op.kind in DATA_KINDS]
    some = np.isin(table.op, codes)
    moved = np.bincount(
        table.rank[some], weights=(table.count * table.size)[some], minlength=n_ranks
    )
    own = np.zeros(n_ranks)
    least = most = 0
    for use in made.uses:
        if use.record.rank is not None:
            own[use.record.rank] += use.record.moved
        else:
            least, most = least + use.share.least, most + use.share.most
    total = sum(use.record.moved for use in made.uses)
    mean = -(-total // n_ranks)
    yield Quantity.model_construct(
        what="bytes of the rank that moved most",
        counted=None if any(use.record.rank is None and not use.share.known for use in made.uses) else int(moved.max()),
        model=int(moved.max()),
        least=max(int(own.max()) + least, mean),
        most=min(int(own.max()) + most, total),
    )  # fmt: skip


# --- sentences ----------------------------------------------------------------------------------------


def _exact(made: Approximated) -> Iterable[str]:
    yield "Files, bytes read and written of each, and the ranks that opened each are those of the counters."
    n = sum(use.record.n_operations for use in made.uses)
    streams = sum(use.record.n_operations for use in made.uses if use.record.streams)
    if streams < n:
        yield f"So are the numbers of reads and writes ({n - streams})."
    known = sum(sizes.n_known for use in made.uses for sizes in use.sizes)
    binned = sum(sizes.n for use in made.uses if not use.record.streams for sizes in use.sizes)
    if known:
        rest = binned - known
        yield (
            f"Request sizes of {known} operations are most frequent sizes of the counters"
            + (f"; those of the other {rest} lie within the counters' ranges of sizes." if rest else ".")
        )  # fmt: skip


def _assumed(made: Approximated) -> Iterable[str]:
    uses = made.uses
    yield (
        "Files are used one after another, in the order of their first opens, reads and writes; within a file small requests "
        "come before large ones, and reads and writes alternate as often as was counted."
    )
    yield (
        "Operations follow on each other, leap forward and leap back as often as was counted at POSIX level; where they lead is "
        "chosen so that the file is covered up to its highest byte."
    )
    yield from _of_shared(uses)
    if any(use.record.level == Level.MPIIO for use in uses):
        yield from _of_mpi(uses)
    if streams := [use for use in uses if use.record.streams and use.record.n_operations]:
        n = sum(use.record.n_operations for use in streams)
        made_of = sum(sizes.n for use in streams for sizes in use.sizes)
        yield (
            f"{n} calls on C streams (fread, fprintf, ...) reach the files as {made_of} reads and writes: calls that move less "
            f"than {STREAM_BUFFER} bytes on average fill a buffer of that size."
        )
    n_opens = sum(use.record.n_opens for use in uses)
    if n_opens:
        yield (
            f"With which flags files are opened is not known: opens ({n_opens}) are spread evenly over a file's operations, create "
            "what is written through them, and truncate nothing."
        )
    yield (
        "A file that is read beyond the highest byte written was there before, as large as the highest byte read; all others are made "
        "by what is written first."
    )
    yield "Times of calls are means over the ranks of a record."
    yield from _left_out(made)


def _of_shared(uses: Sequence[Use]) -> Iterable[str]:
    shared = [use for use in uses if use.record.rank is None and use.record.n_operations]
    shared = [use for use in shared if len(use.share.openers) > 1]
    if not shared:
        return
    known = sum(use.share.known for use in shared)
    some = [use for use in shared if len(use.share.movers) < len(use.share.openers)]
    text = f"Files of which the counters are sums over all ranks, which all opened them: {len(shared)}. "
    if known:
        text += f"Of {known} the variance says that all ranks moved equally many bytes, or one rank all. "
    if known < len(shared):
        text += (
            f"Of {len(shared) - known} as many ranks as give the variance of the ranks' bytes are taken to do equal parts"
            + (f" (of {len(some)} not all ranks; the slowest is one of them). " if some else ". ")
        )  # fmt: skip
    yield text + "Operations are dealt to the ranks one by one."


def _of_mpi(uses: Sequence[Use]) -> Iterable[str]:
    mpi = [use for use in uses if use.record.level == Level.MPIIO]
    yield (
        "In a collective MPI-IO call the ranks lie side by side; of a file with collective and independent operations the smallest "
        "requests are the independent ones. Nonblocking and split calls count as blocking ones."
    )
    demoted = sum(
        way.n_collective - n
        for use in mpi
        for way, n in zip((use.record.reads, use.record.writes), use.collective, strict=True)
    )
    if demoted:
        yield (
            f"{demoted} collective operations are made independently: the ranks of a file made different numbers of them."
        )
    if n_views := sum(use.record.n_views for use in mpi):
        yield f"File views ({n_views} calls) are not known: all offsets are bytes of the file."


def _left_out(made: Approximated) -> Iterable[str]:
    uses = made.uses
    for what, n in (
        ("seeks (those that places need are made)", sum(use.record.n_seeks for use in uses)),
        ("mappings of files, with what was read and written through them", sum(use.record.n_maps for use in uses)),
        ("renames", sum(use.record.n_renames for use in uses)),
        ("opens beyond those that each rank of a record makes alike", sum(one.opens for one in made.left)),
        ("changes between reading and writing, of which there are too many", sum(one.switches for one in made.left)),
    ):  # fmt: skip
        if n:
            yield f"Left out: {n} {what}."
    if n := sum(one.compact for one in made.left):
        yield f"Places of {n} records are regular where they were random: there are too many operations to place each."
