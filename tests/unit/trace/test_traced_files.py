"""Files of a trace as columns are the same files as single ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wavetank.trace.schema import UNKNOWN, FileIdentity, TracedFile, one_after_another
from wavetank.trace.traced_files import TracedFiles

FILES = (
    TracedFile("/a", "/", "ext4", 7, identity=FileIdentity("n1 8:1", 2**64 - 1, 5, 1)),
    TracedFile("/b", identity=FileIdentity("n1 8:1", 3)),
    TracedFile("/c/d", directory=True),
    TracedFile("/l", symlink_to="/a", hints=(("cb_nodes", "2"),)),
)


def columns_only(files: TracedFiles) -> TracedFiles:
    """The columns without the single files that they came from."""
    return replace(files, told={})


def test_columns_of_files_are_these_files() -> None:
    files = TracedFiles.of(FILES)
    assert tuple(files) == FILES
    assert files == FILES
    assert files[1:3] == FILES[1:3]
    assert files[-1] == FILES[-1]
    assert TracedFiles.of(files) is files
    plain = columns_only(files)
    assert plain[1] == FILES[1]
    assert plain[2] == FILES[2]
    assert plain[0].identity == FILES[0].identity
    with pytest.raises(IndexError):
        files[len(FILES)]


def test_changed_files_are_others_in_columns_too() -> None:
    files = TracedFiles.of(FILES).changed({0: TracedFile("/long/new/name", size_before=9)})
    assert files[0] == TracedFile("/long/new/name", size_before=9)
    assert list(files.paths) == ["/long/new/name", "/b", "/c/d", "/l"]
    assert files.size_before.tolist() == [9, UNKNOWN, UNKNOWN, UNKNOWN]
    assert files.volume.tolist()[0] == UNKNOWN
    assert files[1:] == FILES[1:]


def test_files_are_apart_unless_two_names_lead_to_one() -> None:
    assert TracedFiles.of(FILES[:3]).apart
    assert not TracedFiles.of(FILES).apart  # a symbolic link
    other_name = replace(FILES[0], path="/z")
    assert not TracedFiles.of((*FILES[:3], other_name)).apart
    assert TracedFiles.of(FILES).numbers(attribute="hints") == [3]


def test_pieces_of_one_column_are_that_column_again() -> None:
    column = np.arange(10)
    joined = one_after_another([column[2:5], column[5:5], column[5:9]])
    assert np.shares_memory(joined, column)
    assert joined.tolist() == list(range(2, 9))


@pytest.mark.parametrize(
    "pieces",
    [
        [np.arange(10)[2:5], np.arange(10)[5:9]],  # of two columns
        [np.arange(10)[0:8:2], np.arange(10)[8:10]],
        [np.broadcast_to(np.int64(3), 4), np.array([4, 5])],
        [np.broadcast_to(np.int64(3), 4), np.broadcast_to(np.int64(4), 2)],
    ],
)
def test_other_pieces_are_copied(pieces: list[np.ndarray]) -> None:
    assert one_after_another(pieces).tolist() == np.concatenate(pieces).tolist()


def test_pieces_that_lie_apart_or_backwards_are_copied() -> None:
    column = np.arange(10)
    assert one_after_another([column[5:9], column[2:5]]).tolist() == [5, 6, 7, 8, 2, 3, 4]
    assert one_after_another([column[:3], column[4:6]]).tolist() == [0, 1, 2, 4, 5]


def test_equal_numbers_stay_one_number() -> None:
    joined = one_after_another([np.broadcast_to(np.int64(3), 4), np.broadcast_to(np.int64(3), 2)])
    assert joined.strides == (0,)
    assert joined.tolist() == [3] * 6
