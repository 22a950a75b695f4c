"""Small campaigns for real: a kernel whose ranks each read a file of their own, and what is finished of a campaign."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from measure_fakes import PROVENANCE, phase

from wavetank import native
from wavetank.kernel.document.kernel import Kernel, KernelFile
from wavetank.launchers.registry import launcher
from wavetank.model.document.program import DataStep, FileStep, Program

replay_is_possible = [
    pytest.mark.skipif(
        not native.available("bin/wavetank-replay-openmpi")
        or not native.available("bin/wavetank-node"),
        reason="the C parts are not built: make setup",
    ),
    pytest.mark.skipif(launcher("openmpi").available() is None, reason="Open MPI is not installed"),
]


def reader(n_ranks: int, n: int, rs: int, application: str = "reader") -> Kernel:
    """Each rank reads a file of its own, in n requests of rs bytes."""
    programs = tuple(
        Program(
            ranks=(rank,),
            steps=(
                FileStep(iop_type="open", file_id=rank + 1, handle=0, flags=os.O_RDONLY),
                DataStep(ph_id=rank + 1, n=n, handle=0),
                FileStep(iop_type="close", file_id=rank + 1, handle=0),
            ),
        )
        for rank in range(n_ranks)
    )
    return Kernel(
        provenance=PROVENANCE,
        application=application,
        model_sha256="0" * 64,
        n_ranks=n_ranks,
        files=tuple(
            KernelFile(file_id=rank + 1, name=f"in{rank}", role="input", prepare_bytes=n * rs)
            for rank in range(n_ranks)
        ),
        phases=tuple(phase(rank + 1, rank + 1, [rank], n * rs, rs=rs) for rank in range(n_ranks)),
        programs=programs,
        capacity_bytes=n_ranks * n * rs,
    )


def finished(folder: Path) -> dict[tuple[str, str, str, int], str]:
    """Each finished measurement of the results beside a campaign's file, and when it was finished."""
    path = folder / "results" / "store.sqlite"
    if not path.exists():
        return {}
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    try:
        rows = connection.execute(
            "SELECT application, cluster, mapping, repetition, finished_utc FROM measurement"
        ).fetchall()
    except sqlite3.OperationalError:  # the table is not there yet
        rows = []
    finally:
        connection.close()
    return {row[:4]: row[4] for row in rows}
