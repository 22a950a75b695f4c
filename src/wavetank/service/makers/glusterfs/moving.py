"""A volume that got new bricks: its clients are waited for until they use them, then files are moved to where they belong, by ``move.py``.

A client that does not know a new brick would miss what lies there, and would spread directories over the old ones again. How many
connections a client has to each brick tells whether it knows all of them. Which clients there are is not known otherwise.
"""

from __future__ import annotations

import hashlib
import ipaddress
import socket
import struct
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from wavetank.cluster.facade import Host, Needs, on_all
from wavetank.errors import ServiceError
from wavetank.service.core.orders import UnfinishedError
from wavetank.service.core.records import Access
from wavetank.service.core.volume import Identity, Volume, as_comment
from wavetank.service.makers.glusterfs.bricks import FILES_OF, LOCKED, MOUNTS, PYTHON, Keys
from wavetank.service.makers.run import do

PROGRAM = Path(__file__).with_name("move.py").read_text(encoding="utf-8")
_AT = f"{MOUNTS}/.move.py"
_FOLDER = f"{MOUNTS}/.moves"
LOOKS, PAUSE_S = 3, 2.0
"""As many looks in a row must find all bricks known: a client that lost its server asks again after 3 s (10.3)."""
LONGEST_WAIT_S = 15.0
LONGEST_MOVE_S = 10.0
"""In one call, as other spaces wait meanwhile; the files are moved in the background."""
MOVE_PAUSE_S = 0.5
ANYWHERE = "0.0.0.0/0"
# $1: port of a brick as four hexadecimal digits. Sample of a line: "03004D0A 2", an address as /proc/net/tcp has it, and its connections.
CONNECTED = """exec awk -v port="$1" '$4 == "01" && substr($2, 10) == port { split($3, from, ":"); n[from[1]]++ }
  END { for (each in n) print each, n[each] }' /proc/net/tcp
"""
# $1 space. Prints "PROCESS HASH" of what moves its files.
_MOVES = rf"""
moves() {{
  for file in $(grep -l -a -s -F -e {_AT} /proc/[0-9]*/cmdline); do
    {{ tr '\0' ' ' <"$file" && echo; }} 2>/dev/null |
      sed -n "s,^{PYTHON} -I {_AT} \([0-9a-f]*\) {_FOLDER}/$1[.]volume .*,$(basename "$(dirname "$file")") \1,p"
  done
}}
end() {{
  moves "$1" | while read -r process _; do
    kill -KILL "$process" 2>/dev/null || :
    while [ -e "/proc/$process/fd/0" ]; do sleep 0.05; done
  done
}}
"""
END = f"""{LOCKED}{_MOVES}
end "$1"
rm -f "{_FOLDER}/$1".*
"""
# $1 space, $2 hash, $3 the program, $4 what it is to do; standard input: the volume. Says "runs", or what came of it.
# What failed is begun anew the next time.
MOVE = f"""{LOCKED}{_MOVES}{FILES_OF}
said={_FOLDER}/$1.said
mkdir -p {_FOLDER}
case $(cat "$said" 2>/dev/null) in
"done $2 "*) exec cat "$said" ;;
"failed $2 "*) cat "$said"; exec rm "$said" ;;
esac
if [ "$(moves "$1" | cut -d ' ' -f 2)" != "$2" ]; then
  end "$1"
  rm -f "$said"
  printf %s "$3" >{_AT}
  (
    umask 077
    cat >"{_FOLDER}/$1.volume"
    files_of "{_FOLDER}/$1.volume" "{_FOLDER}/$1."
  )
  setsid python3 -I {_AT} "$2" "{_FOLDER}/$1.volume" "$said" "$4" </dev/null >/dev/null 2>&1 9>&- &
fi
echo runs
"""


def needs() -> Needs:
    """Programs and libraries of a server: libgfapi comes with glusterfsd."""
    return Needs({"awk": "apt-get install mawk", "python3": "apt-get install python3"})


def wait_for_clients(
    bricks: Sequence[tuple[Host, int]], access: Iterable[Access], sleep_s: float = PAUSE_S
) -> None:
    """Wait until each client that is mounted uses all bricks.

    Args:
        bricks: server and port of each.
        access: rules of the space: connections from elsewhere are no clients of it. Where one is by certificate, clients may be anywhere.
        sleep_s: between two looks, in seconds.

    Raises:
        UnfinishedError: one does not yet.
        ServiceError: a server cannot be asked.
    """
    networks = [
        ipaddress.ip_network(rule.subject if rule.kind == "ip" else ANYWHERE) for rule in access
    ]
    ends = time.monotonic() + LONGEST_WAIT_S
    good = 0
    while True:
        connected = on_all(list(bricks), lambda brick: _connected(*brick, networks))
        if not any(connected):
            return
        late = those_without(connected)
        good = 0 if late else good + 1
        if good >= LOOKS:
            return
        if late and time.monotonic() > ends:
            raise UnfinishedError(
                f"{', '.join(late)} has not taken the new servers yet. Where that stays so for a minute, unmount the "
                "space there; mount it again by 'wavetank space mount'"
            )
        time.sleep(sleep_s)


def those_without(connected: Sequence[Mapping[str, int]]) -> list[str]:
    """Addresses of clients that do not use all bricks.

    A client has one connection to each brick that it knows. One that was told of new bricks, and did nothing since, has two to old ones.

    Args:
        connected: for each brick, address -> connections.
    """
    found = []
    for address in {each for brick in connected for each in brick}:
        counts = [brick.get(address, 0) for brick in connected]
        if max(counts) > 2 * min(counts):
            found.append(address)
    return sorted(found, key=ipaddress.ip_address)


def _connected(
    server: Host, port: int, networks: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]
) -> dict[str, int]:
    lines = do(server, "count its clients", CONNECTED, [f"{port:04X}"]).stdout.splitlines()
    found = {}
    for line in lines:
        word, n = line.split()
        address = socket.inet_ntoa(struct.pack("<I", int(word, 16)))
        if any(ipaddress.ip_address(address) in network for network in networks):
            found[address] = int(n)
    return found


def move(server: Host, volume: Volume, keys: Keys | None, what: Literal["spread", "move"]) -> None:
    """Spread directories, or move files, to where they belong. A server that was told to goes on by itself.

    Args:
        server: one that all bricks let in.
        volume: with its new bricks.
        keys: of the space, where it has any.
        what: is to be done.

    Raises:
        UnfinishedError: it has not ended yet.
        ServiceError: it failed, or the server cannot be asked.
    """
    version = hashlib.sha256(f"{PROGRAM}{volume.export()} {what}".encode()).hexdigest()[:32]
    words = [volume.space, version, PROGRAM, what]
    at = f"{_FOLDER}/{volume.space}"
    text = volume.mover_file(Identity(f"{at}.identity", f"{at}.identity", f"{at}.authority"))
    if keys is not None and volume.certificate is not None:
        text = (
            as_comment("identity", keys.mover) + as_comment("authority", volume.certificate) + text
        )
    ends = time.monotonic() + LONGEST_MOVE_S
    while True:
        said = do(server, f"move files of {volume.space}", MOVE, words, text).stdout
        if said.startswith("done "):
            return
        if said.startswith("failed "):
            why = said.split(" ", 2)[2].strip()
            raise ServiceError(
                f"its files are not all moved to its new servers: {why}. Try it again"
            )
        if time.monotonic() > ends:
            raise UnfinishedError(
                "files are being moved to the new servers; it can be used meanwhile"
            )
        time.sleep(MOVE_PAUSE_S)


def let_clients_begin_anew() -> None:
    """Wait as long as clients take to do as they are told; one that does it later is slower, and nothing else."""
    time.sleep(LOOKS * PAUSE_S)


def end(server: Host, space: str) -> None:
    """End what moves files of a space, and forget what came of it.

    Raises:
        ServiceError: the server cannot be asked.
    """
    do(server, f"end moving files of {space}", END, [space])
