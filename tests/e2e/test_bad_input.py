"""Bad input: a message that says what, where and what to do; a status; nothing left behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from waiting import HANG_S

pytestmark = pytest.mark.e2e

Run = Callable[..., subprocess.CompletedProcess[str]]
WAVETANK = Path(sys.executable).parent / "wavetank"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small file system")

CLUSTER = """\
name: bad-input
instance: {name: t2.medium, vcpus: 1, memory: 512 MiB, network: 1 Gbit/s}
file_system: {kind: nfs}
nodes: {compute: 2, io: 1}
"""


def edited(*place: str | int, value: object) -> Callable[[str], str]:
    """A person's edit of one value of a JSON document."""

    def edit(text: str) -> str:
        body = json.loads(text)
        part = body
        for key in place[:-1]:
            part = part[key]
        part[place[-1]] = value
        return json.dumps(body)

    return edit


def names_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_a_program_that_does_not_exist_leaves_no_trace(tmp_path: Path, wavetank: Run) -> None:
    failed = wavetank("trace", "-o", "t.trace", "--", "./nosuch", cwd=tmp_path, status=1)
    assert "nosuch" in failed.stderr
    assert names_in(tmp_path) == set()


def test_an_mpi_program_that_does_not_exist_is_named(tmp_path: Path, wavetank: Run) -> None:
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    command = ["mpirun.openmpi", *as_root, "-np", "2", "./nosuch"]
    failed = wavetank("trace", "-o", "t.trace", "--", *command, cwd=tmp_path, status=1)
    assert "nosuch" in failed.stderr
    assert names_in(tmp_path) == set()


def test_a_program_without_io_gives_no_model_and_says_why(tmp_path: Path, wavetank: Run) -> None:
    traced = wavetank("trace", "-o", "t.trace", "--", "/bin/true", cwd=tmp_path)
    assert "no I/O" in traced.stderr
    failed = wavetank("model", "t.trace", "-o", "m.json", cwd=tmp_path, status=1)
    assert "I/O" in failed.stderr
    assert not (tmp_path / "m.json").exists()


def test_a_traced_program_that_fails_is_reported_and_its_trace_kept(
    tmp_path: Path, wavetank: Run
) -> None:
    script = "open('kept.txt', 'w').write('x' * 100000); raise SystemExit(7)"
    failed = wavetank(
        "trace", "-o", "t.trace", "--", sys.executable, "-c", script, cwd=tmp_path, status=7
    )
    assert "7" in failed.stderr
    model = wavetank("model", "t.trace", "-o", "m.json", "--format", "json", cwd=tmp_path)
    assert "kept.txt" in model.stdout


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (lambda text: text[: len(text) // 2], "not valid JSON"),
        (lambda text: text.replace('"ph_weight"', '"ph_wieght"'), "ph_wieght"),
        (lambda text: text.replace("wavetank.model/1", "wavetank.model/999"), "wavetank.model/999"),
        (lambda _: "", "not valid JSON"),
        (edited("phases", 0, "file_id", value=77), "file 77, which is not among the files"),
        (edited("phases", 0, "ph_niop", value=-5), "ph_niop -5, which is negative"),
        (edited("phases", 0, "ph_processid", value=[9]), "names rank 9, and the ranks are 0 to 3"),
        (edited("programs", 0, "ranks", value=[4]), "names rank 4, and the ranks are 0 to 3"),
    ],
    ids=[
        "cut short",
        "a misspelt field",
        "another version",
        "empty",
        "an unknown file",
        "a negative number",
        "an unknown rank",
        "a program of an unknown rank",
    ],
)
def test_a_damaged_model_is_refused(
    tmp_path: Path,
    assembled: Path,
    wavetank: Run,
    damage: Callable[[str], str],
    expected: str,
) -> None:
    text = (assembled / "abyss.model.json").read_text()
    (tmp_path / "m.json").write_text(damage(text))
    failed = wavetank("kernel", "m.json", "-o", "k.json", cwd=tmp_path, status=1)
    assert expected in failed.stderr
    assert "m.json" in failed.stderr
    assert names_in(tmp_path) == {"m.json"}


def test_misspelt_keys_and_impossible_values_are_reported_together(
    tmp_path: Path, wavetank: Run
) -> None:
    spec = (
        CLUSTER.replace("compute: 2", "compute: 2, compote: 1") + "storage: {size: -3}\nscael: 2\n"
    )
    (tmp_path / "c.yaml").write_text(spec)
    for command in ("check", "up"):
        failed = wavetank("cluster", command, "c.yaml", cwd=tmp_path, status=1)
        for finding in ("compote", "storage.size", "scael"):
            assert finding in failed.stderr


def test_more_data_servers_than_nodes_are_refused(tmp_path: Path, wavetank: Run) -> None:
    (tmp_path / "c.yaml").write_text(CLUSTER.replace("kind: nfs", "kind: glusterfs, servers: 3"))
    failed = wavetank("cluster", "up", "c.yaml", cwd=tmp_path, status=1)
    assert "3 data servers" in failed.stderr


def on_a_small_disk(path: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script with a file system of 64 KiB at ``path``, in a mount namespace of its own."""
    return subprocess.run(
        ["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=64k tmpfs {path} && {script}"],
        capture_output=True, text=True, timeout=HANG_S, check=False,
    )  # fmt: skip


@needs_root
def test_a_full_disk_leaves_no_half_written_model(tmp_path: Path, assembled: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    # One page is left on a file system of its own, in a mount namespace of its own.
    script = (
        f"head -c 61440 /dev/zero > {small}/fill && "
        f"{WAVETANK} model {assembled}/abyss.trace -o {small}/m.json; status=$?; "
        f"ls -A {small}; exit $status"
    )
    failed = on_a_small_disk(small, script)
    assert failed.returncode == 1, failed.stderr
    assert "m.json" in failed.stderr
    assert "space" in failed.stderr.lower()
    assert failed.stdout.split()[-1] == "fill"


@needs_root
def test_without_root_all_but_virtual_clusters_works(tmp_path: Path, assembled: Path) -> None:
    """The chain as user nobody: doctor, model, kernel, replay; a cluster says what it needs."""
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed (Debian package util-linux)")
    work = tmp_path / "work"
    shutil.copytree(assembled, work)
    for path in [work, *work.rglob("*")]:
        os.chown(path, 65534, 65534)

    def as_nobody(*arguments: str) -> subprocess.CompletedProcess[str]:
        # The checkout and its interpreter may lie in a folder of root's: reading is all it may do there.
        reading = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
        prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *reading]
        return subprocess.run(
            [*prefix, str(WAVETANK), *arguments],
            cwd=work,
            env={**os.environ, "HOME": str(work), "TMPDIR": str(work)},
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
        )

    for arguments in (
        ["doctor"],
        ["trace", "-o", "cat.trace", "--", "cat", "reads1.fastq"],
        ["model", "cat.trace", "-o", "cat.model.json"],
        ["kernel", "cat.model.json", "-o", "cat.kernel.json"],
        ["replay", "cat.kernel.json", "--root", "replayed", "-o", "result.json"],
    ):
        (work / "replayed").mkdir(exist_ok=True)
        os.chown(work / "replayed", 65534, 65534)
        finished = as_nobody(*arguments)
        assert finished.returncode == 0, f"{arguments}: {finished.stdout}\n{finished.stderr}"
    (work / "c.yaml").write_text(
        (Path(__file__).parents[2] / "examples/abyss/clusters/nfs.yaml").read_text()
    )
    refused = as_nobody("cluster", "up", "c.yaml")
    assert refused.returncode == 1
    assert "root" in refused.stderr
    assert "Traceback" not in refused.stderr


@needs_root
@pytest.mark.parametrize(
    "command",
    [
        "run {here}/campaign.yaml -o {small}/out",
        "schema --write {small}/schemas",
        "report {here}/out -o {small}/r.html",
        "summary {here}/abyss.model.json --figures {small}/plots",
        "kernel {here}/abyss.model.json -o {small}/k.json",
        "trace -o {small}/t.trace -- cat {here}/reads1.fastq",
    ],
    ids=lambda command: command.split()[0],
)
def test_a_full_disk_is_a_message_at_every_stage(
    tmp_path: Path, assembled: Path, command: str
) -> None:
    for path in assembled.iterdir():
        if path.is_file():
            (tmp_path / path.name).symlink_to(path)
    (tmp_path / "one.yaml").write_text(
        'name: one\nprovider: "null"\ninstance: {name: c3.2xlarge, vcpus: 8}\n'
        "nodes: {compute: 1}\nfile_system: {kind: none}\n"
    )
    (tmp_path / "campaign.yaml").write_text(
        "name: full\napplications: [{kernel: abyss.kernel.json}]\nclusters: [one.yaml]\n"
        "mappings: [2PxCN]\nprices: papers-2016\noutput: out\n"
    )
    small = tmp_path / "small"
    small.mkdir()
    words = command.format(here=tmp_path, small=small)
    # Not one page is left on a file system of its own, in a mount namespace of its own.
    script = (
        f"cat /dev/zero 2>/dev/null > {small}/fill; "
        f"{WAVETANK} {words} > /dev/null; status=$?; find {small} -type f -size +0; exit $status"
    )
    failed = on_a_small_disk(small, script)
    assert failed.returncode == 1, failed.stderr
    assert "Traceback" not in failed.stderr
    if command.startswith("report"):
        assert "out" in failed.stderr  # a folder without results is said first
    else:
        assert "space" in failed.stderr.lower()
    assert failed.stdout.split() == [f"{small}/fill"]
