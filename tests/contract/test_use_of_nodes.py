"""The bottleneck by what real nodes used: limits so strong that this machine's speed does not matter decide alone.

Where other work disturbs a measurement, the machine's processors may be what held it up: then that is the right answer.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from leftovers import skip_unless_possible, up

from wavetank.cluster.counters import CPU_S
from wavetank.cluster.spec import ClusterSpec
from wavetank.kernel.construction.objects import ObjectOperation, object_kernel
from wavetank.measure.bottleneck import Bottleneck, bottleneck
from wavetank.measure.disturbance import MachineWatch
from wavetank.measure.perform import ReplayPerformer
from wavetank.measure.result import Measurement
from wavetank.measure.run import measure, set_up

pytestmark = [pytest.mark.cluster]

MIB = 2**20
FAST: dict[str, Any] = {"name": "t.fast", "vcpus": 2, "memory": "512 MiB"}
SLOW = "4 MB/s"  # a busy machine of two cores still reaches it


def cluster(name: str, io: dict[str, Any], compute: dict[str, Any] | None = None) -> ClusterSpec:
    return ClusterSpec.model_validate(
        {
            "name": f"t{os.getpid()}-{name}",
            "instance": {**FAST, **(compute or {})},
            "io_instance": {**FAST, **io},
            "nodes": {"compute": 1, "io": 1},
            "file_system": {"kind": "nfs"},
            "storage": {"size": "512 MiB"},
        }
    )


def measured(
    folder: Path, spec: ClusterSpec, operation: ObjectOperation, file_mib: int, size: int = MIB
) -> Measurement:
    skip_unless_possible(spec)
    kernel = object_kernel("a", operation, size, 1, file_mib * MIB)
    before = set(threading.enumerate())
    with up(folder, spec) as running:
        found = measure(
            set_up(kernel, running),
            "1PxCN",
            ReplayPerformer(),
            repetition=0,
            order=0,
            watch=MachineWatch(),
        )
    assert set(threading.enumerate()) == before
    return found


def said_of(found: Measurement) -> list[Bottleneck]:
    """What took the time: of the phases, of what lies outside of them, and of the whole."""
    assert found.use is not None
    assert found.use.missing == ()
    uses = (*(phase.use for phase in found.use.phases), found.use.outside, found.use.whole)
    return [bottleneck(use) for use in uses]


def is_named(found: Measurement, name: str, said: list[Bottleneck]) -> bool:
    """As what took the time; beside other work, this machine's processors are named at least as a doubt."""
    assert found.load is not None
    if any(each.name == name for each in said):
        return True
    doubts = any("processors of this machine" in each.sentence for each in said)
    return bool(found.load.disturbed) and doubts


def test_a_kernel_that_a_slow_disk_holds_up_is_named_by_the_disk_of_its_server(
    tmp_path: Path,
) -> None:
    found = measured(tmp_path, cluster("dr", {"disk_read": SLOW}), "read", 8)
    assert is_named(found, "disk read of io1", said_of(found)[:1])


def test_what_is_flushed_to_a_slow_disk_is_named_by_it_outside_of_phases(tmp_path: Path) -> None:
    found = measured(tmp_path, cluster("dw", {"disk_write": SLOW}), "write", 12)
    assert is_named(found, "disk write of io1", said_of(found)[:-1])


def test_a_kernel_that_a_slow_network_holds_up_is_named_by_it(tmp_path: Path) -> None:
    found = measured(tmp_path, cluster("net", {"network": SLOW}), "read", 8)
    assert is_named(found, "network out of io1", said_of(found)[:1])
    found = measured(tmp_path, cluster("net", {"network": SLOW}), "write", 8)
    assert is_named(found, "network into io1", said_of(found)[:-1])


def test_a_kernel_whose_clients_have_little_processor_time_is_named_by_their_processors(
    tmp_path: Path,
) -> None:
    # a twentieth of a core for many requests that their own page cache answers
    spec = cluster("cpu", {}, {"vcpus": 0.05})
    found = measured(tmp_path, spec, "read", 16, 128)
    assert is_named(found, "processors of c1", said_of(found))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    spec = cluster("rec", {"disk_read": "50 MB/s", "disk_write": "40 MB/s", "network": "1 Gbit/s"})
    with up(tmp_path_factory.mktemp("state"), spec) as running:
        yield spec, running


def test_limits_in_force_are_what_use_is_judged_by(recorded: tuple[Any, Any]) -> None:
    _, running = recorded
    context = running.record_counters(0.01)
    assert context is not None
    with context as counters:
        running.compute_hosts[0].run(
            ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"]
        )
    by_name = {node.node: node for node in counters.nodes}
    assert set(by_name) == {"c1", "io1"}
    server = by_name["io1"].capacity
    assert (server.cpus, server.own_cpus) == (2.0, True)
    assert server.network_bytes_per_s == 125e6
    assert (server.read_bytes_per_s, server.write_bytes_per_s) == (50e6, 40e6)
    client = by_name["c1"]
    assert client.capacity.network_bytes_per_s is None
    assert client.counted[CPU_S][-1] > client.counted[CPU_S][0]
