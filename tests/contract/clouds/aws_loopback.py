"""A program that brings a cluster up on emulated instances, each of which is a node of a local cluster with a real sshd.

Usage: aws_loopback.py LOCAL FILE_SYSTEM IMAGE, in the network of the local cluster LOCAL: the emulator of AWS listens there.
What is real: the provider, its calls, keys, ssh with strict host keys, what is asked of hosts, and the file system's driver.
What is not: cloud-init. The node gets the user, the keys and the marker of the user data from here. Instances end with all they
have; their nodes do with the local cluster.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))
import yaml
from aws_account import ENVIRONMENT, Emulator, QuickClock, of, spec_of

from waiting import HANG_S
from wavetank.cluster import deploy
from wavetank.cluster.clouds import engine, provider
from wavetank.cluster.clouds import hosts as cloud_hosts
from wavetank.cluster.clouds.aws.account import Account
from wavetank.cluster.clouds.cloud import Made
from wavetank.cluster.filesystems.base import wait_until
from wavetank.cluster.host import Host
from wavetank.kernel.construction.objects import object_kernel
from wavetank.measure.perform import ReplayPerformer
from wavetank.measure.run import measure, set_up

SIZE = 64 * 1024
HOMES = "/run/store/wavetank"  # of a file system of the node's own
# $1: user. Standard input: the user's public key. What cloud-init does with "users", the end, and the last line of the script.
FIRST_START = """
id "$1" >/dev/null 2>&1 || useradd -m -p '*' "$1"
printf '%s ALL=(ALL) NOPASSWD: ALL\\n' "$1" >/etc/sudoers.d/wavetank-loopback
mkdir -p /run/sshd /run/systemd/shutdown "$2"
chown "$1" "$2"
cat >/run/loopback-keys
chmod 644 /run/loopback-keys
touch /run/systemd/shutdown/scheduled /run/wavetank-ready
"""
SSHD = (
    "/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-p", "22", "-h", "/run/loopback-host-key",
    "-o", "AuthorizedKeysFile=/run/loopback-keys", "-o", "StrictModes=no", "-o", "MaxStartups=100",
)  # fmt: skip


def first_start(host: Host, user_data: str) -> None:
    """What an instance does at its first start, as far as a node can do it."""
    asked: dict[str, Any] = yaml.safe_load(base64.b64decode(user_data))
    user = asked["users"][1]
    host.run(
        ["sh", "-ec", FIRST_START, "sh", user["name"], HOMES],
        stdin=user["ssh_authorized_keys"][0] + "\n",
    )
    host.run(
        ["sh", "-c", "umask 077; cat >/run/loopback-host-key"],
        stdin=asked["ssh_keys"]["ed25519_private"],
    )
    host.start(SSHD, log="sshd-loopback")
    wait_until(host, ["sh", "-c", "ss -ltn | grep -q ':22 '"], "sshd", HANG_S, "sshd-loopback")


def main() -> None:
    local, kind, image = sys.argv[1:]
    machines = list(deploy.find(local).compute_hosts)
    aws = Emulator()
    try:
        os.environ |= {**ENVIRONMENT, "AWS_ENDPOINT_URL": aws.url}
        Account.pause = lambda self, n_before: None  # type: ignore[method-assign]
        provider.CloudProvider.clock = QuickClock()
        cloud_hosts.HOMES = HOMES
        make_all = engine.make_all

        def made_of_nodes(*args: Any) -> dict[str, Made]:
            made = make_all(*args)
            by_node = dict(zip(made, machines, strict=True))
            calls = [each["UserData"] for each in of(aws.made(), "RunInstances")]
            for node, host in by_node.items():
                first_start(host, calls[0] if node.startswith("c") else calls[1])
            return {
                node: replace(each, public_address=None, private_address=by_node[node].address)
                for node, each in made.items()
            }

        engine.make_all = made_of_nodes  # type: ignore[assignment]
        file_system = {"kind": kind, "mount": "/made-by-aws/mount"}
        spec = spec_of(f"{local}-aws", file_system=file_system, cloud={"image": image})
        cluster = deploy.bring_up(spec)
        try:
            writer, reader = cluster.compute_hosts
            path = f"{cluster.mount_path}/written-by-c1"
            writer.run(["sh", "-c", 'echo "$1" >"$2"', "sh", "from one instance", path])
            read = reader.run(["cat", path]).stdout
            bench = set_up(object_kernel("objects", "write", SIZE, 2, 2 * SIZE), cluster)
            measured = measure(bench, "1PxCN", ReplayPerformer(), repetition=0, order=0)
            health = cluster.health()
            mounts = [host.run(["cat", "/proc/mounts"]).stdout for host in cluster.compute_hosts]
        finally:
            deploy.take_down(spec.name)
        said = {
            "read": read, "health": health, "mounts": mounts, "account": aws.left(),
            "measured": measured.result.model_dump(mode="json"), "limits": measured.limits,
        }  # fmt: skip
        print(json.dumps(said))
    finally:
        aws.close()


if __name__ == "__main__":
    main()
