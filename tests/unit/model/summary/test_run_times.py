"""Elapsed time of a run and its time at I/O calls."""

import pytest
from fold_builder import model_of
from test_levels import collective_run

from wavetank.model.document.run_times import RunTimes


def times(elapsed_s=22.0, io_s=1.1):
    return RunTimes(elapsed_s=elapsed_s, io_s=io_s, io_rank=0, with_metadata=True)


def test_the_share_of_io_is_that_of_the_elapsed_time():
    assert times().io_percent == pytest.approx(5.0)
    assert times().compute_s == pytest.approx(20.9)


def test_what_a_log_does_not_tell_is_not_known():
    assert times(elapsed_s=None).io_percent is None
    assert times(elapsed_s=None).compute_s is None
    assert times(io_s=None).compute_s is None


def test_io_that_is_longer_than_the_run_is_all_of_it():
    # Clocks of hosts differ: no run computes for less than nothing.
    assert times(elapsed_s=1.0).compute_s == 0.0
    assert times(elapsed_s=1.0).io_percent == 100.0


def test_io_time_is_that_of_the_rank_with_most_of_it_metadata_calls_included():
    # Each rank: MPI_File_open 10 ns, five writes of 50 ns; what the library does inside of them is in these.
    found = model_of(collective_run()).run_times
    assert found.io_s == pytest.approx(260e-9)
    assert (found.io_rank, found.with_metadata) == (0, True)
