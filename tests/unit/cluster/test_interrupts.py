"""Who interrupts once is heard; who interrupts the clean-up is only answered."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from wavetank.cluster import interrupts

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    os.getpid()  # handlers run between instructions


@pytest.fixture(autouse=True)
def _handlers_are_as_before() -> Iterator[None]:
    before = [signal.getsignal(number) for number in interrupts.SIGNALS]
    yield
    assert [signal.getsignal(number) for number in interrupts.SIGNALS] == before


def test_the_first_interrupt_acts_and_later_ones_let_the_clean_up_finish(
    capfd: pytest.CaptureFixture[str],
) -> None:
    cleaned = False
    with pytest.raises(KeyboardInterrupt), interrupts.once("cleaning up"):
        try:
            interrupt()
        finally:
            interrupt()
            interrupt()
            cleaned = True
    assert cleaned
    assert capfd.readouterr().err == "wavetank: cleaning up; please wait\n" * 2


def test_an_interrupt_within_a_write_to_standard_error_is_answered(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(io.RawIOBase):
        """A slow terminal: the interrupt comes while a line is written."""

        def writable(self) -> bool:
            return True

        def write(self, data: ReadableBuffer) -> int:
            interrupt()
            return len(memoryview(data))

    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BufferedWriter(Interrupted())))
    with pytest.raises(KeyboardInterrupt), interrupts.held_back("taking down"):
        print("down", file=sys.stderr, flush=True)
    assert capfd.readouterr().err == "wavetank: taking down; please wait\n"


def test_an_interrupt_that_was_swallowed_is_raised_by_the_check() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts.once("cleaning up") as check:
        with contextlib.suppress(KeyboardInterrupt):
            interrupt()
        check()


def test_without_interrupts_the_check_passes() -> None:
    with interrupts.once("cleaning up") as check:
        check()


def test_what_must_finish_is_finished_and_then_interrupted() -> None:
    finished = False
    with pytest.raises(KeyboardInterrupt), interrupts.held_back("taking down"):
        interrupt()
        finished = True
    assert finished


def test_an_interrupt_held_back_in_a_clean_up_does_not_stop_the_rest_of_it() -> None:
    steps = []
    with pytest.raises(ZeroDivisionError), interrupts.once("cleaning up"):
        try:
            with contextlib.suppress(KeyboardInterrupt):
                interrupt()
            raise ZeroDivisionError
        finally:
            with interrupts.held_back("taking down"):
                interrupt()
                steps.append("one")
            steps.append("two")
    assert steps == ["one", "two"]


def test_signals_that_are_ignored_or_end_the_process_are_left_alone() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with interrupts.once("cleaning up"), interrupts.held_back("taking down"):
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_threads_other_than_the_main_one_need_no_handlers() -> None:
    done = []

    def work() -> None:
        with interrupts.once("cleaning up") as check, interrupts.held_back("taking down"):
            check()
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]
