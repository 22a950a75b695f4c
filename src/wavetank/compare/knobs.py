"""Knobs of clusters, and in which of them two clusters differ.

A knob is one thing that a person chose: the file system, the number of data servers, a disk's rate. Its value is
in words for people. Some values follow from another knob: an instance type brings CPUs, memory, network and disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

ANY = "any"
"""A knob's value where the knob does nothing, such as the stripe size of one server."""
DEFAULT = "default"
"""A knob's value where nobody chose one."""

FILE_SYSTEM = "file system"
DATA_SERVERS = "data servers"
LAYOUT = "layout"
WHOLE_FILES = "whole files"
OBJECTS = "objects"
"""The layout of a file system that cuts every file into objects, where nobody chose another."""
STRIPE_SIZE = "stripe size"
INSTANCE_TYPE = "instance type"
DISK_RATES = ("disk read rate", "disk write rate")
DISK = (*DISK_RATES, "disk read IOPS", "disk write IOPS", "device")
OPTION, MOUNT_OPTION = "option ", "mount option "
"""Names of knobs that are options begin so."""


@dataclass(frozen=True)
class Knobs:
    """What was chosen for one cluster.

    Attributes:
        values: knob -> value, both for people.
        follows: knob -> the knobs that its value comes from, where it was not chosen itself.
    """

    values: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    follows: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))

    def of(self, knob: str) -> str:
        """A knob's value; the default where nobody chose one."""
        return self.values.get(knob, DEFAULT)


@dataclass(frozen=True)
class Difference:
    """A knob in which two clusters differ."""

    knob: str
    before: str
    after: str


def differing_knobs(first: Knobs, second: Knobs) -> tuple[str, ...]:
    """Names of the knobs in which two clusters differ, in the order of a cluster's description.

    Left out is what does nothing in one of them, and what follows from a knob that differs itself.
    """
    different = [
        knob
        for knob in {**first.values, **second.values}
        if ANY not in (first.of(knob), second.of(knob)) and first.of(knob) != second.of(knob)
    ]
    return tuple(
        knob
        for knob in different
        if not all(_follows_from(each, knob, different) for each in (first, second))
    )


def differences(first: Knobs, second: Knobs) -> tuple[Difference, ...]:
    """In what two clusters differ, with both values as people read them.

    Several properties of the disk are one difference. With the number of data servers or the file system stands
    what only one of the two has: "1" against "2, sharded 4 MiB".
    """
    different = differing_knobs(first, second)
    disk = [knob for knob in different if knob in DISK]
    found = []
    for knob in different:
        if knob in DISK and len(disk) > 1:
            if knob == disk[0]:
                name = "disk rate" if set(disk) <= set(DISK_RATES) else "disk"
                found.append(Difference(name, disk_words(first, disk), disk_words(second, disk)))
            continue
        carries = knob == (DATA_SERVERS if DATA_SERVERS in different else FILE_SYSTEM)
        found.append(
            Difference(
                knob, _shown(first, second, knob, carries), _shown(second, first, knob, carries)
            )
        )
    return tuple(found)


def disk_words(knobs: Knobs, said: Sequence[str]) -> str:
    """Some properties of a disk: "40 MB/s", "read 100 MB/s, write 40 MB/s, 3000 IOPS"."""
    words = []
    for names, unit in ((DISK_RATES, ""), (DISK[2:4], " IOPS")):
        values = [(name, knobs.of(name)) for name in names if name in said]
        if len(values) == 2 and values[0][1] == values[1][1]:
            words.append(f"{values[0][1]}{unit}")
        else:
            words += [f"{name.split()[1]} {value}{unit}" for name, value in values]
    if "device" in said:
        words.append(knobs.of("device"))
    return ", ".join(words)


def layout_words(knobs: Knobs, *, with_size: bool = True) -> str:
    """How the content of files is spread: "sharded 4 MiB", "1DFx1F", "whole files", "objects"."""
    layout, size = knobs.of(LAYOUT), knobs.of(STRIPE_SIZE)
    if not with_size or size in (ANY, DEFAULT):
        return layout
    return f"{layout} {size}"


def _follows_from(knobs: Knobs, knob: str, different: Sequence[str]) -> bool:
    if knob not in knobs.values:  # what made it not have the knob is said of the other
        return True
    return any(parent in different for parent in knobs.follows.get(knob, ()))


def _shown(one: Knobs, other: Knobs, knob: str, carries_layout: bool) -> str:
    """A knob's value, with what does something in this cluster and nothing in the other."""
    if knob == LAYOUT:
        return layout_words(one, with_size=other.of(STRIPE_SIZE) == ANY)
    words = [one.of(knob)]
    if carries_layout and one.of(LAYOUT) != ANY and other.of(LAYOUT) == ANY:
        words.append(layout_words(one))
    if knob == FILE_SYSTEM:
        words += [f"{name.removeprefix(OPTION)} {value}" for name, value in options(one)]
    return ", ".join(words)


def options(knobs: Knobs) -> list[tuple[str, str]]:
    """The options of a file system and of its mounts that somebody set."""
    return [
        (name, value)
        for name, value in knobs.values.items()
        if name.startswith((OPTION, MOUNT_OPTION)) and value != DEFAULT
    ]
