"""Tutorials' commands as the pages hold them, and whether their clusters can be brought up."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from wavetank.cluster import deploy
from wavetank.cluster.spec import read_spec


def script_of(page: Path, n_blocks: int) -> str:
    """The blocks of a page that are commands, one script that ends at the first that fails."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == n_blocks
    return "set -eu\n" + "\n".join(blocks)


def not_possible(clusters: Path, names: Iterable[str]) -> str | None:
    """Why one of the clusters cannot be brought up here; None where all can."""
    for name in names:
        found = deploy.check(read_spec(clusters / f"{name}.yaml"))
        if found:
            return "; ".join(found)
    return None
