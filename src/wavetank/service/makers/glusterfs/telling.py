"""Clients of a space are told by its servers what its volume is, and again when it has more bricks: ``tell.py`` runs once on each server.

What clients are told lies in a folder in memory, a file for each space. What there is, is asked from the server.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wavetank.cluster.facade import Host, Needs
from wavetank.service.core.volume import TOLD_AT_PORT, Volume
from wavetank.service.makers.glusterfs.bricks import LOCKED, MOUNTS, PYTHON
from wavetank.service.makers.run import do

PROGRAM = Path(__file__).with_name("tell.py").read_text(encoding="utf-8")
HASH = hashlib.sha256(PROGRAM.encode()).hexdigest()[:32]
_AT = f"{MOUNTS}/.tell.py"
_FOLDER = f"{MOUNTS}/.told"
# Prints "PROCESS HASH" of what tells now. Sample of a command line, with zero bytes between: "python3 -I /run/../.tell.py 9f86d081 ...".
_TELLS = rf"""
tells() {{
  for file in $(grep -l -a -s -F -e {_AT} /proc/[0-9]*/cmdline); do
    {{ tr '\0' ' ' <"$file" && echo; }} 2>/dev/null | sed -n "s,^{PYTHON} -I {_AT} \([0-9a-f]*\) .*,$(basename "$(dirname "$file")") \1,p"
  done
}}
"""
# Samples of lines: "program 9f86d081", "told sp-1f glusterfs:10.77.0.3:24100/sp-1f over".
ASK = f"""set -u
{_TELLS}
tells | sed 's/^[0-9]* /program /'
cd {_FOLDER} 2>/dev/null || exit 0
for name in *; do
  [ -e "$name" ] && read -r _ line <"$name" && echo "told $name $line"
done
exit 0
"""
_END = """
end() {
  tells | while read -r process _; do
    kill -KILL "$process" 2>/dev/null || :
    while [ -e "/proc/$process/fd/0" ]; do sleep 0.05; done
  done
}
"""
# $1 space, $2 address, $3 the program, $4 its hash; standard input: what clients are told.
PUT = f"""{LOCKED}{_TELLS}{_END}
mkdir -p {_FOLDER}
mountpoint -q {_FOLDER} || mount -t tmpfs -o size=64m,mode=755,nosuid,nodev,noexec wavetank-told {_FOLDER}
(umask 022; cat >{_FOLDER}/.new)
mv {_FOLDER}/.new "{_FOLDER}/$1"
if [ "$(tells | cut -d ' ' -f 2)" != "$4" ]; then
  end
  printf %s "$3" >{_AT}
  setsid python3 -I {_AT} "$4" {_FOLDER} "$2" {TOLD_AT_PORT} </dev/null >/dev/null 2>{MOUNTS}/.tell.log 9>&- &
  until grep -q ':{TOLD_AT_PORT:04X} 00000000:0000 0A' /proc/net/tcp; do
    kill -0 $! 2>/dev/null || {{ echo "nothing tells clients: $(tail -n 1 {MOUNTS}/.tell.log)" >&2; exit 1; }}
    sleep 0.05
  done
fi
"""
# $1 space. Where nothing is left to be told, nothing runs.
FORGET = f"""{LOCKED}{_TELLS}{_END}
rm -f "{_FOLDER}/$1"
if [ -z "$(ls {_FOLDER} 2>/dev/null)" ]; then
  end
  umount {_FOLDER} 2>/dev/null || :
fi
"""


@dataclass(frozen=True)
class Told:
    """What a server tells clients.

    Attributes:
        runs: whether this version's program does.
        volumes: space -> what they are told of it, as a line.
    """

    runs: bool
    volumes: Mapping[str, str]


def needs() -> Needs:
    """Programs of a server."""
    return Needs({"python3": "apt-get install python3", "setsid": "apt-get install util-linux"})


def told(server: Host) -> Told:
    """What a server tells clients.

    Raises:
        ServiceError: it cannot be asked.
    """
    lines = do(server, "say what it tells clients", ASK, []).stdout.splitlines()
    volumes = (line.split(" ", 2)[1:] for line in lines if line.startswith("told "))
    return Told(f"program {HASH}" in lines, dict(volumes))


def tell(server: Host, volume: Volume, spread: bool) -> None:
    """Have a server tell clients what a volume is; those that are mounted are told soon.

    Args:
        server: one of the volume's.
        volume: with all of its bricks.
        spread: whether all directories are spread over them.

    Raises:
        ServiceError: it does not.
    """
    words = [volume.space, server.address, PROGRAM, HASH]
    do(server, f"tell clients of {volume.space}", PUT, words, volume.client_file(spread))


def forget(server: Host, space: str) -> None:
    """Have a server tell nobody of a space any more.

    Raises:
        ServiceError: it cannot be asked.
    """
    do(server, f"tell nobody of {space}", FORGET, [space])
