"""The example driver with its entry point, as pip would put them on the path."""

from __future__ import annotations

import contextlib
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from wavetank.cluster import registry

DRIVER = Path(__file__).parents[1] / "examples" / "driver"


@contextlib.contextmanager
def example_driver(site: Path) -> Iterator[None]:
    """Have it installed, for this process and those that it starts.

    Args:
        site: an empty folder.
    """
    project = tomllib.loads((DRIVER / "pyproject.toml").read_text())["project"]
    facts = site / f"wavetank_sshfs-{project['version']}.dist-info"
    facts.mkdir()
    name = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (facts / "METADATA").write_text(name)
    ((group, entries),) = project["entry-points"].items()
    lines = "".join(f"{key} = {value}\n" for key, value in entries.items())
    (facts / "entry_points.txt").write_text(f"[{group}]\n{lines}")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DRIVER)
        patch.syspath_prepend(site)
        others = os.environ.get("PYTHONPATH", "").split(":")
        patch.setenv("PYTHONPATH", ":".join(filter(None, (str(site), str(DRIVER), *others))))
        patch.setattr(registry, "_FACTS", {})
        yield
