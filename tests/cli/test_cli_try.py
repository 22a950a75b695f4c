import json
from pathlib import Path

import kernel_models as km
import pytest
from click.testing import CliRunner
from measure_fakes import FakeCluster, FakePerformer, abyss_kernel, abyss_result

from darshan_logs import without_dxt
from wavetank.campaign.results_folder import open_store
from wavetank.cli.main import cli
from wavetank.errors import WavetankError
from wavetank.notes import texts

DARSHAN = Path(__file__).parents[1] / "data" / "darshan"


@pytest.fixture
def faked(monkeypatch):
    """Clusters that can come up and do so at once, and a kernel that is performed at once."""
    performer = FakePerformer(abyss_result)
    monkeypatch.setattr("wavetank.measure.perform.ReplayPerformer", lambda **_: performer)
    monkeypatch.setattr("wavetank.measure.disturbance.MachineWatch", lambda: None)
    monkeypatch.setattr("wavetank.cluster.deploy.check", lambda spec: [])
    monkeypatch.setattr(
        "wavetank.cluster.deploy.bring_up", lambda spec: FakeCluster(spec.name, spec.nodes.compute)
    )
    monkeypatch.setattr("wavetank.cluster.deploy.take_down", lambda name: None)
    return performer


def call(*argv):
    return CliRunner().invoke(cli, ["try", *map(str, argv)], catch_exceptions=False)


def test_a_dry_run_writes_the_files_and_starts_nothing(tmp_path, faked):
    abyss_kernel().write(tmp_path / "k.json")
    result = call(tmp_path / "k.json", "-o", tmp_path / "out", "--dry-run", "--format", "json")
    plan = json.loads(result.stdout)["plan"]
    # NFS, GlusterFS on one server, 1DFx1F, GlusterFS and CephFS with stripes over three and two servers.
    assert len(plan) == 7
    # 21 pairs: 6 and 6 repetitions are apart by chance in 2 of C(12, 6) = 924 cases, 0.2 %; 21 times that is below 5 %.
    assert all(row["cannot_run"] is None and row["repetitions"] == 6 for row in plan)
    assert faked.calls == []
    assert (tmp_path / "out" / "campaign.yaml").is_file()
    assert not (tmp_path / "out" / "results").exists()


def test_a_kernel_ends_in_a_ranking_and_a_report(tmp_path, faked):
    abyss_kernel().write(tmp_path / "k.json")
    result = call(
        tmp_path / "k.json", "-o", tmp_path / "out", "--repetitions", "1", "--format", "json"
    )
    found = json.loads(result.stdout)
    assert len(found["ranking_of_abyss_p_by_time"]) == 7
    assert len(found["answer"]) == 1
    assert any("stands for c3.2xlarge" in note["text"] for note in found["notes"])
    assert "<html" in (tmp_path / "out" / "report.html").read_text()


def test_the_first_line_is_the_answer(tmp_path, faked):
    abyss_kernel().write(tmp_path / "k.json")
    result = call(tmp_path / "k.json", "-o", tmp_path / "out", "--repetitions", "1")
    # One repetition each tells nothing apart.
    first, *others = result.stdout.splitlines()
    assert first.startswith("Not conclusive: 1 repetition of each configuration")
    assert len(others) < 25
    assert others[-1].endswith("--full")


def test_a_shared_file_of_a_darshan_log_is_planned_on_layouts_that_spread_it(tmp_path, faked):
    log = DARSHAN / "bt.W.4.mpi_io_full.darshan"
    result = call(log, "-o", tmp_path / "out", "--dry-run", "--format", "json")
    plan = json.loads(result.stdout)["plan"]
    several = [row for row in plan if "3 data servers" in row["title"]]
    assert several and not any("distributed" in row["title"] for row in several)
    assert "Several ranks use one file with 100 % of the bytes" in result.stderr
    # 21.1 MiB of 42.2 MiB that are moved are read back.
    assert "(50 % of all bytes)" in result.stderr


def test_files_of_one_rank_each_are_planned_whole(tmp_path, faked):
    log = DARSHAN / "ior_seq_fpp_posix_1m.darshan"
    result = call(log, "-o", tmp_path / "out", "--dry-run", "--format", "json")
    plan = json.loads(result.stdout)["plan"]
    names = {row["cluster"].partition("-")[2].partition("-")[2] for row in plan}
    assert {"glusterfs-1", "glusterfs-2", "glusterfs-3"} <= names
    assert "4 files carry 100 % of the bytes, each used by one rank" in result.stderr


@pytest.mark.parametrize(
    ("option", "what"), [(("--memory", "much"), "--memory"), (("--mapping", "2PxXY"), "kPxCN")]
)
def test_wrong_wishes_are_refused_before_anything_is_made(tmp_path, faked, option, what):
    abyss_kernel().write(tmp_path / "k.json")
    with pytest.raises(WavetankError, match=what):
        call(tmp_path / "k.json", "-o", tmp_path / "out", *option)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["nothing.darshan", "text.log", "folder"])
def test_what_is_no_log_is_refused_with_its_name(tmp_path, faked, name):
    (tmp_path / "text.log").write_text("this is no log of any tool\n")
    (tmp_path / "folder").mkdir()
    with pytest.raises(WavetankError, match=name):
        call(tmp_path / name, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


STRACE = """\
7 1700000000.000000 openat(AT_FDCWD, "/data/in", O_RDONLY) = 3</data/in> <0.000010>
7 1700000000.100000 read(3</data/in>, "x"..., 4096) = 4096 <0.000100>
7 1700000000.200000 read(3</data/in>, "x"..., 4096) = 4096 <0.000100>
7 1700000000.300000 close(3</data/in>) = 0 <0.000010>
"""
DFTRACER = """\
[
{"name":"FH","cat":"dftracer","type":1,"pid":7,"tid":7,"ph":4,"args":{"name":"/data/x","value":"ab"}}
{"id":2,"name":"open","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1700,"dur":1,"ph":1,"args":{"flags":66,"fhash":"ab"}}
{"id":3,"name":"write","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1710,"dur":2,"ph":1,"args":{"ret":1000,"count":1000,"fhash":"ab"}}
{"id":4,"name":"write","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1720,"dur":2,"ph":1,"args":{"ret":1000,"count":1000,"fhash":"ab"}}
]
"""


@pytest.mark.parametrize("kind", ["darshan", "strace", "dftracer", "trace"])
def test_each_kind_of_log_ends_in_a_ranking_and_a_report(tmp_path, faked, kind):
    log = tmp_path / f"run.{kind}"
    if kind == "darshan":
        log = DARSHAN / "ior_seq_fpp_posix_1m.darshan"
    elif kind == "trace":
        (tmp_path / "in.log").write_text(STRACE)
        done = CliRunner().invoke(
            cli, ["convert", str(tmp_path / "in.log"), "-o", str(log)], catch_exceptions=False
        )
        assert done.exit_code == 0, done.output
    else:
        log.write_text({"strace": STRACE, "dftracer": DFTRACER}[kind])
    done = call(log, "-o", tmp_path / "out", "--repetitions", "1", "--format", "json")
    ranking = next(rows for key, rows in json.loads(done.stdout).items() if "by_time" in key)
    titles = {row["title"] for row in ranking}
    assert "NFS" in titles and any(title.startswith("GlusterFS") for title in titles)
    assert (tmp_path / "out" / "model.json").is_file()
    assert "<html" in (tmp_path / "out" / "report.html").read_text()


def test_a_darshan_log_without_dxt_is_tried_and_said_to_be_approximate_in_every_stage(
    tmp_path, faked
):
    log = without_dxt(DARSHAN / "ior_seq_fpp_posix_1m.darshan", tmp_path)
    done = call(log, "-o", tmp_path / "out", "--repetitions", "1", "--format", "json")
    told = "approximate, made from Darshan's counters"
    assert told in done.stderr
    assert any(told in note["text"] for note in json.loads(done.stdout)["notes"])
    assert told in (tmp_path / "out" / "report.html").read_text().replace("&#39;", "'")
    with open_store(tmp_path / "out" / "results") as store:
        measurement = store.measurements()[0]
    assert any(told in finding for finding in texts(measurement.notes))
    for name in ("model.json", "kernel.json"):
        assert json.loads((tmp_path / "out" / name).read_text())["approximation"] is not None
    assert "exact:" not in (tmp_path / "out" / "report.html").read_text()


def test_a_darshan_log_without_offsets_is_tried_by_its_posix_calls(tmp_path, faked):
    log = DARSHAN / "s3dio_np4_40c_method0_openmpi_ompio.darshan"
    result = call(log, "-o", tmp_path / "out", "--dry-run", "--format", "json")
    assert "does not say at which offsets" in result.stderr
    # Five files of 8,192,588 B are 39.1 MiB.
    assert "files (39.1 MiB) fit into the memory of every node" in result.stderr
    assert all(row["cannot_run"] is None for row in json.loads(result.stdout)["plan"])


def test_a_log_without_io_is_refused(tmp_path, faked):
    log = tmp_path / "run.strace"
    log.write_text("7 1700000000.000000 getpid() = 7 <0.000010>\n")
    with pytest.raises(WavetankError, match="nothing to model"):
        call(log, "-o", tmp_path / "out")


def test_what_if_plans_variants_and_says_which_knobs_do_not_apply(tmp_path, faked):
    km.written(km.abyss(1_000_000), tmp_path)
    log = tmp_path / "model.json"
    result = call(log, "-o", tmp_path / "out", "--what-if", "--dry-run", "--format", "json")
    found = json.loads(result.stdout)
    assert {row["application"] for row in found["plan"]} == {
        "ABYSS-P", "ABYSS-P [request-size=1MiB]", "ABYSS-P [readers=all]",
    }  # fmt: skip
    refused = {row["setting"]: row["reason"] for row in found["knobs_that_do_not_apply"]}
    assert refused["aggregators"] == "it moves no data by MPI-IO"
    assert "what_if: true" in (tmp_path / "out" / "campaign.yaml").read_text()
    assert faked.calls == []


def test_layouts_are_clusters_more_and_the_kernel_as_it_is(tmp_path, faked):
    km.written(km.abyss(4_000_000), tmp_path)
    words = ("-o", tmp_path / "out", "--dry-run", "--format", "json")
    plain = json.loads(call(tmp_path / "model.json", *words).stdout)["plan"]
    result = call(tmp_path / "model.json", *words, "--what-if-layouts")
    rows = json.loads(result.stdout)["plan"]
    assert {row["application"].partition(" ")[2] for row in rows} == {
        "", "[stripe-size=1MiB]", "[stripe-count=1]", "[stripe-count=2]", "[layout=one-server-per-file]",
    }  # fmt: skip
    own = [row["cluster"] for row in rows if row["application"] == "ABYSS-P"]
    assert own == [row["cluster"] for row in plain]
    turned = [row for row in rows if row["cluster"] not in own]
    assert turned and all(row["cannot_run"] is None for row in turned)
    assert any("its one data server" in (row["cannot_run"] or "") for row in rows)
    assert "- layouts" in (tmp_path / "out" / "campaign.yaml").read_text()


def test_what_if_ends_with_the_variants_beside_the_application(tmp_path, faked):
    km.written(km.abyss(1_000_000), tmp_path)
    log = tmp_path / "model.json"
    result = call(
        log, "-o", tmp_path / "out", "--what-if", "--repetitions", "1", "--format", "json"
    )
    found = json.loads(result.stdout)
    rows = found["what_if"]
    assert {row["setting"] for row in rows} == {"request-size=1MiB", "readers=all"}
    assert not any(row["told_apart"] for row in rows)
    assert len(found["what_each_variant_changes"]) == 2
    assert any("single changes of the application" in row["sentence"] for row in found["advice"])
    assert "What each variant changes" in (tmp_path / "out" / "report.html").read_text()
