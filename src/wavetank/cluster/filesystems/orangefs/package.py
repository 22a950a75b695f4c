"""A package of OrangeFS that a person gives: copied to hosts, and installed or unpacked there; taken away again at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wavetank.cluster.components import MAKES_NODES
from wavetank.cluster.host import Host
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import FileSystemError, RemoteCommandError

INSTALL_TIMEOUT_S = 900.0

# $1: the package, $2: folder that notes what is to be taken away, $3: the prefix of an archive. dpkg installs nothing that a package
# depends on; apt-get does then.
INSTALL = """set -e
case $1 in
*.deb)
  name=$(dpkg-deb -f "$1" Package) version=$(dpkg-deb -f "$1" Version)
  there=$(dpkg-query -W -f '${db:Status-Status} ${Version}' "$name" 2>/dev/null) || there=
  case $there in
  "installed $version") exit 0 ;;
  installed*) echo "$name is installed already, as ${there#installed }, and not $version" >&2; exit 1 ;;
  esac
  echo "$name" >"$2/installed"
  dpkg -i "$1" >&2 || DEBIAN_FRONTEND=noninteractive apt-get install -f -y >&2
  ;;
*)
  [ ! -e "$3" ] || { echo "$3 is there already" >&2; exit 1; }
  echo "$3" >"$2/unpacked"
  mkdir -p -- "$3"
  tar -C "$3" -xzf "$1"
  ;;
esac
"""
# $1: that folder, $2: the prefix. Only what was noted.
REMOVE = """if [ -f "$1/installed" ]; then dpkg -r "$(cat "$1/installed")" >&2; fi
if [ "$(cat "$1/unpacked" 2>/dev/null)" = "$2" ]; then rm -rf -- "$2"; fi
"""


def problems(spec: ClusterSpec) -> Iterator[str]:
    """Why the package cannot be used."""
    fs = spec.file_system
    if fs.package is None:
        return
    if spec.provider in MAKES_NODES:
        yield (
            f"file_system.package: nodes of provider {spec.provider} have this machine's programs: install {fs.package} here, "
            "and remove the key"
        )
    if not Path(fs.package).is_file():
        yield f"file_system.package {fs.package} is no file of this machine: name the package, or build one"
    if fs.prefix is None and not fs.package.endswith(".deb"):
        yield f"file_system.package {fs.package} is unpacked at file_system.prefix: name the prefix that it was built for"


def bring(host: Host, spec: ClusterSpec, state: str) -> None:
    """Have the package on a host.

    Args:
        host: to install it on.
        spec: of the cluster.
        state: folder of the cluster there.

    Raises:
        FileSystemError: it cannot be installed there; with what was said.
    """
    package = spec.file_system.package
    if package is None:
        return
    there = f"{state}/{Path(package).name}"
    try:
        host.run(["mkdir", "-p", "--", state])
        host.put(Path(package), there)
        argv = ["sh", "-c", INSTALL, "sh", there, state, spec.file_system.prefix or ""]
        host.run(argv, timeout_s=INSTALL_TIMEOUT_S)
        host.run(["rm", "-f", "--", there])
    except RemoteCommandError as error:
        raise FileSystemError(
            f"{package} cannot be installed on {host.name}: {error.stderr_tail or error}"
        ) from error


def remove(host: Host, spec: ClusterSpec, state: str) -> None:
    """Take away what ``bring`` installed; nothing that was there before."""
    if spec.file_system.package is not None:
        argv = ["sh", "-c", REMOVE, "sh", state, spec.file_system.prefix or ""]
        host.run(argv, timeout_s=INSTALL_TIMEOUT_S)
