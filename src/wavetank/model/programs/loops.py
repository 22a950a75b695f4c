"""Finds loops in a sequence of numbers: A B A B A B C becomes (A B) x 3, C.

Why loops and no grammar (Sequitur), which is as exact and often shorter: a program is read by people, and performed. A loop is
a count and a body. A rule of a grammar that stands for two of another would have to be turned into counts again.

Why the shortest bodies first, then longer ones: of A A B A A B, a search that begins with long bodies may begin one in the
middle of what recurs. Loops are nodes in the next pass, so that loops of loops are found by the same comparison.

Why a body is tried only where its first number recurs, a few times at most (``Thresholds.loop_candidates``): all lengths at
all places would take the square of the steps. Ranges of long programs in which nothing recurs are taken out before
(``irregular_orders``).

Why known loops are moved to where they first hold (``settle``): the tracer, the compression and this module begin to count
at different places. The program must not depend on who found the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Loop:
    """``body`` performed ``times`` times, at least twice."""

    times: int
    body: tuple[Node, ...]


Node = Any
"""A number, a ``Loop``, or what else can be compared and hashed and stands for several of them."""


def settle(nodes: Sequence[Node], candidates: int) -> list[Node]:
    """Loops that are known already, each from where it first holds on: B (A B) x 3 A becomes (B A) x 4.

    So it does not matter where the one who found them began to count. Their bodies are compressed, see ``compress``.
    """
    found: list[Node] = []
    last = -1  # place of the last loop
    for node in nodes:
        if not isinstance(node, Loop):
            found.append(node)
        else:
            body, tail = _shortest(list(node.body)), 0
            times = node.times * (len(node.body) // len(body))
            while found and found[-1] == body[-1]:
                found.pop()
                body = [body[-1], *body[:-1]]
                tail += 1
                if tail == len(body):
                    times, tail = times + 1, 0
            before = found[-1] if found else None
            if isinstance(before, Loop) and before.body == tuple(body):
                found[-1] = Loop(before.times + times, before.body)
            else:
                found.append(Loop(times, tuple(body)))
            last = len(found) - 1
            found += body[:tail]
        if last >= 0:
            loop = found[last]
            n = len(loop.body) if isinstance(loop, Loop) else 0
            if n and len(found) - 1 - last == n and tuple(found[last + 1 :]) == loop.body:
                found[last:] = [Loop(loop.times + 1, loop.body)]
    return [
        Loop(node.times, compress(node.body, candidates)) if isinstance(node, Loop) else node
        for node in found
    ]


def _shortest(body: list[Node]) -> list[Node]:
    """What a body repeats itself: A B of A B A B."""
    n = len(body)
    for period in range(1, n // 2 + 1):
        if n % period == 0 and body[period:] == body[:-period]:
            return body[:period]
    return body


def compress(sequence: Sequence[Node], candidates: int) -> tuple[Node, ...]:
    """Loops, from left to right, the shortest body first; then loops of loops, until none is left.

    Args:
        sequence: the nodes.
        candidates: recurrences of a node that are tried as the length of a loop, see ``Thresholds.loop_candidates``.
    """
    nodes = list(sequence)
    # Short loops before long ones, else a long one would begin in the middle of what recurs.
    longest = 2
    ids = _numbered(nodes)
    while longest < 2 * len(nodes) and len(np.unique(ids)) < len(nodes):
        found = _one_pass(ids, nodes, longest, candidates)
        if len(found) < len(nodes):
            nodes, longest = found, 2
            ids = _numbered(nodes)
        else:
            longest *= 2
    return tuple(nodes)


def _numbered(nodes: Sequence[Node]) -> npt.NDArray[np.int64]:
    """A number for each node, the same for equal ones."""
    numbers: dict[Node, int] = {}
    return np.array([numbers.setdefault(node, len(numbers)) for node in nodes], dtype=np.int64)


def _one_pass(
    ids: npt.NDArray[np.int64], nodes: list[Node], longest: int, candidates: int
) -> list[Node]:
    """Join loops whose body has at most ``longest`` nodes."""
    n = len(ids)
    following, plain = _next_occurrence(ids).tolist(), ids.tolist()
    found: list[Node] = []
    position = 0
    while position < n:
        times, period = 1, 1
        other = position
        for _ in range(candidates):
            other = following[other]
            if other < 0 or other - position > longest or 2 * other - position > n:
                break
            length = other - position
            # Most bodies differ at their second or last node already: plain ints tell that fastest.
            if length > 1 and (
                plain[position + 1] != plain[other + 1]
                or plain[other - 1] != plain[other + length - 1]
            ):
                continue
            matched = match_length(ids, position, length)
            if matched >= length:
                times, period = matched // length + 1, length
                break
        found.append(
            Loop(times, tuple(nodes[position : position + period]))
            if times > 1
            else nodes[position]
        )
        position += times * period
    return found


def _next_occurrence(ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Index of the next equal number; -1 where there is none."""
    order = np.argsort(ids, kind="stable")
    following = np.full(len(ids), -1, dtype=np.int64)
    same = ids[order[1:]] == ids[order[:-1]]
    following[order[:-1][same]] = order[1:][same]
    return following


def match_length(ids: npt.NDArray[Any], position: int, period: int) -> int:
    """How many numbers from ``position`` on equal the one ``period`` later."""
    n = len(ids) - period
    at, block = position, 16
    while at < n:
        stop = min(at + block, n)
        matches = ids[at:stop] == ids[at + period : stop + period]
        if not matches.all():
            return at - position + int(np.argmin(matches))
        at, block = stop, block * 4
    return n - position
