"""EFS, made and removed by the cloud together with the nodes: here it is mounted, by NFS 4.1 as it is or through TLS.

Mount options: the EFS user guide, "Recommended NFS mount settings". TLS without Amazon's own mount program: the same guide, "Encrypting
data in transit": stunnel to port 2049, and a mount of the local port. So all images do it alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wavetank.cluster.components import AWS
from wavetank.cluster.filesystems.base import Site, mount_line, wait_until, write_content
from wavetank.cluster.filesystems.managed import Managed
from wavetank.cluster.host import Host
from wavetank.cluster.managed import Service
from wavetank.cluster.needs import Needs
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import RemoteCommandError

NFS_PORT = 2049
TLS_PORT = 20049  # of this node alone
TLS_WITHIN_S = 60.0
OPTIONS: dict[str, str | None] = {
    "nfsvers": "4.1",
    "rsize": "1048576",
    "wsize": "1048576",
    "hard": None,
    "timeo": "600",
    "retrans": "2",
    "noresvport": None,
}
CONFIGURATION = "/run/wavetank-efs-tls.conf"
# Certificates of Debian and Ubuntu, and of Amazon Linux.
AUTHORITIES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
LOG = "efs-tls"
# A line of /proc/net/tcp of a socket that listens: "2: 0100007F:4E51 00000000:0000 0A ...", address and port in hexadecimal.
LISTENS = f"grep -qsE '^ *[0-9]+: [0-9A-F]+:{TLS_PORT:04X} [0-9A-F]+:0000 0A' /proc/net/tcp"


class EFS(Managed):
    """An NFS of the cluster's own, run by AWS."""

    kind = "efs"
    title = "EFS"

    def check(self, spec: ClusterSpec) -> list[str]:
        """Who makes it, and keys that nobody would read."""
        return list(_problems(spec))

    def needs_of_clients(self, spec: ClusterSpec) -> Needs:
        """The kernel's client, and stunnel for TLS."""
        if spec.provider != AWS:
            return Needs()
        tls = {"stunnel": "apt-get install stunnel4"} if spec.file_system.tls else {}
        return Needs({"mount.nfs": "apt-get install nfs-common", **tls})

    def to_mount(self, spec: ClusterSpec, client: Host, service: Service) -> list[str]:
        """By NFS, through TLS where that was asked for."""
        if spec.file_system.tls:
            _start_tls(client, service)
        source = "127.0.0.1:/" if spec.file_system.tls else f"{service.address}:/"
        return ["-t", "nfs4", "-o", mount_words(spec), source]

    def settings(self, site: Site) -> dict[str, str]:
        """The clients' mounts, read back, and what they reach it by."""
        at = self.mount_path(site)
        tls = site.spec.file_system.tls
        return {
            "file system": "efs",
            "on the way": "TLS, by stunnel on each node" if tls else "not encrypted",
            **{f"mount on {client.name}": mount_line(client, at) or "not mounted" for client in site.clients},
        }  # fmt: skip

    def place_files(self, site: Site, sizes: Mapping[str, int]) -> dict[str, str]:
        """Write through the first client; where EFS keeps it is not told."""
        at, client = self.mount_path(site), site.clients[0]
        for path, size in sizes.items():
            write_content(client, f"{at}/{path}", size, site.on_written)
        return dict.fromkeys(sizes, "EFS, which does not tell where")


def mount_words(spec: ClusterSpec) -> str:
    """Options of the mount: those that AWS recommends, then those of the specification."""
    fs = spec.file_system
    asked: dict[str, str | None] = dict(OPTIONS)
    if fs.tls:
        asked["port"] = str(TLS_PORT)
    for name, value in fs.mount_options.items():
        asked[name] = None if value is True else str(value)
    return ",".join(name if value is None else f"{name}={value}" for name, value in asked.items())


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


def _problems(spec: ClusterSpec) -> Iterator[str]:
    fs = spec.file_system
    if spec.provider != AWS:
        yield (
            f"file_system efs is made by provider {AWS}, not {spec.provider}. Mounted already, it is kind: existing"
        )
    if spec.layout == "one-server-per-file":
        yield "layout one-server-per-file: EFS does not tell, or choose, where a file is. Write layout: striped"
    for key in fs.options:
        yield f"file_system.options {key}: efs has no options; remove it"
