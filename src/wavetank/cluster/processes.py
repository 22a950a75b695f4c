"""Processes of this machine: found by their environment or their command line, and ended."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Literal

PATIENT_TRIES = "20"  # of END, a tenth of a second each

# $1, $2: the mark and its value. Ends every process that has it in its environment; the dead have none any more.
# $3: tries (a tenth of a second each) before they are killed; at the first they are asked to end. 0 where left out.
# Both come apart, as sudo copies the command line into the environment of what it runs (SUDO_COMMAND).
END = """marked() {
  if printf 'a\\0b' | grep -qF b; then
    grep -lsF -- "$1=$2" /proc/[0-9]*/environ
  else  # busybox: to its grep a line ends at the first NUL
    for file in /proc/[0-9]*/environ; do
      if tr '\\0' '\\n' 2>/dev/null <"$file" | grep -qxF -- "$1=$2"; then echo "$file"; fi
    done
  fi
} 2>/dev/null
tries=0
while found=$(marked "$1" "$2"); [ -n "$found" ]; do
  signal=KILL
  if [ "$tries" -lt "${3:-0}" ]; then signal=0; [ "$tries" -gt 0 ] || signal=TERM; fi
  for file in $found; do
    pid=${file#/proc/}
    kill -"$signal" "${pid%/environ}" 2>/dev/null
  done
  tries=$((tries + 1))
  [ "$tries" -le 100 ] || { echo "processes do not end: $found" >&2; exit 1; }
  sleep 0.1 2>/dev/null || sleep 1
done
"""


def words_of_processes(what: Literal["environ", "cmdline"]) -> Iterator[tuple[int, list[bytes]]]:
    """Number and words of each process but this one; those that ended or are another user's left out."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                yield int(entry.name), (entry / what).read_bytes().split(b"\0")


def marked(mark: str) -> set[int]:
    """Numbers of those with NAME=VALUE in their environment; the dead have none any more."""
    return {pid for pid, words in words_of_processes("environ") if os.fsencode(mark) in words}


def end_all(find: Callable[[], Collection[int]], within_s: float) -> list[int]:
    """Kill what is found until nothing is found any more; says what does not end in time."""
    deadline = time.monotonic() + within_s
    while found := find():
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return sorted(found)
        time.sleep(0.01)
    return []
