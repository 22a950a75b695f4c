"""Names below a kernel's root that keep the application's directories, where the kernel has these.

Which directory a file is in, and with how many others, is what a metadata server is asked about. Paths in no directory
of the kernel's have names of one part (kernel_files.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256
from posixpath import commonpath

from wavetank.kernel.files.kernel_files import NAME_LIMIT, safe_names
from wavetank.model.document.file import ModelFile, plain_name


def folders_of(files: Iterable[ModelFile], *, metadata_only: bool) -> frozenset[str]:
    """The directories whose files keep their place in them.

    Args:
        files: of the model.
        metadata_only: the application moves no data: all directories below the common one are kept.
    """
    paths: list[str] = []
    found = set()
    for file in files:
        if file.members is not None:
            names = list(file.members.all_paths())
        else:
            names = [file.file_name, *(name.path for name in file.other_names if not name.symlink)]
        paths += names
        if file.directory:
            found.update(names)
    if metadata_only:
        parents = {path.rpartition("/")[0] or "/" for path in paths if path.startswith("/")}
        common = commonpath(parents) if parents else "/"
        for parent in parents:
            folder = parent
            while len(folder) > len(common) and folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
    return frozenset(found)


def tree_names(paths: Mapping[int, str], folders: Collection[str]) -> dict[int, str]:
    """A name below a root for each path.

    A path in one of the folders has the name of the topmost of these, and below it the parts of its own.

    Args:
        paths: by number; a path may come several times, and has a name for each.
        folders: directories that are kept, see ``folders_of``.
    """
    tops = {number: top_folder(path, folders) for number, path in paths.items()}
    alone = {number: path for number, path in paths.items() if tops[number] is None}
    inside = {top for top in tops.values() if top is not None}
    known = set(alone.values())
    further = {-1 - place: path for place, path in enumerate(sorted(inside - known))}
    of_roots = safe_names({**alone, **further})
    by_path = {path: of_roots[number] for number, path in reversed([*alone.items()])}
    by_path |= {path: of_roots[number] for number, path in further.items()}
    names: dict[int, str] = {}
    for number, path in paths.items():
        top = tops[number]
        if top is None:
            names[number] = of_roots[number]
            continue
        parts = [plain_name(part) for part in path[len(top) :].split("/") if part]
        names[number] = "/".join([by_path[top], *(_short(part) for part in parts)])
    return _apart(names)


def top_folder(path: str, folders: Collection[str]) -> str | None:
    """The topmost folder above a path that is kept; None for none."""
    end = path.find("/", 1)
    while end > 0:
        if path[:end] in folders:
            return path[:end]
        end = path.find("/", end + 1)
    return None


def _short(part: str) -> str:
    if len(part) <= NAME_LIMIT:
        return part
    return f"{sha256(part.encode()).hexdigest()[:16]}-{part[-(NAME_LIMIT - 20) :]}"


def _apart(names: dict[int, str]) -> dict[int, str]:
    """Names that differ in more than case; of those that do not, all but the first get a number."""
    taken = Counter(name.casefold() for name in names.values())
    if len(taken) == len(names):
        return names
    seen: set[str] = set()
    for number, name in names.items():
        if taken[name.casefold()] > 1 and name.casefold() in seen:
            candidate = f"{name}-{number}"
            while candidate.casefold() in taken:
                candidate += "_"
            taken[candidate.casefold()] += 1
            names[number] = candidate
        seen.add(name.casefold())
    return names
