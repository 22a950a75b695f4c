"""Which file each process's names led to, so that it can be compared between processes.

Reads the parts of the processes; leaves identities that are equal for all names of one file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from wavetank.trace.part import Part, PartFile
from wavetank.trace.schema import FileIdentity

# File systems whose inode numbers are the same on every client.
_NETWORK = frozenset(
    {
        "nfs", "nfs4", "lustre", "gpfs", "ceph", "beegfs", "cifs", "smb3", "pvfs2", "orangefs", "panfs", "wekafs",
        "gfs2", "ocfs2", "fuse.glusterfs", "fuse.ceph-fuse", "fuse.wavetank-nfs",
    }
)  # fmt: skip

_Inode = tuple[str, int, int | None]  # volume, inode, birth
_Making = tuple[str, int]  # path, and which one of that inode and birth the process made


class Identities:
    """The identities of all files of all parts.

    A freed inode may be given out again within what birth times tell apart. Processes that make a file together
    make it under one name; files that were made under different names, or by one process in turn, are different.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self._makings: defaultdict[_Inode, list[_Making]] = defaultdict(list)
        self._own: dict[tuple[int, _Inode, int], _Making] = {}
        for part in parts:
            for number in sorted(part.files):
                seen = part.files[number]
                inode = _inode(part, seen)
                if inode is None or not seen.made:
                    continue
                making = (seen.path, seen.generation)
                self._own.setdefault((id(part), inode, seen.generation), making)
                if making not in self._makings[inode]:
                    self._makings[inode].append(making)

    def of(self, part: Part, seen: PartFile) -> FileIdentity | None:
        """The file that a name of a process led to; None: not recorded."""
        inode = _inode(part, seen)
        if inode is None:
            return None
        return FileIdentity(*inode, generation=self._generation(part, seen, inode))

    def _generation(self, part: Part, seen: PartFile, inode: _Inode) -> int:
        makings = self._makings.get(inode, [])
        if len(makings) < 2:
            return 0
        own = self._own.get((id(part), inode, seen.generation))
        if own is not None:
            return makings.index(own)
        same_name = [n for n, (path, _) in enumerate(makings) if path == seen.path]
        return same_name[-1] if same_name else len(makings) - 1


def _inode(part: Part, seen: PartFile) -> _Inode | None:
    """Hosts number their devices each by itself; the inode numbers of a network file system are its servers'."""
    if seen.identity is None:
        return None
    device, inode, born_ns = seen.identity
    mount = part.mounts.get(seen.mount) if seen.mount is not None else None
    if mount is not None and mount[1] in _NETWORK:
        return f"{mount[1]} {mount[2]}", inode, born_ns
    return f"{part.host} {device >> 32}:{device & 0xFFFFFFFF}", inode, born_ns
