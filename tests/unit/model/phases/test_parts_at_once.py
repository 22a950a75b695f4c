"""What is made of many parts of phases, or of many records, at once is what is made of each by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from wavetank.document import provenance
from wavetank.model.document.model import Model
from wavetank.model.extract import extract_model
from wavetank.model.rules import Rules
from wavetank.model.work_limits import WorkLimits
from wavetank.trace.importers import libdarshan
from wavetank.trace.open import open_trace

LOGS = Path(__file__).parents[3] / "data" / "darshan"
NAMES = (
    "ior_strided_shared_mpiio_coll_256k.darshan",
    "recorded/madbench2.mpich.darshan",
)


ONE_BY_ONE = Rules(work=WorkLimits(part_rows=0, point_rows=1, pattern_operations=0))


def model(name: str, rules: Rules | None = None) -> Model:
    pytest.importorskip("darshan")
    return extract_model(open_trace(LOGS / name), provenance(), rules)


def told(found: Model) -> dict[str, object]:
    return found.model_dump(exclude={"provenance"}, mode="json")


@pytest.mark.parametrize("name", NAMES)
def test_parts_and_points_made_at_once_are_those_made_one_by_one(name: str) -> None:
    assert told(model(name, ONE_BY_ONE)) == told(model(name))


@pytest.mark.parametrize("name", NAMES)
def test_counters_read_as_columns_are_those_of_the_library(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("darshan")
    in_columns = tuple(open_trace(LOGS / name).counters)
    assert in_columns
    monkeypatch.setattr(libdarshan, "_CURRENT", {})
    assert tuple(open_trace(LOGS / name).counters) == in_columns
