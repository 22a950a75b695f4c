"""A provider of nodes out of a cloud: makes instances, hands them to what hosts over ssh have, and removes everything."""

from __future__ import annotations

import logging
import secrets
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wavetank import native
from wavetank.cluster import registry
from wavetank.cluster.clouds import bill, engine
from wavetank.cluster.clouds.cloud import Key, Made, new_lease, terms_of
from wavetank.cluster.clouds.disks import mount_further_devices
from wavetank.cluster.clouds.hosts import (
    KNOWN_HOSTS,
    addresses_of,
    as_hosts,
    inside,
    jump_address,
    make_keys,
    read_inventory,
    write_inventory,
)
from wavetank.cluster.clouds.packages import (
    compilers_of,
    needs_of_hosts,
    package_problems,
    tools_unknown,
)
from wavetank.cluster.clouds.price import over_budget
from wavetank.cluster.clouds.reach import wait_ready
from wavetank.cluster.components import AWS
from wavetank.cluster.managed import Service
from wavetank.cluster.needs import TOOLS, Examined, Needs
from wavetank.cluster.providers.base import Provider
from wavetank.cluster.remote import hosts, launching
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import ClusterDirectory, directory_of
from wavetank.errors import ProviderError, SpecError
from wavetank.steps import steps

log = logging.getLogger(__name__)

KEYS = "keys"


@dataclass(frozen=True)
class CloudNodes(hosts.SshNodes):
    """Instances of a cloud, over ssh."""

    provider: str = ""

    def limits(self) -> dict[str, str]:
        """There are none of ours: instances are as they are sold. Where ranks are started, and by what."""
        said = f"none of wavetank's: instances of {self.provider}, as they are"
        for entry in self.directory.journal():
            if entry["do"] == "launcher":
                said += f"; ranks are started by {entry['said'] or 'mpirun'} on {entry['node']}"
        return {"limits": said}

    @property
    def remote_shell(self) -> tuple[str, ...]:
        """As the launcher on the first compute node calls it."""
        sudo = self.spec.ssh is not None and self.spec.ssh.sudo
        return launching.remote_shell(self.home, sudo=sudo)

    @property
    def service(self) -> Service | None:
        """The file system that the cloud runs."""
        return noted_service(self.directory)

    @property
    def launcher_address(self) -> str | None:
        """Of the first compute node."""
        return self.hosts[self.spec.compute_names()[0]].address

    def health(self) -> list[str]:
        """What the account says of instances that do not run; of all others, hosts and daemons."""
        try:
            ended = self._ended()
        except ProviderError as error:
            ended = {"": str(error)}
        asked = {name: host for name, host in self.hosts.items() if name not in ended}
        of_hosts = hosts.SshNodes(self.spec, self.directory, asked, self.storage_path).health()
        return [*ended.values(), *of_hosts]

    def lost(self) -> list[str]:
        """Instances that ended. None is known to have where the account cannot be asked."""
        try:
            return list(self._ended().values())
        except ProviderError as error:
            log.warning(
                "%s: whether its instances run is not known: %s", self.directory.name, error
            )
            return []

    def _ended(self) -> dict[str, str]:
        """Findings by node.

        Raises:
            ProviderError: the account cannot be asked.
        """
        found = engine.noted_lease(self.directory)
        if found is None:
            return {}
        region, key = found
        made = registry.cloud(self.provider, region).instances(key)
        return ended_instances(self.spec.node_names(), made)


def note_service(directory: ClusterDirectory, served: Iterable[Made]) -> None:
    """Note how the cluster's file system is reached: the last one made, for EFS its mount target."""
    for made in served:
        if made.service is not None:
            directory.note(
                do="service", key=made.key, address=made.service.address, name=made.service.name
            )


def noted_service(directory: ClusterDirectory) -> Service | None:
    """How the cluster's file system is reached; None where none was made."""
    noted = [entry for entry in directory.journal() if entry["do"] == "service"]
    return Service(str(noted[-1]["address"]), str(noted[-1]["name"])) if noted else None


def managed_problems(spec: ClusterSpec) -> list[str]:
    """What keeps a file system that the cloud runs from being made, or from ending in time."""
    fs, terms = spec.file_system, spec.cloud
    if fs.facts.made_by is None or terms is None:
        return []
    findings = []
    if fs.facts.made_by == AWS and terms.reaper == "none":
        findings.append(
            f"file_system {fs.kind} does not end itself as instances do, and costs until it is deleted: name a role by "
            "cloud.reaper, so that a schedule of the cloud deletes it after the ttl"
        )
    if fs.facts.grows and fs.capacity is None:
        findings.append(
            f"file_system.capacity: {fs.title} grows, so its price is not known: say what is stored at most, e.g. 20 GiB"
        )
    return findings


def ended_instances(nodes: Iterable[str], made: Iterable[Made]) -> dict[str, str]:
    """Findings: nodes without an instance that runs, and why where the cloud says it."""
    by_node: dict[str, list[Made]] = {}
    for each in made:
        by_node.setdefault(each.node, []).append(each)
    findings = {}
    for node in nodes:
        of_node = by_node.get(node, [])
        if any(each.state in ("running", "pending") for each in of_node):
            continue
        last = of_node[-1] if of_node else None
        findings[node] = (
            f"{node}: {_why(last)}. Take the cluster down and bring it up again; a campaign then goes on"
        )
    return findings


def _why(made: Made | None) -> str:
    if made is None:
        return "its instance is gone"
    if "Spot" in made.reason:
        return f"the cloud took its spot instance {made.key} back ({made.reason})"
    return f"its instance {made.key} is {made.state} ({made.reason or 'no reason is given'})"


class CloudProvider(Provider):
    """Makes instances of the cloud of its name."""

    uses_this_machine = False
    clock: engine.Clock = engine.WallClock()

    def check(self, spec: ClusterSpec) -> list[str]:
        """What keeps a cluster from coming up."""
        return self.ask(spec).findings

    def ask(self, spec: ClusterSpec) -> Examined:
        """What the specification says, the budget, and what the account says; see the protocol."""
        findings = [*over_budget(spec), *package_problems(spec), *managed_problems(spec)]
        if shutil.which("ssh") is None:
            findings.append("ssh is not installed: apt-get install openssh-client")
        if spec.cloud is None:
            return Examined([*findings, f"provider {self.name} needs the key cloud"], [])
        if spec.scale != 1:
            findings.append("scale: instances of a cloud are as they are; remove it")
        try:
            found = registry.cloud(self.name, spec.cloud.region).check(spec)
        except (ProviderError, SpecError) as error:
            return Examined([*findings, str(error)], [])
        return Examined(findings + found.findings, found.unknown)

    def examine(self, spec: ClusterSpec, needs: Mapping[str, Needs]) -> list[str]:
        """Nothing: there are no hosts yet. They are asked when they are there."""
        del spec, needs
        return []

    def tools_unknown(self, spec: ClusterSpec) -> list[str]:
        """By the image; see the protocol."""
        return tools_unknown(spec)

    def as_hosts(self, spec: ClusterSpec) -> ClusterSpec:
        """See the protocol."""
        return as_hosts(spec)

    def create(self, spec: ClusterSpec, *, leave: bool = False) -> CloudNodes:
        """Make everything, wait until hosts can be used, and take them."""
        try:
            return self._create(spec, leave=leave)
        except BaseException:
            if leave:
                raise
            try:
                self.destroy(spec.name)
            except (
                ProviderError
            ) as left:  # deploy tries again; what went wrong first is what is said
                log.warning("%s", left)
            raise

    def _create(self, spec: ClusterSpec, *, leave: bool) -> CloudNodes:
        directory = directory_of(spec.name)
        terms = terms_of(spec)
        cloud = registry.cloud(self.name, terms.region)
        lease = new_lease(spec, secrets.token_hex(4), cloud.owner(), self.clock.now())
        keys = make_keys(directory.path / KEYS, lease.label)
        wanted = cloud.plan(spec, lease, keys)
        zones = cloud.zones(spec)
        engine.note_lease(directory, self.name, lease)
        bill.note_prices(directory, spec, terms)
        made = engine.make_all(cloud, lease, wanted, zones, directory, self.clock)
        bill.see_instances(directory, cloud, Key(lease.cluster, lease.token), self.clock.now())
        note_service(directory, engine.wait_served(cloud, lease, directory, self.clock))
        write_inventory(directory, keys, addresses_of(spec, made), made, jump_address(spec, made))
        seen = as_hosts(spec)
        steps.info("%s: waiting for ssh and the first start of %s", spec.name, ", ".join(made))
        self.wait_ready(seen)
        missing = hosts.examine(seen, needs_of_hosts(spec))
        if missing:
            raise ProviderError("instances lack what is needed:\n  " + "\n  ".join(missing))
        for lacks in hosts.examine(seen, dict.fromkeys(seen.node_names(), TOOLS)):
            log.warning(
                "%s: characterise and program: fio have to do without: %s", spec.name, lacks
            )
        steps.info("%s: all instances have what is needed; taking them", spec.name)
        nodes = self._nodes(hosts.take(seen, leave=leave))
        mount_further_devices(seen, nodes.hosts, nodes.storage_path)
        self.prepare_launches(nodes)
        return nodes

    def prepare_launches(self, nodes: CloudNodes) -> None:
        """Have the first compute node start ranks, as instances cannot call this machine."""
        names = nodes.spec.compute_names()
        compute = [nodes.hosts[name] for name in names]
        known_hosts = nodes.directory.path / KNOWN_HOSTS
        steps.info("%s: bringing wavetank's parts to %s", nodes.spec.name, ", ".join(names))
        try:
            said = launching.prepare(
                nodes.directory, inside(nodes.spec), compute, known_hosts, compilers_of(nodes.spec)
            )
        except ProviderError as error:
            raise ProviderError(
                f"{error}. Take a cloud.image of this machine's distribution, or build wavetank on that image's and name the "
                "folder by WAVETANK_NATIVE_DIR"
            ) from error
        nodes.directory.note(do="launcher", node=names[0], said=said or "")
        if said is None:
            log.warning(
                "%s: %s is not built here, so nothing can be measured on this cluster: %s",
                nodes.spec.name, launching.REPLAY, native.how_to_build(),
            )  # fmt: skip

    def wait_ready(self, spec: ClusterSpec) -> None:
        """Wait until hosts answer and are made ready."""
        with hosts.reaching(spec) as reached:
            wait_ready(reached, self.clock, spec.name)

    def find(self, spec: ClusterSpec) -> CloudNodes:
        """The same instances again."""
        if read_inventory(directory_of(spec.name)) is None:
            raise ProviderError(
                f"the instances of {spec.name} were never reached: wavetank cluster down {spec.name}"
            )
        return self._nodes(hosts.attach(as_hosts(spec)))

    def destroy(self, name: str) -> None:
        """Remove everything that has the cluster's tags; the journal says whose they are."""
        directory = directory_of(name)
        found = engine.noted_lease(directory)
        if found is None:
            return
        region, key = found
        hosts.forget(name)
        cloud = registry.cloud(self.name, region)
        bill.see_instances(directory, cloud, key, self.clock.now())
        since, noted = engine.last_intent(directory), engine.noted_things(directory)
        steps.info("%s: removing everything of %s in %s", name, key.label, region)
        n = engine.remove_all(cloud, key, self.clock, since=since, noted=noted)
        steps.info(
            "%s: %d things of %s are removed; nothing is left in %s", name, n, key.label, region
        )
        bill.see_instances(directory, cloud, key, self.clock.now(), all_gone=True)
        kept = bill.keep_bill(directory, self.clock.now())
        if kept is not None:
            log.info(
                "%s: computed bill %s USD; 'wavetank cluster bill %s' shows it",
                name,
                kept.computed.at_most,
                name,
            )

    def _nodes(self, nodes: hosts.SshNodes) -> CloudNodes:
        return CloudNodes(
            nodes.spec,
            nodes.directory,
            nodes.hosts,
            nodes.storage_path,
            launching.launcher_prefix(nodes.directory),
            provider=self.name,
        )


class AwsProvider(CloudProvider):
    """Makes EC2 instances, and leaves nothing."""

    name = "aws"


class OpenStackProvider(CloudProvider):
    """Makes servers of Nova, and leaves nothing."""

    name = "openstack"
