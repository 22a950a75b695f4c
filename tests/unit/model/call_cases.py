"""Runs of many calls that move no data, as events and as models: what tests of models and kernels of them start from."""

from __future__ import annotations

import os
from dataclasses import replace

from fold_builder import PROVENANCE, Event, trace_of

from wavetank.model.document.model import Model
from wavetank.model.extract import extract_model
from wavetank.model.rules import Rules
from wavetank.trace.schema import TracedFile

CREATE = os.O_CREAT | os.O_WRONLY
N = 110  # files of a rank

Case = tuple[list[Event], list[str]]


def on(rank: int, op: str, file: int, *, handle: int = -1, arg: int = 0, error: int = 0) -> Event:
    return Event(rank, op, file, offset=-1, handle=handle, arg=arg, error=error)


def meet(rank: int) -> Event:
    return Event(rank, "MPI_Barrier", -1, offset=-1, handle=-1, communication=1)


def benchmark(
    *,
    meets: bool = True,
    stride: int = 0,
    own: bool = True,
    size: int = 0,
    makes_tree: bool = False,
) -> Case:
    """As mdtest does it: create, stat, open and remove, each of all files; of another rank's with a stride.

    Args:
        meets: whether all ranks meet before each of these.
        stride: how many ranks further the files are that a rank looks at next.
        own: whether each rank has a directory of its own.
        size: bytes that are written to each file that is made.
        makes_tree: whether the directories are made in the run.
    """
    n_ranks = 2
    paths = [
        f"/out/{f'tree.{rank}' if own else 'tree'}/file.{rank}.{i}"
        for rank in range(n_ranks)
        for i in range(N)
    ]
    events: list[Event] = []
    for rank in range(n_ranks):
        handle = 0
        if makes_tree:
            folder = "/out/" + ("tree" if not own else f"tree.{rank}")
            if folder not in paths:
                paths.append(folder)
                events += [meet(rank), on(rank, "mkdir", len(paths) - 1, arg=0o755)]
            else:
                events.append(meet(rank))
        for place, kind in enumerate(("create", "stat", "open", "unlink")):
            first = (rank + place * stride) % n_ranks * N
            events += [meet(rank)] if meets else []
            for file in range(first, first + N):
                if kind in ("create", "open"):
                    flags = CREATE if kind == "create" else 0
                    events += [
                        on(rank, "open", file, handle=handle, arg=flags),
                        *(
                            [Event(rank, "write", file, size=size, handle=handle)]
                            if size and flags
                            else []
                        ),
                        on(rank, "close", file, handle=handle),
                    ]
                    handle += 1
                else:
                    events.append(on(rank, kind, file))
    return events, paths


def model_of(case: Case, *, families: bool, fold: bool = False) -> Model:
    events, paths = case
    trace = trace_of(
        events,
        fold=fold,
        paths=paths,
        communicators=((0, 1),) if any(e.rank for e in events) else (),
    )
    files = tuple(TracedFile(path) for path in paths)
    return extract_model(replace(trace, files=files), PROVENANCE, Rules(families=families))
