"""Packages made and used in clean roots of Debian: the container, Debian's binary package, pipx and uv.

Each takes minutes, and hundreds of MB of packages: they run by ``make test-packages`` alone. The roots are what debootstrap makes, as
images of buildah in a folder of the test; commands in them run by its chroot isolation, which needs no daemon and no registry.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import first_page

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("buildah", "debootstrap")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
SITE = "etc/site.pem"
"""This machine's certificates in a root: pip asks an index by them, which may be behind a site's own."""

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        os.geteuid() != 0 or not all(map(shutil.which, TOOLS)),
        reason="root, and Debian's buildah and debootstrap: make test-packages",
    ),
]

MPI_PROGRAM = """
cat > ranks.c <<'C'
#include <mpi.h>
int main(int argc, char **argv) {
    int rank, values[1024] = {0};
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_File_open(MPI_COMM_WORLD, "ranks.out", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, (MPI_Offset)sizeof values * rank, values, 1024, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    return MPI_Finalize();
}
C
for family in openmpi mpich; do
    command -v mpicc.$family || continue
    mpicc.$family ranks.c -o ranks.$family
    options="-np 2"
    [ $family = openmpi ] && options="$options --oversubscribe"
    [ $family = openmpi ] && [ $(id -u) = 0 ] && options="$options --allow-run-as-root"
    wavetank trace -o $family.trace -- mpirun.$family $options ./ranks.$family
    wavetank model $family.trace -o $family.model.json
    wavetank kernel $family.model.json -o $family.kernel.json
    mkdir -p replayed.$family
    wavetank replay $family.kernel.json --root replayed.$family
    test $(stat -c %s $(find replayed.$family -name ranks.out)) = 8192
done
"""
"""Lines of shell: each MPI family that a root has writes one file by two ranks, and its replay writes as much."""


@dataclass(frozen=True)
class Images:
    """Images in a folder of their own, of a storage that is plain directories."""

    folder: Path
    containers: dict[str, str] = field(default_factory=dict)  # by image

    def run(self, *words: str | Path, said: str | None = None) -> str:
        """Run buildah, with ``said`` on its standard input; what it prints."""
        argv = ["buildah", "--storage-driver", "vfs", "--root", str(self.folder / "storage"),
                "--runroot", str(self.folder / "run"), *map(str, words)]  # fmt: skip
        done = subprocess.run(
            argv, input=said, capture_output=True, text=True, check=False, cwd=self.folder,
            env=os.environ | {"TMPDIR": str(self.folder), "BUILDAH_ISOLATION": "chroot"},
        )  # fmt: skip
        assert done.returncode == 0, f"{words}\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
        return done.stdout

    def debian(self, suite: str) -> str:
        """The least root of a release, with this machine's certificates, as a site's own image has the site's."""
        name = f"localhost/debian-{suite}"
        container = self.run("from", "scratch").strip()
        root = Path(self.run("mount", container).strip())
        made = subprocess.run(
            ["debootstrap", "--variant=minbase", suite, root],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert made.returncode == 0, made.stdout[-4000:] + made.stderr[-4000:]
        if CERTIFICATES.exists():
            shutil.copy(CERTIFICATES, root / SITE)
            (root / "etc/pip.conf").write_text(f"[global]\ncert = /{SITE}\n")
        for package in (root / "var/cache/apt/archives").glob("*.deb"):
            package.unlink()
        self.run("umount", container)
        self.run("commit", "--rm", container, name)
        return name

    def build(self, name: str, *words: str | Path, said: str | None = None) -> str:
        """Build an image by a container file: a path among the words, or what is said."""
        self.run("build", "--isolation", "chroot", "-t", name, *words, said=said)
        return name

    def shell(self, image: str, text: str, user: str = "root") -> str:
        """Run lines of shell in a new home of a user; the first that fails ends them. What they print.

        An image has one container: without layers that are shared, another one is another copy of several GB.
        """
        if image not in self.containers:
            self.containers[image] = self.run("from", "--pull-never", image).strip()
        home = "export HOME=$(mktemp -d); cd\n"
        return self.run(
            "run", "--isolation", "chroot", "--user", user, self.containers[image],
            "--", "sh", "-e", "-c", home + text,
        )  # fmt: skip

    def remove(self) -> None:
        """Also where debootstrap was ended while it had something mounted: nothing is deleted through a mount."""
        for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            place = line.split()[1]
            if place.startswith(f"{self.folder}/"):
                subprocess.run(["umount", place], check=True)
        self.run("rm", "--all")
        self.run("rmi", "--all", "--force")
        shutil.rmtree(self.folder)


@pytest.fixture(scope="module")
def images() -> Iterator[Images]:
    made = Images(Path(tempfile.mkdtemp(prefix="wavetank-images-")))
    yield made
    made.remove()


@pytest.fixture(scope="module")
def container(images: Images) -> str:
    """The container as its file describes it, on a root of Debian 12 in place of a registry's."""
    return images.build(
        "localhost/wavetank", "--build-arg", f"BASE={images.debian('bookworm')}",
        "-f", ROOT / "packaging/container/Containerfile", ROOT,
    )  # fmt: skip


def without_nodes(commands: str) -> str:
    """In a container's chroot nobody makes namespaces: ``try`` compares what is mounted there, which other tests show."""
    lines = commands.splitlines()
    kept = [line for line in lines if not line.startswith("wavetank try")]
    assert len(kept) == len(lines) - 1
    return "\n".join(kept) + "\n"


def listed(*groups: str) -> set[str]:
    """Debian packages of groups of the one list."""
    lines = (ROOT / "packaging/debian-packages.txt").read_text().splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {name for name, group, _ in rows if group in groups}


def test_the_container_traces_models_and_replays_programs_of_both_mpi_families(
    images: Images, container: str
) -> None:
    said = images.shell(
        container,
        f"wavetank --version; {without_nodes(first_page.commands())}{MPI_PROGRAM} ls",
    )
    assert "/opt/wavetank/cache/" in said  # C parts that were built with the image
    assert {"replayed", "replayed.openmpi", "replayed.mpich"} <= set(said.split())


def test_doctor_wants_no_package_in_the_container_that_its_list_installs(
    images: Images, container: str
) -> None:
    said = json.loads(images.shell(container, "wavetank doctor --format json"))
    remedies = [row["remedy"] or "" for row in said["this_machine"] if row["state"] != "ok"]
    wanted = {
        name
        for remedy in remedies
        for found in re.findall(r"apt-get install ([a-z0-9 .+-]+)", remedy)
        for name in found.split()
    }
    assert wanted & listed("build", "run") == set()


def test_pipx_and_uv_install_a_program_that_works(images: Images, container: str) -> None:
    """Each in the container, which has what builds; with the newest versions of what wavetank depends on."""
    use = f"PATH=$HOME/.local/bin:$PATH; wavetank --version; {without_nodes(first_page.commands())}"
    pipx = "apt-get update; apt-get install -y --no-install-recommends pipx; pipx install /usr/src/wavetank"
    uv = (
        f"python3 -m venv /tmp/uv; /tmp/uv/bin/pip install uv; export SSL_CERT_FILE=/{SITE}; "
        "/tmp/uv/bin/uv tool install /usr/src/wavetank"
    )
    for install in (pipx, uv):
        images.shell(container, f"{install}; test -x $HOME/.local/bin/wavetank; {use}")


DEBIAN_13 = """
FROM {base}
COPY wavetank_* /tmp/source/
RUN cd /tmp/source && export DEBIAN_FRONTEND=noninteractive && apt-get update \\
    && apt-get install -y --no-install-recommends build-essential \\
    && apt-get build-dep -y --no-install-recommends ./*.dsc \\
    && dpkg-source -x *.dsc tree && (cd tree && dpkg-buildpackage -b -us -uc) \\
    && apt-get install -y --no-install-recommends ./wavetank_*.deb libopenmpi-dev openmpi-bin \\
    && useradd --create-home me
"""


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="does not apply: no checkout")
def test_debians_binary_package_is_built_on_debian_13_and_used_by_a_user(
    images: Images, tmp_path: Path
) -> None:
    subprocess.run([ROOT / "packaging/debian-source", tmp_path], check=True)
    recipe = DEBIAN_13.format(base=images.debian("trixie"))
    image = images.build("localhost/wavetank-deb", "-f", "-", tmp_path, said=recipe)
    said = images.shell(
        image,
        "test -e /usr/share/man/man1/wavetank-cluster-up.1.gz; "
        "test -e /usr/share/bash-completion/completions/wavetank; "
        f"{without_nodes(first_page.commands())}{MPI_PROGRAM} wavetank --version; ls",
        user="me",
    )
    assert "/.cache/wavetank/native" in said
    assert {"replayed", "replayed.openmpi"} <= set(said.split())
