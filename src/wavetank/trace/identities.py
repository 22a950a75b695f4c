"""Which file each process's names led to, so that it can be compared between processes.

Reads the files of all parts; leaves columns in which equal numbers are equal names, and equal inodes and
generations one file, whichever process saw it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wavetank.trace.distinct import distinct_rows, first_places
from wavetank.trace.part import Part
from wavetank.trace.schema import UNKNOWN, Int64Array
from wavetank.trace.texts import Texts

# File systems whose inode numbers are the same on every client.
_NETWORK = frozenset(
    {
        "nfs", "nfs4", "lustre", "gpfs", "ceph", "beegfs", "cifs", "smb3", "pvfs2", "orangefs", "panfs", "wekafs",
        "gfs2", "ocfs2", "fuse.glusterfs", "fuse.ceph-fuse", "fuse.moosefs", "fuse.wavetank-nfs",
    }
)  # fmt: skip

_Making = tuple[int, int]  # path, and which one of that inode and birth the process made


@dataclass(frozen=True)
class SeenFiles:
    """Files as all processes saw them, one process after another; columns of equal length.

    A freed inode may be given out again within what birth times tell apart. Processes that make a file together
    make it under one name; files that were made under different names, or by one process in turn, are different.

    Attributes:
        start: shape (n_parts + 1,), where the files of each part begin.
        texts: names, and what symbolic links lead to.
        path: index of the name in ``texts``, the same for equal names.
        link: index of what the name leads to; UNKNOWN: it is no symbolic link.
        volumes: within which inode numbers are told apart: a device of a host, or a network file system.
        volume: index into them; UNKNOWN: it is not recorded which file it was.
        inode: equal for files of equal volume, inode number and birth; UNKNOWN: not recorded.
        generation: which one of that inode.
    """

    start: Int64Array
    texts: Texts
    path: Int64Array
    link: Int64Array
    volumes: tuple[str, ...]
    volume: Int64Array
    inode: Int64Array
    generation: Int64Array


def seen_files(parts: Sequence[Part]) -> SeenFiles:
    """The files of all parts."""
    files = [part.files for part in parts]
    n_texts = np.cumsum([0, *(len(one.texts) for one in files)])
    texts = Texts.joined([one.texts for one in files])
    path = _joined([one.path + n for one, n in zip(files, n_texts.tolist(), strict=False)])
    link = _joined(
        [
            np.where(one.link >= 0, one.link + n, UNKNOWN)
            for one, n in zip(files, n_texts.tolist(), strict=False)
        ]
    )
    path = texts.first_equal()[path]
    volumes, volume = _volumes(parts)
    known = np.flatnonzero(volume >= 0)
    inode = np.full(len(path), UNKNOWN, dtype=np.int64)
    numbers = _joined([one.inode.view(np.int64) for one in files])
    born = _joined([one.born for one in files])
    inode[known] = distinct_rows([column[known] for column in (volume, numbers, born)])[1]
    start = np.cumsum([0, *map(len, files)])
    process = np.repeat(np.arange(len(files)), np.diff(start))
    generation = _generations(
        process, path, inode,
        _joined([one.generation for one in files]),
        _joined([one.made.astype(np.int64) for one in files]) > 0,
    )  # fmt: skip
    return SeenFiles(start, texts, path, link, volumes, volume, inode, generation)


def _joined(columns: Sequence[Int64Array]) -> Int64Array:
    return np.concatenate([np.zeros(0, dtype=np.int64), *columns])


def _volumes(parts: Sequence[Part]) -> tuple[tuple[str, ...], Int64Array]:
    """Within what the inode numbers of each file are told apart.

    Hosts number their devices each by itself; the inode numbers of a network file system are its servers'.
    """
    numbers: dict[str, int] = {}
    found = []
    for part in parts:
        files = part.files
        pairs, which = distinct_rows([files.mount, files.device.view(np.int64)])
        of_pair = np.zeros(len(pairs), dtype=np.int64)
        for number, (mount_number, device) in enumerate(
            zip(pairs[:, 0].tolist(), pairs[:, 1].view(np.uint64).tolist(), strict=True)
        ):
            mount = part.mounts.get(mount_number)
            volume = f"{part.host} {device >> 32}:{device & 0xFFFFFFFF}"
            if mount is not None and mount[1] in _NETWORK:
                volume = f"{mount[1]} {mount[2]}"
            of_pair[number] = numbers.setdefault(volume, len(numbers))
        found.append(np.where(files.identified, of_pair[which], UNKNOWN))
    return tuple(numbers), _joined(found)


def _generations(
    process: Int64Array,
    path: Int64Array,
    inode: Int64Array,
    own_generation: Int64Array,
    made: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> Int64Array:
    """Which one of the files of its inode each name led to, in the order in which they were made."""
    generation = np.zeros(len(path), dtype=np.int64)
    making = np.flatnonzero(made & (inode >= 0))
    different = distinct_rows([column[making] for column in (inode, path, own_generation)])[1]
    made_once = making[first_places(different)]
    n_made = np.bincount(inode[made_once], minlength=int(inode.max(initial=0)) + 1)
    several = np.flatnonzero((inode >= 0) & (n_made[inode] > 1))
    makings: defaultdict[int, list[_Making]] = defaultdict(list)
    for row in np.sort(made_once[n_made[inode[made_once]] > 1]).tolist():
        makings[int(inode[row])].append((int(path[row]), int(own_generation[row])))
    own: dict[tuple[int, int, int], _Making] = {}
    for row in several[made[several]].tolist():
        key = (int(process[row]), int(inode[row]), int(own_generation[row]))
        own.setdefault(key, (int(path[row]), key[2]))
    for row in several.tolist():
        of_inode = makings[int(inode[row])]
        mine = own.get((int(process[row]), int(inode[row]), int(own_generation[row])))
        if mine is not None:
            generation[row] = of_inode.index(mine)
            continue
        same_name = [n for n, (name, _) in enumerate(of_inode) if name == path[row]]
        generation[row] = same_name[-1] if same_name else len(of_inode) - 1
    return generation
