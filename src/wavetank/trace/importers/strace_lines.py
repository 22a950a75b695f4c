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

from wavetank.trace.schema import UNKNOWN

_LINE = re.compile(
    r"^(?:\[pid +(?P<tagged>\d+)\] |(?P<pid>\d+) +)?(?:(?P<time>\d+\.\d+) )?(?P<rest>[a-z<].*)$"
)
_CALL = re.compile(
    r"^(?P<name>[a-z0-9_]+)\((?P<arguments>.*)\) += (?P<result>-?\d+|0x[0-9a-f]+|\?)(?P<after>.*)$"
)
_UNFINISHED = re.compile(r"^(?P<start>[a-z0-9_]+\(.*?) *<unfinished \.\.\.>$")
_RESUMED = re.compile(r"^<\.\.\. (?P<name>[a-z0-9_]+) resumed>(?P<rest>.*)$")
_ERROR = re.compile(r"\b(E[A-Z0-9]+)\b")
_DURATION = re.compile(r"<(\d+\.\d+)>\s*$")
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
        no_times, no_durations, no_pids: a line had none.
    """

    n_calls: int = 0
    unjoined: int = 0
    no_times: bool = False
    no_durations: bool = False
    no_pids: bool = False
    _pending: dict[int, tuple[str, int]] = field(default_factory=dict)

    @property
    def halves(self) -> int:
        """Calls of which the log has only one half."""
        return self.unjoined + len(self._pending)

    def call(self, text: str) -> Call | None:
        """The call that a line ends; None where it ends none, or one without a result."""
        match = _LINE.match(text)
        if match is None:
            return None
        named = match["tagged"] or match["pid"]
        self.no_pids |= named is None
        pid = None if named is None else int(named)
        line_ns = _ns(match["time"]) if match["time"] else UNKNOWN
        self.no_times |= line_ns == UNKNOWN
        rest, start_ns = match["rest"], line_ns
        if (unfinished := _UNFINISHED.match(rest)) is not None:
            self._pending[pid or 0] = (unfinished["start"], start_ns)
            return None
        if (resumed := _RESUMED.match(rest)) is not None:
            started = self._pending.pop(pid or 0, None)
            if started is None:
                self.unjoined += 1
                return None
            rest, start_ns = started[0] + resumed["rest"].lstrip(), started[1]
        call = _CALL.match(rest)
        if call is None:
            return None
        self.n_calls += 1
        if call["result"] == "?":
            return None
        result, after = int(call["result"], 0), call["after"]
        duration = _DURATION.search(after)
        self.no_durations |= duration is None
        timed = duration is not None and start_ns != UNKNOWN
        end_ns = start_ns + _ns(duration[1]) if duration is not None and timed else start_ns
        return Call(
            pid=pid, name=call["name"], arguments=call["arguments"], result=result,
            error=_errno(after) if result < 0 else 0, after=after, start_ns=start_ns, end_ns=end_ns, line_ns=line_ns,
        )  # fmt: skip


def looks_like_lines(head: bytes) -> bool:
    """Whether a file that begins so is strace's output: its first lines are calls."""
    try:
        lines = head.decode().splitlines()[:5]
    except UnicodeDecodeError as error:
        lines = head[: error.start].decode().splitlines()[:5]
    matches = [_LINE.match(line) for line in lines[: max(len(lines) - 1, 1)]]
    return bool(matches) and all(
        m is not None
        and (_CALL.match(m["rest"]) or _UNFINISHED.match(m["rest"]) or m["rest"].startswith("<..."))
        for m in matches
    )


def without_strings(arguments: str) -> str:
    """Arguments with their quoted strings emptied: data may look like an argument."""
    return _QUOTED.sub('""', arguments)


def _ns(seconds: str) -> int:
    whole, _, fraction = seconds.partition(".")
    return int(whole) * 10**9 + int(fraction.ljust(9, "0")[:9])


def _errno(after: str) -> int:
    name = _ERROR.search(after)
    value = getattr(errno, name[1], 0) if name else 0
    return int(value)
