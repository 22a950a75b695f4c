"""Which process of strace's logs is which MPI rank, as far as the logs tell.

A rank's number is in the environment that ``strace -v`` writes with ``execve``, or in the names of logs of which each
rank wrote one (``-o out.RANK``: out.0, out.1, ...). Without either, processes are numbered by their first operation.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_VARIABLES = {
    # In the order in which they are believed, as native/tracer/process.c; with the one that has the number of ranks.
    "OMPI_COMM_WORLD_RANK": "OMPI_COMM_WORLD_SIZE",
    "PMI_RANK": "PMI_SIZE",
    "PMIX_RANK": None,
    "SLURM_PROCID": "SLURM_NTASKS",
}
_SIZES = [size for size in _VARIABLES.values() if size is not None]
_ENTRY = re.compile(rf'"({"|".join([*_VARIABLES, *_SIZES])})=(\d+)"')
_WRITTEN_OUT = re.compile(r'\], \["')  # behind the arguments; else an address and "/* 31 vars */"


@dataclass(frozen=True)
class Environment:
    """What a process's environment says of its rank.

    Attributes:
        ranks: variable -> number.
        sizes: variable -> number of ranks, by the variable that has the rank.
    """

    ranks: tuple[tuple[str, int], ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()


def environment_of(arguments: str) -> Environment | None:
    """What an execve's arguments say; None where the log has no environment (strace without -v)."""
    found = {name: int(number) for name, number in _ENTRY.findall(arguments)}
    if not found and _WRITTEN_OUT.search(arguments) is None:
        return None
    return Environment(
        tuple((name, found[name]) for name in _VARIABLES if name in found),
        tuple((name, found[size]) for name, size in _VARIABLES.items() if size in found),
    )


@dataclass(frozen=True)
class Candidate:
    """A process that may be a rank.

    Attributes:
        environment: of its last execve; None where it is not in the log.
        log: number of the log that it is in, where the logs' names have a rank's; else None.
        n_operations: on files.
    """

    environment: Environment | None
    log: int | None
    n_operations: int


@dataclass(frozen=True)
class Numbering:
    """Ranks of processes.

    Attributes:
        rank: of each candidate; None: it is none, because it did no I/O and nothing gives it a number.
        given: for each candidate whether a launcher's number is its own.
        n_ranks: of the run, as far as it is known.
        sentences: how the numbers were found, and what is not known.
    """

    rank: tuple[int | None, ...]
    given: tuple[bool, ...]
    n_ranks: int
    sentences: tuple[str, ...]


def number_ranks(candidates: Sequence[Candidate], n_logs: int | None = None) -> Numbering:
    """Number processes by MPI rank where that is known.

    Args:
        candidates: in the order of their first operations.
        n_logs: of how many ranks there are logs, where their names have the numbers.
    """
    variable = _believed(candidates)
    claimed: defaultdict[int, list[int]] = defaultdict(list)
    n_ranks = 0
    for position, one in enumerate(candidates):
        number = one.log
        if variable is not None:
            number = dict(one.environment.ranks).get(variable) if one.environment else None
            n_ranks = max(
                n_ranks, dict(one.environment.sizes).get(variable, 0) if one.environment else 0
            )
        if number is not None:
            claimed[number].append(position)
    if variable is None:
        n_ranks = n_logs or 0
    ranks: list[int | None] = [None] * len(candidates)
    for number, positions in claimed.items():
        # What a rank starts has its environment too: the rank itself is the one that works on files.
        ranks[max(positions, key=lambda at: (candidates[at].n_operations, -at))] = number
    n_ranks = max(n_ranks, *(number + 1 for number in claimed), 0) if claimed else n_ranks
    given = tuple(rank is not None for rank in ranks)
    following = n_ranks
    for position, one in enumerate(candidates):
        if ranks[position] is None and one.n_operations:
            ranks[position] = following
            following += 1
    sentences = tuple(_sentences(candidates, variable, claimed, n_ranks, following))
    return Numbering(tuple(ranks), given, following, sentences)


def _believed(candidates: Sequence[Candidate]) -> str | None:
    """The variable that ranks are taken from: mpirun inside of a Slurm job step sets its own beside Slurm's."""
    found = {name for one in candidates if one.environment for name, _ in one.environment.ranks}
    return next((name for name in _VARIABLES if name in found), None)


def _sentences(
    candidates: Sequence[Candidate],
    variable: str | None,
    claimed: dict[int, list[int]],
    n_ranks: int,
    n_all: int,
) -> Iterator[str]:
    if not claimed:
        if sum(one.n_operations > 0 for one in candidates) > 1:
            yield (
                "strace does not see MPI: every process is a rank, in the order of the first operations; which of them is "
                "which MPI rank is not in the log (strace -v writes the environment, -o out.RANK a log for each rank), "
                "and communication is not recorded"
            )
        else:
            yield "strace does not see MPI: every process is a rank, and communication is not recorded"
        return
    by = f"by {variable} in the environment" if variable is not None else "by the names of the logs"
    yield f"strace does not see MPI: ranks are numbered {by}, and communication is not recorded"
    if n_all > n_ranks:
        yield (
            f"{n_all - n_ranks} process(es) that are no MPI ranks, or that ranks started, have numbers from {n_ranks} on"
        )
    missing = n_ranks - len(claimed)
    if missing:
        yield f"of {n_ranks} MPI ranks {missing} are not in the log: what they did is not in the model"
    twice = Counter(len(positions) > 1 for positions in claimed.values())[True]
    if twice:
        yield (
            f"{twice} rank number(s) belong to several processes: the one with most operations on files is the rank"
        )
