"""Reads a trace folder of Recorder: its calls by rank, unfolded from the grammar that it compressed them to.

Reads the parts that ``recorder_parts`` finds: call signatures, a context-free grammar of them for each rank, and times.
Source: Recorder 2.4 to 3.0, include/recorder-logger.h and tools/reader.c (github.com/uiuc-hpc/Recorder).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wavetank.errors import TraceError
from wavetank.trace.importers.recorder_parts import Parts, is_recorder_folder, read_parts

__all__ = ["RankCalls", "RecorderTrace", "Signature", "is_recorder_folder", "read_folder"]

_SIGNATURE = struct.Struct("<iiii")  # number, rank, key length, count
_KEY = struct.Struct("<QBBBi")  # thread, function, depth, arguments, their length
_WIDE_KEY = struct.Struct("<QiBBi")
_START_RULE = -1
_DEEPEST = 500  # rules within rules
_MOST_CALLS_A_TIME = 16  # of a grammar; one that unfolds to more is damage
_FEW_CALLS = 1 << 16
USER_FUNCTION = 255


@dataclass(frozen=True)
class Signature:
    """A function with its arguments, as text, and how many calls it was made in."""

    function: str
    arguments: tuple[str, ...]
    depth: int = 0


@dataclass(frozen=True)
class RankCalls:
    """All calls of a rank, in the order in which they began."""

    signatures: tuple[Signature, ...]  # those that it made
    signature: np.ndarray  # shape (n,), index into signatures
    start_ns: np.ndarray  # since the rank's own start
    end_ns: np.ndarray


@dataclass(frozen=True)
class RecorderTrace:
    """A trace folder.

    Attributes:
        version: of Recorder.
        started_s: UTC.
        ranks: their calls.
        lost: what could not be read, in words.
        is_3: it is of Recorder 3.
        patterns_within: offsets may be distances from the function's first one (``recorder_patterns``).
        recorded: which of POSIX calls, communication and MPI-IO were recorded.
    """

    version: str
    started_s: float
    ranks: tuple[RankCalls, ...]
    lost: tuple[str, ...] = ()
    is_3: bool = False
    patterns_within: bool = False
    recorded: tuple[bool, bool, bool] = (True, True, True)


def read_folder(path: Path) -> RecorderTrace:
    """All calls of a trace.

    Raises:
        TraceError: it is damaged, incomplete or of a version that is not known here.
    """
    parts = read_parts(path)
    tables = [_table(path, parts, i) for i in range(len(parts.signatures))]
    ranks, lost = [], []
    for rank, grammar in enumerate(parts.grammar_of):
        known = tables[rank if len(tables) > 1 else 0]
        start, end = _times(parts.times[rank], parts.resolution_s)
        most = _MOST_CALLS_A_TIME * max(len(start), _FEW_CALLS)
        order = _unfolded(path, parts.grammars[grammar], rank, len(known), most)
        if len(start) < len(order):
            lost.append(
                f"rank {rank}: {len(order) - len(start)} calls have no times and are left out"
            )
        n = min(len(order), len(start))
        used, place = np.unique(order, return_inverse=True)  # a table may be of all ranks
        mine = tuple(known[i] for i in used.tolist())
        ranks.append(RankCalls(mine, place.reshape(-1)[:n], start[:n], end[:n]))
    return RecorderTrace(
        parts.version, parts.started_s, tuple(ranks), tuple(lost), parts.is_3, parts.patterns_within, parts.recorded,
    )  # fmt: skip


def _table(path: Path, parts: Parts, i: int) -> tuple[Signature, ...]:
    """A table of call signatures, by number; the size of a function's number shows in the keys' lengths."""
    keys = [_KEY] if parts.wide is False else [_WIDE_KEY, _KEY]
    for key in keys:
        found = _signatures(parts.signatures[i], parts.functions, key)
        if found is not None:
            return found
    of = f" of rank {i}" if len(parts.signatures) > 1 else ""
    raise TraceError(
        f"{path} is damaged or cut short: its call signatures{of} do not fit Recorder {parts.version}'s. Copy the folder "
        "again, or trace again"
    )


def _signatures(
    content: bytes, functions: tuple[str, ...], key: struct.Struct
) -> tuple[Signature, ...] | None:
    """None: it is not such a table."""
    try:
        (n,) = struct.unpack_from("<i", content)
        found: dict[int, Signature] = {}
        at = 4
        for _ in range(n):
            number, _rank, length, _count = _SIGNATURE.unpack_from(content, at)
            at += _SIGNATURE.size
            _thread, function, depth, n_arguments, text_length = key.unpack_from(content, at)
            text = content[at + key.size : at + key.size + text_length].decode(
                errors="backslashreplace"
            )
            at += length
            arguments = tuple(text.split(" ")[:-1])
            if length != key.size + text_length or len(arguments) != n_arguments:
                return None
            if not 0 <= function < len(functions) and function != USER_FUNCTION:
                return None
            found[number] = Signature(_function(function, functions, arguments), arguments, depth)
    except struct.error:
        return None
    if sorted(found) != list(range(n)):
        return None
    return tuple(found[number] for number in range(n))


def _function(number: int, functions: tuple[str, ...], arguments: tuple[str, ...]) -> str:
    if number >= len(functions):
        return arguments[1] if len(arguments) > 1 else ""
    return functions[number]


def _unfolded(path: Path, content: bytes, rank: int, n_signatures: int, most: int) -> np.ndarray:
    """The sequence of signatures' numbers that a grammar stands for."""
    damaged = TraceError(
        f"{path} is damaged or cut short: the grammar of rank {rank} is not one of {n_signatures} call signatures. Copy "
        "the folder again, or trace again"
    )
    rules = _rules(content, damaged)
    unfolded: dict[int, np.ndarray] = {}

    def visit(rule: int, depth: int) -> np.ndarray:
        if rule in unfolded:
            return unfolded[rule]
        if rule not in rules or depth > min(len(rules), _DEEPEST):
            raise damaged
        parts, total = [], 0
        for symbol, times in rules[rule]:
            if symbol >= n_signatures or times < 1:
                raise damaged
            part = np.array([symbol], dtype=np.int32) if symbol >= 0 else visit(symbol, depth + 1)
            total += len(part) * times
            if total > most:
                raise damaged
            parts.append(np.tile(part, times))
        unfolded[rule] = np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)
        return unfolded[rule]

    return visit(_START_RULE, 0)


def _rules(content: bytes, damaged: TraceError) -> dict[int, list[tuple[int, int]]]:
    if not content or len(content) % 4:
        raise damaged
    numbers = np.frombuffer(content, dtype="<i4")
    rules: dict[int, list[tuple[int, int]]] = {}
    at = 1
    for _ in range(int(numbers[0])):
        if at + 2 > len(numbers):
            raise damaged
        rule, n = int(numbers[at]), int(numbers[at + 1])
        at += 2
        if n < 0 or at + 2 * n > len(numbers):
            raise damaged
        body = numbers[at : at + 2 * n].tolist()
        rules[rule] = list(zip(body[::2], body[1::2], strict=True))
        at += 2 * n
    return rules


def _times(content: bytes, resolution_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Begin and end of each call, ns. Both are kept as distances from the begin of the call before."""
    steps = (
        np.frombuffer(content, dtype="<u4", count=len(content) // 8 * 2)
        .reshape(-1, 2)
        .astype(np.int64)
    )
    begin = np.cumsum(steps[:, 0])
    before = begin - steps[:, 0]
    scale = resolution_s * 1e9
    return np.rint(begin * scale).astype(np.int64), np.rint((before + steps[:, 1]) * scale).astype(
        np.int64
    )
