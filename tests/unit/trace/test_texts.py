"""Columns of texts say what single texts say: which are equal, which folder each is in, what is in a place."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavetank.model.events.file_identity import plain_path
from wavetank.trace.distinct import distinct_rows, first_equal
from wavetank.trace.texts import Texts

PATHS = st.lists(st.text(alphabet="/a.0719é\n", max_size=9), max_size=40)


def first_of(keys: list[object]) -> list[int]:
    """For each key the place of the first one that is equal."""
    first: dict[object, int] = {}
    return [first.setdefault(key, place) for place, key in enumerate(keys)]


@given(PATHS, st.integers(1, 3))
def test_texts_of_one_kind_are_alike_as_their_strings_are(paths: list[str], n_kinds: int) -> None:
    texts = Texts.of(paths)
    kinds = np.arange(len(paths)) % n_kinds
    assert list(texts) == paths == [texts[i] for i in range(len(texts))]
    assert texts.first_equal().tolist() == first_of(list(paths))
    shapes = [(re.sub("[0-9]+", "0", path), i % n_kinds) for i, path in enumerate(paths)]
    assert texts.first_alike(kinds, digits=True).tolist() == first_of(list(shapes))


@given(PATHS)
def test_folders_are_what_is_before_the_last_slash(paths: list[str]) -> None:
    folders = Texts.of(paths).folders()
    assert list(folders) == [path.rpartition("/")[0] for path in paths]
    assert list(folders.folders()) == [path.rpartition("/")[0] for path in folders]


@given(PATHS)
def test_paths_that_are_called_plain_are(paths: list[str]) -> None:
    texts = Texts.of(paths)
    if texts.are_plain_paths():
        assert [plain_path(path) for path in paths] == paths


@pytest.mark.parametrize("path", ["", ".", "/", "./a", "a//b", "/a/./b", "/a/", "/a/."])
def test_paths_with_empty_and_dot_parts_are_not_plain(path: str) -> None:
    assert not Texts.of(["/plain", path, "/x"]).are_plain_paths()
    assert Texts.of(["/plain", "a", ".hidden", "/x/..", "/x/a.b", "/.x"]).are_plain_paths()


@given(st.lists(st.binary(max_size=8).filter(lambda name: 0 not in name), max_size=20))
def test_names_that_are_no_utf8_are_escaped(names: list[bytes]) -> None:
    content = b"".join(name + b"\0" for name in names)
    end = np.cumsum([len(name) + 1 for name in names]).astype(np.int64)
    found = Texts.of_names(content, end)
    assert list(found) == [name.decode(errors="backslashreplace") for name in names]


@given(PATHS, PATHS, st.data())
def test_columns_are_taken_joined_and_changed_as_lists_are(
    one: list[str], other: list[str], data: st.DataObject
) -> None:
    both = Texts.joined([Texts.of(one), Texts.of(other)])
    assert list(both) == one + other
    if not len(both):
        return
    index = data.draw(st.lists(st.integers(0, len(both) - 1), max_size=10))
    taken = both.take(np.array(index, dtype=np.int64))
    assert list(taken) == list(taken.copied()) == [(one + other)[i] for i in index]
    changed = both.changed(np.array(index[:1], dtype=np.int64), Texts.of(["new"] * len(index[:1])))
    assert list(changed) == ["new" if i in index[:1] else t for i, t in enumerate(one + other)]


def test_runs_of_digits_that_differ_are_found_in_names_of_many_lengths() -> None:
    # The first number is the same everywhere; the second one differs; the third by a zero before it only.
    paths = Texts.of(["/d7/f1.x9", "/d7/f22.x9", "/d7/f333.x09"])
    assert paths.varying_numbers()[:3].tolist() == [False, True, True]


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-(2**62), 2**62)), max_size=60))
def test_rows_are_distinct_as_their_tuples_are(rows: list[tuple[int, int]]) -> None:
    rows = [*rows, *rows[::2]]
    columns = [np.array([row[i] for row in rows], dtype=np.int64) for i in range(2)]
    distinct, which = distinct_rows(columns)
    assert [tuple(row) for row in distinct[which].tolist()] == rows
    assert len(distinct) == len(set(rows))


def test_first_places_of_many_different_numbers() -> None:
    # More than any first table holds, so that it has to grow: 0 to 9,999 twice, then backwards.
    once = np.arange(10_000, dtype=np.uint64)
    found = first_equal(np.concatenate([once, once, once[::-1]]))
    assert found.tolist() == [*range(10_000), *range(10_000), *range(9_999, -1, -1)]
