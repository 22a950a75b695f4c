"""Titles of clusters in a comparison: unique, short, of what differs."""

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from measure_fakes import abyss_kernel

from wavetank.campaign.clusters import facts_of, read_cluster
from wavetank.campaign.facts import with_titles
from wavetank.campaign.load import load_campaign
from wavetank.campaign.spec import read_campaign
from wavetank.cluster.spec import ClusterSpec
from wavetank.compare.knobs import differences
from wavetank.errors import SpecError

BODY = {
    "name": "x",
    "instance": {"name": "c5.large", "vcpus": 2, "network": "1 Gbit/s"},
    "nodes": {"compute": 2, "io": 1},
    "file_system": {"kind": "nfs"},
}


def spec(name="x", **more):
    body = json.loads(json.dumps(BODY)) | {"name": name}
    for key, value in more.items():
        body[key] = body[key] | value if isinstance(body.get(key), dict) else value
    return ClusterSpec.model_validate(body)


def titles(*specs):
    return [each.title for each in with_titles([facts_of(one) for one in specs])]


def turned(first, second):
    found = differences(facts_of(first).knobs, facts_of(second).knobs)
    return [(each.knob, each.before, each.after) for each in found]


def disk(name, rate, **more):
    return spec(name, instance={"disk_write": rate}, **more)


def test_clusters_that_differ_in_the_disk_have_titles_that_say_so():
    slow, fast = disk("slow", "40 MB/s"), disk("fast", "200 MB/s")
    assert titles(slow, fast) == ["NFS, disk write 40 MB/s", "NFS, disk write 200 MB/s"]
    both = [
        spec(name, storage={"read": rate, "write": rate})
        for name, rate in (("slow", "40 MB/s"), ("fast", "62.5 MB/s"))
    ]
    assert titles(*both) == ["NFS, disk 40 MB/s", "NFS, disk 62.5 MB/s"]


def striped(name, size):
    fs = {"kind": "glusterfs", "stripe": {"kind": "sharded", "size": size}}
    return spec(name, nodes={"io": 2}, file_system=fs)


def test_clusters_that_differ_in_the_stripe_size_have_titles_that_say_so():
    found = titles(striped("a", "4 MiB"), striped("b", "8 MiB"))
    assert found == ["GlusterFS, stripes of 4 MiB", "GlusterFS, stripes of 8 MiB"]
    found = titles(striped("a", "4 MiB"), striped("b", "8 MiB"), spec("n"))
    assert found == [
        "GlusterFS, 2 data servers, stripes of 4 MiB",
        "GlusterFS, 2 data servers, stripes of 8 MiB",
        "NFS",
    ]


def test_what_is_the_same_everywhere_is_not_said():
    one = spec("one", file_system={"kind": "glusterfs"})
    assert titles(one, spec("nfs")) == ["GlusterFS", "NFS"]
    two = spec("two", file_system={"kind": "glusterfs"}, nodes={"io": 2})
    assert titles(one, spec("nfs"), two) == [
        "GlusterFS, 1 data server",
        "NFS",
        "GlusterFS, 2 data servers",
    ]


def test_an_instance_type_stands_for_all_that_it_brings():
    large = spec("large", instance={"disk_write": "40 MB/s", "memory": "1 GiB"})
    xlarge = spec("xlarge", instance={"name": "c5.xlarge", "vcpus": 4, "disk_write": "80 MB/s"})
    assert titles(large, xlarge) == ["NFS, c5.large", "NFS, c5.xlarge"]
    assert turned(large, xlarge) == [("instance type", "c5.large", "c5.xlarge")]


def test_an_option_of_a_file_system_is_told_with_the_file_system():
    fs = {"kind": "glusterfs", "options": {"performance.io-cache": "on"}}
    tuned, plain = spec("tuned", file_system=fs), spec("plain", file_system={"kind": "glusterfs"})
    assert turned(spec("nfs"), tuned) == [
        ("file system", "NFS", "GlusterFS, performance.io-cache on")
    ]
    assert titles(plain, tuned) == ["GlusterFS", "GlusterFS, performance.io-cache on"]


def test_equal_clusters_are_told_apart_by_their_names():
    assert titles(spec("a"), spec("b"), spec("c", nodes={"compute": 3})) == [
        "NFS, 2 compute nodes (a)",
        "NFS, 2 compute nodes (b)",
        "NFS, 3 compute nodes",
    ]


def test_a_title_of_a_person_is_kept_and_no_other_gets_it():
    mine = spec("mine", title="NFS")
    assert titles(mine, spec("other")) == ["NFS", "NFS (other)"]
    assert titles(mine) == ["NFS"]


def campaign(folder, first, second):
    """A campaign file on two clusters of these bodies."""
    abyss_kernel().write(folder / "k.json")
    for name, more in (("one", first), ("two", second)):
        body = spec(name, provider="null", **more).model_dump(mode="json", exclude_unset=True)
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(body))
    said = {
        "name": "t",
        "applications": [{"kernel": "k.json"}],
        "clusters": ["one.yaml", "two.yaml"],
    }
    (folder / "campaign.yaml").write_text(yaml.safe_dump(said))
    return folder / "campaign.yaml"


def test_a_title_that_two_clusters_have_is_refused(tmp_path):
    path = campaign(tmp_path, {"title": "Ours"}, {"title": "Ours"})
    with pytest.raises(SpecError, match=r"clusters one and two have the same title 'Ours'"):
        load_campaign(read_campaign(path), tmp_path, read_cluster)


def test_a_file_in_two_layouts_with_a_title_has_two_titles(tmp_path):
    (tmp_path / "c.yaml").write_text(
        yaml.safe_dump(
            spec("c", title="Ours", file_system={"kind": "glusterfs"}, nodes={"io": 2}).model_dump(
                mode="json", exclude_unset=True
            )
        )
    )
    layouts = ("striped", "one-server-per-file")
    found = with_titles([read_cluster(tmp_path / "c.yaml", layout) for layout in layouts])
    assert [each.title for each in found] == ["Ours, striped", "Ours, 1DFx1F"]


CHOICES = {
    "file_system": [
        {"kind": "nfs", "servers": 1},
        {"kind": "nfs", "servers": 1, "placement": "compute"},
        {"kind": "nfs", "servers": 1, "options": {"Rquota": "on"}},
        {"kind": "none"},
        {"kind": "existing", "path": "/scratch"},
        {"kind": "existing", "path": "/home/x"},
        {"kind": "glusterfs"},
        {"kind": "glusterfs", "placement": "compute"},
        {"kind": "glusterfs", "placement": ["io1", "c1"]},
        {"kind": "glusterfs", "stripe": {"kind": "replicated"}},
        {"kind": "glusterfs", "stripe": {"kind": "sharded", "size": "4 MiB"}},
        {"kind": "glusterfs", "stripe": {"kind": "sharded", "size": 4194305}},
        {"kind": "glusterfs", "options": {"performance.io-cache": "on"}},
        {"kind": "glusterfs", "mount_options": {"direct-io-mode": "on"}},
        {"kind": "cephfs"},
        {"kind": "cephfs", "metadata_servers": 1},
        {"kind": "gateway", "behind": "glusterfs"},
        {"kind": "gateway", "behind": "cephfs"},
        {"kind": "of-a-plugin"},
    ],
    "nodes": [{"compute": 2, "io": 1}, {"compute": 2, "io": 2}, {"compute": 3, "io": 2, "head": 1}],
    "instance": [
        {"name": "c5.large"},
        {"name": "c5.large", "memory": "1 GiB"},
        {"name": "c5.large", "network": "100 Mbit/s", "disk_read_iops": 100},
        {"name": "c5.large", "disk_write": "40 MB/s", "disk_read": "40 MB/s"},
        {"name": "c5.xlarge", "vcpus": 4, "disk_write": "40 MB/s"},
    ],
    "io_instance": [None, {"name": "c5.large"}, {"name": "i3.large", "device": "nvme"}],
    "storage": [{"size": "1 GiB"}, {"size": "1 GiB", "write": "40 MB/s"}, {"size": "10 GB"}],
    "temporary": [None, {"size": "1 GiB"}, {"size": "1 GiB", "read": "1 MB/s"}],
    "layout": ["striped", "one-server-per-file"],
    "mpi": [{}, {"hints": {"cb_nodes": 2}}, {"io_library": "romio"}],
    "scale": [1, 2],
    "mapping": ["1PxCN", "2PxCN"],
    "title": [None, None, None, "NFS", "GlusterFS", "NFS (b)", "NFS (a)", "local disks"],
}


@st.composite
def cluster_sets(draw):
    """Up to six clusters of all kinds; titles of people are unique, as a plan asks for."""
    facts, taken = [], set()
    for name in "abcdef"[: draw(st.integers(1, 6))]:
        body = {key: draw(st.sampled_from(values)) for key, values in CHOICES.items()}
        body["title"] = None if body["title"] in taken else body["title"]
        taken.add(body["title"])
        try:
            facts.append(facts_of(ClusterSpec.model_validate({"name": name} | body)))
        except ValueError:  # what does not fit together is no cluster
            continue
    return facts


@settings(max_examples=60, deadline=None)
@given(cluster_sets(), st.randoms())
def test_titles_are_unique_and_do_not_depend_on_the_order(facts, chance):
    named = {each.name: each.title for each in with_titles(facts)}
    assert len({*named.values()}) == len(facts)
    assert all(title.strip() for title in named.values())
    for each in facts:
        assert each.own_title in (None, named[each.name])
    chance.shuffle(facts)
    assert {each.name: each.title for each in with_titles(facts)} == named


def test_a_baseline_that_is_no_cluster_is_refused_with_their_names(tmp_path):
    path = campaign(tmp_path, {}, {})
    body = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump(body | {"baseline": "three"}))
    with pytest.raises(SpecError, match=r"baseline 'three' is no cluster .* there are one, two"):
        load_campaign(read_campaign(path), tmp_path, read_cluster)
    path.write_text(yaml.safe_dump(body | {"baseline": "two"}))
    assert load_campaign(read_campaign(path), tmp_path, read_cluster).spec.baseline == "two"
