"""Variants in a campaign: planned beside the application, run in the same rounds, kept, resumed, compared."""

import pytest
import yaml
from campaign_fakes import FakeDeployer, FakeObserver, app, facts, spec
from kernel_models import abyss, at_random, btio, file_per_process, written
from measure_fakes import FakePerformer, phase_result, replay_result

from wavetank.campaign.clusters import read_cluster
from wavetank.campaign.comparison import compare_campaign
from wavetank.campaign.load import keep_copies, load_campaign, with_variants
from wavetank.campaign.plan import make_plan, why_not
from wavetank.campaign.results_folder import write_store
from wavetank.campaign.run import run_campaign
from wavetank.campaign.spec import read_campaign
from wavetank.campaign.store import Failure
from wavetank.campaign.strategy import pairs_of
from wavetank.campaign.variant_files import space_needed
from wavetank.compare.decisions import Subject, is_compared
from wavetank.compare.tables.all import comparison_tables
from wavetank.errors import SpecError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.lowering.kernel_hash import kernel_hash

NFS = facts("nfs", mpi_io="ompio")
GLUSTER = facts("gluster", mpi_io="romio")
OF_MPI = (
    "collective-buffering",
    "collective-buffer",
    "aggregators",
    "data-sieving",
    "collective-calls",
)
ONE = ("request-size", *OF_MPI)
"""Knobs of which the kernel's reads can turn the first alone."""


@pytest.fixture
def kernel(tmp_path):
    made = abyss(size=100_000)
    return make_kernel(made, written(made, tmp_path))


def of_times(seconds):
    """Results of a kernel whose phases each take this long, times a little more at each repetition."""
    calls = {}

    def made(kernel):
        setting = kernel.variant.setting if kernel.variant else ""
        calls[setting] = calls.get(setting, 0) + 1
        time_s = seconds(setting) * (1 + 0.001 * calls[setting])
        return replay_result(
            *(phase_result(one.ph_id, one.ph_weight, 0.0, time_s) for one in kernel.phases)
        )

    return made


class Setting:
    def __init__(self, folder, kernel, seconds, clusters=(NFS, GLUSTER), **more):
        fields = {
            "repetitions": None,
            "mappings": ("1PxCN",),
            "what_if": ONE,
        }
        self.spec = spec(**(fields | more))
        self.plan = make_plan(self.spec, with_variants(app(kernel), self.spec), clusters)
        self.folder = folder
        self.observer = FakeObserver()
        self.performer = FakePerformer(of_times(seconds))

    def run(self):
        with write_store(self.folder) as store:
            outcome = run_campaign(
                self.spec, self.plan, store, deployer=FakeDeployer(), performer=self.performer,
                observer=self.observer,
            )  # fmt: skip
            return outcome, compare_campaign(self.spec, self.plan, store, None)


def faster(setting):
    return 0.5 if setting else 1.0


def test_a_variant_is_measured_beside_its_application_and_ranked_nowhere(tmp_path, kernel):
    setting = Setting(tmp_path / "r", kernel, faster)
    outcome, comparison = setting.run()
    assert outcome.n_failed == 0
    assert {each.application for each in comparison.configurations} == {"ABYSS-P"}
    assert {each.application for each in comparison.rankings} == {"ABYSS-P"}
    (found,) = comparison.what_if
    (variant,) = found.variants
    assert variant.certificate.setting == "request-size=1MiB"
    assert {gain.cluster for gain in variant.gains} == {"nfs", "gluster"}
    assert all(gain.clear and gain.change_percent.median < -45 for gain in variant.gains)
    assert found.best.application == "ABYSS-P [request-size=1MiB]"
    assert tuple(each.setting for each in found.not_applying) == OF_MPI
    (sentence,) = [each.sentence for each in comparison.advice if "gains most" in each.sentence]
    assert sentence.startswith(
        "Of 1 single change of the application, request size 8,191 B -> 106,483 B gains most: on "
    )


def test_knobs_that_do_not_apply_are_never_measured(tmp_path, kernel):
    setting = Setting(tmp_path / "r", kernel, faster)
    setting.run()
    assert {run.application for run in setting.plan.runs} == {
        "ABYSS-P",
        "ABYSS-P [request-size=1MiB]",
    }


def test_an_identical_variant_is_not_told_apart(tmp_path, kernel):
    _, comparison = Setting(tmp_path / "r", kernel, lambda setting: 1.0).run()
    (found,) = comparison.what_if
    assert found.best is None and found.best_on_first is None
    assert not any(gain.clear for gain in found.variants[0].gains)
    (sentence,) = [each.sentence for each in comparison.advice if "single change" in each.sentence]
    assert "makes its I/O faster by what can be told apart, in 2 comparisons" in sentence


def test_a_variant_that_is_slower_is_no_gain(tmp_path, kernel):
    _, comparison = Setting(tmp_path / "r", kernel, lambda setting: 2.0 if setting else 1.0).run()
    (found,) = comparison.what_if
    assert found.best is None
    assert all(gain.clear for gain in found.variants[0].gains)
    assert any(
        "in 2 comparisons; in 2 of them it is slower" in each.sentence for each in comparison.advice
    )


def test_variants_are_of_the_family_of_comparisons_at_their_own_place_only(tmp_path, kernel):
    setting = Setting(tmp_path / "r", kernel, faster)
    _, comparison = setting.run()
    # Two configurations of the application with each other, and it with its variant on each of two clusters.
    assert comparison.family.n_pairs == 3
    assert len(pairs_of(setting.spec, setting.plan)) == 3
    without = Setting(tmp_path / "s", kernel, faster, what_if=False)
    _, comparison = without.run()
    assert comparison.family.n_pairs == 1 and comparison.what_if == ()
    assert setting.plan.repetitions > without.plan.repetitions


def test_which_pairs_are_compared():
    own = Subject("a", None, "nfs", "1PxCN")
    there = own._replace(cluster="gluster")
    one, other = (Subject(f"a [{n}]", "a", "nfs", "1PxCN") for n in (1, 2))
    assert is_compared(own, there) and is_compared(own, one) and is_compared(one, other)
    assert not is_compared(there, one)
    assert not is_compared(one, one._replace(mapping="2PxCN"))
    assert not is_compared(own._replace(application="b"), one)


def test_ties_between_variants_are_told_and_the_best_is_not_called_the_only_one(tmp_path):
    made = btio(steps=2, rs=96, piece=48)
    base = make_kernel(made, written(made, tmp_path))
    times = {"": 1.0, "aggregators=1": 0.5, "collective-buffer=4MiB": 0.501}
    settings = ("aggregators=1", "collective-buffer=4MiB")
    setting = Setting(tmp_path / "r", base, times.__getitem__, [GLUSTER], what_if=settings)
    setting.plan = make_plan(
        setting.spec.model_copy(update={"mappings": ("2PxCN",)}),
        setting.plan.applications,
        [GLUSTER],
    )
    setting.spec = setting.spec.model_copy(update={"mappings": ("2PxCN",)})
    _, comparison = setting.run()
    (found,) = comparison.what_if
    assert found.best.application == "ABYSS-P [aggregators=1]"
    (sentence,) = [each.sentence for each in comparison.advice if "gains most" in each.sentence]
    assert "cannot tell it apart from collective buffer default -> 4 MiB" in sentence


def test_hints_that_the_clusters_library_ignores_are_not_measured(tmp_path):
    made = btio(steps=2, rs=96, piece=48)
    base = make_kernel(made, written(made, tmp_path))
    setting = Setting(
        tmp_path / "r",
        base,
        faster,
        mappings=("2PxCN",),
        what_if=("collective-buffering=on", "aggregators=1"),
    )
    (part,) = setting.plan.impossible
    assert (part.application, part.cluster) == ("ABYSS-P [collective-buffering=on]", "nfs")
    assert "ompio, which ignores romio_cb_read and romio_cb_write" in part.reason
    assert "io_library: romio" in part.reason
    _, comparison = setting.run()
    assert comparison.not_measured == ()
    (found,) = comparison.what_if
    by_setting = {each.certificate.setting: each for each in found.variants}
    assert [one.cluster for one in by_setting["collective-buffering=on"].not_measured] == ["nfs"]
    assert len(by_setting["aggregators=1"].gains) == 2
    rows = {table.key: table.records() for table in comparison_tables(comparison)}
    assert any("ompio" in row["reason"] for row in rows["knobs_that_were_not_turned"])


def test_tables_hold_every_comparison_and_every_certificate(tmp_path, kernel):
    _, comparison = Setting(tmp_path / "r", kernel, faster).run()
    rows = {table.key: table.records() for table in comparison_tables(comparison)}
    assert [row["told_apart"] for row in rows["what_if"]] == [True, True]
    (named,) = rows["what_each_variant_changes"]
    assert (named["calls"], named["new_calls"], named["read_bytes"]) == (26, 2, 200_000)
    assert len(rows["knobs_that_were_not_turned"]) == 5


def test_a_campaign_goes_on_with_its_variants_where_it_was(tmp_path, kernel):
    first = Setting(tmp_path / "r", kernel, faster)
    outcome, _ = first.run()
    again = Setting(tmp_path / "r", kernel, faster)
    repeated, comparison = again.run()
    assert outcome.n_measured > 0 and repeated.n_measured == 0
    assert comparison.what_if[0].best is not None


CLUSTER = {
    "name": "site", "provider": "null", "instance": {"name": "node", "vcpus": 4, "memory": "4GiB"},
    "nodes": {"compute": 2, "io": 0}, "file_system": {"kind": "existing", "path": "/tmp"},
    "storage": {"size": "1GiB"},
}  # fmt: skip


def write_campaign(folder, kernel, **more):
    kernel.write(folder / "k.json")
    (folder / "site.yaml").write_text(yaml.safe_dump(CLUSTER))
    body = {"name": "c", "applications": [{"kernel": "k.json"}], "clusters": ["site.yaml"], **more}
    (folder / "c.yaml").write_text(yaml.safe_dump(body))
    return folder / "c.yaml"


def test_the_copy_of_a_campaign_makes_the_same_variants_again(tmp_path, kernel):
    path = write_campaign(tmp_path, kernel, what_if=True)
    loaded = load_campaign(read_campaign(path), tmp_path, read_cluster)
    with write_store(tmp_path / "results") as store:
        keep_copies(loaded, store)
        kept = sorted(each.name for each in (store.folder / "applications").iterdir())
    assert len(kept) == 3  # larger requests, more readers
    again = load_campaign(
        read_campaign(tmp_path / "results" / "campaign.yaml"), tmp_path / "results", read_cluster
    )
    assert [(one.name, one.kernel_sha256) for one in again.applications] == [
        (one.name, one.kernel_sha256) for one in loaded.applications
    ]
    assert loaded.applications[1].variant_of == "ABYSS-P"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["strips"], "no knob 'strips'"),
        (["aggregators", "aggregators"], "named twice"),
        ([], "name a knob at least"),
        (["request-size="], "names no knob and value"),
    ],
)
def test_a_wrong_what_if_is_refused_with_its_place(tmp_path, kernel, wrong, message):
    with pytest.raises(SpecError, match=message):
        read_campaign(write_campaign(tmp_path, kernel, what_if=wrong))


def test_a_wrong_value_of_a_knob_is_refused_before_anything_starts(tmp_path, kernel):
    path = write_campaign(tmp_path, kernel, what_if=["request-size=much"])
    with pytest.raises(SpecError, match="request-size takes a size"):
        load_campaign(read_campaign(path), tmp_path, read_cluster)


def test_a_search_has_no_variants(tmp_path, kernel):
    with pytest.raises(SpecError, match="search first"):
        read_campaign(write_campaign(tmp_path, kernel, what_if=True, strategy={"kind": "search"}))


def test_programs_that_are_no_replay_have_no_variants(tmp_path, kernel):
    entry = {"kernel": "k.json", "program": "ior"}
    with pytest.raises(SpecError, match="no application has 'program: replay'"):
        read_campaign(write_campaign(tmp_path, kernel, what_if=True, applications=[entry]))


def test_a_variants_certificate_is_no_part_of_what_a_kernel_does(tmp_path, kernel):
    (_, variant) = with_variants(app(kernel), spec(what_if=ONE))
    assert kernel_hash(variant.kernel) == kernel_hash(
        variant.kernel.model_copy(update={"variant": None})
    )
    made = file_per_process(n_ranks=1, rs=2**20)
    alone = make_kernel(made, written(made, tmp_path))
    assert len(with_variants(app(alone), spec(what_if=("request-size=1MiB",)))) == 1


class Remembers(FakeDeployer):
    """Keeps the clusters that it brought up."""

    def __init__(self):
        super().__init__()
        self.clusters = {}

    def up(self, cluster):
        self.clusters[cluster] = super().up(cluster)
        return self.clusters[cluster]


def measured_with(setting):
    deployer = Remembers()
    with write_store(setting.folder) as store:
        run_campaign(
            setting.spec, setting.plan, store, deployer=deployer, performer=setting.performer,
            observer=setting.observer,
        )  # fmt: skip
    return deployer.clusters


def test_variants_use_the_applications_input_files(tmp_path, kernel):
    clusters = measured_with(
        Setting(tmp_path / "r", kernel, faster, what_if=("request-size", "readers=2"))
    )
    for cluster in clusters.values():
        (placed,) = cluster.placed  # once, for three kernels
        assert sorted(placed.values()) == [100_000, 100_000]


def test_what_the_application_wrote_is_gone_when_a_variant_has_other_files(tmp_path):
    made = at_random(n=16, rs=64, n_ranks=2)
    base = make_kernel(made, written(made, tmp_path))
    setting = Setting(
        tmp_path / "r", base, faster, [GLUSTER], what_if=("file-per-process",), mappings=("2PxCN",),
        redeploy=False,
    )  # fmt: skip
    done = [" ".join(map(str, entry)) for entry in measured_with(setting)["gluster"].log]
    removals = [text for text in done if " rm -f " in text]
    n_of_whole = sum("data.0001" not in text for text in removals)
    # Before each run on both nodes; and in each repetition before that of the other kernel, for the one that came first.
    own = 2 * setting.plan.repetitions
    assert n_of_whole >= own and len(removals) - n_of_whole >= own
    assert len(removals) == 3 * own


def test_parts_of_input_files_need_room_beside_them(tmp_path):
    made = at_random(n=16, rs=64, n_ranks=2, calls=("pread",), before=2048)
    base = make_kernel(made, written(made, tmp_path))
    (_, variant) = with_variants(app(base), spec(what_if=("file-per-process",)))
    assert space_needed(base) == base.capacity_bytes == 2048
    assert space_needed(variant.kernel) == 2 * 2048
    small = facts("small", capacity_bytes=3000)
    assert why_not(base, small, "2PxCN") is None
    assert "it needs 4.0 KiB of storage" in why_not(variant.kernel, small, "2PxCN")


def test_failures_of_earlier_variants_are_no_applications(tmp_path, kernel):
    setting = Setting(tmp_path / "r", kernel, faster)
    setting.run()
    with write_store(setting.folder) as store:
        for name in ("ABYSS-P [request-size=2MiB]", "ABYSS-P [request-size=1MiB]", "other"):
            store.add_failure(Failure(name, "nfs", "1PxCN", "it broke"))
        comparison = compare_campaign(setting.spec, setting.plan, store, None)
    assert {each.application for each in comparison.not_measured} == {"other"}
