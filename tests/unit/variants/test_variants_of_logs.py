"""Variants of programs that were recorded: each file has the same bytes read and written as before."""

from pathlib import Path

import pytest
from variant_bytes import performed

from wavetank.document import provenance
from wavetank.kernel.construction.below import model_below
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.construction.places import is_without_places
from wavetank.kernel.lowering.plan_text import lower
from wavetank.model.extract import extract_model
from wavetank.trace.open import open_trace
from wavetank.variants.make import make_variants

DATA = Path(__file__).parents[2] / "data"
LOGS = {
    "bt": ("darshan/bt.W.4.mpi_io_full.darshan", {"collective-buffering", "aggregators", "file-per-process"}),
    "ior-collective": ("darshan/ior_strided_shared_mpiio_coll_256k.darshan", {"aggregators", "file-per-process"}),
    "ior-posix": ("darshan/ior_seq_fpp_posix_1m.darshan", set()),
    "s3d-io": ("darshan/s3dio_np4_40c_method0_openmpi_ompio.darshan", {"request-size"}),
}  # fmt: skip


def touched(kernel):
    """(file, read) -> the bytes that are touched, as intervals that do not overlap; by view where there is one."""
    parts = {}
    for ours in performed(kernel).values():
        for file_id, view, call, first, _, moved in ours:
            parts.setdefault((file_id, "read" in call, view), []).append((first, first + moved))
    found = {}
    for space, intervals in parts.items():
        joined = []
        for first, end in sorted(intervals):
            if joined and first <= joined[-1][1]:
                joined[-1][1] = max(joined[-1][1], end)
            else:
                joined.append([first, end])
        found[space] = joined
    return found


def lengths(found):
    totals = {}
    for (_, reading, _), intervals in found.items():
        totals[reading] = totals.get(reading, 0) + sum(end - first for first, end in intervals)
    return totals


@pytest.mark.parametrize("name", LOGS)
def test_the_same_bytes_of_each_file_are_read_and_written(tmp_path, name):
    log, expected = LOGS[name]
    model = extract_model(open_trace(DATA / log), provenance([DATA / log]))
    if is_without_places(model):
        model = model_below(model)
    path = tmp_path / "model.json"
    model.write(path)
    base = make_kernel(model, path)
    made = make_variants(base)
    assert expected <= {one.variant.setting.partition("=")[0] for one in made.kernels}
    assert all(reason for _, reason in made.refused)
    before = touched(base)
    for variant in made.kernels:
        lower(variant)
        after = touched(variant)
        if variant.variant.setting == "file-per-process=on":
            assert lengths(after) == lengths(before)
        else:
            assert after == before
        assert variant.variant.new_calls == sum(map(len, performed(variant).values()))
