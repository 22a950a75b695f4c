"""Waits for the processes of scripts, and of programs that fork: each is a rank, and begins and ends where it did.

A process begins when the one that started it has come to that place, and what follows its end waits for it
(model/events/process_order.py). Every rank that takes part in this has a program of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.ordering.name_order import NamePair
from wavetank.model.document.program import ProcessStep, Program


def own_programs(programs: Sequence[Program]) -> list[Program]:
    """The programs, with those of ranks that are ordered as processes apart, each for one rank."""
    waited_for = {
        step.rank for program in programs for step in program.steps if isinstance(step, ProcessStep)
    }
    found: list[Program] = []
    for program in programs:
        waits = any(isinstance(step, ProcessStep) for step in program.steps)
        apart = [rank for rank in program.ranks if waits or rank in waited_for]
        rest = tuple(rank for rank in program.ranks if rank not in apart)
        found += [Program(ranks=(rank,), steps=program.steps) for rank in apart]
        found += [Program(ranks=rest, steps=program.steps)] if rest else []
    return found


def process_pairs(kernel: Kernel) -> Iterator[NamePair]:
    """What must wait for what: first steps for where their process begins, steps for the last ones of others."""
    program_of = {
        program.ranks[0]: number
        for number, program in enumerate(kernel.programs)
        if len(program.ranks) == 1 and program.steps
    }
    for number, program in enumerate(kernel.programs):
        for index, step in enumerate(program.steps):
            if not isinstance(step, ProcessStep) or step.rank not in program_of:
                continue
            other = program_of[step.rank]
            if other == number or len(program.ranks) != 1:
                continue
            if step.event == "begins":
                yield NamePair(((number, index),), (other, 0))
            else:
                last = len(kernel.programs[other].steps) - 1
                yield NamePair(((other, last),), (number, index))
