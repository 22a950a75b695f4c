"""Threads, fork, exec and _exit: nothing is lost, and nobody's operations are taken for another's."""

import pytest
from tracer_run import Call, calls, compile_c, need, run_traced

from wavetank.trace.schema import Trace


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    need("libwavetank-trace-openmpi.so", "gcc")
    where = tmp_path_factory.mktemp("processes")
    program = compile_c("processes.c", where / "processes", "-pthread")
    with pytest.MonkeyPatch.context() as monkeypatch:
        return run_traced([str(program)], where, monkeypatch)


def writes(trace: Trace, rank: int, file: str) -> list[Call]:
    return [call for call in calls(trace, rank) if call.file == file and "write" in call.op]


def test_operations_of_all_threads_are_recorded(traced: Trace) -> None:
    for thread in range(4):
        file = f"thread{thread}.bin"
        assert writes(traced, 0, file) == [
            Call("pwrite", file, i * 100, 100, 100) for i in range(1000)
        ]


def test_a_forked_child_is_a_rank_of_its_own(traced: Trace) -> None:
    assert traced.n_ranks == 2
    assert writes(traced, 1, "child.bin") == [Call("write", "child.bin", 0, 30, 30)]


def test_a_position_shared_by_fork_is_followed(traced: Trace) -> None:
    assert writes(traced, 1, "shared.bin") == [Call("write", "shared.bin", 10, 20, 20)]
    assert writes(traced, 0, "shared.bin") == [
        Call("write", "shared.bin", 0, 10, 10),
        Call("write", "shared.bin", 30, 40, 40),
    ]


def test_a_program_that_execs_and_leaves_by_exit_is_complete(traced: Trace) -> None:
    assert writes(traced, 0, "exec.bin") == [Call("write", "exec.bin", 0, 7, 7)]
    assert all(facts.complete for facts in traced.ranks)
