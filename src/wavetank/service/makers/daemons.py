"""Daemons of spaces, one process for each label, each in a root of its own: it sees one file system, the programs, and nothing else.

Which file a daemon was started with is in its command line, by a hash. So what is in force is asked from the processes there are.
Other rules need another process: one that runs keeps hidden connections of clients that lost their access.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wavetank.cluster.facade import Host, Needs
from wavetank.service.makers.run import LOOK_TIMEOUT_S, do

# In a mount namespace of its own. $1 root, $2 file system, $3 where it is seen. The root is in memory, small, and gone with its process.
CONFINE = r"""
confine() {
  mkdir -p "$1"
  mount -t tmpfs -o size=8m,mode=700,nosuid,nodev,noexec wavetank-space "$1"
  for name in bin lib lib32 lib64 libx32 sbin usr; do
    if [ -L "/$name" ]; then
      cp -P "/$name" "$1/$name"
    elif [ -d "/$name" ]; then
      mkdir "$1/$name"
      mount --bind "/$name" "$1/$name"
      mount -o remount,bind,ro,nosuid "$1/$name"
    fi
  done
  mkdir -p "$1$3" "$1/dev" "$1/tmp" "$1/old" "$1/proc" "$1/etc" "$1/var/run" "$1/var/log"
  : >"$1/dev/null"
  mount --bind /dev/null "$1/dev/null"
  mount --bind "$2" "$1$3"
  mount --bind /proc "$1/proc"  # umount reads it
}
enter() {
  cd "$1"
  pivot_root . old
  umount -l /old
  rmdir /old
}
"""


@dataclass(frozen=True)
class Daemons:
    """Daemons of one kind on servers.

    Attributes:
        mounts: where file systems of spaces of this kind are mounted; the server's lock is beside it.
        words: of a command line, before the label, between label and hash, and what stands before the hash, e.g.
            ("glusterfsd --brick-name ", " --volfile /").
        signals: that end one, each 5 s after the one before.
    """

    mounts: str
    words: tuple[str, str]
    signals: tuple[str, ...]

    @property
    def locked(self) -> str:
        """Begin of scripts that alone change something on a server."""
        return f"set -eu\nPATH=$PATH:/usr/sbin:/sbin\nexec 9>{self.mounts}.lock\nflock 9\n"

    @property
    def _listed(self) -> str:
        """Prints "PROCESS LABEL HASH" of each that runs. Zero bytes stand between the words of a command line."""
        first, second = self.words
        mark = first.split()[0]
        return rf"""
listed() {{
  for file in $(grep -l -a -s -F -e {mark} /proc/[0-9]*/cmdline); do
    process=${{file#/proc/}}
    {{ tr '\0' ' ' <"$file" && echo; }} 2>/dev/null |
      sed -n "s,^[^ ]*{first}\([^ ]*\){second}\([0-9a-f]*\) .*,${{process%/cmdline}} \1 \2,p"
  done
}}
"""

    @property
    def _end(self) -> str:
        """Ends what has label $1; a process without a command line is a zombie, or ends."""
        signals = " ".join(self.signals)
        return rf"""
end() {{
  for signal in {signals} KILL; do
    left=$(listed | awk -v label="$1" '$2 == label {{ print $1 }}')
    [ -n "$left" ] || return 0
    kill -s "$signal" $left 2>/dev/null || :
    tries=0
    for process in $left; do
      while grep -q '^State:[^Z]*$' "/proc/$process/status" 2>/dev/null && [ $tries -lt 100 ]; do
        tries=$((tries + 1))
        sleep 0.05
      done
    done
  done
  [ -z "$(listed | awk -v label="$1" '$2 == label')" ] || {{ echo "a process of $1 cannot be killed" >&2; exit 1; }}
}}
"""

    @property
    def asks(self) -> str:
        """Says what runs: a line "PROCESS LABEL HASH" for each."""
        return f"{self._listed}listed\n"

    def running(self, server: Host) -> Mapping[str, str]:
        """Labels of those that run on a server, with the hash of what each was started with.

        Raises:
            ServiceError: the server cannot be asked.
        """
        said = do(server, "say what runs", self.asks, [], timeout_s=LOOK_TIMEOUT_S).stdout
        return {label: digest for _, label, digest in map(str.split, said.splitlines())}

    def start(
        self,
        server: Host,
        label: str,
        digest: str,
        script: str,
        text: str,
        words: Sequence[str] = (),
    ) -> None:
        """Start one, in place of one that runs: its clients connect again by themselves.

        Args:
            server: where the file system is mounted; else it would serve an empty folder.
            label: of the daemon, and of its file system below ``mounts``.
            digest: of what it is.
            script: starts it, in a mount namespace of its own; $1 file system, $2 label, $3 hash, then ``words``.
            text: its standard input: what it is.
            words: see there.

        Raises:
            ServiceError: it does not start.
        """  # fmt: skip
        starts = f"""{self.locked}{self._listed}{self._end}
at={self.mounts}/$1
mountpoint -q "$at"
end "$1"
script=$3
label=$1
digest=$2
shift 3
unshare --mount --propagation private sh -c "$script" sh "$at" "$label" "$digest" "$@" 9>&-
"""
        do(server, f"serve {label}", starts, [label, digest, CONFINE + script, *words], text)

    def end(self, server: Host, label: str) -> None:
        """End the one that has a label, whether it is willing or not.

        Raises:
            ServiceError: the server cannot be asked.
        """
        script = f'{self.locked}{self._listed}{self._end}end "$1"\n'
        do(server, f"end {label}", script, [label])


def needs() -> Needs:
    """Programs of a server."""
    return Needs(
        {
            "awk": "apt-get install mawk",
            **dict.fromkeys(("unshare", "pivot_root"), "apt-get install util-linux"),
        }
    )
