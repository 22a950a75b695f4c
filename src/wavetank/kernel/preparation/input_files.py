"""Making a kernel's files before it runs: real content, on storage, and never over somebody's data.

The names that were made in a directory are kept there in ``.wavetank-files.json``; a file of the same
name that is not in that list is somebody else's, and is left alone.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from io import FileIO
from pathlib import Path

from wavetank.document import write_whole
from wavetank.errors import KernelError
from wavetank.kernel.document.kernel import Kernel, KernelFile, folders_beforehand
from wavetank.kernel.preparation.pattern import content, part
from wavetank.kernel.preparation.space import written_bytes
from wavetank.steps import doing
from wavetank.units import format_size

MARKER = ".wavetank-files.json"
_SAMPLE = 64 * 1024  # bytes compared at the start, middle and end of a file that is there already


def prepare_files(
    kernel: Kernel, root: Path, progress: Callable[[str], None] = lambda _: None
) -> None:
    """Make the kernel's input files below ``root`` and remove what an earlier run left of the others.

    Input files hold the kernel's pattern, are not sparse, and are on storage when this returns. A file
    that is there already with the right size and content is kept.

    Args:
        kernel: the kernel.
        root: an existing directory.
        progress: told each file that is written.

    Raises:
        KernelError: no such directory, not enough space, or a file that wavetank did not make is in the way.
    """
    if not root.is_dir():
        raise KernelError(f"{root} is not a directory. Make it, or name another one to replay in")
    ours = _made_here(root)
    _refuse_others(kernel, root, ours)
    missing = [
        (name, file, size)
        for file in kernel.files
        for name, size in file.stored()
        if size > 0 and not _has_content(root / name, file.content_id, size)
    ]
    _check_space(kernel, missing, root)
    folders = folders_beforehand(kernel.files)
    try:
        write_whole(
            root / MARKER,
            json.dumps(sorted({*ours, *_names(kernel), *_missing(folders, root)}), indent=1) + "\n",
        )
        _make_folders(kernel, root)
        there = {name for file in kernel.files for name in file.prepared_names}
        for name in sorted(set(_names(kernel)) - there - set(folders), reverse=True):
            _remove(root / name)
        for name in folders:
            (root / name).mkdir(exist_ok=True)
        empty = [
            (name, file)
            for file in kernel.files
            if file.is_prepared
            for name, size in file.stored()
            if size == 0
        ]
        files = [*missing, *((name, file, 0) for name, file in empty if not file.directory)]
        _write(files, root, progress)
        for name, file in empty:
            if file.directory:
                (root / name).mkdir(exist_ok=True)
        for file in kernel.files:
            for name in file.entry_names:
                (root / name).touch()
        for file in kernel.files:
            _link_names(file, root)
    except OSError as error:
        raise KernelError(f"cannot prepare the kernel's files in {root}: {error}") from error


_SYNCED_AT_ONCE = 16
"""Files that wait for storage: a disk that flushes its cache serves all that wait. One by one, 10,000 take 10,000 flushes."""


def _write(
    files: Sequence[tuple[str, KernelFile, int]], root: Path, progress: Callable[[str], None]
) -> None:
    """Write files of some sizes and have them on storage."""
    if not files:
        return
    written = 0
    waiting: deque[Future[None]] = deque()
    size_bytes = sum(size for _, _, size in files)
    with (
        doing("writing input files", size_bytes, "B") as writing,
        ThreadPoolExecutor(_SYNCED_AT_ONCE) as syncing,
    ):
        for name, file, size in files:
            if size and file.members is None:
                progress(f"writing {name}, {format_size(size)}")
            _remove(root / name)  # it may be a link to another one of the files
            stream = (root / name).open("wb", buffering=0)
            try:
                for n in _written(stream, file.content_id, size):
                    written += n
                    writing.at(written)
            except BaseException:
                stream.close()
                raise
            waiting.append(syncing.submit(_have_on_storage, stream))
            if len(waiting) > _SYNCED_AT_ONCE:
                waiting.popleft().result()
        while waiting:
            waiting.popleft().result()


def _names(kernel: Kernel) -> list[str]:
    """All that is made below the root, before or in the run, without the directories that only lead there."""
    return [
        *(name for file in kernel.files for name in file.stored_names()),
        *(name for file in kernel.files for name in file.entry_names),
    ]


def _missing(folders: Sequence[str], root: Path) -> list[str]:
    return [name for name in folders if not (root / name).is_dir()]


def _make_folders(kernel: Kernel, root: Path) -> None:
    """Folders of files with members of their own. A file that wavetank made under such a name gives way."""
    for file in kernel.files:
        if file.own_folder:
            if (root / file.name).is_symlink() or (root / file.name).is_file():
                (root / file.name).unlink()
            (root / file.name).mkdir(exist_ok=True)


def _link_names(file: KernelFile, root: Path) -> None:
    """Make the further names that are to be there: hard links, and symbolic ones relative to their folder."""
    for other in file.other_names:
        path = root / other.name
        if other.prepared is None:
            continue
        _remove(path)
        if other.prepared == "link":
            path.hardlink_to(root / file.name)
        else:
            path.symlink_to(os.path.relpath(root / file.name, path.parent))


def remove_files(kernel: Kernel, root: Path) -> None:
    """Remove what ``prepare_files`` and a replay left below ``root``."""
    ours = _made_here(root)
    names = {*_names(kernel), *folders_beforehand(kernel.files)}
    for name in sorted(names & ours, reverse=True):  # what lies in a directory before the directory
        _remove(root / name)
    for file in kernel.files:
        if file.own_folder and (root / file.name).is_dir():
            with suppress(OSError):  # somebody else's files are in it
                (root / file.name).rmdir()
    (root / MARKER).unlink(missing_ok=True)


def _remove(path: Path) -> None:
    """Remove a file or an empty directory, if it is there."""
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def write_content(path: Path, file_id: int, size_bytes: int) -> None:
    """Write a file of the kernel's pattern and have it on storage.

    Raises:
        OSError: it cannot be written.
    """
    with path.open("wb", buffering=0) as stream:
        for _ in _written(stream, file_id, size_bytes):
            pass
        _have_on_storage(stream)


def _written(stream: FileIO, file_id: int, size_bytes: int) -> Iterator[int]:
    """Write the kernel's pattern piece by piece; gives the bytes of each."""
    for piece in content(file_id, size_bytes):
        view = piece
        while len(view) > 0:
            view = view[stream.write(view) :]
        yield len(piece)


def _have_on_storage(stream: FileIO) -> None:
    """Flush a file, and close it."""
    with stream:
        os.fsync(stream.fileno())


def _made_here(root: Path) -> set[str]:
    try:
        names = json.loads((root / MARKER).read_text())
    except FileNotFoundError:
        return set()
    except (OSError, ValueError) as error:
        raise KernelError(
            f"cannot read {root / MARKER}: {error}. Replay in an empty directory"
        ) from error
    return {str(name) for name in names}


def _refuse_others(kernel: Kernel, root: Path, ours: set[str]) -> None:
    others = [name for name in _names(kernel) if os.path.lexists(root / name) and name not in ours]
    if others:
        raise KernelError(
            f"{root / others[0]} exists and was not made by wavetank; a replay would overwrite it. Replay in an "
            "empty directory, or with --no-prepare to use the files as they are"
        )


def _has_content(path: Path, content_id: int, size: int) -> bool:
    """Whether a file has the size, and at three places the content, that it must have."""
    try:
        facts = path.stat()
        if facts.st_size != size or facts.st_blocks * 512 < size:
            return False
        with path.open("rb") as stream:
            for offset in {0, size // 2, max(0, size - _SAMPLE)}:
                stream.seek(offset)
                found = stream.read(min(_SAMPLE, size - offset))
                if found != part(content_id, offset, len(found)):
                    return False
    except OSError:
        return False
    return True


def _check_space(kernel: Kernel, missing: list[tuple[str, KernelFile, int]], root: Path) -> None:
    """Room for the inputs, and for what the run will write: a full disk in the middle of a run wastes it."""
    inputs = sum(size for _, _, size in missing)
    outputs = sum(written_bytes(kernel).values())
    facts = os.statvfs(root)
    free = facts.f_bavail * facts.f_frsize
    replaced = [name for name, _, _ in missing] + [
        name for file in _made_in_run(kernel) for name, _ in file.stored()
    ]
    present = sum(_allocated(root / name) for name in replaced)
    if inputs + outputs <= free + present:
        return
    parts = [f"input files {format_size(inputs)}"] if inputs else []
    parts += [f"files that it writes {format_size(outputs)}"] if outputs else []
    raise KernelError(
        f"the kernel needs {format_size(inputs + outputs)} ({', '.join(parts)}), {root} has {format_size(free)} free"
        f"{f' and {format_size(present)} in files that are replaced' if present else ''}. Free some space or name "
        "another directory"
    )


def _made_in_run(kernel: Kernel) -> list[KernelFile]:
    return [file for file in kernel.files if file.prepare_bytes == 0 and file.role == "output"]


def _allocated(path: Path) -> int:
    try:
        return path.stat().st_blocks * 512
    except OSError:
        return 0
