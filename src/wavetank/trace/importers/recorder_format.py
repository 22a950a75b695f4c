"""Reads a trace folder of Recorder: its calls by rank, unfolded from the grammar that it compressed them to.

Reads a folder with ``VERSION``, ``recorder.mt`` (metadata and function names), and of each rank ``.cst`` (call
signatures), ``.cfg`` (a context-free grammar of them) and ``.ts`` (times). Source: Recorder 2.4 and 2.5,
include/recorder-logger.h and tools/reader.c (github.com/uiuc-hpc/Recorder).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wavetank.errors import TraceError

_KNOWN = {(2, 4), (2, 5)}
_METADATA = struct.Struct(
    "<i4xddiii4x"
)  # ranks, start, resolution, buffer, time compression, merged
_SIGNATURE = struct.Struct("<iiii")  # number, rank, key length, count
_KEY = struct.Struct("<QBBBi")  # thread, function, level, arguments, their length
_START_RULE = -1
_DEEPEST = 500  # rules within rules
_MOST_CALLS_A_TIME = 16  # of a grammar; one that unfolds to more is damage
_FEW_CALLS = 1 << 16
_LATEST_S = 1 << 40
USER_FUNCTION = 255


@dataclass(frozen=True)
class Signature:
    """A function with its arguments, as text."""

    function: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class RankCalls:
    """All calls of a rank, in the order in which they began."""

    signatures: tuple[Signature, ...]
    signature: np.ndarray  # shape (n,), index into signatures
    start_ns: np.ndarray  # since the rank's own start
    end_ns: np.ndarray


@dataclass(frozen=True)
class RecorderTrace:
    """A trace folder."""

    version: str
    started_s: float  # UTC
    ranks: tuple[RankCalls, ...]
    lost: tuple[str, ...]  # what could not be read, in words


def is_recorder_folder(path: Path) -> bool:
    """Whether a folder holds a trace of Recorder."""
    return (path / "recorder.mt").is_file() and (path / "VERSION").is_file()


def read_folder(path: Path) -> RecorderTrace:
    """All calls of a trace.

    Raises:
        TraceError: it is damaged, incomplete or of a version that is not known here.
    """
    version = _content(path / "VERSION").decode(errors="replace").strip()
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers not in _KNOWN:
        raise TraceError(
            f"{path} is a trace of Recorder {version}; 2.4 and 2.5 are known here. Trace the program again with one "
            "of those, or by wavetank trace"
        )
    content = _content(path / "recorder.mt")
    try:
        n_ranks, started, resolution, _buffer, compression, merged = _METADATA.unpack_from(content)
    except struct.error:
        raise TraceError(f"{path / 'recorder.mt'} is cut short") from None
    if not content.endswith(b"\n"):
        raise TraceError(f"{path / 'recorder.mt'} is cut short")
    if n_ranks < 1 or compression != 0 or not 0 < resolution <= 1 or not 0 < started < _LATEST_S:
        raise TraceError(
            f"{path / 'recorder.mt'} is damaged: {n_ranks} ranks, resolution {resolution}"
        )
    functions = content[_METADATA.size :].decode(errors="replace").split("\n")[:-1]
    grammars = _grammar_numbers(path, n_ranks) if merged else list(range(n_ranks))
    signatures = [
        _signatures(path / f"{0 if merged else rank}.cst", functions)
        for rank in range(1 if merged else n_ranks)
    ]
    ranks, lost = [], []
    for rank in range(n_ranks):
        known = signatures[0 if merged else rank]
        start, end = _times(path / f"{rank}.ts", resolution)
        most = _MOST_CALLS_A_TIME * max(len(start), _FEW_CALLS)
        order = _unfolded(path / f"{grammars[rank]}.cfg", len(known), most)
        if len(start) < len(order):
            lost.append(
                f"rank {rank}: {len(order) - len(start)} calls have no times and are left out"
            )
        n = min(len(order), len(start))
        ranks.append(RankCalls(known, order[:n], start[:n], end[:n]))
    return RecorderTrace(version, started, tuple(ranks), tuple(lost))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise TraceError(f"cannot read {path}: {error.strerror}") from error


def _integers(path: Path) -> np.ndarray:
    content = _content(path)
    if len(content) % 4:
        raise TraceError(f"{path} is cut short")
    return np.frombuffer(content, dtype="<i4")


def _grammar_numbers(path: Path, n_ranks: int) -> list[int]:
    numbers = _integers(path / "ug.mt")
    if len(numbers) < n_ranks:
        raise TraceError(f"{path / 'ug.mt'} is cut short")
    return [int(number) for number in numbers[:n_ranks]]


def _signatures(path: Path, functions: list[str]) -> tuple[Signature, ...]:
    content = _content(path)
    damaged = TraceError(f"{path} is damaged or cut short")
    try:
        (n,) = struct.unpack_from("<i", content)
        found: dict[int, Signature] = {}
        at = 4
        for _ in range(n):
            number, _rank, length, _count = _SIGNATURE.unpack_from(content, at)
            at += _SIGNATURE.size
            _thread, function, _level, n_arguments, text_length = _KEY.unpack_from(content, at)
            text = content[at + _KEY.size : at + _KEY.size + text_length].decode(
                errors="backslashreplace"
            )
            at += length
            arguments = tuple(text.split(" ")[:-1])
            if length < _KEY.size or len(arguments) != n_arguments:
                raise damaged
            if function >= len(functions) and function != USER_FUNCTION:
                raise damaged
            found[number] = Signature(_function(function, functions, arguments), arguments)
    except struct.error:
        raise damaged from None
    if sorted(found) != list(range(n)):
        raise damaged
    return tuple(found[number] for number in range(n))


def _function(number: int, functions: list[str], arguments: tuple[str, ...]) -> str:
    if number == USER_FUNCTION:
        return arguments[1] if len(arguments) > 1 else ""
    return functions[number]


def _unfolded(path: Path, n_signatures: int, most: int) -> np.ndarray:
    """The sequence of signatures' numbers that a grammar stands for."""
    rules = _rules(path)
    unfolded: dict[int, np.ndarray] = {}
    damaged = TraceError(
        f"{path} is damaged: its grammar is not one of {n_signatures} call signatures"
    )

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


def _rules(path: Path) -> dict[int, list[tuple[int, int]]]:
    numbers = _integers(path)
    rules: dict[int, list[tuple[int, int]]] = {}
    damaged = TraceError(f"{path} is damaged or cut short")
    if not len(numbers):
        raise damaged
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


def _times(path: Path, resolution_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Begin and end of each call, ns. Both are kept as distances from the begin of the call before."""
    content = _content(path)
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
