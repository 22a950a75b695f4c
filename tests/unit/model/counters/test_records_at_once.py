"""What is read of many records at once is what the library reads of each by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from wavetank.trace.importers import libdarshan
from wavetank.trace.open import open_trace

LOGS = Path(__file__).parents[3] / "data" / "darshan"
NAMES = (
    "ior_strided_shared_mpiio_coll_256k.darshan",
    "recorded/madbench2.mpich.darshan",
)


@pytest.mark.parametrize("name", NAMES)
def test_counters_read_as_columns_are_those_of_the_library(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("darshan")
    in_columns = tuple(open_trace(LOGS / name).counters)
    assert in_columns
    monkeypatch.setattr(libdarshan, "_CURRENT", {})
    assert tuple(open_trace(LOGS / name).counters) == in_columns
