"""Lustre's layouts, from bytes built by the published structures (lustre_user.h): little endian, packed."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavetank.trace.schema import Striping
from wavetank.trace.striping import parse_striping

V1, V3, COMPOSITE = 0x0BD10BD0, 0x0BD30BD0, 0x0BD60BD0
RAID0 = 1
MIB = 1 << 20


def objects(*osts: int) -> bytes:
    """struct lov_user_ost_data_v1: ost_id (16 bytes), l_ost_gen, l_ost_idx."""
    return b"".join(struct.pack("<QQII", 7, 0, 0, ost) for ost in osts)


def v1(size: int, count: int, *osts: int) -> bytes:
    """struct lov_user_md_v1: magic, pattern, lmm_oi (16), stripe size, stripe count, layout generation."""
    return struct.pack("<IIQQIHH", V1, RAID0, 9, 0, size, count, 3) + objects(*osts)


def v3(size: int, count: int, pool: bytes, *osts: int) -> bytes:
    """struct lov_user_md_v3: v1 and the pool's name before the objects."""
    return struct.pack("<IIQQIHH16s", V3, RAID0, 9, 0, size, count, 3, pool) + objects(*osts)


def composite(*components: tuple[int, int, bytes]) -> bytes:
    """struct lov_comp_md_v1 (32 bytes) and its entries (48 bytes each), then the layouts they point to."""
    n = len(components)
    at = 32 + 48 * n
    entries = layouts = b""
    for number, (start, end, layout) in enumerate(components, start=1):
        offset = at + len(layouts)
        entries += struct.pack(
            "<IIQQIIIQBBBB", number, 0x10, start, end, offset, len(layout), 0, 0, 0, 0, 0, 0
        )
        layouts += layout
    head = struct.pack("<IIIHHHBBHHQ", COMPOSITE, at + len(layouts), 1, 0, n, 0, 0, 0, 0, 0, 0)
    return head + entries + layouts


def test_a_plain_layout_has_its_osts_in_order() -> None:
    assert parse_striping(v1(4 * MIB, 3, 12, 0, 7)) == (
        Striping(stripe_size=4 * MIB, stripe_count=3, pool=None, osts=(12, 0, 7)),
    )


def test_a_layout_in_a_pool_names_it() -> None:
    assert parse_striping(v3(MIB, 2, b"flash", 1, 2)) == (
        Striping(stripe_size=MIB, stripe_count=2, pool="flash", osts=(1, 2)),
    )


def test_a_progressive_layout_has_components() -> None:
    """1 stripe up to 64 MiB, then all OSTs that there are; of these none is chosen before the first write."""
    layout = composite(
        (0, 64 * MIB, v1(MIB, 1, 5)),
        (64 * MIB, 0xFFFFFFFFFFFFFFFF, v3(4 * MIB, 0xFFFF, b"capacity")),
    )
    assert parse_striping(layout) == (
        Striping(MIB, 1, None, (5,), 0, 64 * MIB),
        Striping(4 * MIB, None, "capacity", (), 64 * MIB, None),
    )


@pytest.mark.parametrize("layout", [b"", b"\1\2\3", struct.pack("<I", 0x0BD70BD0) + bytes(60)])
def test_other_attributes_say_nothing(layout: bytes) -> None:
    assert parse_striping(layout) == ()


@given(st.binary(max_size=300), st.sampled_from([V1, V3, COMPOSITE]))
def test_damaged_attributes_never_fail(rest: bytes, magic: int) -> None:
    for layout in parse_striping(struct.pack("<I", magic) + rest):
        assert len(layout.osts) <= len(rest) // 24


def test_every_cut_of_a_layout_is_read_or_left() -> None:
    whole = composite((0, MIB, v1(MIB, 2, 1, 2)), (MIB, 2 * MIB, v3(MIB, 2, b"p", 3, 4)))
    for n in range(len(whole)):
        parse_striping(whole[:n])
