"""What packages are called on the distributions that wavetank is for: the one table, and the command that installs some of them.

Drivers name packages as Debian does. Names of Debian 12 and 13, Ubuntu 22.04 and 24.04 are the same but for those below;
Rocky, Alma and Red Hat Enterprise Linux 9 have names of their own, some of them in further repositories.
"""

from __future__ import annotations

import platform
import re
from importlib.resources import files

TABLE = "package-names.tsv"
NOT_THERE = "-"
_SPLIT = "\t"


def table() -> dict[str, tuple[str, str]]:
    """Debian's name -> name on Rocky and RHEL 9, and the repository there that is not enabled by itself; "-" where there is none."""
    rows = (files("wavetank") / "data" / TABLE).read_text(encoding="ascii").splitlines()
    cells = [row.split(_SPLIT) for row in rows if row and not row.startswith("#")]
    return {name: (there, repository) for name, there, repository in cells}


def how_to_install(*names: str, release: dict[str, str] | None = None) -> str:
    """A command that installs packages on this machine, and what it takes before it.

    Args:
        names: as Debian calls them.
        release: os-release of the machine; this one's by default.

    Returns:
        On a distribution that is not known, Debian's command.
    """
    if not is_fedora_like(release):
        return f"apt-get install {' '.join(dict.fromkeys(names))}"
    known = table()
    rows = {name: known.get(name, (NOT_THERE, NOT_THERE)) for name in names}
    there = dict.fromkeys(here for here, _ in rows.values() if here != NOT_THERE)
    said = [f"dnf install {' '.join(there)}"] if there else []
    repositories = sorted({repository for _, repository in rows.values()} - {NOT_THERE})
    if repositories:
        said.append(f"(of {', '.join(repositories)})")
    absent = [name for name, (here, _) in rows.items() if here == NOT_THERE]
    if absent:
        said.append(f"no package of this distribution is known for Debian's {', '.join(absent)}")
    return " ".join(said)


def is_fedora_like(release: dict[str, str] | None = None) -> bool:
    """Whether packages are installed by dnf.

    Args:
        release: os-release of the machine; this one's by default.
    """
    if release is None:
        try:
            release = platform.freedesktop_os_release()
        except OSError:
            return False
    words = {release.get("ID", ""), *release.get("ID_LIKE", "").split()}
    return bool(words & {"rhel", "fedora", "centos"})


def as_here(remedy: str, release: dict[str, str] | None = None) -> str:
    """A remedy that names Debian's packages, e.g. "apt-get install fio", as this machine's distribution has it.

    Args:
        remedy: any text; what is no such command stays.
        release: os-release of the machine; this one's by default.
    """
    if not is_fedora_like(release):
        return remedy
    return re.sub(
        r"apt-get install ((?:(?!and\b|then\b|or\b)[a-z0-9][a-z0-9.+-]+ ?)+)",
        lambda found: (
            how_to_install(*found[1].split(), release=release)
            + (" " if found[1].endswith(" ") else "")
        ),
        remedy,
    )
