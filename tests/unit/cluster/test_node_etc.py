"""What a node has of its own in /etc."""

from __future__ import annotations

from pathlib import Path

import pytest

from wavetank.cluster.namespaces.node import write_etc


@pytest.mark.parametrize("machine_has_it", [True, False])
def test_a_node_has_mtab_where_the_machine_lacks_it(tmp_path: Path, machine_has_it: bool) -> None:
    node, machine = tmp_path / "node", tmp_path / "machine"
    node.mkdir()
    machine.mkdir()
    if machine_has_it:
        (machine / "mtab").symlink_to("/proc/self/mounts")
    before = sorted(machine.iterdir())
    write_etc(node, "c1", "127.0.0.1 localhost\n", machine)
    assert (node / "mtab").is_symlink() == (not machine_has_it)
    assert (node / "hosts").read_text() == "127.0.0.1 localhost\n"
    assert (node / "hostname").read_text() == "c1\n"
    assert sorted(machine.iterdir()) == before
