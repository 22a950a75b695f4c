"""Loops that the trace knows, put where they first hold on."""

from __future__ import annotations

import pytest

from wavetank.model.programs.loops import Loop, compress, settle

A, B, C, X = 1, 2, 3, 9
CANDIDATES = 4


@pytest.mark.parametrize(
    ("nodes", "settled"),
    [
        ([B, Loop(3, (A, B)), A], [Loop(4, (B, A))]),
        ([X, Loop(2, (A, B)), A, B, X], [X, Loop(3, (A, B)), X]),
        ([Loop(2, (A, B)), Loop(3, (A, B))], [Loop(5, (A, B))]),
        ([Loop(2, (A, B)), A, Loop(3, (B, A)), B], [Loop(6, (A, B))]),
        ([Loop(8, (A, B, A, B))], [Loop(16, (A, B))]),
        ([Loop(3, (A, A, B))], [Loop(3, (Loop(2, (A,)), B))]),
        ([C, A, B, Loop(2, (C, A, B)), C], [Loop(3, (C, A, B)), C]),
    ],
)
def test_a_loop_begins_where_it_first_holds(
    nodes: list[int | Loop], settled: list[int | Loop]
) -> None:
    assert settle(nodes, CANDIDATES) == settled


@pytest.mark.parametrize("begin", range(7))
@pytest.mark.parametrize("times", range(2, 6))
def test_wherever_a_loop_was_noticed_the_program_is_the_same(begin: int, times: int) -> None:
    sequence = [X, *[A, B, C] * 9, X]
    rest = sequence[begin + 3 * times :]
    nodes = [*sequence[:begin], Loop(times, tuple(sequence[begin : begin + 3])), *rest]
    if begin == 0:  # X is in the body: another sequence
        return
    assert compress(settle(nodes, CANDIDATES), CANDIDATES) == compress(sequence, CANDIDATES)
