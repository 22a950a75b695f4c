"""EFS, made and removed by the cloud together with the nodes: here it is mounted, by NFS 4.1 as it is or through TLS.

Mount options: the EFS user guide, "Recommended NFS mount settings". TLS without Amazon's own mount program: the same guide, "Encrypting
data in transit": stunnel to port 2049, and a mount of the local port. So all images do it alike.
"""

from __future__ import annotations

from collections.abc import Iterator

from wavetank.cluster.components import AWS, FileSystem, OptionValue
from wavetank.cluster.filesystems.base import Site, wait_until
from wavetank.cluster.filesystems.facts import Facts
from wavetank.cluster.filesystems.managed import ManagedNfs, mount_words
from wavetank.cluster.host import Host
from wavetank.cluster.managed import Service, Stored
from wavetank.cluster.needs import Needs
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import RemoteCommandError
from wavetank.units import MIB

LARGEST_PROVISIONED = (
    3414 * MIB
)  # bytes per second; the CreateFileSystem operation of EFS, botocore 1.44.5
NFS_PORT = 2049
TLS_PORT = 20049  # of this node alone
TLS_WITHIN_S = 60.0
OPTIONS: dict[str, OptionValue] = {
    "nfsvers": "4.1",
    "rsize": "1048576",
    "wsize": "1048576",
    "hard": True,
    "timeo": "600",
    "retrans": "2",
    "noresvport": True,
}
CONFIGURATION = "/run/wavetank-efs-tls.conf"
# Certificates of Debian and Ubuntu, and of Amazon Linux.
AUTHORITIES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
LOG = "efs-tls"
# A line of /proc/net/tcp of a socket that listens: "2: 0100007F:4E51 00000000:0000 0A ...", address and port in hexadecimal.
LISTENS = f"grep -qsE '^ *[0-9]+: [0-9A-F]+:{TLS_PORT:04X} [0-9A-F]+:0000 0A' /proc/net/tcp"


def _problems(fs: FileSystem) -> Iterator[str]:
    if isinstance(fs.throughput, int) and not MIB <= fs.throughput <= LARGEST_PROVISIONED:
        yield "file_system.throughput: EFS can be provisioned with 1 to 3414 MiB/s"
    if fs.capacity == 0:
        yield "file_system.capacity: what is stored at most is more than nothing"


def _priced(spec: ClusterSpec) -> Stored:
    """What is read and written is paid for with elastic throughput, its default."""
    fs = spec.file_system
    rate = fs.throughput if isinstance(fs.throughput, int) else None
    return Stored("efs", fs.capacity, rate, fs.throughput in (None, "elastic"))


class EFS(ManagedNfs):
    """An NFS of the cluster's own, run by AWS."""

    kind = "efs"
    facts = Facts(
        title="EFS",
        keys=frozenset({"capacity", "throughput", "tls"}),
        problems=_problems,
        made_by=AWS,
        priced=_priced,
        grows=True,
        has_servers=False,
        on_this_machine=False,
        stripes=(),
        guest_methods=(),
    )

    def needs_of_clients(self, spec: ClusterSpec) -> Needs:
        """The kernel's client, and stunnel for TLS."""
        plain = super().needs_of_clients(spec)
        if not spec.file_system.tls or not self.is_made(spec):
            return plain
        return Needs({**plain.programs, "stunnel": "apt-get install stunnel4"})

    def to_mount(self, spec: ClusterSpec, client: Host, service: Service) -> list[str]:
        """By NFS, through TLS where that was asked for."""
        if spec.file_system.tls:
            _start_tls(client, service)
        source = "127.0.0.1:/" if spec.file_system.tls else f"{service.address}:/"
        return ["-t", "nfs4", "-o", options_of(spec), source]

    def settings(self, site: Site) -> dict[str, str]:
        """The clients' mounts, read back, and what they reach it by."""
        tls = site.spec.file_system.tls
        way = "TLS, by stunnel on each node" if tls else "not encrypted"
        return {**super().settings(site), "on the way": way}


def options_of(spec: ClusterSpec) -> str:
    """Options of the mount: those that AWS recommends, then those of the specification."""
    fs = spec.file_system
    tls: dict[str, OptionValue] = {"port": TLS_PORT} if fs.tls else {}
    return mount_words({**OPTIONS, **tls, **fs.mount_options})


def tls_configuration(service: Service, authorities: str) -> str:
    """Of stunnel: from a port of this node alone to the servers, whose name their certificate must have."""
    return (
        "foreground = yes\n[efs]\nclient = yes\n"
        f"accept = 127.0.0.1:{TLS_PORT}\nconnect = {service.address}:{NFS_PORT}\n"
        f"sslVersionMin = TLSv1.2\nverifyChain = yes\nCAfile = {authorities}\ncheckHost = {service.name}\nsni = {service.name}\n"
        "TIMEOUTbusy = 20\nTIMEOUTclose = 0\n"
    )


def _start_tls(client: Host, service: Service) -> None:
    """Have stunnel listen, where it does not yet."""
    test = " || ".join(f"{{ test -e {path} && echo {path}; }}" for path in AUTHORITIES)
    try:
        client.run(["sh", "-c", LISTENS])
    except RemoteCommandError:
        authorities = client.run(["sh", "-c", test]).stdout.strip()
        text = tls_configuration(service, authorities)
        client.run(["dd", f"of={CONFIGURATION}", "status=none"], stdin=text)
        client.start(["stunnel", CONFIGURATION], log=LOG)
        wait_until(client, ["sh", "-c", LISTENS], "stunnel", TLS_WITHIN_S, LOG)
