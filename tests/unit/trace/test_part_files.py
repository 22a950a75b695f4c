"""Files of a part: what its records say of each, in which order they may come, and what damage leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from wavetank.trace.identities import seen_files
from wavetank.trace.part import Part
from wavetank.trace.part_files import decode_files, other_records
from wavetank.trace.schema import UNKNOWN

FILE, MOUNT, IDENTITY, SYMLINK, DIRECTORY = 1, 2, 15, 16, 17  # enum wt_meta
MADE = 1


def varint(value: int) -> bytes:
    """As the tracer codes a number: seven bits a byte, the lowest first."""
    coded = bytearray()
    while value >= 0x80:
        coded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*coded, value])


def record(kind: int, *fields: int | bytes) -> bytes:
    """A record of numbers and texts."""
    content = b"".join(
        varint(field) if isinstance(field, int) else varint(len(field)) + field for field in fields
    )
    return bytes([kind]) + varint(len(content)) + content


def name(number: int, path: bytes, size: int | None = None, mount: int | None = None) -> bytes:
    return record(
        FILE, number, 0 if size is None else size + 1, 0 if mount is None else mount + 1, path
    )


def identity(
    number: int, named: int, inode: int, *, size: int | None = None, born: int = 5, generation: int = 0, made: bool = False
) -> bytes:  # fmt: skip
    again = 2 * generation + made
    return record(
        IDENTITY, number, named, 0 if size is None else size + 1, 8 << 32 | 1, inode, born, again
    )


def part(content: bytes, number: int = 0, host: str = "n1") -> Part:
    return Part(Path(f"part-{number}.wt"), host, number, 1, 0, 0, files=decode_files(content))


def test_a_file_has_its_name_size_mount_and_identity() -> None:
    files = decode_files(name(0, b"/a", 7, 3) + identity(0, 0, 2**63 + 1) + name(1, b"/b"))
    assert list(files.texts) == ["/a", "/b"]
    assert files.number.tolist() == [0, 1]
    assert files.size_before.tolist() == [
        7,
        UNKNOWN,
    ]  # an identity without a size leaves that of the name
    assert files.mount.tolist() == [3, UNKNOWN]
    assert files.inode.tolist() == [2**63 + 1, 0]
    assert files.identified.tolist() == [True, False]


def test_a_name_that_leads_to_another_file_later_is_two_files_of_one_name() -> None:
    files = decode_files(
        name(0, b"/a", 7, 3) + identity(0, 0, 11) + record(SYMLINK, 0, b"/t") + identity(4, 0, 12, made=True)
    )  # fmt: skip
    assert files.number.tolist() == [0, 4]
    assert [files.texts[i] for i in files.path.tolist()] == ["/a", "/a"]
    assert files.texts[int(files.link[0])] == "/t"
    assert files.link[1] == UNKNOWN
    assert files.size_before.tolist() == [7, UNKNOWN]
    assert files.mount.tolist() == [3, 3]
    assert files.made.tolist() == [False, True]


def test_files_come_by_their_numbers_whatever_order_records_have() -> None:
    files = decode_files(name(9, b"/i") + name(2, b"/c") + record(DIRECTORY, 9))
    assert files.number.tolist() == [2, 9]
    assert files.directory.tolist() == [False, True]


def test_what_is_said_of_a_file_that_was_never_named_is_left_out() -> None:
    files = decode_files(identity(3, 2, 11) + record(SYMLINK, 3, b"/t") + record(DIRECTORY, 3))
    assert len(files) == 0


@pytest.mark.parametrize(
    "damaged",
    [
        name(1 << 26, b"/too/high"),
        identity(1, 1 << 26, 11),
        name(1, b"/zero\0inside"),
        record(FILE, 1, 0, 0) + b"",  # no name
        bytes([FILE, 100]) + b"/cut",
        record(FILE, 1, 0, 0)[:-1] + varint(50),  # a name longer than its record
    ],
)
def test_damage_leaves_what_was_before_it(damaged: bytes) -> None:
    content = name(0, b"/a") + record(MOUNT, 0, b"/", b"ext4", b"disk")
    others, n_good = other_records(content + damaged + name(2, b"/c"))
    assert n_good == len(content)
    assert [one.kind for one in others] == [MOUNT]
    assert list(decode_files(content + damaged + name(2, b"/c")).texts) == ["/a"]


def test_files_of_two_processes_are_one_by_name_and_inode() -> None:
    first = part(name(0, b"/a") + identity(0, 0, 11) + name(1, b"/b") + identity(1, 1, 12))
    second = part(name(0, b"/b") + identity(0, 0, 12) + name(1, b"/a"), 1)
    elsewhere = part(name(0, b"/a") + identity(0, 0, 11), 2, host="n2")
    seen = seen_files([first, second, elsewhere])
    names = [seen.texts[i] for i in seen.path.tolist()]
    assert names == ["/a", "/b", "/b", "/a", "/a"]
    assert seen.inode[1] == seen.inode[2] != seen.inode[0]
    assert seen.inode[3] == UNKNOWN  # its process did not see which file it was
    assert seen.inode[4] != seen.inode[0]  # inode numbers are a host's own
    assert seen.start.tolist() == [0, 2, 4, 5]


def test_an_inode_that_was_given_out_again_is_another_file() -> None:
    # One process makes /a, removes it, and makes /b, which gets the inode of /a; another one looks at /b, and at a
    # name that nobody is known to have made.
    maker = part(
        name(0, b"/a") + identity(0, 0, 11, made=True) + name(1, b"/b") + identity(1, 1, 11, generation=1, made=True)
    )  # fmt: skip
    other = part(name(0, b"/b") + identity(0, 0, 11) + name(1, b"/c") + identity(1, 1, 11), 1)
    seen = seen_files([maker, other])
    assert len(set(seen.inode.tolist())) == 1
    assert seen.generation.tolist() == [0, 1, 1, 1]


def test_processes_that_make_a_file_together_make_one() -> None:
    parts = [part(name(0, b"/a") + identity(0, 0, 11, made=True), n) for n in range(3)]
    assert seen_files(parts).generation.tolist() == [0, 0, 0]
