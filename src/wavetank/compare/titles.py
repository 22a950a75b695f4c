"""Titles of clusters: short, for people, and each of another name than all the others of a comparison.

A title is the file system and what differs; what is the same everywhere is not said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from wavetank.compare.knobs import (
    ANY,
    DATA_SERVERS,
    DEFAULT,
    DISK,
    FILE_SYSTEM,
    INSTANCE_TYPE,
    LAYOUT,
    MOUNT_OPTION,
    OBJECTS,
    OPTION,
    STRIPE_SIZE,
    WHOLE_FILES,
    Knobs,
    differing_knobs,
    disk_words,
    layout_words,
)

NFS = "NFS"
"""Has one data server always: its title does not say so."""


@dataclass(frozen=True)
class Named:
    """A cluster that needs a title.

    Attributes:
        name: of the cluster, unique.
        knobs: what was chosen for it.
        own: a title that a person wrote; None to have one made.
    """

    name: str
    knobs: Knobs = field(default_factory=Knobs)
    own: str | None = None


def title_alone(knobs: Knobs) -> str:
    """The title of a cluster that is compared with none: "GlusterFS, 3 data servers, 1DFx1F"."""
    return _title(knobs, [FILE_SYSTEM, DATA_SERVERS, LAYOUT])


def titles_of(clusters: Sequence[Named]) -> dict[str, str]:
    """A title for each cluster, by its name; no two are the same.

    Clusters that differ in nothing are told apart by their names. The result does not depend on the order.

    Args:
        clusters: with unique names; own titles are taken as they are, and must be unique.
    """
    made = [each for each in clusters if each.own is None]
    said = _said([each.knobs for each in clusters])
    titles = {each.name: each.own for each in clusters if each.own is not None}
    if len(clusters) == 1:
        return titles or {each.name: title_alone(each.knobs) for each in made}
    words = {each.name: _title(each.knobs, said) for each in made}
    for name in sorted(words):
        title, taken = words[name], {*titles.values()}
        alike = [other for other in words if other != name and words[other] == title]
        if alike:
            title = f"{title} ({name})"
        while title in taken or (alike and title in words.values()):
            title = f"{title} ({name})"
        titles[name] = title
    return {each.name: titles[each.name] for each in clusters}


def titles_that_stand_twice(own: Mapping[str, str | None]) -> list[str]:
    """A sentence for each title that people gave to several clusters: cluster name -> title."""
    given = [title for title in own.values() if title is not None]
    return [
        f"the clusters {' and '.join(name for name, each in own.items() if each == title)} have "
        f"the same title {title!r}: give each a 'title' of its own, or leave it out"
        for title in dict.fromkeys(given)
        if given.count(title) > 1
    ]


def _said(knobs: Sequence[Knobs]) -> list[str]:
    """What titles say: the file system, and every knob in which two of the clusters differ."""
    found = {FILE_SYSTEM}
    for first, second in combinations(knobs, 2):
        found.update(differing_knobs(first, second))
    order = dict.fromkeys(name for each in knobs for name in each.values)
    return sorted(found, key=lambda name: (_importance(name), name not in order, name))


_FIRST = (FILE_SYSTEM, DATA_SERVERS, LAYOUT, STRIPE_SIZE, "stripe count", "redundancy")
_THEN = ("compute nodes", INSTANCE_TYPE, "instance type of I/O nodes", "vCPUs", "memory", "network")


def _importance(knob: str) -> int:
    """Place of a knob in a title."""
    for start, names in ((0, _FIRST), (20, _THEN), (40, DISK)):
        if knob in names:
            return start + names.index(knob)
    return 60 if knob.startswith((OPTION, MOUNT_OPTION)) else 10


def _title(knobs: Knobs, said: Sequence[str]) -> str:
    parts = []
    disk = [name for name in said if name in DISK]
    for name in said:
        if name == STRIPE_SIZE and LAYOUT in said:
            continue
        if name in DISK:
            if name == disk[0]:
                parts.append(f"disk {disk_words(knobs, disk)}")
            continue
        parts.append(_words(knobs, name, said))
    return ", ".join(part for part in parts if part)


def _words(knobs: Knobs, name: str, said: Sequence[str]) -> str:
    """What a title says of one knob; nothing where the knob does nothing, or nobody turned it."""
    value = knobs.of(name)
    if value in (ANY, DEFAULT) or (name == LAYOUT and value in (WHOLE_FILES, OBJECTS)):
        return ""
    if name == DATA_SERVERS and knobs.of(FILE_SYSTEM) == NFS:
        return ""
    if name == LAYOUT:
        return layout_words(knobs, with_size=STRIPE_SIZE in said)
    if name in _COUNTED:
        return f"{value} {name if value != '1' else name.removesuffix('s')}"
    before = _BEFORE.get(name, name.removeprefix(OPTION))
    return f"{before} {value}".strip()


_COUNTED = (DATA_SERVERS, "compute nodes", "head nodes", "metadata servers", "gateways", "vCPUs")
_BEFORE = {
    FILE_SYSTEM: "",
    INSTANCE_TYPE: "",
    "instance type of I/O nodes": "I/O nodes",
    STRIPE_SIZE: "stripes of",
}
"""What stands before a value where that is not the knob's name."""
