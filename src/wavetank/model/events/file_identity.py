"""Joins the names of one file: hard and symbolic links, what it was renamed to, spellings of one path.

Reads a trace whose files are names; leaves one file for all names of each, and says by rows which name a call
was made on. What is one file, and what is not, is decided in docs/decisions/one-file-under-all-names.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from wavetank.trace import arguments
from wavetank.trace.call_details import with_names
from wavetank.trace.ops import OPS_BY_NAME, codes_where
from wavetank.trace.schema import (
    UNKNOWN,
    FileIdentity,
    FoldTable,
    Int64Array,
    OtherName,
    Trace,
    TracedFile,
)
from wavetank.trace.texts import Texts
from wavetank.trace.traced_files import TracedFiles

_T = TypeVar("_T")
_NAMELESS = re.compile(r"/#\d+$")  # what Linux calls a file that O_TMPFILE made

NAMED_OPS = frozenset(
    {
        "open", "stat", "access", "truncate", "unlink", "rename", "link", "symlink", "mkdir", "rmdir", "mknod",
        "chmod", "chown", "utime", "readlink", "MPI_File_open", "MPI_File_delete",
    }
)  # fmt: skip
"""Calls on a file's name; all others are on what is open."""
NAME_CHANGES = frozenset({"unlink", "rename", "link", "symlink"})
"""Calls that make a name, or take one away."""

# FUSE file systems whose inode numbers are their servers'. Those of the others may be made up anew at each look-up
# (libfuse without use_ino), or come from several disks at once (mergerfs, bindfs).
_SOUND_FUSE = frozenset(
    {"fuse.glusterfs", "fuse.ceph-fuse", "fuse.moosefs", "fuse.wavetank-nfs", "fuseblk"}
)


def plain_path(path: str) -> str:
    """A path without empty and "." parts. ".." stays: behind a symbolic link it leads elsewhere."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return ("/" if path.startswith("/") else "") + "/".join(parts)


@dataclass
class _File:
    """One file, with its entries of ``Trace.files`` in the order of their use."""

    members: list[int] = field(default_factory=list)
    paths: dict[str, bool] = field(default_factory=dict)  # plain; True: a symbolic link

    def add(self, number: int, path: str, symlink: bool) -> None:
        self.members.append(number)
        self.paths[path] = self.paths.get(path, True) and symlink


def join_names(trace: Trace, table: FoldTable) -> tuple[Trace, FoldTable, list[str]]:
    """The trace with one file for all its names, and sentences about spellings of one path.

    ``CallDetails.name`` says which of the file's names a row's call was made on. The name of a file is the one that
    it had last where it was renamed, else the one that was used first.
    """
    every = TracedFiles.of(trace.files)
    names = every.paths
    if not names.are_plain_paths():
        names = Texts.of(map(plain_path, names))
    first_equal = names.first_equal()
    if every.apart and (first_equal == np.arange(len(names))).all():
        return trace, table, []
    if len(table) and int(table.file.max()) >= len(names):
        return trace, table, []  # damage, which is found later
    involved = _involved(every, names, first_equal)
    entries = {number: every[number] for number in involved}
    paths = {number: names[number] for number in involved}
    calls = _Calls(table, len(names))
    files = _with_others(_by_identity(entries, paths, calls), entries, paths)
    of_entry = np.arange(len(names) + 1)
    name_of = np.zeros(len(names) + 1, dtype=np.int32)  # number of the name that a call was made on
    traced: dict[int, TracedFile] = {}
    spelled: dict[str, str] = {}
    for number, path in paths.items():
        spelled.setdefault(path, entries[number].path)
    for file in files:
        first = min(file.members)
        own = _own_name(file, paths, calls)
        others = [path for path in file.paths if path != own]
        numbers = {path: number for number, path in enumerate(others, start=1)}
        for member in file.members:
            of_entry[member] = first
            name_of[member] = numbers.get(paths[member], 0)
        known = next((n for n in file.members if entries[n].identity is not None), first)
        traced[first] = replace(
            entries[known],
            path=spelled[own],
            hints=_first(entries[n].hints for n in file.members),
            hints_in_force=_first(entries[n].hints_in_force for n in file.members),
            striping=_first(entries[n].striping for n in file.members),
            directory=any(entries[n].directory for n in file.members),
            other_names=tuple(OtherName(spelled[path], file.paths[path]) for path in others),
        )
    of_entry[-1] = -1  # of rows without a file
    notes = [
        f"{file.path} is the same file under another spelling of its name"
        for path, file in zip(paths.values(), entries.values(), strict=True)
        if spelled[path] != file.path
    ]
    joined = replace(table, file=of_entry[table.file].astype(np.int32))
    if name_of.any():
        codes = codes_where(lambda op: op.name in NAMED_OPS)
        joined = with_names(joined, np.where(codes[table.op], name_of[table.file], 0))
    return replace(trace, files=every.changed(traced)), joined, notes


def _involved(files: TracedFiles, names: Texts, first_equal: Int64Array) -> list[int]:
    """The entries that may be one file with another one, ascending: all others are files of their own."""
    n = len(files)
    chosen = np.bincount(first_equal, minlength=n)[first_equal] > 1
    identity = files.identity_numbers()
    known = identity >= 0
    chosen[known] |= (np.bincount(identity[known]) > 1)[identity[known]]
    links = files.numbers(attribute="symlink_to")
    chosen[links] = True
    targets = {plain_path(files[link].symlink_to or "") for link in links}
    if targets:
        chosen |= np.fromiter((name in targets for name in names), dtype=bool, count=n)
    return [int(number) for number in np.flatnonzero(chosen)]


def _first(values: Iterable[tuple[_T, ...]]) -> tuple[_T, ...]:
    found = list(values)
    return next((value for value in found if value), found[0])


class _Calls:
    """What the calls on names say: which entries they relate, which names were removed."""

    def __init__(self, table: FoldTable, n_files: int) -> None:
        done = (table.error == 0) & (table.file >= 0)
        self.related = self._entries(table, done, arguments.ON_TWO_NAMES, n_files)
        self.removed = self._entries(table, done, frozenset({"unlink", "rmdir"}), n_files)
        renames = done & (table.op == OPS_BY_NAME["rename"].code)
        renamed = np.flatnonzero(renames & arguments.is_new_name(table))
        self.last_rename = np.full(n_files, UNKNOWN, dtype=np.int64)  # when each name was a new one
        np.maximum.at(self.last_rename, table.file[renamed], table.start_ns[renamed])

    @staticmethod
    def _entries(
        table: FoldTable, done: np.ndarray, names: frozenset[str], n_files: int
    ) -> Int64Array:
        rows = done & np.isin(table.op, [OPS_BY_NAME[name].code for name in names])
        return np.bincount(table.file[rows], minlength=n_files)


def _by_identity(
    files: Mapping[int, TracedFile], paths: Mapping[int, str], calls: _Calls
) -> list[_File]:
    """One file for all names of each identity; those with the same names, one after another, are one too."""
    related: set[FileIdentity] = set()
    removed: set[FileIdentity] = set()
    for number, file in files.items():
        if file.identity is not None:
            if calls.related[number]:
                related.add(file.identity)
            if calls.removed[number]:
                removed.add(file.identity)
    found: dict[object, _File] = {}
    for number, file in files.items():
        if file.identity is None:
            continue
        path = paths[number]
        doubtful = _is_doubtful(file) or (
            file.identity.born_ns is None and file.identity in removed
        )
        alone = doubtful and file.identity not in related
        key = (file.identity, path) if alone else file.identity
        found.setdefault(key, _File()).add(number, path, file.symlink_to is not None)
    merged: dict[frozenset[str], _File] = {}
    for one in found.values():
        into = merged.setdefault(frozenset(one.paths), one)
        if into is not one:
            into.members += one.members
    return list(merged.values())


def _is_doubtful(file: TracedFile) -> bool:
    """Whether equal inode numbers may be those of different files."""
    kind = file.file_system or ""
    return kind == "9p" or (kind.startswith("fuse") and kind not in _SOUND_FUSE)


def _with_others(
    found: list[_File], files: Mapping[int, TracedFile], paths: Mapping[int, str]
) -> list[_File]:
    """The files, with the entries of which only the name is known: of the first file that has the name."""
    of_path: dict[str, _File] = {}
    for one in found:
        for path in one.paths:
            of_path.setdefault(path, one)
    links = [n for n, file in files.items() if file.identity is None and file.symlink_to]
    plain = [n for n, file in files.items() if file.identity is None and not file.symlink_to]
    for number in (*plain, *links):
        target = files[number].symlink_to
        behind = of_path.get(plain_path(target)) if target else None
        one = of_path.get(paths[number]) or behind or _File()
        if not one.members:
            found.append(one)
        of_path.setdefault(paths[number], one)
        one.add(number, paths[number], target is not None)
    return found


def _own_name(file: _File, paths: Mapping[int, str], calls: _Calls) -> str:
    names = [path for path, symlink in file.paths.items() if not symlink] or list(file.paths)
    names = [path for path in names if not _NAMELESS.search(path)] or names
    last = max(file.members, key=lambda number: calls.last_rename[number])
    if calls.last_rename[last] != UNKNOWN and paths[last] in names:
        return paths[last]
    return names[0]
