"""The emulator of AWS with instances that are machines: each is a node of a local cluster, as loopback_machines.py has it.

Usage: aws_machines.py LOCAL, in the network of the local cluster LOCAL; else as aws_emulator.py. Without a free node there is no room.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from typing import Any

from aws_emulator import MAKERS, Hostile, serve
from loopback_machines import Machines, first_start


class Loopback(Hostile):
    """Instances are nodes."""

    restates = True

    def __init__(self, local: str) -> None:
        super().__init__()
        self.machines = Machines(local)

    def _before_run(self, asked: dict[str, list[str]]) -> Any:
        own = super()._before_run(asked)
        if own is None and int(asked["MinCount"][0]) > self.machines.n_free:
            return 500, "InsufficientInstanceCapacity", "All nodes have stood for instances."
        return own

    def _after(self, name: str, region: str, asked: dict[str, list[str]], text: bytes) -> bytes:
        text = super()._after(name, region, asked, text)
        instances = re.findall(MAKERS["RunInstances"], text.decode())
        if name == "RunInstances":
            for each in instances:
                host = self.machines.take(each)
                name = f"ip-{host.address.replace('.', '-')}"
                first_start(host, name, asked["UserData"][0])
        if name == "TerminateInstances":
            for each in instances:
                self.machines.power_off(each)
        return text

    def _end(self, instance: str) -> None:
        super()._end(instance)
        self.machines.power_off(instance)

    def _restate(self, item: ET.Element, instance: str, space: str) -> None:
        super()._restate(item, instance, space)
        host = self.machines.get(instance)
        if host is None:  # it starts just now
            return
        for element in item.iter():
            if element.tag in (f"{space}ipAddress", f"{space}privateIpAddress"):
                element.text = host.address


if __name__ == "__main__":
    serve(Loopback(sys.argv[1]))
