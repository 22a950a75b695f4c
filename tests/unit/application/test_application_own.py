"""The application itself in a campaign: what is asked for, its folder, and what its trace says."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest
from fold_builder import Event, trace_of
from measure_fakes import PROVENANCE, FakeCluster, abyss_kernel
from pydantic import ValidationError

from wavetank.application.own import OwnProgram, absolute, examine, launched_ranks
from wavetank.application.own_performer import OwnFolder, OwnPerformer
from wavetank.application.own_result import Ran, require_own_files, result_of
from wavetank.application.perform import Done, Request
from wavetank.application.running import Ended
from wavetank.cluster.host import Finished, Host
from wavetank.errors import MeasurementError, SpecError
from wavetank.job import Placement
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.measure.perform import RawOutput
from wavetank.model.document.program import ProcessStep, Program
from wavetank.model.extract import extract_model
from wavetank.trace.arguments import MpiMode

KERNEL = abyss_kernel(n_ranks=2)


def program(**more: object) -> OwnProgram:
    return OwnProgram.model_validate({"argv": ["cat", "in"], **more})


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"argv": []}, "argv"),
        ({"argv": ["mpirun", "-n", "4", "./app"]}, "leave mpirun and its options out"),
        ({"argv": ["./app", ":", "./b"]}, "lone ':'"),
        ({"env": {"A B": "1"}}, "no name of an environment variable"),
        ({"limit": 0}, "limit"),
        ({"ranks": 0}, "ranks"),
        ({"times": "never"}, "times"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(asked: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        program(**asked)


def test_input_is_ordered_as_the_kernel_reads_it_and_told_with_its_sizes(tmp_path: Path) -> None:
    for name, size in (("a.conf", 1), ("reads2.fastq", 20), ("reads1.fastq", 10)):
        (tmp_path / name).write_bytes(bytes(size))
    (tmp_path / "deep" / "empty").mkdir(parents=True)
    (tmp_path / "deep" / "x").write_bytes(b"x")
    found = examine(program(input=tmp_path), KERNEL, nodes_are_here=True)
    names = ["reads1.fastq", "reads2.fastq", "a.conf", "deep/x"]
    assert [file.name for file in found.files] == names
    assert found.folders == ("deep", "deep/empty") and found.size_bytes == 32
    assert (
        found.sentence()
        == "cat in in 2 ranks, 4 input files of 32 B, ended after 1 h 00 min at most"
    )


def test_a_program_is_found_beside_the_campaign_file_on_the_path_or_in_the_input(
    tmp_path: Path,
) -> None:
    (tmp_path / "app").write_text("#!/bin/sh\n")
    asked = absolute(program(argv=["./app"], input="data"), tmp_path)
    assert asked.argv == (str(tmp_path / "app"),) and asked.input == tmp_path / "data"
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "inner").write_text("#!/bin/sh\n")
    for name in ("./inner", "{mount}/inner"):
        inside = absolute(program(argv=[name], input="data"), tmp_path)
        assert examine(inside, KERNEL, nodes_are_here=True).asked.argv == (name,)
    with pytest.raises(SpecError, match=r"no program ./other, neither"):
        examine(absolute(program(argv=["./other"]), tmp_path), KERNEL, nodes_are_here=True)
    with pytest.raises(SpecError, match="no program no-such on the PATH"):
        examine(program(argv=["no-such"]), KERNEL, nodes_are_here=True)
    # Hosts over ssh may have what this machine has not.
    assert examine(program(argv=["no-such"]), KERNEL, nodes_are_here=False).launcher is None


def test_the_identity_is_of_content_not_of_places(tmp_path: Path) -> None:
    def identity(folder: str, content: bytes, **more: object) -> str:
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "in").write_bytes(content)
        asked = program(input=tmp_path / folder, **more)
        return examine(asked, KERNEL, nodes_are_here=True).sha256

    first = identity("one", b"same")
    assert identity("two", b"same") == first
    assert identity("two", b"other") != first
    assert identity("one", b"same", env={"A": "1"}) != first
    assert identity("one", b"same", ranks=1) != first
    assert identity("one", b"same", limit="5 s") == first  # what ended in time is the same run


def test_a_copy_of_a_campaign_is_read_where_its_input_is_not(tmp_path: Path) -> None:
    copy = program(input=tmp_path / "gone", made_of="a" * 64)
    found = examine(copy, KERNEL, nodes_are_here=True)
    assert found.sha256 == "a" * 64 and "no such file" in str(found.missing)
    with pytest.raises(SpecError, match="no such file"):
        examine(program(input=tmp_path / "gone"), KERNEL, nodes_are_here=True)


def test_one_process_without_mpi_has_no_launcher() -> None:
    one = examine(program(), abyss_kernel(n_ranks=1), nodes_are_here=True)
    assert (one.n_ranks, one.launcher) == (1, "none")
    assert examine(program(), KERNEL, nodes_are_here=True).launcher is None
    with pytest.raises(SpecError, match="launcher none starts one process"):
        examine(program(launcher="none"), KERNEL, nodes_are_here=True)


def test_processes_that_the_application_starts_are_not_started_for_it() -> None:
    def with_steps(*steps: tuple[tuple[int, ...], tuple[ProcessStep, ...]]):
        programs = tuple(Program(ranks=ranks, steps=of_rank) for ranks, of_rank in steps)
        return abyss_kernel(n_ranks=3).model_copy(update={"programs": programs})

    begins = tuple(ProcessStep(rank=rank, event="begins") for rank in (1, 2))
    ended = tuple(ProcessStep(rank=rank, event="ended") for rank in (1, 2))
    assert launched_ranks(with_steps(((0, 1, 2), ()))) == 3
    assert launched_ranks(with_steps(((0,), (*begins, *ended)), ((1, 2), ()))) == 1
    # One after the other: rank 2 begins when rank 1 has ended.
    one_by_one = with_steps(((0,), ()), ((1,), ()), ((2,), ended[:1]))
    assert launched_ranks(one_by_one) == 2
    assert examine(program(), one_by_one, nodes_are_here=True).n_ranks == 2
    assert examine(program(ranks=1), one_by_one, nodes_are_here=True).n_ranks == 1


class Here(Host):
    """This machine."""

    name = "c1"

    def run(self, argv, *, timeout_s=60.0, env=None, stdin=""):
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True, check=True)
        return Finished(done.stdout, done.stderr, 0.0)

    def put(self, source: Path, destination: str) -> None:
        with open(destination, "r+b" if Path(destination).exists() else "wb") as target:
            target.truncate()
            target.write(source.read_bytes())


class Cluster(FakeCluster):
    """A mount on this machine."""

    def __init__(self, mount: Path) -> None:
        super().__init__(n_compute=1)
        self.compute_hosts = (Here(),)
        self.mount_path = str(mount)

    def place_files(self, sizes):
        for name, size in sizes.items():
            (Path(self.mount_path) / name).write_bytes(bytes(size))
        return super().place_files(sizes)


@pytest.fixture
def own_folder(tmp_path: Path) -> OwnFolder:
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "in").write_bytes(b"content")
    (tmp_path / "data" / "deep" / "none").write_bytes(b"")
    (tmp_path / "mount").mkdir()
    asked = examine(program(input=tmp_path / "data"), KERNEL, nodes_are_here=True)
    found = OwnFolder(Cluster(tmp_path / "mount"), "kernel-1", asked.files, asked.folders)
    found.set_up()
    return found


def below(folder: OwnFolder) -> dict[str, bytes | None]:
    root = Path(folder.root)
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else None
        for path in sorted(root.rglob("*"))
    }


WHOLE = {"deep": None, "deep/none": b"", "in": b"content"}


def test_input_is_placed_by_the_layout_with_its_content(own_folder: OwnFolder) -> None:
    assert own_folder.cluster.placed == [{"kernel-1/in": 7}]
    assert own_folder.placement == {"kernel-1/in": "io1"}
    assert below(own_folder) == WHOLE


def test_before_a_run_only_input_is_there_and_is_placed_once(own_folder: OwnFolder) -> None:
    root = Path(own_folder.root)
    (root / "made" / "below").mkdir(parents=True)
    (root / "made" / "below" / "name with\nnewline").write_bytes(b"x")
    (root / "deep" / "made").write_bytes(b"x")
    (root / "link").symlink_to("in")
    own_folder.renew()
    assert below(own_folder) == WHOLE
    assert len(own_folder.cluster.placed) == 1


def test_input_that_a_run_changed_is_placed_again(own_folder: OwnFolder) -> None:
    root = Path(own_folder.root)
    (root / "in").write_bytes(b"changed and longer")
    (root / "deep" / "none").unlink()
    (root / "deep").rmdir()
    own_folder.renew()
    assert below(own_folder) == WHOLE
    own_folder.renew()
    assert len(own_folder.cluster.placed) == 2


def test_a_flush_takes_the_time_that_the_node_says(own_folder: OwnFolder) -> None:
    own_folder.renew()
    (Path(own_folder.root) / "out").write_bytes(b"x" * 4096)
    assert own_folder.flush([Here()]) > 0


MS = 1_000_000


def run_of(*events: Event, n_ranks: int = 1, names: tuple[str, ...] = ("/wt/k/in", "/wt/k/out")):
    trace = trace_of(list(events), n_ranks=n_ranks, paths=names)
    model = extract_model(trace, PROVENANCE)
    return Ran(trace, model, ["c1"] * n_ranks, "/wt/k", None, None)


def copy_of(rank: int, start_ms: int, **more: int) -> list[Event]:
    """Reads 1000 bytes in 10 ms, computes for 80 ms, and writes them in 10 ms."""
    return [
        Event(rank, "read", 0, size=1000, start_ns=start_ms * MS, duration_ns=10 * MS),
        Event(rank, "write", 1, size=1000, start_ns=(start_ms + 90) * MS, duration_ns=10 * MS, **more),
    ]  # fmt: skip


def kernel_of(ran: Ran, tmp_path: Path):
    ran.model.write(tmp_path / "m.json")
    return make_kernel(ran.model, tmp_path / "m.json")


def test_the_io_time_is_that_in_which_a_rank_is_at_a_call(tmp_path: Path) -> None:
    ran = run_of(*copy_of(0, 0), *copy_of(1, 5), n_ranks=2)
    result, doubts = result_of(ran, kernel_of(ran, tmp_path), {"program": "own"})
    assert doubts == []
    # Both read from 0 to 15 ms, and write from 90 to 105 ms.
    assert result.io is not None and result.io.total_s == pytest.approx(0.030)
    assert result.io.data_s == pytest.approx(0.030)
    assert result.io.not_on_disk_bytes == 2000
    assert (result.moved_bytes, result.n_operations) == (4000, 4)
    assert {phase.bytes for phase in result.phases} == {2000}
    for phase in result.phases:  # without the computation in between
        assert phase.time_s == pytest.approx(0.015)
        assert phase.rate_bytes_per_s == pytest.approx(2000 / 0.015)


def test_calls_that_move_nothing_and_flushes_are_parts_of_it(tmp_path: Path) -> None:
    ran = run_of(
        Event(0, "open", 1, start_ns=0, duration_ns=2 * MS),
        Event(0, "write", 1, size=1000, start_ns=10 * MS, duration_ns=3 * MS),
        Event(0, "fsync", 1, start_ns=20 * MS, duration_ns=4 * MS),
        Event(0, "close", 1, start_ns=30 * MS, duration_ns=1 * MS),
    )
    result, _ = result_of(ran, kernel_of(ran, tmp_path), {})
    io = result.io
    assert io is not None
    parts = (io.data_s, io.metadata_s, io.flush_s)
    assert parts == pytest.approx((0.003, 0.003, 0.004))
    assert io.not_on_disk_bytes == 0
    assert {call.call: (call.n, call.time_s) for call in result.calls} == {
        "open": (1, pytest.approx(0.002)),
        "close": (1, pytest.approx(0.001)),
    }
    assert result.settings["metadata_operations"] == "3"


def test_calls_have_the_names_that_the_replay_gives_them(tmp_path: Path) -> None:
    mode = MpiMode.CREATE | MpiMode.EXCL | MpiMode.WRONLY  # as flags of open they would create
    ran = run_of(
        Event(0, "MPI_File_open", 1, arg=mode, start_ns=0, duration_ns=MS),
        Event(0, "MPI_File_set_view", 1, start_ns=10 * MS, duration_ns=MS),
        Event(0, "MPI_File_write", 1, size=1000, start_ns=20 * MS, duration_ns=MS),
        Event(0, "MPI_File_close", 1, start_ns=30 * MS, duration_ns=MS),
    )
    result, _ = result_of(ran, kernel_of(ran, tmp_path), {})
    assert [(call.call, call.n) for call in result.calls] == [("open", 1), ("close", 1)]
    # A view moves nothing, and takes time all the same.
    assert result.io is not None and result.io.metadata_s == pytest.approx(0.003)


def test_the_flush_behind_the_program_is_in_its_io_time(tmp_path: Path) -> None:
    ran = run_of(*copy_of(0, 0))
    flushed = Ran(ran.trace, ran.model, ran.hosts, ran.root, 0.5, None)
    result, _ = result_of(flushed, kernel_of(ran, tmp_path), {})
    assert result.io is not None
    assert (result.io.total_s, result.io.flush_s) == pytest.approx((0.52, 0.5))
    assert result.io.not_on_disk_bytes == 0


def test_calls_of_the_mpi_library_inside_of_a_call_do_not_count_twice(tmp_path: Path) -> None:
    ran = run_of(
        Event(0, "pwrite", 1, size=1000, start_ns=2 * MS, duration_ns=5 * MS),
        Event(0, "MPI_File_write", 1, size=1000, start_ns=0, duration_ns=10 * MS),
    )
    result, _ = result_of(ran, kernel_of(ran, tmp_path), {})
    assert result.io is not None and result.io.total_s == pytest.approx(0.010)
    assert result.moved_bytes == 1000


def test_a_run_on_other_input_is_refused_and_a_little_more_is_a_doubt(tmp_path: Path) -> None:
    kernel = kernel_of(run_of(*copy_of(0, 0)), tmp_path)

    def longer(size: int) -> Ran:
        return run_of(
            *copy_of(0, 0), Event(0, "write", 1, offset=1000, size=size, start_ns=200 * MS)
        )

    _, (doubt,) = result_of(longer(100), kernel, {})
    assert "its runs differ, or its input does" in doubt
    with pytest.raises(MeasurementError, match="of another program, input or number of ranks"):
        result_of(longer(1000), kernel, {})


def test_phases_that_are_not_the_kernel_s_are_said_and_all_bytes_count(tmp_path: Path) -> None:
    kernel = kernel_of(run_of(*copy_of(0, 0)), tmp_path)
    halves = (
        Event(0, "write", 1, offset=offset, size=500, start_ns=start * MS)
        for offset, start in ((0, 20), (500, 30))
    )
    result, (doubt,) = result_of(run_of(copy_of(0, 0)[0], *halves), kernel, {})
    assert "no phase like phase 2 of the kernel" in doubt
    assert [phase.ph_id for phase in result.phases] == [1]
    assert (result.moved_bytes, result.n_operations) == (2000, 3)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("/wt/k/in", "/tmp/out"), "wrote 1000 B outside of its folder .*of /tmp/out"),
        (("/data/in", "/wt/k/out"), "read 1000 B outside of its folder .*of /data/in"),
        (("/wt/k/in", "/wt/kk/out"), "wrote"),
    ],
)
def test_data_that_goes_elsewhere_is_no_io_of_the_cluster(
    names: tuple[str, str], message: str
) -> None:
    with pytest.raises(MeasurementError, match=message):
        require_own_files(run_of(*copy_of(0, 0), names=names).trace, "/wt/k")


def test_data_in_its_folder_is_fine() -> None:
    require_own_files(run_of(*copy_of(0, 0)).trace, "/wt/k")


def ended(status: int = 0, why: str = "itself", interrupt: int | None = None) -> Done:
    return Done(Ended(status, why, 1.0, interrupt), 2, None)


def performer(tmp_path: Path, done: Done, **asked: object) -> OwnPerformer:
    """Of a program that wrote "out" and ended so."""
    (tmp_path / "mount").mkdir()
    application = examine(program(**asked), KERNEL, nodes_are_here=True)

    def launch(request: Request) -> Done:
        assert request.streams is not None
        request.streams.stdout.write_text("printed")
        request.streams.stderr.write_text("first\n\nlast words\n")
        (tmp_path / "mount" / "kernel-1" / "out").write_bytes(b"x")
        request.when_ended(done.ended)
        launched.append(request)
        return done

    launched: list[Request] = []
    found = OwnPerformer(application, Cluster(tmp_path / "mount"), launch=launch)
    found.set_up(KERNEL, "kernel-1")
    found.renew_files()
    found.launched = launched  # type: ignore[attr-defined]
    return found


PLACEMENT = Placement(hosts=(("c1", 2),))


@pytest.mark.parametrize(
    ("done", "message"),
    [
        (ended(3), "ended with status 3 on nfs: first | last words"),
        (ended(137), "ended with status 137"),
        (ended(143, "time"), r"did not end within 1.50 s on nfs, and was ended on all nodes"),
    ],
)
def test_a_run_that_ended_badly_is_said_with_its_words_and_leaves_nothing(
    tmp_path: Path, done: Done, message: str
) -> None:
    found = performer(tmp_path, done, limit="1500 ms")
    with pytest.raises(MeasurementError, match=re.escape(message).replace(r"\ ", " ")):
        found.perform(KERNEL, str(tmp_path / "mount" / "kernel-1"), PLACEMENT)
    assert list((tmp_path / "mount" / "kernel-1").iterdir()) == []
    assert found.raw_output == RawOutput("printed", "first\n\nlast words\n")
    assert found.launched[0].timeout_s == 1.5  # type: ignore[attr-defined]


def test_an_interrupted_run_interrupts_the_campaign(tmp_path: Path) -> None:
    found = performer(tmp_path, ended(130, "interrupted", signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        found.perform(KERNEL, str(tmp_path / "mount" / "kernel-1"), PLACEMENT)


def test_the_mount_of_a_program_is_its_own_folder_and_its_ranks_are_placed(tmp_path: Path) -> None:
    found = performer(
        tmp_path, ended(1), argv=["cat", "{mount}/in"], env={"TMP": "{mount}/tmp"}, ranks=1
    )
    root = str(tmp_path / "mount" / "kernel-1")
    with pytest.raises(MeasurementError):
        found.perform(KERNEL, root, PLACEMENT)
    (request,) = found.launched  # type: ignore[attr-defined]
    assert request.wanted.argv == ("cat", f"{root}/in")
    assert request.wanted.directory == root
    assert request.wanted.environment == {"WAVETANK_MOUNT": root, "TMP": f"{root}/tmp"}
    assert request.placed == ("c1",) and request.launcher_name == "none"


def test_more_ranks_than_the_kernel_has_are_another_run(tmp_path: Path) -> None:
    found = performer(tmp_path, ended(), ranks=3)
    with pytest.raises(MeasurementError, match="3 ranks and its kernel 2"):
        found.perform(KERNEL, str(tmp_path / "mount" / "kernel-1"), PLACEMENT)
