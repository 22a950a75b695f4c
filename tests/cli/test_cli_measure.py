import json

import pytest
import yaml
from click.testing import CliRunner
from measure_fakes import FakeCluster, FakePerformer, abyss_kernel, abyss_result

from wavetank.cli.main import cli
from wavetank.cluster.spec import read_spec
from wavetank.cluster.state import directory_of
from wavetank.errors import WavetankError


@pytest.fixture
def faked(tmp_path, monkeypatch):
    """A cluster of two nodes with two cores each, and a kernel that is performed at once."""
    body = {
        "name": "lab",
        "provider": "null",
        "instance": {"name": "c3.large", "vcpus": 2},
        "nodes": {"compute": 2},
        "file_system": {"kind": "none"},
    }
    (tmp_path / "lab.yaml").write_text(yaml.safe_dump(body))
    cluster = FakeCluster("lab")
    cluster.spec = read_spec(tmp_path / "lab.yaml")
    performer = FakePerformer(abyss_result)

    def made(*, options, on_moved, elsewhere):
        performer.options, performer.on_moved = options, on_moved
        return performer

    monkeypatch.setattr("wavetank.measure.perform.ReplayPerformer", made)
    monkeypatch.setattr("wavetank.measure.disturbance.MachineWatch", lambda: None)
    monkeypatch.setattr("wavetank.cluster.deploy.find", lambda name: cluster)
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    directory_of("lab").claim()
    abyss_kernel().write(tmp_path / "k.json")
    return performer


def call(folder, *argv):
    arguments = ["measure", str(folder / "k.json"), "lab", *map(str, argv)]
    return CliRunner().invoke(cli, arguments, catch_exceptions=False)


def test_one_measurement_gives_every_phase(tmp_path, faked):
    result = call(tmp_path, "--mapping", "2PxCN", "--format", "json")
    assert [row["ph_id"] for row in json.loads(result.stdout)["phases"]] == [1, 2, 3, 4, 5, 6]


def test_a_mapping_that_nodes_have_no_cores_for_is_refused_before_anything_is_placed(
    tmp_path, faked
):
    with pytest.raises(
        WavetankError, match=r"9PxCN stands for 9 processes on one node, and c3\.large has 2 cores"
    ):
        call(tmp_path, "--mapping", "9PxCN")
    assert faked.calls == []


def test_an_output_that_cannot_be_written_is_refused_before_the_measurement(tmp_path, faked):
    with pytest.raises(WavetankError, match="cannot write"):
        call(tmp_path, "--mapping", "2PxCN", "-o", tmp_path / "none" / "m.json")
    assert faked.calls == []


def test_people_see_units_and_programs_plain_numbers(tmp_path, faked):
    # 27 MB in 1 s.
    assert "27.0 MB/s" in call(tmp_path, "--mapping", "2PxCN").stdout
    plain = json.loads(call(tmp_path, "--mapping", "2PxCN", "--format", "json").stdout)["phases"][0]
    assert (plain["rate_bytes_per_s"], plain["time_s"]) == (27e6, 1.0)


@pytest.mark.parametrize(
    ("asked", "flush", "pauses"),
    [
        ([], "end", "drop"),
        (["--no-flush"], "none", "drop"),
        (["--pauses", "keep"], "end", "keep"),
    ],
)
def test_what_is_written_is_flushed_unless_told_otherwise(tmp_path, faked, asked, flush, pauses):
    call(tmp_path, "--mapping", "2PxCN", *asked)
    assert (faked.options.flush, faked.options.pauses) == (flush, pauses)


@pytest.mark.parametrize(("cache", "n_runs"), [("cold", 1), ("warm", 2)])
def test_how_far_it_is_is_told_by_the_bytes_that_its_ranks_have_moved(
    tmp_path, faked, monkeypatch, cache, n_runs
):
    monkeypatch.setattr("wavetank.steps._SHORTEST_S", 0)

    def performed(kernel):
        for share in (0.25, 1.5):  # ranks may move more than the kernel has
            faked.on_moved(int(share * whole))
        return abyss_result(kernel)

    whole = sum(phase.ph_weight for phase in abyss_kernel().phases)
    faked.results = [performed] * n_runs
    asked = ["measure", tmp_path / "k.json", "lab", "--mapping", "2PxCN", "--cache", cache]
    result = CliRunner().invoke(cli, ["--progress", "json", *map(str, asked)])
    lines = [json.loads(line) for line in result.stderr.splitlines() if line.startswith("{")]
    last = [line for line in lines if line.get("what", "").startswith("measuring")][-1]
    assert (last["state"], last["unit"], last["total"]) == ("ended", "B", n_runs * whole)
    assert last["done"] == (n_runs - 1) * whole + int(0.99 * whole)


def test_a_table_that_measure_does_not_print_is_refused_before_the_measurement(tmp_path, faked):
    with pytest.raises(WavetankError) as refused:
        call(tmp_path, "--mapping", "2PxCN", "--table", "phases_of_it")
    assert "no command prints a table 'phases_of_it'" in str(refused.value)
    with pytest.raises(WavetankError) as refused:
        call(tmp_path, "--mapping", "2PxCN", "--table", "plan")
    assert str(refused.value) == (
        "--table: this command prints no table 'plan'. Its tables are: io_time, phases, totals"
    )
    assert faked.calls == []


def test_show_prints_the_totals_of_a_measurement_that_was_kept(tmp_path, faked):
    call(tmp_path, "--mapping", "2PxCN", "-o", tmp_path / "m.json")
    shown = CliRunner().invoke(cli, ["summary", str(tmp_path / "m.json"), "--table", "totals"])
    assert shown.stdout == call(tmp_path, "--mapping", "2PxCN", "--table", "totals").stdout
