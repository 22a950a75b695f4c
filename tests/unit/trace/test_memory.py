"""What an extraction does with memory: no collections meanwhile, and nothing returned where little is held."""

import gc

import pytest

from wavetank.trace import memory


def test_what_was_made_without_collections_is_not_gone_through_by_the_next_one() -> None:
    with memory.without_collection():
        assert not gc.isenabled()
        made = [[number] for number in range(1000)]
    assert gc.isenabled()
    young = {id(one) for generation in (0, 1) for one in gc.get_objects(generation=generation)}
    assert not young.intersection(map(id, made))


def test_what_others_have_frozen_stays_frozen() -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with memory.without_collection():
            pass
        assert gc.get_freeze_count() == frozen
    finally:
        gc.unfreeze()


def test_collections_that_were_off_stay_off() -> None:
    gc.disable()
    try:
        with memory.without_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize(("little", "returned"), [(1 << 60, []), (0, [0])])
def test_memory_is_returned_by_processes_that_hold_much(
    little: int, returned: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    class Library:
        """A C library that says what it is asked for."""

        def __init__(self, name: None) -> None:
            self.malloc_trim = calls.append

    monkeypatch.setattr(memory.ctypes, "CDLL", Library)
    memory.return_freed_memory(little)
    assert calls == returned
