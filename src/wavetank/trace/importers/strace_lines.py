"""strace's lines as finished calls.

Reads lines such as (strace 6.1)
    4242 1700000000.123456 read(3</data/in.fq>, "@r0"..., 8191) = 8191 <0.000012>
    4242 1700000000.2 pread64(3</data/in.fq>,  <unfinished ...>
    4242 1700000000.3 <... pread64 resumed>""..., 4096, 8192) = 4096 <0.1>
and leaves a ``Call`` for each call that ended; the two halves of an unfinished one are joined.
"""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass, field

from wavetank.trace.importers.strace_forms import (
    Clock,
    Line,
    is_between_calls,
    nanoseconds,
    parsed,
    plain_arguments,
)
from wavetank.trace.schema import UNKNOWN

_CALL = re.compile(
    r"^(?P<name>[a-z0-9_]+)\((?P<arguments>.*)\) += (?P<result>-?\d+|0x[0-9a-f]+|\?)(?P<after>.*)$"
)
_UNFINISHED = re.compile(r"^(?P<start>[a-z0-9_]+\(.*?) *<unfinished \.\.\.>$")
_RESUMED = re.compile(r"^<\.\.\. (?P<name>[a-z0-9_]+) resumed>(?P<rest>.*)$")
_ERROR = re.compile(r"\b(E[A-Z0-9]+)\b")
_DURATION = re.compile(r" <(\d+(?:\.\d+)?)>\s*$")
_SUPERSEDED = re.compile(r"^\+\+\+ superseded by execve in pid (\d+) \+\+\+")
# Calls that have no result when all goes well, and what the kernel does again by itself.
_WITHOUT_RESULT = {"exit", "exit_group", "rt_sigreturn", "sigreturn"}
_RESTARTED = "ERESTART"
_FIRST_LINES = 5  # that a log is told by
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


@dataclass(frozen=True, slots=True)
class Call:
    """A call that ended.

    Attributes:
        pid: of the process or thread; None where the line has none.
        name: as strace writes it: "pread64".
        arguments: between the brackets.
        result: what it returned.
        error: errno where it failed, else 0.
        after: what follows the result: a descriptor's path, the error, the duration.
        start_ns, end_ns: since 1970; UNKNOWN where the log has no times.
        line_ns: when the line was written that ends it; UNKNOWN without times.
    """

    pid: int | None
    name: str
    arguments: str
    result: int
    error: int
    after: str
    start_ns: int
    end_ns: int
    line_ns: int


@dataclass
class LineReader:
    """Reads the lines of one log, one after another.

    Attributes:
        n_calls: calls that ended, also those without a result.
        unjoined: second halves without a first one.
        no_result: calls of which strace could not tell the result.
        no_times, no_durations, no_pids: a line had none.
        of_day, relative: times are of the day only (-t, -tt), or since the line before (-r).
    """

    n_calls: int = 0
    unjoined: int = 0
    no_result: int = 0
    of_day: bool = False
    relative: bool = False
    no_times: bool = False
    no_durations: bool = False
    no_pids: bool = False
    _pending: dict[int, tuple[str, int]] = field(default_factory=dict)
    _clock: Clock = field(default_factory=Clock)

    @property
    def halves(self) -> int:
        """Calls of which the log has only one half."""
        return self.unjoined + len(self._pending)

    def call(self, text: str) -> Call | None:
        """The call that a line ends; None where it ends none, or one without a result."""
        line = parsed(text)
        start_ns = line_ns = UNKNOWN if line is None else self._clock.ns(line)
        if line is None or self._is_between(line):
            return None
        pid, rest = line.pid, line.rest
        self.no_pids |= pid is None
        self.no_times |= line_ns == UNKNOWN
        self.of_day |= line.of_day
        self.relative |= line.relative
        if (unfinished := _UNFINISHED.match(rest)) is not None:
            self._pending[pid or 0] = (unfinished["start"], start_ns)
            return None
        if (resumed := _RESUMED.match(rest)) is not None:
            started = self._pending.pop(pid or 0, None)
            if started is None:
                self.unjoined += 1
                return None
            between = " " if started[0].endswith(",") else ""
            rest, start_ns = started[0] + between + resumed["rest"].lstrip(), started[1]
        call = _CALL.match(rest)
        if call is None:
            return None
        self.n_calls += 1
        if call["result"] == "?":
            tells = call["name"] in _WITHOUT_RESULT or _RESTARTED in call["after"]
            self.no_result += not tells
            return None
        result, after = _number(call["result"]), call["after"]
        duration = _DURATION.search(after)
        self.no_durations |= duration is None
        timed = duration is not None and start_ns != UNKNOWN
        end_ns = start_ns + nanoseconds(duration[1]) if duration is not None and timed else start_ns
        return Call(
            pid=pid, name=call["name"], arguments=plain_arguments(call["arguments"]), result=result,
            error=_errno(after) if result < 0 else 0, after=after, start_ns=start_ns, end_ns=end_ns, line_ns=line_ns,
        )  # fmt: skip

    def _is_between(self, line: Line) -> bool:
        """Whether a line is a signal or an end; a thread's execve goes on under the process's own number."""
        if not line.rest.startswith(("+", "-")):
            return False
        if (superseded := _SUPERSEDED.match(line.rest)) is not None:
            started = self._pending.pop(int(superseded[1]), None)
            if started is not None:
                self._pending[line.pid or 0] = started
        return True


def looks_like_lines(head: bytes) -> bool:
    """Whether a file that begins so is strace's output: its first lines are calls."""
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        text = head[: error.start].decode()
    lines = text.splitlines()
    complete = lines[: max(len(lines) - 1, 1)][:_FIRST_LINES]
    between = [is_between_calls(line) for line in complete]
    calls = [_is_call(line) for line in complete]
    # A summary (-c) is recognised too, so that a message can say what is missing.
    told = any(calls) or any(line.startswith("% time") for line in complete)
    return told and all(a or b for a, b in zip(between, calls, strict=True))


def _is_call(text: str) -> bool:
    line = parsed(text)
    return line is not None and bool(
        _CALL.match(line.rest) or _UNFINISHED.match(line.rest) or line.rest.startswith("<...")
    )


def without_strings(arguments: str) -> str:
    """Arguments with their quoted strings emptied: data may look like an argument."""
    return _QUOTED.sub('""', arguments)


def _number(result: str) -> int:
    """A result: decimal, 0x..., or of umask octal (022)."""
    return int(result, 8 if re.fullmatch("0[0-7]+", result) else 0)


def _errno(after: str) -> int:
    name = _ERROR.search(after)
    value = getattr(errno, name[1], 0) if name else 0
    return int(value)
