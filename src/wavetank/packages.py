"""What packages are called on the distributions that wavetank is for: the one table, and the command that installs some of them.

Drivers name packages as Debian does. Most names of Ubuntu 22.04 and 24.04 are the same; Rocky, Alma and Red Hat Enterprise
Linux 9 have names of their own, some of them in further repositories.
"""

from __future__ import annotations

import platform
import re
from importlib.resources import files
from typing import NamedTuple

TABLE = "package-names.tsv"
NOT_THERE = "-"
THE_SAME = "="
_SPLIT = "\t"


class Names(NamedTuple):
    """A package's names; "-" where none is known.

    Attributes:
        ubuntu_22_04: on Ubuntu 22.04.
        ubuntu_24_04: on Ubuntu 24.04.
        rocky_9: on Rocky, Alma and Red Hat Enterprise Linux 9; may be several.
        repository: the one there that is not enabled by itself, or "-".
        looked_up_for_ubuntu: how its names were looked up; the table's head has the words.
        looked_up_for_rocky: the same for Rocky.
    """

    ubuntu_22_04: str
    ubuntu_24_04: str
    rocky_9: str
    repository: str
    looked_up_for_ubuntu: str
    looked_up_for_rocky: str


def table() -> dict[str, Names]:
    """Debian's name -> the others."""
    rows = (files("wavetank") / "data" / TABLE).read_text(encoding="ascii").splitlines()
    cells = [row.split(_SPLIT) for row in rows if row and not row.startswith("#")]
    return {
        debian: Names(*(debian if name == THE_SAME else name for name in names))
        for debian, *names in cells
    }


def how_to_install(*names: str, release: dict[str, str] | None = None) -> str:
    """A command that installs packages on this machine, and what it takes before it.

    Args:
        names: as Debian calls them.
        release: os-release of the machine; this one's by default.

    Returns:
        On a distribution that is not known, Debian's command.
    """
    release = _this_machine() if release is None else release
    known = table()
    rows = {name: known.get(name) for name in names}
    if is_fedora_like(release):
        command = "dnf install"
        here = {name: row.rocky_9 if row else NOT_THERE for name, row in rows.items()}
        repositories = sorted({row.repository for row in rows.values() if row} - {NOT_THERE})
    else:
        command = "apt-get install"
        here = {name: _on_debian_or_ubuntu(name, row, release) for name, row in rows.items()}
        repositories = []
    there = dict.fromkeys(name for name in here.values() if name != NOT_THERE)
    of = f" (of {', '.join(repositories)})" if repositories else ""
    said = [f"{command} {' '.join(there)}{of}"] if there else []
    absent = [name for name, other in here.items() if other == NOT_THERE]
    if absent:
        said.append(f"no package of this distribution is known for Debian's {', '.join(absent)}")
    return "; ".join(said)


def _on_debian_or_ubuntu(name: str, row: Names | None, release: dict[str, str]) -> str:
    """Debian's name where the distribution or the package is not known."""
    if row is None or release.get("ID") != "ubuntu":
        return name
    return row.ubuntu_22_04 if release.get("VERSION_ID") == "22.04" else row.ubuntu_24_04


def _this_machine() -> dict[str, str]:
    """What os-release says; empty where there is none."""
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


def is_fedora_like(release: dict[str, str] | None = None) -> bool:
    """Whether packages are installed by dnf.

    Args:
        release: os-release of the machine; this one's by default.
    """
    release = _this_machine() if release is None else release
    words = {release.get("ID", ""), *release.get("ID_LIKE", "").split()}
    return bool(words & {"rhel", "fedora", "centos"})


def as_here(remedy: str, release: dict[str, str] | None = None) -> str:
    """A remedy that names Debian's packages, e.g. "apt-get install fio", as this machine's distribution has it.

    Args:
        remedy: any text; what is no such command stays.
        release: os-release of the machine; this one's by default.
    """
    release = _this_machine() if release is None else release
    return re.sub(
        r"apt-get install ((?:(?!and\b|then\b|or\b)[a-z0-9][a-z0-9.+-]+ ?)+)",
        lambda found: (
            how_to_install(*found[1].split(), release=release)
            + (" " if found[1].endswith(" ") else "")
        ),
        remedy,
    )
