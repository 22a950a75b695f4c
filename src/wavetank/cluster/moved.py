"""How much the ranks of a replay have moved on hosts whose processes this machine does not see: guests, hosts over ssh.

For progress alone. A small loop on each host prints what Linux counts of each rank; it ends with its connection, or with the ranks.
"""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import threading
from collections.abc import Callable, Collection, Iterator

from wavetank.cluster.command_host import END_TIMEOUT_S, end_read
from wavetank.cluster.host import EndsMarked, Host

EVERY_S = 2
_COUNTED = re.compile(r"(/proc/\d+/io):([rw]char): (\d+)$")

# $1: a word of the ranks' command line, $2: seconds between two readings. Lines "/proc/71/io:rchar: 4096". Searching reads the
# command lines of all processes: in every fifth reading, and until a rank is found. The loop ends when the ranks have.
LOOP = """word=$1 every=$2 found= turn=0
while :; do
  if [ -z "$found" ] || [ "$turn" -ge 5 ]; then
    turn=0
    for each in $(grep -lsF -- "$word" /proc/[0-9]*/cmdline); do
      at=${each%/cmdline} name=
      read -r name 2>/dev/null <"$at/comm"
      case $name in
        wavetank-replay*) case " $found " in *" $at/io "*) ;; *) found="$found $at/io" ;; esac ;;
      esac
    done
  fi
  turn=$((turn + 1))
  if [ -n "$found" ]; then grep -sH char: $found || exit 0; else echo || exit 1; fi
  sleep "$every"
done
"""


@contextlib.contextmanager
def moved_on(
    hosts: Collection[Host], word: str, every_s: float = EVERY_S
) -> Iterator[Callable[[], int]]:
    """Count while the ``with`` block lasts; gives what tells the bytes that ranks have moved so far.

    Args:
        hosts: that ranks run on. Those whose processes this machine sees are left to who asks.
        word: of the ranks' command line, of this run alone.
        every_s: seconds between two readings.
    """
    counted: dict[tuple[str, str, str], int] = {}
    loops = {
        host.name: _start(host, word, every_s) for host in hosts if isinstance(host, EndsMarked)
    }
    readers = [
        threading.Thread(target=_read, args=(name, loop, counted), name="moved", daemon=True)
        for name, loop in loops.items()
    ]
    try:
        for reader in readers:
            reader.start()
        yield lambda: sum(list(counted.values()))
    finally:
        for loop in loops.values():
            end_read(loop)
        for reader in readers:
            reader.join(END_TIMEOUT_S)


def _start(host: Host, word: str, every_s: float) -> subprocess.Popen[str]:
    argv, env = host.reaching(["sh", "-c", LOOP, "sh", word, f"{every_s:g}"], {})
    return subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True,
        errors="replace", start_new_session=True,
    )  # fmt: skip


def _read(name: str, loop: subprocess.Popen[str], counted: dict[tuple[str, str, str], int]) -> None:
    with contextlib.closing(loop.stdout or io.StringIO()) as lines:
        for line in lines:
            if found := _COUNTED.match(line):
                counted[name, found[1], found[2]] = int(found[3])
