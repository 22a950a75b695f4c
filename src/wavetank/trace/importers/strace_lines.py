"""strace's lines as finished calls.

Reads lines such as (strace 6.1)
    4242 1700000000.123456 read(3</data/in.fq>, "@r0"..., 8191) = 8191 <0.000012>
    4242 1700000000.2 pread64(3</data/in.fq>,  <unfinished ...>
    4242 1700000000.3 <... pread64 resumed>""..., 4096, 8192) = 4096 <0.1>
and leaves a ``Call`` for each call that ended; the two halves of an unfinished one are joined. Lines of other options (-tt, -r, -n,
-X, -xx, colours, no -f) are told and refused.
"""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass, field

MAKE_IT = "strace -f -v -ttt -y -T -o FILE PROGRAM"
"""The command line of logs that are read."""
_LINE = re.compile(r"(\d{1,7}) +(\d{9,}\.\d+) ([a-z<+-].*)$")
# What is between calls: signals, ends, stack traces (-k), notes, a summary (-c).
_BETWEEN = re.compile(
    r"^(?:\d{1,7} +)?(?:[\d.]+ )?(?:---|\+\+\+| *>|\[ Process|strace: |% time|------)"
)
# A call behind whatever other options write before it.
_ANY_CALL = re.compile(
    r"\b[a-z][a-z0-9_]*\(.*(?:\) += (?:-?\d+|0x[0-9a-f]+|\?)|<unfinished \.\.\.>)|<\.\.\. \w+ resumed>"
)
_OF_OTHER_OPTIONS = {
    "names of arguments (-N)": re.compile(r"^[a-z_]+="),
    "numbers of constants (-X)": re.compile(r"/\* [A-Z][A-Z_|]* \*/"),
    "strings in hex (-x, -xx)": re.compile(r"(?<!\\)\\x[0-9a-f]{2}"),
}
_NUMBER_OF_FLAGS = re.compile(r", (?:0|0x[0-9a-f]+)(?:,|$)")
_NUMBER_OF_WHENCE = re.compile(r", \d+$")
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
        pid: of the process or thread.
        name: as strace writes it: "pread64".
        arguments: between the brackets.
        result: what it returned.
        error: errno where it failed, else 0.
        after: what follows the result: a descriptor's path, the error, the duration.
        start_ns, end_ns: since 1970.
        line_ns: when the line was written that ends it.
    """

    pid: int
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
        no_durations: a line had none.
    """

    n_calls: int = 0
    unjoined: int = 0
    no_result: int = 0
    no_durations: bool = False
    _pending: dict[int, tuple[str, int]] = field(default_factory=dict)

    @property
    def halves(self) -> int:
        """Calls of which the log has only one half."""
        return self.unjoined + len(self._pending)

    def call(self, text: str) -> Call | None:
        """The call that a line ends; None where it ends none, or one without a result.

        Raises:
            ValueError: other options of strace made the log.
        """
        line = _line(text)
        if line is None or self._is_between(int(line[1]), line[3]):
            return None
        pid, rest = int(line[1]), line[3]
        start_ns = line_ns = nanoseconds(line[2])
        if (unfinished := _UNFINISHED.match(rest)) is not None:
            self._pending[pid] = (unfinished["start"], start_ns)
            return None
        if (resumed := _RESUMED.match(rest)) is not None:
            started = self._pending.pop(pid, None)
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
        _see_our_form(call["name"], call["arguments"])
        duration = _DURATION.search(after)
        self.no_durations |= duration is None
        end_ns = start_ns if duration is None else start_ns + nanoseconds(duration[1])
        return Call(
            pid=pid, name=call["name"], arguments=call["arguments"], result=result,
            error=_errno(after) if result < 0 else 0, after=after, start_ns=start_ns, end_ns=end_ns, line_ns=line_ns,
        )  # fmt: skip

    def _is_between(self, pid: int, rest: str) -> bool:
        """Whether a line is a signal or an end; a thread's execve goes on under the process's own number."""
        if not rest.startswith(("+", "-")):
            return False
        if (superseded := _SUPERSEDED.match(rest)) is not None:
            started = self._pending.pop(int(superseded[1]), None)
            if started is not None:
                self._pending[pid] = started
        return True


def _line(text: str) -> re.Match[str] | None:
    """A line's process, time and rest; None where it is no call's.

    Raises:
        ValueError: it is a call of a log that other options made.
    """
    line = _LINE.match(text)
    if line is None and _ANY_CALL.search(text) is not None and not is_between_calls(text):
        raise ValueError("a call without process id and time since 1970")
    return line


def is_between_calls(text: str) -> bool:
    """Whether a line is one that stands between calls: a signal, an end, a stack, a note, a summary."""
    return _BETWEEN.match(text) is not None


def looks_like_lines(head: bytes) -> bool:
    """Whether a file that begins so is strace's output: its first lines are calls."""
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        text = head[: error.start].decode()
    lines = text.splitlines()
    complete = lines[: max(len(lines) - 1, 1)][:_FIRST_LINES]
    between = [is_between_calls(line) for line in complete]
    calls = [_ANY_CALL.search(line) is not None for line in complete]
    # A summary (-c) is recognised too, so that a message can say what is missing.
    told = any(calls) or any(line.startswith("% time") for line in complete)
    return told and all(a or b for a, b in zip(between, calls, strict=True))


def _see_our_form(name: str, arguments: str) -> None:
    """See that calls on which much depends have their constants and strings as words.

    Raises:
        ValueError: they have not.
    """
    if name not in {"open", "openat", "lseek", "execve"}:
        return
    plain = without_strings(arguments)
    for what, pattern in _OF_OTHER_OPTIONS.items():
        if pattern.search(arguments if "hex" in what else plain) is not None:
            raise ValueError(what)
    number = _NUMBER_OF_WHENCE if name == "lseek" else _NUMBER_OF_FLAGS
    if name != "execve" and "O_" not in plain and number.search(plain) is not None:
        raise ValueError("numbers of constants (-X)")


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


def nanoseconds(seconds: str) -> int:
    """Of decimal seconds, without rounding."""
    whole, _, fraction = seconds.partition(".")
    return int(whole) * 10**9 + int(fraction.ljust(9, "0")[:9])
