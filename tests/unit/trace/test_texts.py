"""Columns of texts say what single texts say: which are equal, which folder each is in, what is in a place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavetank.model.events.file_identity import plain_path
from wavetank.trace.texts import Texts

PATHS = st.lists(st.text(alphabet="/a.0719é\n", max_size=9), max_size=40)


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


def test_runs_of_digits_that_differ_are_found_in_names_of_many_lengths() -> None:
    # The first number is the same everywhere; the second one differs; the third by a zero before it only.
    paths = Texts.of(["/d7/f1.x9", "/d7/f22.x9", "/d7/f333.x09"])
    assert paths.varying_numbers()[:3].tolist() == [False, True, True]
