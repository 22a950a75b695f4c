"""Options that a cluster file may give a file system, and the one check of them. Each driver gives its tables.

A value becomes a word of a command or a line of a configuration file. So a pattern says what it may be, and what names a file, a
program or an address is not for a cluster file to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from wavetank.cluster.components import FileSystem, OptionValue
from wavetank.nearest import nearest


@dataclass(frozen=True)
class Value:
    """What the value of an option may be.

    Attributes:
        pattern: of the whole value as text; None: nothing but true and false.
        words: what to write, for a refusal.
        truth: whether true and false are among its values.
        parse: raises ValueError, with the reason, for a value that fits the pattern and is wrong all the same.
    """

    pattern: str | None
    words: str
    truth: bool = False
    parse: Callable[[str], object] | None = None

    def problem(self, value: OptionValue) -> str | None:
        """Why a value is not possible; None where it is."""
        text = str(value)
        matches = self.pattern is not None and re.fullmatch(self.pattern, text) is not None
        if not (self.truth if isinstance(value, bool) else matches):
            return f"{value!r} is not possible: write {self.words}"
        try:
            if self.parse is not None:
                self.parse(text)
        except ValueError as error:
            return str(error)
        return None


FLAG = Value(None, "true or false", truth=True)
NUMBER = Value("[0-9]{1,18}", "a whole number")


def one_of(*words: str) -> Value:
    """One of some words."""
    return Value("|".join(map(re.escape, words)), " or ".join(words))


@dataclass(frozen=True)
class Table:
    """The options of a file system, or of a program of it.

    Attributes:
        of: whose they are.
        values: of each name.
        families: patterns of further names, with what their values may be.
        family_words: such names, for a refusal.
        reaches_out: pattern of a part of names of the families that wavetank sets, or that name a file, a program or an address.
    """

    of: str
    values: Mapping[str, Value] = field(default_factory=dict)
    families: Mapping[str, Value] = field(default_factory=dict)
    family_words: str = ""
    reaches_out: str | None = None

    def problem(self, name: str, value: OptionValue) -> str | None:
        """Why an option cannot be given; None where it can."""
        kind = self.values.get(name)
        if kind is None:
            families = (v for names, v in self.families.items() if re.fullmatch(names, name))
            kind = next(families, None)
            if kind is not None and self.reaches_out and re.search(self.reaches_out, name):
                return "is set by wavetank, or names a file, a program, a user or an address: remove it"
        if kind is not None:
            return kind.problem(value)
        known = [*sorted(self.values), *([self.family_words] if self.family_words else [])]
        return (
            f"{self.of} has no such option here; it has {', '.join(known)}"
            if known
            else f"{self.of} has no such options: remove it"
        )


def option_problems(
    section: str, options: Mapping[str, OptionValue], table: Table
) -> Iterator[str]:
    """Findings: options that nobody would read, and values that cannot be.

    Args:
        section: of ``file_system``: "options" or "mount_options".
        options: as they are written.
        table: of those that there are.
    """
    for name, value in options.items():
        problem = table.problem(name, value)
        if problem is not None:
            yield f"file_system.{section}.{name}: {problem}"


def all_option_problems(fs: FileSystem, options: Table, mount_options: Table) -> Iterator[str]:
    """Findings on both sections of options."""
    yield from option_problems("options", fs.options, options)
    yield from option_problems("mount_options", fs.mount_options, mount_options)


def option_words(options: Mapping[str, OptionValue]) -> list[str]:
    """Words of ``mount -o``: of true ones the name alone, of false ones nothing."""
    return [
        name if value is True else f"{name}={value}"
        for name, value in options.items()
        if value is not False
    ]


def names_lacking(
    asked: Mapping[str, str], program: str, content: bytes, names: bytes
) -> list[str]:
    """Findings: options that a program does not have, of those whose names it holds between zero bytes.

    Args:
        asked: option of the cluster file -> its name in the program.
        program: its name and version, for people.
        content: of its file.
        names: pattern of such names, to find near ones.
    """
    known = [word.decode() for word in re.findall(rb"\0(" + names + rb")(?=\0)", content)]
    findings = []
    for option, name in asked.items():
        if f"\0{name}\0".encode() not in content:
            near = nearest(name, known)
            words = f" (near: {', '.join(near)})" if near else ""
            findings.append(f"file_system.options.{option}: {program} has no such option{words}")
    return findings
