"""Boots guests in nodes out of namespaces, and waits until commands can come."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from wavetank.cluster.capacity import volume_bytes
from wavetank.cluster.command_host import last_lines
from wavetank.cluster.guests.guest import (
    DIRECTORY,
    INIT,
    READY,
    VOLUME_FILE,
    Guest,
    GuestDisk,
    init_script,
    node_links,
)
from wavetank.cluster.guests.hypervisors import Machine
from wavetank.cluster.namespaces import network
from wavetank.cluster.namespaces.disks import attached
from wavetank.cluster.namespaces.host import NamespaceHost
from wavetank.cluster.namespaces.nodes import node_disks
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ProviderError

CONSOLE = "console"  # the log that a guest's console goes to
CONSOLE_LINES = 15
POLL_S = 0.01
KERNEL_MODULES = "/lib/modules"
# Makes ready in the node what a guest boots with, and becomes it: one program, where each costs milliseconds to start there.
# $1: lines of ip, $2: what process 1 runs, $3: the kernel's modules, $4: bytes of the volume or nothing, then the guest.
# A guest that dies must not leave its memory in a file.
START = f"""printf %s "$1" | ip -batch -
mkdir -p {DIRECTORY} {KERNEL_MODULES}
if [ -n "$4" ]; then truncate -s "$4" {VOLUME_FILE}; fi
if [ "$3" != "{KERNEL_MODULES}/${{3##*/}}" ]; then ln -sfn -- "$3" {KERNEL_MODULES}/; fi
printf %s "$2" >{INIT}
chmod 755 {INIT}
shift 4
ulimit -c 0
exec "$@"
"""


def guest_of(spec: ClusterSpec, name: str, directory: Path) -> Guest:
    """A node's guest; its disks are attached already."""
    position = spec.node_names().index(name)
    instance = spec.instance_of(name)
    disks = []
    for disk in node_disks(spec, name):
        image = directory / "images" / f"{name}{disk.suffix}.img"
        found = attached(image)
        if not found:
            raise ProviderError(f"no loop device is on {image}. Take the cluster down")
        disks.append(GuestDisk(found[0], disk.at, disk.storage.local_file_system))
    return Guest(
        name, position, network.address_of(position), instance.memory, instance.vcpus, tuple(disks),
        spec.file_system.facts.guest_modules if spec.clients_in_guests else (),
        network.address_around(position) if not spec.clients_in_guests else None,
        volume_bytes(spec) if spec.has_volumes else None,
    )  # fmt: skip


def boot(
    node: NamespaceHost,
    guest: Guest,
    machine: Machine,
    program: str,
) -> None:
    """Start a guest in its node; its console, and what the node says before, go to the node's log ``console``.

    Args:
        node: that it runs in.
        guest: the guest.
        machine: its hypervisor and kernel.
        program: wavetank-node.
    """
    kernel_modules = machine.modules()
    words = [
        node_links(guest.around),
        init_script(guest, machine.devices(guest), program),
        str(kernel_modules),
        # the file system that it will be on is not there yet
        str(guest.volume_bytes) if guest.volume_bytes is not None else "",
        *machine.command(guest),
    ]
    node.start(["sh", "-ec", START, "sh", *words], log=CONSOLE, env=machine.environment)


def wait_for(
    node: NamespaceHost,
    process_1: int,
    hypervisor: str,
    timeout_s: float,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until commands can come.

    Args:
        node: that the guest runs in.
        process_1: of the node, as this machine counts.
        hypervisor: for people.
        timeout_s: that it may take.
        sleep: of the time module.

    Raises:
        ProviderError: the guest ended, or takes too long; with its console's last lines.
    """
    ready = Path(f"/proc/{process_1}/root{READY}")
    deadline = time.monotonic() + timeout_s
    while not ready.exists():
        death = node.death_of(CONSOLE)
        if death is not None or time.monotonic() > deadline:
            did = (
                "ended before commands could come"
                if death is not None
                else f"did not boot within {timeout_s:.0f} s"
            )
            said = last_lines(node.log_text(CONSOLE), CONSOLE_LINES)
            raise ProviderError(
                f"guest {node.name} ({hypervisor}) {did}. Its console's last lines:\n{said}"
            )
        sleep(POLL_S)
