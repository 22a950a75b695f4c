"""The nearest mdtest command lines of a kernel's calls that move no data.

mdtest makes -n items (files with -F, directories with -D) for each task, in one directory for all or in one of
each task's own (-u), or spread over a tree of directories of depth -z with -b branches. It creates (-C), then
stats (-T), then opens files (-E) or renames directories (-U), then removes (-r) all of them, with a barrier in
between (hpc/ior 4.1, mdtest.c). A rename gives each directory the name of the one before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from posixpath import commonpath

from wavetank.kernel.benchmarks.groups import in_a_folder
from wavetank.kernel.benchmarks.item_trees import tree_of
from wavetank.kernel.benchmarks.mdtest_phases import (
    CALLS_OF,
    PhaseCalls,
    kind_of,
    objects_of,
    of_trees,
)
from wavetank.kernel.benchmarks.metadata_items import (
    CREATE,
    READ,
    REMOVE,
    RENAME,
    STAT,
    Items,
    Other,
    Stretch,
    stretches,
)
from wavetank.kernel.document.kernel import Kernel, MdtestLine, MdtestRefused
from wavetank.model.document.metadata import MetadataPhase
from wavetank.notes import notes_of

_ORDER = (CREATE, STAT, READ, RENAME, REMOVE)
_ROUND = {STAT: 1, READ: 2, REMOVE: 3}  # multiples of -N by which mdtest's phases are shifted
_IN_TURNS = (
    "its kinds of calls come in turns, and mdtest makes all of one kind and then all of the next"
)


@dataclass(frozen=True)
class MdtestParameters:
    """mdtest's parameters that decide which calls it makes. Sizes in bytes."""

    n_tasks: int
    items: int  # of each task
    directories: bool
    unique: bool
    phases: str  # of "CTEr"
    branches: int = 1
    depth: int = 0
    leaf_only: bool = False
    stride: int = 0
    write: int = 0
    read: int = 0
    sync: bool = False
    mknod: bool = False
    iterations: int = 1
    folder: str = "mdtest"

    def command(self) -> str:
        """The command line."""
        words = [
            "mpirun",
            "-np",
            str(self.n_tasks),
            "mdtest",
            "-n",
            str(self.items),
            "-D" if self.directories else "-F",
        ]
        words += ["-u"] if self.unique else []
        words += ["-b", str(self.branches), "-z", str(self.depth)] if self.depth else []
        words += ["-L"] if self.leaf_only else []
        words += [f"-{letter}" for letter in self.phases]
        words += ["-N", str(self.stride)] if self.stride else []
        words += ["-w", str(self.write)] if self.write else []
        words += ["-y"] if self.sync else []
        words += ["-e", str(self.read)] if self.read else []
        words += ["-k"] if self.mknod else []
        words += ["-i", str(self.iterations)] if self.iterations > 1 else []
        return " ".join([*words, "-d", in_a_folder(self.folder)])


def mdtest_lines(kernel: Kernel) -> tuple[list[MdtestLine], list[MdtestRefused]]:
    """The lines of a kernel, and the phases of its calls that mdtest cannot make, with the reason."""
    if not kernel.metadata:
        return [], []
    free = {phase.md_id: phase for phase in kernel.metadata}
    calls = PhaseCalls(kernel.metadata)
    if _one_after_another(kernel):
        reason = "its processes run one after another, and mdtest's ranks run at once"
        return [], [MdtestRefused(md_ids=tuple(free), reason=reason)]
    found, others = stretches(kernel)
    made = _parents(found)
    found, trees = _without_trees(found, made)
    lines: list[MdtestLine] = []
    refused: list[MdtestRefused] = []
    n_trees = len({name for one in trees for items in one.by_rank.values() for name in items.names})
    for group in _groups(found):
        taken = calls.taken(group, n_trees)
        md_ids = tuple(dict.fromkeys(taken))
        parameters, reason = _parameters(group)
        ph_ids = sorted(
            {ph_id for one in group for items in one.by_rank.values() for ph_id in items.ph_ids}
        )
        if not ph_ids and len(taken) < len(group):
            parameters, reason = None, _IN_TURNS
        for md_id in md_ids:
            free.pop(md_id, None)
        if parameters is None:
            if md_ids:
                refused.append(MdtestRefused(md_ids=md_ids, reason=reason))
            continue
        line = MdtestLine(
            md_ids=md_ids, ph_ids=tuple(ph_ids), command=parameters.command(),
            not_reproduced=notes_of("replaced", "calls", _notes(group, parameters)),
        )  # fmt: skip
        before = lines[-1] if lines else None
        if before is not None and _repeats(before, line):
            lines[-1] = _again(before, line, parameters)
        else:
            lines.append(line)
    if lines:
        for md_id in [*of_trees(trees, free)]:
            free.pop(md_id)
    refused += _rest(free, others)
    return lines, refused


def _one_after_another(kernel: Kernel) -> bool:
    """Whether the ranks are processes that a script starts, not ranks of MPI."""
    return kernel.n_ranks > 1 and not kernel.communicators


def _parents(found: Sequence[Stretch]) -> frozenset[str]:
    """Directories in which items lie, and those above them."""
    above: set[str] = set()
    for one in found:
        for items in one.by_rank.values():
            for name in items.names:
                folder = name.rpartition("/")[0]
                while folder and folder not in above:
                    above.add(folder)
                    folder = folder.rpartition("/")[0]
    return frozenset(above)


def _without_trees(
    found: Sequence[Stretch], parents: frozenset[str]
) -> tuple[list[Stretch], list[Stretch]]:
    """The stretches without the directories that others' items lie in; and what they do with these."""
    kept: list[Stretch] = []
    trees: list[Stretch] = []
    for one in found:
        parts: tuple[dict[int, Items], dict[int, Items]] = ({}, {})
        for rank, items in one.by_rank.items():
            is_tree = [items.objects == "directories" and name in parents for name in items.names]
            for wanted, part in zip((False, True), parts, strict=True):
                names = [n for n, tree in zip(items.names, is_tree, strict=True) if tree == wanted]
                if names:
                    part[rank] = replace(items, names=names)
        for part, into in zip(parts, (kept, trees), strict=True):
            if part:
                into.append(Stretch(one.stage, part))
    return kept, trees


def _groups(found: Sequence[Stretch]) -> Iterator[list[Stretch]]:
    """Stretches on the same items, in mdtest's order of phases."""
    group: list[Stretch] = []
    items: frozenset[str] = frozenset()
    for one in found:
        names = frozenset(name for some in one.by_rank.values() for name in some.names)
        kind = kind_of(one)
        same = names == items or (kind == RENAME and len(names - items) <= len(one.by_rank))
        follows = bool(group) and same and _ORDER.index(kind) > _ORDER.index(kind_of(group[-1]))
        if group and not follows:
            yield group
            group = []
        group.append(one)
        items = items if kind == RENAME and follows else names
    if group:
        yield group


def _parameters(group: Sequence[Stretch]) -> tuple[MdtestParameters | None, str]:
    """Mdtest's parameters for stretches on the same items; or why there are none."""
    ranks = sorted(group[0].by_rank)
    reason = next(_unlike(group, ranks), None)
    if reason is not None:
        return None, reason
    owners = _owners(group)
    stride = None if owners is None else _stride(group, owners, ranks)
    if stride is None:
        return None, "what each rank looks at is not what one other rank made"
    layout, reason = _layout(group[0].by_rank, ranks)
    if layout is None:
        return None, reason
    if layout.unique and stride:
        return None, "mdtest has no ranks that look into each other's own directories"
    n = len(group[0].by_rank[ranks[0]].names)
    every = [items for one in group for items in one.by_rank.values()]
    return replace(
        layout,
        items=n,
        directories=objects_of(group[0]) == "directories",
        phases="".join(kind_of(one) for one in group),
        stride=stride,
        write=max((size for items in every for size in items.write_bytes), default=0),
        read=max((size for items in every for size in items.read_bytes), default=0),
        sync=all(items.beside["fsync"] >= n for items in every if items.kind == CREATE)
        and any(items.write_bytes for items in every),
        mknod=any("mknod" in items.calls for items in every),
    ), ""


def _unlike(group: Sequence[Stretch], ranks: Sequence[int]) -> Iterator[str]:
    """What in stretches on the same items mdtest does otherwise."""
    every = [items for one in group for items in one.by_rank.values()]
    if any(sorted(one.by_rank) != ranks for one in group):
        yield "not all of its phases are of the same ranks"
    if len({len(items.names) for items in every}) > 1:
        yield "the ranks do it with different numbers of files or directories"
    if kind_of(group[0]) == RENAME:
        yield "mdtest renames directories that it has made in the same run"
    if any(len(set(items.names)) < len(items.names) for items in every):
        yield "it does it with the same files again and again, and mdtest once with each"
    if _owners(group) is None:
        yield "several ranks do it with the same files or directories"
    written = {size for items in every for size in items.write_bytes}
    read = {size for items in every for size in items.read_bytes}
    if -1 in written | read or len(written) > 1 or len(read) > 1:
        yield "mdtest writes and reads each file by one call of one size"
    if any(items.read_bytes for items in every if items.kind == CREATE):
        yield "mdtest writes the files that it creates, and reads them in a phase of its own"


def _owners(group: Sequence[Stretch]) -> dict[str, int] | None:
    """The rank that does the first of the phases with each item; None where there are several."""
    owners: dict[str, int] = {}
    for rank, items in group[0].by_rank.items():
        for name in items.names:
            if owners.setdefault(name, rank) != rank:
                return None
    return owners


def _stride(
    group: Sequence[Stretch], owners: Mapping[str, int], ranks: Sequence[int]
) -> int | None:
    """Mdtest's -N: by how many ranks what is looked at is away; None where it is not the same for all."""
    place = {rank: number for number, rank in enumerate(ranks)}
    first = _ROUND.get(kind_of(group[0]), 0)
    for stride in range(len(ranks)):
        if all(
            place[owners[name]]
            == (place[rank] + (_ROUND.get(kind_of(one), 0) - first) * stride) % len(ranks)
            for one in group
            if kind_of(one) != RENAME
            for rank, items in one.by_rank.items()
            for name in (items.names[0], items.names[-1])
        ):
            return stride
    return None


def _layout(
    by_rank: Mapping[int, Items], ranks: Sequence[int]
) -> tuple[MdtestParameters | None, str]:
    """Where the items lie: one directory or a tree of them, shared or of each rank."""
    folders = [Counter(name.rpartition("/")[0] for name in by_rank[rank].names) for rank in ranks]
    plain = MdtestParameters(len(ranks), 0, directories=False, unique=False, phases="")
    shared = len({frozenset(some) for some in folders}) == 1
    apart = len({folder for some in folders for folder in some}) == sum(map(len, folders))
    if not shared and not apart:
        return None, "some ranks share directories, and others do not"
    trees = [tree for some in folders if (tree := tree_of(some)) is not None]
    if len(trees) < len(folders) or len({tree[:3] for tree in trees}) > 1:
        return (
            None,
            "the directories are no tree with equal branches and equally many items in each",
        )
    branches, depth, leaf_only, _ = trees[0]
    roots = [tree[3] for tree in trees]
    above = commonpath(roots) if len(roots) > 1 else roots[0].rpartition("/")[0] or roots[0]
    return replace(
        plain, unique=not shared, branches=branches, depth=depth, leaf_only=leaf_only,
        folder=above.split("/")[0] or "mdtest",
    ), ""  # fmt: skip


def _notes(group: Sequence[Stretch], ours: MdtestParameters) -> Iterator[str]:
    names = [
        name.rpartition("/")[2] for items in group[0].by_rank.values() for name in items.names[:1]
    ]
    stem = "dir" if ours.directories else "file"
    if not all(name.startswith(f"{stem}.mdtest.") for name in names):
        yield f"The {'directories' if ours.directories else 'files'} are named {stem}.mdtest.TASK.NUMBER, below {ours.folder}/test-dir.0-0."
    beside: Counter[str] = Counter()
    for one in group:
        for items in one.by_rank.values():
            beside += items.beside
    left_out = {
        name: n
        for name, n in beside.items()
        if not (name == "fsync" and ours.sync) and name != "lseek"
    }
    if left_out:
        told = ", ".join(f"{n:,} {name}" for name, n in sorted(left_out.items()))
        yield f"Calls beside these are left out: {told}."
    if CREATE not in ours.phases:
        yield "What it looks at must be there: run the same line with -C in place of its phases before."
    if len({one.stage for one in group}) < len(group):
        yield "mdtest's tasks meet in a barrier after each phase; the application's ranks do not after all of them."
    if ours.depth:
        yield "The order in which the directories are gone through is mdtest's."


def _repeats(before: MdtestLine, line: MdtestLine) -> bool:
    """Whether a line is the one before it again, in another directory."""
    ours = line.command.rpartition(" -d ")[0]
    return before.command.rpartition(" -d ")[0].partition(" -i ")[0] == ours and " -C" in ours


def _again(before: MdtestLine, line: MdtestLine, parameters: MdtestParameters) -> MdtestLine:
    words = before.command.split()
    times = int(words[words.index("-i") + 1]) if "-i" in words else 1
    folder = words[-1].removeprefix("./")
    once_more = replace(parameters, iterations=times + 1, folder=folder)
    return before.model_copy(
        update={
            "md_ids": tuple(dict.fromkeys((*before.md_ids, *line.md_ids))),
            "ph_ids": (*before.ph_ids, *line.ph_ids),
            "command": once_more.command(),
            "not_reproduced": tuple(dict.fromkeys((*before.not_reproduced, *line.not_reproduced))),
        }
    )


def _rest(free: Mapping[int, MetadataPhase], others: Sequence[Other]) -> Iterator[MdtestRefused]:
    """Why there is no line for each of the phases that are left."""
    known = {name for names in CALLS_OF.values() for name in names} | {
        "close",
        "opendir",
        "closedir",
    }
    for md_id, phase in free.items():
        mine = {call.call for call in phase.calls}
        foreign = sorted(mine - known)
        reason = next((other.reason for other in others if mine & other.calls), None)
        if foreign:
            reason = f"mdtest makes no {', '.join(foreign)} calls of its own"
        yield MdtestRefused(
            md_ids=(md_id,),
            reason=reason or "no phase of mdtest makes these calls on these files or directories",
        )
