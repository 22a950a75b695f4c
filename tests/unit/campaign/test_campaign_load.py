from pathlib import Path

import pytest
import yaml
from campaign_fakes import facts
from compare_fakes import configuration
from measure_fakes import abyss_kernel

from wavetank.campaign.clusters import facts_of, read_cluster
from wavetank.campaign.load import keep_copies, load_campaign
from wavetank.campaign.results_folder import write_store
from wavetank.campaign.spec import CampaignSpec, read_campaign
from wavetank.cluster.spec import ClusterSpec
from wavetank.compare.decisions import decide
from wavetank.compare.effects import effects
from wavetank.compare.knobs import differing_knobs, layout_words
from wavetank.errors import SpecError
from wavetank.model.document.program import PauseStep, Program

CLUSTER = """\
name: {name}
provider: "null"
instance: {{name: c3.2xlarge, vcpus: 8}}
nodes: {{compute: 2}}
file_system: {{kind: none}}
"""

KERNEL = abyss_kernel().model_copy(
    update={"programs": (Program(ranks=(0, 1, 2, 3), steps=(PauseStep(seconds=0.5),)),)}
)


def campaign(folder: Path, **more) -> Path:
    """A campaign file with one kernel, which pauses, and two clusters, all there."""
    KERNEL.write(folder / "k.json")
    for name in ("one", "two"):
        (folder / f"{name}.yaml").write_text(CLUSTER.format(name=name))
    body = {
        "name": "test",
        "applications": [{"kernel": "k.json"}],
        "clusters": ["one.yaml", "two.yaml"],
        "prices": "papers-2016",
    }
    (folder / "campaign.yaml").write_text(yaml.safe_dump(body | more))
    return folder / "campaign.yaml"


def load(path):
    return load_campaign(read_campaign(path), path.parent, read_cluster)


def test_paths_are_relative_to_the_campaign_file(tmp_path, monkeypatch):
    path = campaign(tmp_path)
    monkeypatch.chdir("/")
    loaded = load(path)
    assert [each.name for each in loaded.applications] == ["ABYSS-P"]
    assert [each.name for each in loaded.clusters] == ["one", "two"]
    assert loaded.spec.output == tmp_path / "results"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"mappings": ["PxCN"]}, "kPxCN"),
        ({"mappings": ["1PxCN", "1PxCN"]}, "named twice"),
        ({"repetitions": 0}, "repetitions: 0 is too small: write at least 1"),
        ({"repetitoins": 3}, "repetitoins: no such key"),
        ({"applications": [{}]}, "name a kernel file, a model file, or both"),
        ({"applications": []}, "applications"),
        ({"cache": "lukewarm"}, "cache"),
        ({"name": "../up"}, "name"),
        ({"clusters": ["one.yaml", "three.yaml"]}, "three.yaml: no such file"),
    ],
)
def test_what_is_wrong_in_the_file_is_named(tmp_path, wrong, message):
    with pytest.raises(SpecError, match=message):
        read_campaign(campaign(tmp_path, **wrong))


def test_everything_wrong_in_all_files_is_found_at_once(tmp_path):
    path = campaign(tmp_path, prices="papers-1815")
    (tmp_path / "one.yaml").write_text("name: one\n")
    (tmp_path / "k.json").write_text("{")
    with pytest.raises(SpecError) as error:
        load(path)
    for part in ("k.json", "one.yaml", "papers-1815"):
        assert part in str(error.value)


def test_two_clusters_of_one_name_are_refused(tmp_path):
    path = campaign(tmp_path)
    (tmp_path / "two.yaml").write_text(CLUSTER.format(name="one"))
    with pytest.raises(SpecError, match="two clusters have the name 'one'"):
        load(path)


def test_keeping_storage_needs_a_price_for_it(tmp_path):
    with pytest.raises(SpecError, match="no storage 'tape'"):
        load(campaign(tmp_path, keep={"storage": "tape", "months": 1}))


def test_the_copies_of_a_campaign_can_be_run_again(tmp_path):
    path = campaign(tmp_path)
    loaded = load(path)
    folder = tmp_path / "out"
    with write_store(folder) as store:
        keep_copies(loaded, store)
    for file in ("k.json", "one.yaml", "two.yaml", "campaign.yaml"):
        (tmp_path / file).unlink()
    again = load(folder / "campaign.yaml")
    assert [each.kernel_sha256 for each in again.applications] == [
        each.kernel_sha256 for each in loaded.applications
    ]
    assert [each.key for each in again.clusters] == [each.key for each in loaded.clusters]
    assert again.spec.output.resolve() == folder.resolve()
    with write_store(folder) as store:
        keep_copies(again, store)  # onto themselves
    assert load(folder / "campaign.yaml").spec == again.spec


def test_layouts_make_a_cluster_of_each_file_and_layout(tmp_path):
    path = campaign(tmp_path, layouts=["striped", "one-server-per-file"])
    loaded = load(path)
    names = ["one-striped", "one-1dfx1f", "two-striped", "two-1dfx1f"]
    assert [each.name for each in loaded.clusters] == names
    with write_store(tmp_path / "out") as store:
        keep_copies(loaded, store)
    again = load(tmp_path / "out" / "campaign.yaml")
    assert [each.key for each in again.clusters] == [each.key for each in loaded.clusters]


UNTIL = {"kind": "until", "width": 0.1, "at_most": 20}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"strategy": UNTIL | {"at_most": 2}, "repetitions": 3}, "less than repetitions"),
        ({"strategy": UNTIL | {"width": 1.5}}, "strategy.until.width"),
        ({"strategy": {"kind": "often"}}, "strategy: .* no possible 'kind': write 'grid'"),
        ({"strategy": "search"}, "'search' has no keys"),
        ({"budget": {"money": 3}, "prices": None}, "budget.money needs a price table"),
        ({"budget": {"time": "soon"}}, "not a duration"),
        ({"layouts": ["striped", "striped"]}, "named twice"),
    ],
)
def test_rules_that_cannot_hold_are_named(tmp_path, wrong, message):
    with pytest.raises(SpecError, match=message):
        read_campaign(campaign(tmp_path, **wrong))


def cluster(**more):
    body = {
        "name": "x",
        "instance": {"name": "c3.2xlarge", "vcpus": 8},
        "nodes": {"compute": 2, "io": 3},
        "file_system": {"kind": "glusterfs"},
    }
    return ClusterSpec.model_validate(body | more)


def test_facts_count_every_instance_by_its_type():
    mixed = cluster(io_instance={"name": "i3.large"})
    assert facts_of(mixed).instances == {"c3.2xlarge": 2, "i3.large": 3}
    assert facts_of(cluster()).n_instances == 5


def test_capacity_is_the_sum_over_servers_unless_copies_are_kept():
    assert facts_of(cluster(storage={"size": "1 GiB"})).capacity_bytes == 3 * 2**30
    replicated = cluster(
        storage={"size": "1 GiB"},
        file_system={"kind": "glusterfs", "stripe": {"kind": "replicated"}},
    )
    assert facts_of(replicated).capacity_bytes == 2**30
    disperse = cluster(
        storage={"size": "1 GiB"},
        file_system={"kind": "glusterfs", "stripe": {"kind": "disperse", "redundancy": 1}},
    )
    assert facts_of(disperse).capacity_bytes == 2 * 2**30


def test_titles_are_for_people():
    assert facts_of(cluster()).title == "GlusterFS, 3 data servers"
    assert facts_of(cluster(layout="one-server-per-file")).title.endswith("1DFx1F")
    assert facts_of(cluster(file_system={"kind": "nfs", "servers": 1})).title == "NFS"


def different(first, second):
    before, after = facts_of(first).knobs, facts_of(second).knobs
    return {*differing_knobs(before, after)}


def test_one_more_data_server_is_one_knob_however_it_is_written():
    two = cluster(nodes={"compute": 2, "io": 2})
    assert different(two, cluster()) == {"data servers"}
    by_servers = cluster(file_system={"kind": "glusterfs", "servers": 3})
    assert different(two, by_servers) == {"data servers"}


def test_sharded_files_against_one_server_per_file_are_one_knob():
    sharded = cluster(
        file_system={"kind": "glusterfs", "stripe": {"kind": "sharded", "size": "4 MiB"}}
    )
    own = cluster(layout="one-server-per-file")
    assert different(sharded, own) == {"layout"}
    pair = [configuration("own", [1.0]), configuration("sharded", [1.0])]
    knobs = {"sharded": facts_of(sharded).knobs, "own": facts_of(own).knobs}
    (effect,) = effects(pair, knobs, decide(pair))
    assert (effect.knob, effect.before, effect.after) == ("layout", "1DFx1F", "sharded 4 MiB")


def test_each_way_of_striping_is_a_layout_of_its_own():
    def layout(**stripe):
        fs = {"kind": "glusterfs", "stripe": stripe}
        return layout_words(facts_of(cluster(file_system=fs)).knobs)

    layouts = [
        layout(kind="distributed"),
        layout(kind="sharded", size="4 MiB"),
        layout(kind="sharded", size="8 MiB"),
        layout(kind="replicated"),
        layout(kind="disperse", redundancy=1),
    ]
    assert len(set(layouts)) == len(layouts)


def test_stripes_of_one_server_are_no_knob():
    one = facts_of(cluster(nodes={"compute": 2, "io": 1})).knobs
    sharded = {"kind": "glusterfs", "stripe": {"kind": "sharded", "size": "64 KiB"}}
    two = facts_of(cluster(nodes={"compute": 2, "io": 2}, file_system=sharded)).knobs
    pair = [configuration("one", [1.0]), configuration("two", [1.0])]
    (effect,) = effects(pair, {"one": one, "two": two}, decide(pair))
    assert (effect.knob, effect.before, effect.after) == (
        "data servers",
        "1",
        "2, sharded 64 KiB",
    )


def test_the_file_system_alone_is_one_knob():
    one = {"nodes": {"compute": 2, "io": 1}}
    assert different(cluster(**one), cluster(**one, file_system={"kind": "nfs"})) == {"file system"}


def test_names_and_descriptions_are_no_knobs():
    assert different(cluster(), cluster(name="y", description="another")) == set()


def test_a_campaign_has_a_json_schema():
    assert "applications" in CampaignSpec.model_json_schema()["properties"]
    assert facts("a").n_instances == 3


def key_of(folder, **more):
    """Under which the campaign's application counts as measured."""
    return load(campaign(folder, **more)).applications[0].kernel_sha256


def test_flush_and_pauses_make_another_measurement(tmp_path):
    keys = [
        key_of(tmp_path, flush=flush, pauses=pauses)
        for flush in (True, False)
        for pauses in ("drop", "keep")
    ]
    assert len(set(keys)) == 4
    assert key_of(tmp_path) == keys[0]  # flushed, without pauses


def test_flush_and_pauses_are_in_the_copy_of_the_campaign(tmp_path):
    loaded = load(campaign(tmp_path, flush=False, pauses="keep"))
    with write_store(tmp_path / "results") as store:
        keep_copies(loaded, store)
    again = load(tmp_path / "results" / "campaign.yaml")
    assert (again.spec.flush, again.spec.pauses) == (False, "keep")
    assert again.applications[0].kernel_sha256 == loaded.applications[0].kernel_sha256


def test_pauses_are_kept_of_kernels_that_hold_some(tmp_path):
    file = campaign(tmp_path, pauses="keep")
    abyss_kernel().write(tmp_path / "k.json")
    with pytest.raises(SpecError, match=r"'pauses: keep': none kept: .* 'wavetank model --pauses"):
        load(file)


def test_kept_pauses_are_refused_where_a_benchmark_makes_none(tmp_path):
    with pytest.raises(SpecError, match=r"'pauses: keep' is for the exact replay, and fio"):
        load(
            campaign(tmp_path, pauses="keep", applications=[{"kernel": "k.json", "program": "fio"}])
        )
