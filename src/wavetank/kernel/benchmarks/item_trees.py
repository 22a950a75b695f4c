"""Trees of directories as mdtest makes them: equally many branches at each place, and items in all or in the leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from posixpath import commonpath


def tree_of(folders: Mapping[str, int]) -> tuple[int, int, bool, str] | None:
    """Branches, depth, whether only leaves have items, and the root of a tree; None where it is none of mdtest's."""
    if len(set(folders.values())) > 1:
        return None
    if len(folders) == 1:
        return 1, 0, False, next(iter(folders))
    root = commonpath(list(folders)) if all(folders) else ""
    nodes = {folder: len(_below(folder, root)) for folder in folders}
    leaf_only = root not in folders
    everywhere = dict(nodes)
    for folder in folders:
        parts = _below(folder, root)
        for level in range(len(parts)):
            everywhere.setdefault("/".join([*([root] if root else []), *parts[:level]]), level)
    depth = max(nodes.values())
    at = Counter(everywhere.values())
    branches = at[1]
    complete = all(at[level] == branches**level for level in range(depth + 1))
    wanted = branches**depth if leaf_only else sum(at.values())
    children = Counter(folder.rpartition("/")[0] for folder, level in everywhere.items() if level)
    if not complete or len(folders) != wanted or len(set(children.values())) > 1:
        return None
    return branches, depth, leaf_only, root


def _below(folder: str, root: str) -> list[str]:
    return [part for part in folder[len(root) :].split("/") if part]
