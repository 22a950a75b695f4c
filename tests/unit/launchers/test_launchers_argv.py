"""What launchers are told, and whose command lines are whose."""

import os
import subprocess
from pathlib import Path

import pytest

from wavetank.errors import KernelError, UsageError
from wavetank.job import Job, Placement
from wavetank.launchers import mpich, openmpi, srun, version
from wavetank.launchers.family import against, mpi_family_of
from wavetank.launchers.none import NoLauncher
from wavetank.launchers.registry import LAUNCHERS, launcher, launcher_names, recognise

OPEN_MPI = "mpirun (Open MPI) 4.1.4\n"
PLACE = "orte_tmpdir_base"
QUEUES_AND_PLACES = (
    "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE",
    "OMPI_MCA_orte_tmpdir_base", "OMPI_MCA_orte_local_tmpdir_base", "OMPI_MCA_orte_remote_tmpdir_base",
)  # fmt: skip
HYDRA = "HYDRA build details:\n    Version:                                 4.0.2\n"


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Pretend that these programs are installed, and what they say about themselves."""
    said = {"mpirun": OPEN_MPI, "mpirun.openmpi": "mpirun.openmpi (OpenRTE) 4.1.4\n", "mpiexec.hydra": HYDRA,
            "srun": "slurm-wlm 22.05.8\n"}  # fmt: skip
    for module in (openmpi, mpich, srun, version):
        monkeypatch.setattr(module, "version_text", said.get)
    return said


def test_command_lines_are_recognised_by_what_the_program_says(programs: dict[str, str]) -> None:
    assert recognise(["mpirun", "-np", "2", "./app"]).name == "openmpi"
    assert recognise(["mpirun.openmpi", "./app"]).name == "openmpi"
    assert recognise(["mpiexec.hydra", "./app"]).name == "mpich"
    assert recognise(["srun", "./app"]).name == "srun"
    assert recognise(["./mpirun-like", "x"]).name == "none"
    programs["mpirun"] = HYDRA  # on another machine the same name is MPICH's
    assert recognise(["mpirun", "./app"]).name == "mpich"


def test_open_mpi_passes_the_environment_to_every_part_of_the_command(
    programs: dict[str, str],
) -> None:
    argv = ["mpirun", "-np", "1", "a", ":", "-np", "2", "b"]
    assert openmpi.OpenMpi().with_environment(argv, {"K": "V"}) == [
        "mpirun", "-x", "K=V", "-np", "1", "a", ":", "-x", "K=V", "-np", "2", "b",
    ]  # fmt: skip


def test_mpich_and_srun_pass_the_environment_in_their_own_way(programs: dict[str, str]) -> None:
    assert mpich.Mpich().with_environment(["mpiexec.hydra", "-n", "2", "a"], {"K": "V"}) == [
        "mpiexec.hydra", "-genv", "K", "V", "-n", "2", "a",
    ]  # fmt: skip
    runs = srun.Srun()
    assert runs.with_environment(["srun", "-n", "2", "a"], {"K": "V"}) == [
        "srun",
        "--export=ALL,K=V",
        "-n",
        "2",
        "a",
    ]
    assert runs.with_environment(["srun", "--export=A=1", "a"], {"K": "V"}) == [
        "srun",
        "--export=A=1,K=V",
        "a",
    ]
    with pytest.raises(UsageError, match="comma"):
        runs.with_environment(["srun", "a"], {"K": "1,2"})


def test_ranks_are_placed_in_the_order_of_the_hosts(
    programs: dict[str, str], tmp_path: Path
) -> None:
    placement = Placement(
        hosts=(("c1", 1), ("c2", 1), ("c1", 1), ("c2", 1)),
        remote_shell=("node", "shell", "a map"),
        network="10.1.0.0/24",
    )
    argv = openmpi.OpenMpi().command(Job(("./app",), 4, {"K": "V"}, placement), tmp_path)
    assert (tmp_path / "openmpi-hosts").read_text() == "c1\nc2\nc1\nc2\n"
    assert argv[argv.index("rmaps") + 1] == "seq"
    assert argv[argv.index("btl_tcp_if_include") + 1] == "10.1.0.0/24"
    shell = Path(argv[argv.index("plm_rsh_agent") + 1])
    assert "node shell 'a map'" in shell.read_text()
    assert argv[-1] == "./app"


CROWD = {"n_beside": 10_000}  # servers and clients, more than any machine has processors


@pytest.mark.parametrize("placed", [{"n_beside": None}, {"n_beside": 0}, CROWD])
def test_ranks_yield_where_they_servers_and_clients_outnumber_the_processors(
    programs: dict[str, str], tmp_path: Path, placed: dict[str, int | None]
) -> None:
    job = Job(("./app",), 1, placement=Placement(hosts=(("c1", 1),), **placed))
    crowded = placed == CROWD
    assert job.yields == crowded
    argv = openmpi.OpenMpi().command(job, tmp_path)
    assert ("OMPI_MCA_mpi_yield_when_idle=1" in argv) == crowded
    argv = mpich.Mpich().command(job, tmp_path)
    assert argv[-4:] == ["nice", "-n", "19", "./app"] if crowded else "nice" not in argv


def test_an_environment_that_says_otherwise_is_kept(
    programs: dict[str, str], tmp_path: Path
) -> None:
    name = "OMPI_MCA_mpi_yield_when_idle"
    job = Job(("./app",), 1, {name: "0"}, Placement(hosts=(("c1", 1),), n_beside=10_000))
    argv = openmpi.OpenMpi().command(job, tmp_path)
    assert f"{name}=0" in argv and f"{name}=1" not in argv


def test_ranks_on_this_machine_yield_where_they_outnumber_its_processors() -> None:
    assert Job(("./app",), 10_000).yields and not Job(("./app",), 1).yields


def test_hosts_that_are_this_machine_keep_their_sessions_apart(
    programs: dict[str, str], tmp_path: Path
) -> None:
    stand_in = tmp_path / "stand-in"
    stand_in.write_text('#!/bin/sh\nshift\nexec sh -c "$*"\n')
    stand_in.chmod(0o755)
    scratch = tmp_path / "with a blank"
    scratch.mkdir()
    placement = Placement(hosts=(("c1", 1), ("c2", 1)), remote_shell=(str(stand_in),))
    argv = openmpi.OpenMpi().command(Job(("./app",), 2, {}, placement), scratch)
    shell = argv[argv.index("plm_rsh_agent") + 1]

    def session(host: str) -> str:
        asked = [shell, "-x", host, 'echo "at ${OMPI_MCA_orte_tmpdir_base-its own}"']
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()

    found = [session("c1"), session("c2"), session("c1")]
    assert found[0] != found[1] and found[0] == found[2]
    assert all(Path(one.removeprefix("at ")).is_dir() for one in found)
    Path(found[1].removeprefix("at ")).rmdir()  # as on another machine, which does not see it
    assert session("c2") == "at its own"


def place_of(argv: list[str]) -> Path | None:
    """Where mpirun itself has its session directory; None: where all others of this user have theirs."""
    return Path(argv[argv.index(PLACE) + 1]) if PLACE in argv else None


@pytest.mark.parametrize("placement", [None, Placement((("c1", 2),), remote_shell=("shell",))])
def test_two_launches_keep_their_sessions_apart(
    programs: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    placement: Placement | None,
) -> None:
    for name in QUEUES_AND_PLACES:
        monkeypatch.delenv(name, raising=False)
    found = []
    for name in ("one", "two"):
        scratch = tmp_path / name
        scratch.mkdir()
        found.append(
            place_of(openmpi.OpenMpi().command(Job(("./app",), 2, {}, placement), scratch))
        )
        assert found[-1] is not None and found[-1].is_dir() and scratch in found[-1].parents
    assert found[0] != found[1]


def test_daemons_are_not_given_the_place_of_mpirun(
    programs: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in QUEUES_AND_PLACES:
        monkeypatch.delenv(name, raising=False)
    stand_in = tmp_path / "stand-in"
    stand_in.write_text('#!/bin/sh\nshift\nexec sh -c "$*"\n')
    stand_in.chmod(0o755)
    placement = Placement(hosts=(("c1", 1), ("c2", 1)), remote_shell=(str(stand_in),))
    argv = openmpi.OpenMpi().command(Job(("./app",), 2, {}, placement), tmp_path)
    own = place_of(argv)
    assert own is not None
    shell = argv[argv.index("plm_rsh_agent") + 1]

    def daemon(host: str) -> list[str]:
        # As mpirun 4.1.4 calls it: a value stands between double quotes, and is in mpirun's own environment too.
        asked = [
            shell,
            "-x",
            host,
            f'printf "%s\\n" -mca ess "env" --mca {PLACE} "{own}" --mca b "c"',
        ]
        env = {**os.environ, f"OMPI_MCA_{PLACE}": str(own), "TMPDIR": "/its own"}
        done = subprocess.run(asked, capture_output=True, text=True, check=True, env=env)
        return done.stdout.splitlines()

    found = {host: place_of(daemon(host)) for host in ("c1", "c2")}
    assert len({own, *found.values()}) == 3
    assert all(place is not None and place.is_dir() for place in found.values())
    assert daemon("c1")[:4] == ["-mca", "ess", "env", "--mca"]
    assert daemon("c1")[-3:] == ["--mca", "b", "c"]
    (own.parent / "c2").rmdir()  # as on another machine, which does not see it
    assert place_of(daemon("c2")) == Path("/its own")


@pytest.mark.parametrize("name", QUEUES_AND_PLACES)
def test_a_place_that_somebody_has_named_and_that_of_a_queue_stay(
    programs: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "1")
    assert place_of(openmpi.OpenMpi().command(Job(("./app",), 2), tmp_path)) is None


def test_a_placement_that_is_too_small_is_refused(programs: dict[str, str], tmp_path: Path) -> None:
    job = Job(("./app",), 3, {}, Placement(hosts=(("c1", 2),)))
    for one in (openmpi.OpenMpi(), mpich.Mpich()):
        with pytest.raises(KernelError, match="room for 2 ranks"):
            one.command(job, tmp_path)


def test_the_null_launcher_starts_one_process(tmp_path: Path) -> None:
    one = NoLauncher()
    assert one.command(Job(("./app", "x"), 1), tmp_path) == ["./app", "x"]
    assert one.command(Job(("./app",), 1, {"K": "V"}), tmp_path) == ["env", "K=V", "./app"]
    with pytest.raises(KernelError, match="only one rank"):
        one.command(Job(("./app",), 2), tmp_path)


def test_an_unknown_launcher_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(UsageError, match="openmpi"):
        launcher("aprun")
    assert set(LAUNCHERS) <= set(launcher_names())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["--export=NONE"], ["--export=K=V"]),  # NONE with names is no value of srun
        (["--export=ALL,A=1"], ["--export=ALL,A=1,K=V"]),
        (["--export", "A=1"], ["--export", "A=1,K=V"]),
        (["--export", "NONE", "-n", "2"], ["--export", "K=V", "-n", "2"]),
        (["-n", "2"], ["--export=ALL,K=V", "-n", "2"]),
    ],
)
def test_srun_joins_the_users_export(given: list[str], expected: list[str]) -> None:
    found = srun.Srun().with_environment(["srun", *given, "./app", "--export=B"], {"K": "V"})
    assert found == ["srun", *expected, "./app", "--export=B"]


@pytest.mark.parametrize(
    ("library", "family"),
    [
        ("libmpi.so.40", "openmpi"),
        ("libmpi.so.12", "mpich"),  # of the wheel, of Intel and Cray
        ("libmpich.so.12", "mpich"),  # Debian's
        ("libmpi_cxx.so.40", None),
    ],
)
def test_the_mpi_of_a_program_is_that_of_its_library(
    library: str, family: str | None, tmp_path: Path
) -> None:
    program = tmp_path / "app"
    program.write_bytes(b"\x7fELF...\0libc.so.6\0" + library.encode() + b"\0")
    assert mpi_family_of(program) == family
    others = {"openmpi", "mpich"} - {family} if family else set()
    for launcher_family in ("openmpi", "mpich", None):
        reason = against(program, "mpirun", launcher_family)
        assert (reason is not None) == (launcher_family in others)
    (tmp_path / "script").write_bytes(b"#!/usr/bin/env python\n# \0libmpi.so.40\0")
    assert mpi_family_of(tmp_path / "script") is None


def test_each_family_is_found_behind_another_ones_mpirun(
    programs: dict[str, str], tmp_path: Path
) -> None:
    # an activated virtual environment with the wheel mpich: its mpirun comes before the system's
    programs |= {"mpirun": HYDRA, "mpiexec": HYDRA}
    job = Job(("./app",), 2)
    assert openmpi.OpenMpi().command(job, tmp_path)[0] == "mpirun.openmpi"
    assert mpich.Mpich().command(job, tmp_path)[0] == "mpiexec.hydra"


def test_mpich_s_daemons_are_told_where_the_launcher_is_where_nodes_do_not_know_its_name(
    programs: dict[str, str], tmp_path: Path
) -> None:
    placement = Placement(hosts=(("c1", 1), ("c2", 1)), launcher_address="10.77.0.254")
    argv = launcher("mpich").command(Job(("./app",), 2, {}, placement), tmp_path)
    assert argv[argv.index("-localhost") + 1] == "10.77.0.254"
    here = launcher("mpich").command(Job(("./app",), 2), tmp_path)
    assert "-localhost" not in here


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("srun: fatal: Could not establish a configuration source\n", "Could not establish"),
        (None, "srun is not installed"),
    ],
)
def test_srun_that_does_not_work_gives_its_own_reason(
    programs: dict[str, str], tmp_path: Path, said: str | None, why: str
) -> None:
    programs.pop("srun")
    if said is not None:
        programs["srun"] = said
    with pytest.raises(KernelError, match=why):
        srun.Srun().command(Job(n_ranks=1, argv=("./a",)), tmp_path)
