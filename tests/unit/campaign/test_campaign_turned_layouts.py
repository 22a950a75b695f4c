"""Variants of the layout of files: clusters turned, compared with themselves as they are, and refused where they cannot."""

import json
from dataclasses import replace

import pytest
import yaml
from campaign_fakes import FakeDeployer, FakeObserver
from kernel_models import abyss, file_per_process, written
from measure_fakes import FakePerformer, phase_result, replay_result

from wavetank.campaign.clusters import read_cluster, specs_of
from wavetank.campaign.comparison import compare_campaign
from wavetank.campaign.knobs import knobs_of
from wavetank.campaign.load import keep_copies, load_campaign
from wavetank.campaign.plan import make_plan
from wavetank.campaign.results_folder import write_store
from wavetank.campaign.run import run_campaign
from wavetank.campaign.spec import read_campaign
from wavetank.campaign.strategy import pairs_of
from wavetank.campaign.turned_clusters import LONGEST_NAME, turned
from wavetank.cluster.spec import ClusterSpec
from wavetank.compare.tables.all import comparison_tables
from wavetank.compare.titles import title_alone
from wavetank.errors import SpecError, UsageError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.variants.asked import asked
from wavetank.variants.base import DoesNotApplyError
from wavetank.variants.make import make_variant

MIB = 2**20
SHARDED = {"kind": "sharded", "size": "64KiB"}


def body(name="site", kind="orangefs", servers=3, **more):
    of_file_system = {key: more.pop(key) for key in ("stripe", "options", "path") if key in more}
    return {
        "name": name, "instance": {"name": "node", "vcpus": 8, "memory": "2GiB"},
        "nodes": {"compute": 2, "io": servers}, "file_system": {"kind": kind, **of_file_system},
        "storage": {"size": "1GiB"}, **more,
    }  # fmt: skip


def spec(**more):
    return ClusterSpec.model_validate(body(**more))


@pytest.mark.parametrize(
    ("more", "setting", "before", "after", "stripe", "layout"),
    [
        ({}, "stripe-size=1MiB", "whole files", "1 MiB", ("sharded", MIB, None), "striped"),
        ({"stripe": SHARDED}, "stripe-size=1MiB", "64 KiB", "1 MiB", ("sharded", MIB, None), "striped"),
        ({"stripe": SHARDED}, "stripe-count=2", "3 data servers", "2 data servers", ("sharded", 65536, 2), "striped"),
        ({"stripe": SHARDED | {"count": 2}}, "stripe-size=1MiB", "64 KiB", "1 MiB", ("sharded", MIB, 2), "striped"),
        ({"stripe": SHARDED}, "layout=one-server-per-file", "striped", "1DFx1F",
         ("distributed", None, None), "one-server-per-file"),
        ({"layout": "one-server-per-file"}, "stripe-size=64KiB", "1DFx1F", "64 KiB", ("sharded", 65536, None), "striped"),
        ({"layout": "one-server-per-file"}, "layout=striped", "1DFx1F", "striped", ("distributed", None, None), "striped"),
        ({"kind": "cephfs"}, "stripe-count=2", "1 data server", "2 data servers", ("sharded", None, 2), "striped"),
        ({"kind": "cephfs"}, "stripe-size=1MiB", "default", "1 MiB", ("sharded", MIB, None), "striped"),
        ({"kind": "glusterfs"}, "stripe-size=16MiB", "whole files", "16 MiB", ("sharded", 16 * MIB, None), "striped"),
    ],
)  # fmt: skip
def test_a_cluster_is_turned_in_its_layout_alone(more, setting, before, after, stripe, layout):
    own = spec(**more)
    made, change = turned(own, setting)
    assert (change.cluster, change.setting) == ("site", setting)
    assert (change.before, change.after) == (before, after)
    of = made.file_system.stripe
    assert ((of.kind, of.size, of.count), made.layout) == (stripe, layout)
    again = made.model_dump() | {"name": own.name, "layout": own.layout}
    again["file_system"] = again["file_system"] | {"stripe": own.file_system.stripe.model_dump()}
    assert again == own.model_dump()
    assert made.sha256() != own.sha256()


@pytest.mark.parametrize(
    ("more", "setting", "reason"),
    [
        ({"kind": "nfs", "servers": 1}, "stripe-size=1MiB", "its one data server holds all"),
        ({"servers": 1}, "stripe-count=1", "its one data server holds all"),
        ({"kind": "existing", "servers": 0, "provider": "null", "path": "/tmp"}, "stripe-size=1MiB", "is not chosen here"),
        ({"kind": "glusterfs", "stripe": {"kind": "replicated"}}, "stripe-size=4MiB", "its files are replicated"),
        ({"kind": "cephfs", "options": {"layout": "stripe_count=2"}}, "stripe-size=1MiB", "options say how files lie: layout"),
        ({"stripe": SHARDED}, "stripe-size=64KiB", "it is 64 KiB already"),
        ({"stripe": SHARDED}, "stripe-count=3", "it is 3 data servers already"),
        ({"stripe": SHARDED}, "stripe-count=4", "more than the 3 data servers"),
        ({"kind": "moosefs"}, "stripe-size=64MiB", "its chunks have one size"),
        ({}, "stripe-count=1", "each file is on 1 data server already"),
        ({}, "layout=striped", "it is striped already"),
        ({"layout": "one-server-per-file"}, "layout=one-server-per-file", "it is 1DFx1F already"),
    ],
)  # fmt: skip
def test_a_file_system_that_cannot_says_why(more, setting, reason):
    with pytest.raises(DoesNotApplyError, match=reason):
        turned(spec(**more), setting)


@pytest.mark.parametrize(
    ("setting", "reason"),
    [("stripe-size=1MiB", "shards of glusterfs have"), ("stripe-count=2", "spreads the shards")],
)
def test_what_only_the_driver_refuses_is_a_reason_too(tmp_path, setting, reason):
    (tmp_path / "g.yaml").write_text(yaml.safe_dump(body(kind="glusterfs")))
    with pytest.raises(DoesNotApplyError, match=reason):
        read_cluster(tmp_path / "g.yaml", None, setting)


def test_names_of_turned_clusters_differ_and_are_short_enough():
    settings = ("stripe-size=1MiB", "stripe-size=16MiB", "stripe-count=2", "stripe-count=1")
    for name in ("a", "a" * LONGEST_NAME, "a" * (LONGEST_NAME - 1) + "b"):
        own = spec(name=name, stripe=SHARDED)
        names = [turned(own, setting)[0].name for setting in settings]
        assert len({name, *names}) == len(settings) + 1
    first, second = (
        turned(spec(name="a" * 30 + end, stripe=SHARDED), "stripe-count=2")[0].name for end in "bc"
    )
    assert first != second


def test_words_stand_for_all_knobs_of_a_kind():
    every = asked(["application", "layouts", "request-size=4MiB"])
    assert every.application == (*asked(True).application, "request-size=4MiB")
    assert every.layouts == (
        ("stripe-size=1MiB", "stripe-size"), ("stripe-size=16MiB", "stripe-size"),
        ("stripe-count=1", "stripe-count"), ("stripe-count=2", "stripe-count"),
        ("layout=one-server-per-file", "layout"),
    )  # fmt: skip
    assert asked(["stripe-count=4"]).layouts == (("stripe-count=4", "stripe-count=4"),)
    assert asked(True).layouts == asked(False).layouts == asked(False).application == ()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("stripe-size=much", "stripe-size takes a size"),
        ("stripe-size=0", "stripe-size takes a size"),
        ("stripe-count=0", "stripe-count takes a number of data servers"),
        ("stripe-count=65", "1 to 64, and not '65'"),
        ("layout=whole", "layout takes striped or one-server-per-file"),
    ],
)
def test_a_wrong_value_is_refused_with_what_the_knob_takes(setting, message):
    with pytest.raises(UsageError, match=message):
        asked([setting])


@pytest.fixture
def kernel(tmp_path):
    made = abyss(size=10_000_000, rs=81_910)
    return make_kernel(made, written(made, tmp_path))


def load(folder, kernel, what_if, *clusters, **more):
    kernel.write(folder / "k.json")
    for each in clusters:
        (folder / f"{each['name']}.yaml").write_text(yaml.safe_dump(each))
    (folder / "c.yaml").write_text(
        yaml.safe_dump(
            {
                "name": "c", "applications": [{"kernel": "k.json"}], "what_if": what_if,
                "clusters": [f"{each['name']}.yaml" for each in clusters], "flush": False, **more,
            }
        )
    )  # fmt: skip
    return load_campaign(read_campaign(folder / "c.yaml"), folder, read_cluster)


def plan_of(loaded):
    """The plan on a machine that can bring everything up."""
    clusters = [replace(each, unavailable=None, lacks={}) for each in loaded.clusters]
    return make_plan(loaded.spec, loaded.applications, clusters)


def measured(folder, loaded, seconds):
    """A campaign with times by setting; its comparison."""
    calls = {}

    def result(kernel):
        setting = kernel.variant.setting if kernel.variant else ""
        calls[setting] = calls.get(setting, 0) + 1
        time_s = seconds.get(setting, 1.0) * (1 + 0.001 * calls[setting])
        return replay_result(
            *(phase_result(one.ph_id, one.ph_weight, 0.0, time_s) for one in kernel.phases)
        )

    plan = plan_of(loaded)
    with write_store(folder) as store:
        keep_copies(loaded, store)
        outcome = run_campaign(
            loaded.spec, plan, store, deployer=FakeDeployer(), performer=FakePerformer(result),
            observer=FakeObserver(),
        )  # fmt: skip
        assert outcome.n_failed == 0
        return plan, compare_campaign(loaded.spec, plan, store, None)


SETTINGS = ["request-size", "stripe-size=4MiB", "layout"]


def test_the_change_that_gains_most_may_be_of_the_layout(tmp_path, kernel):
    nfs, gluster = body("nfs", "nfs", 1), body("gluster", "glusterfs", stripe={"kind": "sharded"})
    loaded = load(tmp_path, kernel, SETTINGS, nfs, gluster)
    seconds = {"stripe-size=4MiB": 0.4, "request-size=1MiB": 0.5, "layout=one-server-per-file": 2.0}
    plan, comparison = measured(tmp_path / "r", loaded, seconds)
    # Only the application as it is ranks, on the clusters as they are.
    assert {(one.application, one.cluster) for one in comparison.configurations} == {
        ("ABYSS-P", "nfs"), ("ABYSS-P", "gluster"),
    }  # fmt: skip
    (found,) = comparison.what_if
    by_setting = {each.certificate.setting: each for each in found.variants}
    turned_ones = {key: by_setting[key] for key in seconds if key != "request-size=1MiB"}
    for each in turned_ones.values():
        (gain,) = each.gains
        assert (gain.cluster, gain.clear) == ("gluster", True)
        assert each.certificate.of == "layout" and each.certificate.phases == ()
        assert each.certificate.calls == each.certificate.new_calls == 246
        assert all(file.regions == "equal" for file in each.certificate.files)
        assert [(one.cluster, one.reason) for one in each.not_measured] == [
            ("nfs", "its one data server holds all of every file")
        ]
    assert found.best.application == "ABYSS-P [stripe-size=4MiB]"
    (sentence,) = [each.sentence for each in comparison.advice if "gains most" in each.sentence]
    assert sentence.startswith(
        "Of 3 single changes of the application and of the layout of its files, stripe size default -> 4 MiB gains most: "
        f"on {comparison.titles['gluster']} with 1PxCN"
    )
    # Two of the application; with larger requests on each; on the second cluster three variants with it and each other.
    assert len(pairs_of(loaded.spec, plan)) == comparison.family.n_pairs == 1 + 1 + 6
    rows = {table.key: table.records() for table in comparison_tables(comparison)}
    (row,) = [each for each in rows["what_if"] if each["setting"] == "stripe-size=4MiB"]
    assert (row["of"], row["before"], row["after"]) == ("layout", "default", "4 MiB")
    of_layouts = [
        each["notes"]
        for each in rows["what_each_variant_changes"]
        if each["setting"] in turned_ones
    ]
    assert len(of_layouts) == 2
    assert all("layout of its files on the data servers" in str(notes) for notes in of_layouts)
    assert any("one data server" in row["reason"] for row in rows["knobs_that_were_not_turned"])


def test_a_layout_that_no_cluster_has_is_told_with_every_reason(tmp_path, kernel):
    nfs, gluster = body("nfs", "nfs", 1), body("gluster", "glusterfs")
    loaded = load(tmp_path, kernel, ["stripe-count"], nfs, gluster)
    (application,) = loaded.applications
    told = dict(application.refused)["stripe-count"]
    assert "nfs: its one data server" in told and "gluster: " in told
    assert [each.name for each in loaded.clusters] == ["nfs", "gluster"]


def test_a_stripe_that_holds_the_largest_file_is_told_in_place_of_measured(tmp_path, kernel):
    wanted = ["stripe-size=4MiB", "stripe-size=64MiB"]
    loaded = load(tmp_path, kernel, wanted, body("g", "glusterfs"))
    assert [each.name for each in loaded.clusters] == ["g", "g-s4mib"]
    (application,) = [each for each in loaded.applications if each.variant_of is None]
    assert "the largest file has" in dict(application.refused)["stripe-size=64MiB"]


@pytest.mark.parametrize(
    ("kind", "layout"),
    [("glusterfs", "whole files"), ("cephfs", "objects"), ("moosefs", "objects")],
)
def test_a_layout_that_nobody_chose_is_the_file_systems_and_stands_in_no_title(kind, layout):
    knobs = knobs_of(spec(kind=kind))
    assert knobs.of("layout") == layout
    assert layout not in title_alone(knobs)


def test_where_only_inputs_are_placed_an_application_without_any_is_not_measured(tmp_path):
    made = file_per_process(n_ranks=2, rs=MIB)
    alone = make_kernel(made, written(made, tmp_path))
    assert not any(file.prepare_bytes for file in alone.files)
    for stripe, is_measured in (({"kind": "sharded"}, True), ({"kind": "distributed"}, False)):
        folder = tmp_path / stripe["kind"]
        folder.mkdir()
        plan = plan_of(load(folder, alone, ["layout"], body("g", "glusterfs", stripe=stripe)))
        on_it = [run for run in plan.runs if run.cluster == "g-1dfx1f"]
        assert bool(on_it) == is_measured
        assert any("reads none" in each.reason for each in plan.impossible) != is_measured


def test_the_copy_of_a_campaign_turns_the_same_clusters_again(tmp_path, kernel):
    loaded = load(tmp_path, kernel, SETTINGS, body("gluster", "glusterfs"))
    with write_store(tmp_path / "results") as store:
        keep_copies(loaded, store)
        copy = store.folder / "campaign.yaml"
        kept = {each.name for each in (store.folder / "clusters").iterdir()}
    assert yaml.safe_load(copy.read_text())["clusters"] == ["clusters/gluster.yaml"]
    assert kept == {"gluster.yaml", "gluster-s4mib.yaml", "gluster-1dfx1f.yaml"}
    again = load_campaign(read_campaign(copy), copy.parent, read_cluster)
    assert [each.key for each in again.clusters] == [each.key for each in loaded.clusters]
    assert {spec.name for spec in specs_of(loaded.sources)} == {
        each.name for each in loaded.clusters
    }


def test_a_layout_that_the_campaign_compares_already_is_not_made_twice(tmp_path, kernel):
    both = ["striped", "one-server-per-file"]
    loaded = load(tmp_path, kernel, ["layout"], body("g", "glusterfs"), layouts=both)
    assert "g-striped-1dfx1f" in [each.name for each in loaded.clusters]
    (first,) = [each for each in loaded.clusters if each.name == "g-1dfx1f"]
    assert "already" in first.not_turned["layout=one-server-per-file"]


def test_a_turned_layout_has_the_title_of_its_cluster_and_what_was_turned(tmp_path, kernel):
    loaded = load(
        tmp_path, kernel, ["stripe-size=4MiB"], body("g", "glusterfs"), body("n", "nfs", 1)
    )
    titles = {each.name: each.title for each in loaded.clusters}
    assert titles["g-s4mib"] == f"{titles['g']}, stripe size 4 MiB"


def test_a_kernel_alone_has_no_knob_of_the_layout(kernel):
    with pytest.raises(UsageError, match="is of the cluster: the kernel stays as it is"):
        make_variant(kernel, "stripe-size=1MiB")


def test_a_wrong_layout_is_refused_with_the_campaigns_file(tmp_path, kernel):
    with pytest.raises(SpecError, match="stripe-count takes a number"):
        load(tmp_path, kernel, ["stripe-count=many"], body("g", "glusterfs"))
    assert json.loads((tmp_path / "k.json").read_text())["application"]
