"""The application itself in a campaign: planned, run in the same rounds, kept, resumed, compared."""

from typing import ClassVar

import pytest
import yaml
from campaign_fakes import FakeDeployer, FakeObserver, facts, spec
from compare_fakes import own_run
from measure_fakes import FakePerformer, abyss_kernel, abyss_result

from wavetank.application.own import OwnProgram, examine
from wavetank.application.own_performer import OwnPerformer
from wavetank.campaign.clusters import read_cluster
from wavetank.campaign.comparison import compare_campaign
from wavetank.campaign.load import keep_copies, load_campaign
from wavetank.campaign.plan import Application, expected_s, make_plan
from wavetank.campaign.results_folder import write_store
from wavetank.campaign.run import run_campaign
from wavetank.campaign.spec import read_campaign
from wavetank.compare.tables.all import comparison_tables
from wavetank.errors import MeasurementError, SpecError
from wavetank.kernel.lowering.kernel_hash import kernel_hash
from wavetank.measure.perform import RawOutput
from wavetank.measure.run import Bench
from wavetank.model.document.run_times import RunTimes
from wavetank.notes import texts

KERNEL = abyss_kernel()
OWN = examine(OwnProgram(argv=("cat",)), KERNEL, nodes_are_here=True)
APPLICATIONS = [
    Application("ABYSS-P", KERNEL, kernel_hash(KERNEL), None),
    Application("ABYSS-P itself", KERNEL, "o" * 64, None, program="own", own=OWN),
]
NFS, GLUSTER = facts("nfs"), facts("gluster")
READ_S = {"nfs": 1.0, "gluster": 2.0}


class FakeOwn(OwnPerformer):
    """Runs nothing, and takes a tenth longer than the kernel."""

    log: ClassVar[list] = []
    fails: ClassVar[tuple] = ()

    def __init__(self, application, cluster, way):
        super().__init__(application, cluster, way)
        self.n_renewed = 0

    def set_up(self, kernel, folder):
        self.log.append(("set up", self._cluster.name, folder, self._way.flush))
        return Bench(kernel, kernel_hash(kernel), self._cluster, folder, {"in": "io1"})

    def renew_files(self):
        self.n_renewed += 1

    def perform(self, kernel, root, placement):
        name = self._cluster.name
        self.log.append(("run", name, root, placement.hosts))
        if name in self.fails:
            raise MeasurementError("app ended with status 3")
        self.model = own_run(kernel)
        self.raw_output = RawOutput(f"output on {name}", "")
        self.doubts = ("it moved a little more",)
        return abyss_result(kernel, 1.1 * READ_S[name])


@pytest.fixture
def own(monkeypatch):
    monkeypatch.setattr(FakeOwn, "log", [])
    return FakeOwn


class Setting:
    def __init__(self, folder, own, **more):
        fields = {"repetitions": 4, "mappings": ("1PxCN",)}
        self.spec = spec(**(fields | more))
        self.plan = make_plan(self.spec, APPLICATIONS, [NFS, GLUSTER])
        self.folder, self.own = folder, own
        self.observer = FakeObserver()
        self.performer = FakePerformer(lambda kernel: abyss_result(kernel, 1.0))

    def run(self):
        with write_store(self.folder) as store:
            outcome = run_campaign(
                self.spec, self.plan, store, deployer=FakeDeployer(), performer=self.performer,
                observer=self.observer, make_own=self.own,
            )  # fmt: skip
            return outcome, compare_campaign(self.spec, self.plan, store, None)


def test_it_runs_in_the_rounds_of_its_kernel_on_every_cluster(tmp_path, own):
    setting = Setting(tmp_path, own)
    outcome, comparison = setting.run()
    assert (outcome.n_measured, outcome.n_failed) == (16, 0)
    said = [text for text in setting.observer.said if text.startswith("measuring")]
    for start in range(0, 16, 4):  # each round holds both on both clusters
        of_round = {text.removeprefix("measuring ").split(" with ")[0] for text in said[start : start + 4]}  # fmt: skip
        assert len(of_round) == 4
    set_up = [each[1] for each in own.log if each[0] == "set up"]  # anew for each repetition
    assert (set_up.count("gluster"), set_up.count("nfs")) == (4, 4)
    runs = [each for each in own.log if each[0] == "run"]
    # Its ranks are placed as the kernel's.
    assert {hosts for *_, hosts in runs} == {setting.performer.calls[0][2].hosts}
    assert {root for _, _, root, _ in runs} == {"/wavetank/kernel-oooooooooooo"}
    (found,) = comparison.trust
    assert (found.application, found.own) == ("ABYSS-P", "ABYSS-P itself")
    assert (found.program, found.pauses) == ("replay", "drop")
    by_name = {each.configuration.split(" / ")[1]: each for each in found.times}
    # Kernel 1.0 + 0.1 s everywhere; the application 1.1 + 0.1 s, and 2.2 + 0.1 s.
    assert by_name["nfs"].difference_percent == pytest.approx(100 * (1.1 / 1.2 - 1))
    assert by_name["gluster"].difference_percent == pytest.approx(100 * (1.1 / 2.3 - 1))


def test_what_it_says_is_in_advice_tables_and_findings(tmp_path, own):
    _, comparison = Setting(tmp_path, own).run()
    (advice,) = [
        each
        for each in comparison.advice
        if each.about == "measurement" and "application's own" in each.sentence
    ]
    assert advice.application == "ABYSS-P"
    tables = {table.title: table.records() for table in comparison_tables(comparison)}
    assert len(tables["Kernel beside the application itself"]) == 2
    (trust,) = tables["Trust in the kernel"]
    assert (trust["application"], trust["own"]) == ("ABYSS-P", "ABYSS-P itself")
    assert "Ranking of ABYSS-P itself by time" in tables
    itself = [each for each in comparison.configurations if each.application == "ABYSS-P itself"]
    assert all("it moved a little more" in texts(each.notes) for each in itself)


def test_the_model_of_each_run_and_what_it_wrote_are_kept(tmp_path, own):
    Setting(tmp_path, own).run()
    with write_store(tmp_path) as store:
        kinds = {each.number: each.measurement.application for each in store.entries()}
        for number, name in kinds.items():
            if name == "ABYSS-P itself":
                assert store.own_model(number).application == "ABYSS-P"
                assert store.raw_output(number).stdout.startswith("output on")
            else:
                with pytest.raises(MeasurementError, match="none of the application itself"):
                    store.own_model(number)
        store.clear()
        with pytest.raises(MeasurementError, match="no model"):
            store.own_model(1)


def test_an_interrupted_campaign_goes_on_where_it_was(tmp_path, own, monkeypatch):
    performed = []

    def stops(self, kernel, root, placement):
        performed.append(self._cluster.name)
        if len(performed) == 3:
            raise KeyboardInterrupt
        return FakeOwn.perform(self, kernel, root, placement)

    interrupted = type("Stops", (FakeOwn,), {"perform": stops})
    with pytest.raises(KeyboardInterrupt):
        Setting(tmp_path, interrupted).run()
    outcome, comparison = Setting(tmp_path, own).run()
    with write_store(tmp_path) as store:
        assert len(store.done()) == 16
    assert outcome.n_measured < 16 and len(comparison.trust[0].times) == 2


def test_a_program_that_fails_on_a_cluster_is_said_and_the_kernel_s_results_stay(
    tmp_path, own, monkeypatch
):
    monkeypatch.setattr(FakeOwn, "fails", ("gluster",))
    outcome, comparison = Setting(tmp_path, own, repetitions=2).run()
    assert outcome.n_failed == 2
    failed = [each for each in comparison.not_measured if each.application == "ABYSS-P itself"]
    assert [(each.cluster, each.reason) for each in failed] == [
        ("gluster", "app ended with status 3")
    ]
    assert [each.configuration for each in comparison.trust[0].times] == ["ABYSS-P / nfs / 1PxCN"]


def test_without_a_flush_of_the_campaign_the_program_is_not_flushed(tmp_path, own):
    Setting(tmp_path, own, flush=False).run()
    assert {each[3] for each in own.log if each[0] == "set up"} == {False}


def test_a_run_of_it_is_expected_to_compute_too():
    times = RunTimes(elapsed_s=100.0, io_s=10.0, io_rank=0, with_metadata=True)
    kernel = KERNEL.model_copy(update={"run_times": times})
    replayed = Application("a", kernel, "k" * 64, None)
    itself = Application("a itself", kernel, "o" * 64, None, program="own", own=OWN)
    assert expected_s(itself, ()) == expected_s(replayed, ()) + 90


CLUSTER = """\
name: one
provider: "null"
instance: {name: c3.2xlarge, vcpus: 8}
nodes: {compute: 2}
file_system: {kind: none}
"""


def campaign(folder, **more):
    KERNEL.write(folder / "k.json")
    (folder / "one.yaml").write_text(CLUSTER)
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data" / "reads1.fastq").write_bytes(b"ACGT")
    (folder / "app").write_text("#!/bin/sh\n")
    own = {"argv": ["./app", "reads1.fastq"], "input": "data"}
    body = {
        "name": "test",
        "applications": [
            {"kernel": "k.json"},
            {"kernel": "k.json", "program": "own", "own": own, **more.pop("entry", {})},
        ],
        "clusters": ["one.yaml"],
    }
    (folder / "campaign.yaml").write_text(yaml.safe_dump(body | more))
    return folder / "campaign.yaml"


def load(path):
    return load_campaign(read_campaign(path), path.parent, read_cluster)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"entry": {"own": None}}, "say how with 'own'"),
        ({"entry": {"program": "replay"}}, "write 'program: own' beside it"),
        ({"entry": {"own": {"argv": ["mpirun", "./app"]}}}, "leave mpirun"),
        ({"entry": {"own": {"argv": ["./app"], "inputs": "x"}}}, "inputs: no such key"),
    ],
)
def test_what_is_wrong_in_the_file_is_named(tmp_path, more, message):
    with pytest.raises(SpecError, match=message):
        read_campaign(campaign(tmp_path, **more))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"entry": {"own": {"argv": ["./app"], "input": "gone"}}}, "gone of the application itself"),
        ({"entry": {"own": {"argv": ["./gone"]}}}, "no program ./gone"),
        ({"entry": {"name": "ABYSS-P"}}, "two applications have the name"),
        ({"executor": "slurm"}, "executor slurm brings none up"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_found_before_anything_starts(tmp_path, more, message):
    with pytest.raises(SpecError, match=message):
        load(campaign(tmp_path, **more))


def test_its_name_says_what_it_is_and_its_key_follows_program_input_and_flush(tmp_path):
    first = load(campaign(tmp_path)).applications
    assert [each.name for each in first] == ["ABYSS-P", "ABYSS-P itself"]
    assert first[0].kernel_sha256 != first[1].kernel_sha256
    (tmp_path / "data" / "reads1.fastq").write_bytes(b"TGCA")
    changed = load(tmp_path / "campaign.yaml").applications
    assert changed[0].kernel_sha256 == first[0].kernel_sha256
    assert changed[1].kernel_sha256 != first[1].kernel_sha256
    unflushed = load(campaign(tmp_path, flush=False)).applications
    assert unflushed[1].kernel_sha256 != changed[1].kernel_sha256


def test_the_copies_of_a_campaign_are_the_same_measurements_also_without_the_input(tmp_path):
    loaded = load(campaign(tmp_path))
    with write_store(tmp_path / "out") as store:
        keep_copies(loaded, store)
    copy = tmp_path / "out" / "campaign.yaml"
    assert load(copy).applications[1].kernel_sha256 == loaded.applications[1].kernel_sha256
    (tmp_path / "data" / "reads1.fastq").unlink()
    (tmp_path / "data").rmdir()
    again = load(copy).applications[1]
    assert again.kernel_sha256 == loaded.applications[1].kernel_sha256
    performer = OwnPerformer(again.own, None)
    with pytest.raises(MeasurementError, match="no such file or folder"):
        performer.set_up(KERNEL, "kernel-1")
