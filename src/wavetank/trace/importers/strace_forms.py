"""What strace's options change in a line: colours, leaders, argument names, strings in hex.

Brings lines of strace 6.1 to 7.2 to one form, as -f -ttt -y -T writes it. Sample leaders
    4242 1700000000.123456 read(                 -f -ttt in a file
    [pid  4242<cat>] 12:34:56.123456 read(       -f -tt -Y
    4242      0.000042 [   0] [00007f51a2f3c1d2] read(       -f -r -n -i
"""

from __future__ import annotations

import re
from typing import NamedTuple

from wavetank.trace.schema import UNKNOWN

_COLOUR = re.compile(r"\x1b\[[0-9;]*[mK]")  # 7.0 --color
_LINE = re.compile(
    r"^(?:\[pid +(?P<tagged>\d+)(?:<[^>]*>)?\] |(?P<pid>\d{1,7})(?:<[^>]*>)? +)?(?:\[[^]\s]*:[^]\s]*\] )? *"
    r"(?:(?:(?P<clock>\d\d:\d\d:\d\d(?:\.\d+)?)|(?P<time>\d+\.\d+|\d{9,})) (?:\(\+ *\d+(?:\.\d+)?\) )?)?"
    r"(?:\[[ 0-9a-fx?]+\] ){0,2}(?P<rest>[a-z<_+-].*)$"
)
_USUAL = re.compile(r"(\d{1,7}) +(\d{9,}\.\d+) ([a-z<].*)$")  # the same of -f -ttt, for speed
# What is between calls: signals, ends, stack traces (-k), notes, a summary (-c).
_BETWEEN = re.compile(
    r"^(?:\[pid +\d+[^]]*\] |\d{1,7}(?:<[^>]*>)? +)?(?:[\d:.]+ )?(?:---|\+\+\+| *>|\[ Process|strace: |% time|------)"
)
_FIRST_ABSOLUTE_S = 100_000_000  # smaller times are relative ones
_DAY_S = 86_400
_PRINTABLE_HEX = re.compile(r"\\x([2-7][0-9a-f])")
_ESCAPE = re.compile(rb"\\(x[0-9a-f]{2}|[0-7]{1,3}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_NAMED = re.compile(r"[a-z_0-9]+=")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>]*(?:<[^<>]*>)?>|[\[{()}\]]|, ')

# An open file behind its descriptor's number: a path, a device (-yy: </dev/sda<block 8:0>>), or a socket (<TCP:[a->b]>);
# behind it "(deleted)" and SELinux' context (--secontext).
IN_ANGLES = (
    r"<([A-Za-z][\w+-]*:\[.*?\]|[^<>]*(?:<[^<>]*>)?)>(?:\(deleted\))?(?: \[[^]\s]*:[^]\s]*\])?"
)


class Line(NamedTuple):
    """A line without its leader.

    Attributes:
        pid: None where the line has none.
        seconds: of its time, as text: since 1970, of the day, or since the line before; None: it has none.
        of_day: seconds are of the day.
        relative: seconds are since the line before.
        rest: the call.
    """

    pid: int | None
    seconds: str | None
    of_day: bool
    relative: bool
    rest: str


def parsed(text: str) -> Line | None:
    """A line; None where it has no leader and is no call's."""
    if (usual := _USUAL.match(text)) is not None:
        return Line(int(usual[1]), usual[2], False, False, usual[3])
    match = _LINE.match(without_colours(text))
    if match is None:
        return None
    named, clock, time = match["tagged"] or match["pid"], match["clock"], match["time"]
    if clock is not None:
        hours, minutes, seconds = clock.split(":")
        whole, _, fraction = seconds.partition(".")
        time = f"{int(hours) * 3600 + int(minutes) * 60 + int(whole)}.{fraction or 0}"
    relative = clock is None and time is not None and float(time) < _FIRST_ABSOLUTE_S
    pid = None if named is None else int(named)
    return Line(pid, time, clock is not None, relative, match["rest"])


def is_between_calls(text: str) -> bool:
    """Whether a line is one that stands between calls: a signal, an end, a stack, a note, a summary."""
    return _BETWEEN.match(without_colours(text)) is not None


def without_colours(text: str) -> str:
    """A line without the terminal's colours."""
    return _COLOUR.sub("", text) if "\x1b" in text else text


class Clock:
    """Times of a log's lines, ns: since 1970, or since an unknown time where the log has only those of day or steps."""

    def __init__(self) -> None:
        self._relative_ns = 0
        self._day = 0
        self._last_ns = 0

    def ns(self, line: Line) -> int:
        """The time of the next line; UNKNOWN where it has none."""
        if line.seconds is None:
            return UNKNOWN
        found = nanoseconds(line.seconds)
        if line.relative:
            self._relative_ns += found
            return self._relative_ns
        if line.of_day:
            if found + self._day < self._last_ns - _DAY_S * 10**9 // 2:  # past midnight
                self._day += _DAY_S * 10**9
            found += self._day
            self._last_ns = max(self._last_ns, found)
        return found


def nanoseconds(seconds: str) -> int:
    """Of decimal seconds, without rounding."""
    whole, _, fraction = seconds.partition(".")
    return int(whole) * 10**9 + int(fraction.ljust(9, "0")[:9])


def plain_arguments(arguments: str) -> str:
    """Arguments without their names (-N), and without hex where a character can be printed (-xx)."""
    if "\\x" in arguments:
        arguments = _PRINTABLE_HEX.sub(_printable, arguments)
    if _NAMED.match(arguments) is None:
        return arguments
    parts, depth, begin = [], 0, 0
    for token in _TOKEN.finditer(arguments):
        what = token[0]
        depth += (what in "[{(") - (what in "]})")
        if what == ", " and depth == 0:
            parts.append(arguments[begin : token.start()])
            begin = token.end()
    return ", ".join(
        _NAMED.sub("", part, count=1) if _NAMED.match(part) else part
        for part in (*parts, arguments[begin:])
    )


def _printable(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16))
    return match[0] if character in '"\\<>\x7f' else character


def unescaped(path: str) -> str:
    """A path with the escapes of strace's strings put back; bytes that are not UTF-8 stay escapes."""
    if "\\" not in path:
        return path
    return _ESCAPE.sub(_unescape, path.encode()).decode(errors="backslashreplace")


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if code.startswith(b"x") and len(code) == 3:
        return bytes([int(code[1:], 16)])
    if code[:1].isdigit():
        return bytes([int(code, 8) & 255])
    return _LETTERS.get(code, code)
