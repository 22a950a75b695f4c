"""Lists that grow, where the system gives a long range of addresses and where it does not."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from wavetank.model.compression.growing_lists import GrowingList
from wavetank.model.work_limits import ListRoom


def no_range(*_: object, **__: object) -> None:
    raise OSError("addresses are limited")


@pytest.mark.parametrize("limited", [False, True])
def test_numbers_stay_where_they_were_put(monkeypatch: pytest.MonkeyPatch, limited: bool) -> None:
    if limited:
        monkeypatch.setattr(mmap, "mmap", no_range)
    grown = GrowingList(ListRoom(block_entries=10))
    parts = [np.arange(n) * 3 + n for n in (4, 5, 6, 100, 1, 9, 9, 2)]
    places = [grown.append(part) for part in parts]
    first, length = np.array(places), np.array([len(part) for part in parts])
    assert grown.stretches(first, length).sums().tolist() == [int(part.sum()) for part in parts]
    assert len(grown) == len(grown.all()) == length.sum()
    for place, part in zip(places, parts, strict=True):
        assert grown.all()[place : place + len(part)].tolist() == part.tolist()


def test_a_range_that_is_full_is_followed_by_another() -> None:
    grown = GrowingList(ListRoom(entries=1 << 12))
    parts = [np.arange(n) for n in (1 << 11, 1 << 11, 1, 1 << 13, 5)]
    places = [grown.append(part) for part in parts]
    assert grown.all()[places[-1] :].tolist() == [0, 1, 2, 3, 4]
    assert int(grown.all().sum()) == sum(int(part.sum()) for part in parts)
