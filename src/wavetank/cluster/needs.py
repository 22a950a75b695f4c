"""What a file system needs on the nodes of one role: asked of this machine for nodes made of it, of each host over ssh."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from wavetank.programs import find_program


@dataclass(frozen=True)
class Examined:
    """Sentences of one look at a specification.

    Attributes:
        findings: what keeps the cluster from coming up; empty when it can.
        unknown: what is not known of a cluster that can come up as far as is known. It keeps none from coming up.
    """

    findings: list[str]
    unknown: list[str]


class Lack(NamedTuple):
    """What is missing or does not work, and what to do."""

    what: str
    remedy: str

    def __str__(self) -> str:
        """Both, for people."""
        return f"{self.what}: {self.remedy}"


@dataclass(frozen=True)
class Needs:
    """What must be there.

    Attributes:
        programs: name, or absolute path -> how to get it, e.g. "apt-get install rpcbind".
        files: absolute path -> how to get it, e.g. /dev/fuse -> "modprobe fuse".
        modules: of the node's kernel, by name, loaded or not -> how to get it.
        elsewhere: distribution (ID or ID_LIKE of os-release(5)) -> name, path or module -> how to get it there.
    """

    programs: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)
    elsewhere: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __or__(self, other: Needs) -> Needs:
        """Both."""
        distributions = dict.fromkeys((*self.elsewhere, *other.elsewhere))
        return Needs(
            {**self.programs, **other.programs},
            {**self.files, **other.files},
            {**self.modules, **other.modules},
            {
                name: {**self.elsewhere.get(name, {}), **other.elsewhere.get(name, {})}
                for name in distributions
            },
        )

    def how(self, name: str, distribution: Sequence[str] = ()) -> str:
        """How to get what is missing, on a distribution as os-release(5) names it: itself first, then what it is like."""
        for each in distribution:
            if name in self.elsewhere.get(each, {}):
                return self.elsewhere[each][name]
        return {**self.modules, **self.files, **self.programs}[name]

    def missing_here(self, kernel: Path | None = None) -> list[Lack]:
        """What this machine lacks.

        Args:
            kernel: directory with the modules of the nodes' kernel; None: of the kernel that runs here.
        """
        missing = [name for name in self.programs if find_program(name) is None]
        missing += [path for path in self.files if not Path(path).exists()]
        missing += [name for name in self.modules if not has_module(name, kernel)]
        here = distribution_of(_text("/etc/os-release"))
        return lacks((name, self.how(name, here)) for name in missing)


def has_module(name: str, kernel: Path | None = None) -> bool:
    """Whether a kernel has a module: loaded, built in, or among the files that modprobe finds.

    Sample of modules.dep (kmod 30): ``extra/lustre/fs/lustre.ko.xz: extra/lustre/net/lnet.ko.xz ...``.

    Args:
        name: of the module.
        kernel: directory with its modules; None: of the kernel that runs here.
    """
    if kernel is None:
        if Path("/sys/module", name).exists():
            return True
        kernel = Path("/lib/modules", platform.release())
    listed = re.compile(rf"(^|/){re.escape(name)}\.ko(\.\w+)?(:|$)", re.MULTILINE)
    return any(listed.search(_text(kernel / each)) for each in ("modules.dep", "modules.builtin"))


def distribution_of(text: str) -> tuple[str, ...]:
    """What os-release(5) says that a distribution is: ID, then ID_LIKE, e.g. rocky, rhel, centos, fedora."""
    said = dict(re.findall(r"^(ID|ID_LIKE)=[\"']?([^\"'\n]*)", text, re.MULTILINE))
    return (*said.get("ID", "").split(), *said.get("ID_LIKE", "").split())


def _text(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def lacks(missing: Iterable[tuple[str, str]]) -> list[Lack]:
    """Of names and how to get each, one a remedy: "a is missing: get it", "a, b are missing: get them"."""
    by_remedy: dict[str, list[str]] = {}
    for name, how in missing:
        by_remedy.setdefault(how, []).append(name)
    return [
        Lack(f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} missing", how)
        for how, names in by_remedy.items()
    ]


# What measures besides the replay: characterise takes both, program: fio the first. A cluster comes up without, and says so.
TOOLS = Needs(programs={each: f"apt-get install {each}" for each in ("fio", "iperf3")})
FIO = Needs(programs={"fio": TOOLS.programs["fio"]})
