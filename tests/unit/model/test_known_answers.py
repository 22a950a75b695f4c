"""The papers' own models, from event streams of the full size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from applications import BT_GRID, abyss_read, bt_io, madbench2, s3d_io
from fold_builder import fold_table, model_of

from wavetank.model.document.model import Model
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.schema import FoldTable

MIB = 1 << 20

# P15 table V: np, rs in MB (of 2^20 bytes, as the products show), class B and class C.
TABLE_V = [
    ("B", 4, 10), ("B", 9, 4.5), ("B", 16, 2.5), ("B", 25, 1.62), ("B", 36, 1.12),
    ("C", 4, 40.55), ("C", 9, 18), ("C", 16, 10.14), ("C", 25, 6.5), ("C", 36, 4.5),
]  # fmt: skip
# weight(app) and capacity in the table's GB: products of its MB, divided by 1000 and cut off.
TABLE_V_GB = {"B": (3.2, 1.6), "C": (12.9, 6.4)}


@pytest.fixture(scope="module", params=TABLE_V, ids=lambda row: f"class-{row[0]}-np-{row[1]}")
def bt(request: pytest.FixtureRequest) -> tuple[tuple[str, int, float], Model]:
    row: tuple[str, int, float] = request.param
    events, views = bt_io(BT_GRID[row[0]], row[1])
    return row, model_of(events, views=views)


def test_bt_io_is_40_write_phases_of_one_repetition_and_one_read_phase_of_40(
    bt: tuple[tuple[str, int, float], Model],
) -> None:
    (_, n_ranks, _), model = bt
    assert [phase.ph_nrep for phase in model.phases] == [1] * 40 + [40]
    names = [[member.iop_type for member in phase.pattern] for phase in model.phases]
    assert names == [["MPI_File_write_at_all"]] * 40 + [["MPI_File_read_at_all"]]
    assert all(phase.ph_processid == tuple(range(n_ranks)) for phase in model.phases)
    assert all(phase.collective for phase in model.phases)


def test_bt_io_writes_are_the_series_1_to_40(bt: tuple[tuple[str, int, float], Model]) -> None:
    (bt_class, _, _), model = bt
    (series,) = model.series
    assert series.ph_ids == tuple(range(1, 41))
    assert series.offset_step == BT_GRID[bt_class] ** 3 * 40  # one step of the whole grid


def test_bt_io_request_sizes_are_those_of_table_v(bt: tuple[tuple[str, int, float], Model]) -> None:
    (bt_class, n_ranks, rs_mb), model = bt
    # The grid does not divide by 4 and 5: ranks differ by some per cent, the table has the mean.
    mean = model.phases[0].ph_weight / n_ranks
    assert mean == BT_GRID[bt_class] ** 3 * 40 / n_ranks
    assert mean / MIB == pytest.approx(rs_mb, rel=0.015)
    assert model.phases[-1].ph_weight == 40 * model.phases[0].ph_weight


def test_bt_io_weight_and_capacity_are_those_of_table_v(
    bt: tuple[tuple[str, int, float], Model],
) -> None:
    (bt_class, _, _), model = bt
    weight_gb, capacity_gb = TABLE_V_GB[bt_class]
    assert model.app_st / MIB / 1000 == pytest.approx(weight_gb, abs=0.1)
    assert model.requirements.storage_capacity_bytes / MIB / 1000 == pytest.approx(
        capacity_gb, abs=0.1
    )
    assert model.app_st == 2 * 40 * BT_GRID[bt_class] ** 3 * 40
    assert model.requirements.storage_capacity_bytes == 40 * BT_GRID[bt_class] ** 3 * 40
    assert model.requirements.needs_global_file_system
    assert model.files[0].file_accessmode == "strided"
    assert model.files[0].file_size_weights == model.files[0].file_size_highest_offset


def test_bt_io_class_a_keeps_displacements_in_the_view_and_in_the_file() -> None:
    events, views = bt_io(BT_GRID["A"], 4)
    member = model_of(events, views=views).phases[-1].pattern[0]
    assert (member.disp_view, member.disp) == (2_621_440, 10_485_760)


def test_bt_io_class_w_begins_where_the_sample_log_says() -> None:
    # tests/data/darshan: first absolute offsets of ranks 0-3 of class W: 0, 480, 11520, 12000.
    events, views = bt_io(BT_GRID["W"], 4)
    phase = model_of(events, views=views).phases[-1]
    (offset,) = phase.offset
    assert offset.function == "list"
    assert [runs[0].offset for runs in offset.runs] == [0, 480, 11520, 12000]
    assert phase.offset_view is not None
    (in_view,) = phase.offset_view
    assert in_view.function == "linear"
    assert (in_view.a, in_view.b, in_view.c) == (0, 138_240, 0)


# P15 table VIII: grid, ranks, MB (2^20) a rank and phase, and a phase.
@pytest.mark.parametrize(
    ("grid", "n_ranks", "rs_mb", "phase_mb"), [(200, 8, 122, 976), (400, 8, 977, 7816)]
)
def test_s3d_io_is_five_shared_files_of_one_collective_write_phase_each(
    grid: int, n_ranks: int, rs_mb: int, phase_mb: int
) -> None:
    model = model_of(s3d_io(grid, n_ranks))
    assert model.app_nfiles == 5
    assert [phase.file_id for phase in model.phases] == [1, 2, 3, 4, 5]
    for phase in model.phases:
        assert phase.pattern[0].iop_type == "MPI_File_write_all"
        assert phase.collective
        assert (phase.ph_np, phase.ph_nrep) == (n_ranks, 1)
        assert phase.pattern[0].rs / MIB == pytest.approx(rs_mb, abs=0.5)
        assert phase.ph_weight / MIB == pytest.approx(phase_mb, abs=4)
    assert all(file.file_accesstype == "shared" for file in model.files)


def test_madbench2_is_five_phases_of_512_operations() -> None:
    model = model_of(madbench2(16, n_bin=8, rs=312_500_000))
    shapes = [([m.iop_type.split("_")[2] for m in p.pattern], p.ph_niop) for p in model.phases]
    assert shapes == [
        (["write"], 8),
        (["read"], 2),
        (["write", "read"], 12),
        (["write"], 2),
        (["read"], 8),
    ]
    assert sum(phase.ph_niop * phase.ph_np for phase in model.phases) == 512
    # 16 ranks x 8 matrices x 312,500,000 B = 37.25 GiB is the file; it is written twice and read twice.
    assert model.files[0].file_size == 40_000_000_000
    assert model.files[0].file_size / 2**30 == pytest.approx(37.25, abs=0.01)
    assert model.app_st == 512 * 312_500_000
    third = model.phases[2]
    assert third.exact
    assert [(o.a, o.b, o.c) for o in third.offset if o.function == "linear"] == [
        (2_500_000_000, 312_500_000, 0),
        (2_500_000_000, 312_500_000, 625_000_000),  # reads run two matrices ahead
    ]


def test_abyss_is_one_read_phase_a_file_whatever_lies_between_its_reads() -> None:
    size = 2_000_000
    events = [*abyss_read(0, 0, size), *abyss_read(1, 1, size)]
    model = model_of(events)
    assert [(p.ph_processid, p.file_id) for p in model.phases] == [((0,), 1), ((1,), 2)]
    for phase in model.phases:
        assert [(m.iop_type, m.rs, m.disp) for m in phase.pattern] == [("read", 8191, 8191)]
        assert phase.ph_niop == -(-size // 8191)  # the short last read is one of them
        assert phase.moved_last == (size % 8191,)
        assert phase.ph_weight == size
        assert phase.exact
        assert phase.metadata_ops["lseek (moves nothing)"] == size // 226
        assert phase.metadata_ops["read (moves nothing)"] == 1
    assert len(model.to_json()) < 100_000


def test_abyss_at_the_papers_size_has_all_bytes_in_two_phases() -> None:
    # P18 table 4: 17,496,014,848 bytes a file, rs 8191, file 1 by rank 0, file 2 by rank 1. The table's
    # 2,135,744 operations are the size over 8192; of 8191 bytes it takes 2,136,004 full reads and one
    # of 6,084.
    size = 17_496_014_848
    model = model_of(_folded_reads((0, 1), size, 8191))
    for rank, phase in enumerate(model.phases):
        assert phase.ph_processid == (rank,)
        assert (phase.pattern[0].rs, phase.pattern[0].disp) == (8191, 8191)
        assert phase.ph_niop == 2_136_005
        assert phase.moved_last == (6084,)
        assert phase.ph_weight == size
    assert size // 8192 == 2_135_744
    assert model.requirements.storage_capacity_bytes == 2 * size


def _folded_reads(ranks: Sequence[int], size: int, rs: int) -> FoldTable:
    """One folded row for each rank's reads of its own file."""
    n = len(ranks)
    count = -(-size // rs)
    same = {"seq": 0, "count": count, "size": rs, "moved": size, "offset": 0, "disp": rs, "view": -1,
            "view_offset": 0, "view_disp": rs, "handle": 0, "tick": 5, "subtick": 1, "tick_step": 0,
            "subtick_step": 1, "start_ns": 0, "end_ns": 10**9, "busy_ns": 10**8, "error": 0,
            "op": OPS_BY_NAME["read"].code}  # fmt: skip
    types = fold_table([])
    columns = {
        name: np.full(n, value, dtype=getattr(types, name).dtype) for name, value in same.items()
    }
    identity = np.array(ranks, dtype=np.int32)
    return FoldTable(rank=identity, file=identity.copy(), **columns)
