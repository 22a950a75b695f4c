"""A file system that is mounted already: only what was made for the cluster is deleted; Lustre's stripes are set and read back."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from wavetank.cluster import deploy
from wavetank.cluster.namespaces import host as namespace_host
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import FileSystemError, SpecError
from wavetank.steps import FAR, STEPS
from wavetank.units import MIB

# What lfs of Lustre 2.15.5 prints (its source, utils/liblustreapi.c and lov/lproc_lov.c); and a log of how it was called.
# OST 1 is out of use.
LFS = """#!/bin/sh
echo "$@" >> {log}
for file; do :; done
case "$1 $2" in
"setstripe -c") case "$*" in *" -i "*) echo "$5" >"$6.ost"; : >"$6" ;; esac ;;
"getstripe -d") echo "stripe_count:  2 stripe_size:   1048576 pattern:       raid0 stripe_offset: -1" ;;
"getstripe -y")
  ost=$(cat "$file.ost")
  printf 'lmm_stripe_count:  1\\nlmm_stripe_size:   1048576\\nlmm_pattern:       raid0\\nlmm_layout_gen:    0\\n'
  printf 'lmm_stripe_offset: %s\\nlmm_objects:\\n      - l_ost_idx: %s\\n' "$ost" "$ost"
  printf '        l_fid:     0x100010000:0x2:0x0\\n\\n' ;;
"osts "*) printf 'OBDS:\\n0: site-OST0000_UUID ACTIVE\\n1: site-OST0001_UUID INACTIVE\\n2: site-OST0002_UUID ACTIVE\\n' ;;
esac
"""
LCTL = """#!/bin/sh
echo "$@" >> {log}
{then}
"""
STAT = """#!/bin/sh
[ "$1 $2 $3" = "-f -c %T" ] && {{ echo lustre; exit; }}
exec /usr/bin/stat "$@"
"""


@pytest.fixture
def site_fs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    path = tmp_path / "scratch"
    path.mkdir()
    return path


def spec(path: Path, **parts: Any) -> ClusterSpec:
    file_system = {"kind": "existing", "path": str(path), **parts.pop("file_system", {})}
    return ClusterSpec.model_validate(
        {
            "name": "site",
            "provider": "null",
            "instance": {"name": "x"},
            "nodes": {"compute": 2},
            "file_system": file_system,
            **parts,
        }
    )


def test_only_the_clusters_own_directory_is_used_and_deleted(site_fs: Path) -> None:
    (site_fs / "precious").write_text("stays")
    with deploy.deployed(spec(site_fs)) as cluster:
        cluster.place_files({"in": 1000})
        assert (site_fs / "wavetank-site" / "in").stat().st_size == 1000
    assert sorted(entry.name for entry in site_fs.iterdir()) == ["precious"]


def test_how_much_of_the_input_files_is_written_is_told_in_parts(
    site_fs: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("wavetank.cluster.filesystems.base.PART_BYTES", MIB)
    monkeypatch.setattr("wavetank.steps._SHORTEST_S", 0)
    with deploy.deployed(spec(site_fs)) as cluster:
        with caplog.at_level(logging.INFO, STEPS):
            cluster.place_files({"a": 2 * MIB + 5, "b": 0, "c": 7})
        placed = site_fs / "wavetank-site"
        assert [(placed / name).stat().st_size for name in "abc"] == [2 * MIB + 5, 0, 7]
        assert len(set((placed / "a").read_bytes()[::MIB])) > 1  # no part is left a hole
    found = [getattr(record, FAR) for record in caplog.records if hasattr(record, FAR)]
    told = [far for far in found if far.what == "placing input files on site"]
    done = [MIB, 2 * MIB, 2 * MIB + 5, 2 * MIB + 5, 2 * MIB + 12]
    assert [far.done for far in told if far.state == "going"] == done
    assert {far.total for far in told} == {2 * MIB + 12}
    assert told[-1].state == "ended"


def test_a_directory_of_that_name_that_is_not_ours_is_refused_and_left_alone(site_fs: Path) -> None:
    (site_fs / "wavetank-site").mkdir()
    (site_fs / "wavetank-site" / "precious").write_text("stays")
    with pytest.raises(FileSystemError, match=r"cannot make .*wavetank-site.*File exists"):
        deploy.bring_up(spec(site_fs))
    assert (site_fs / "wavetank-site" / "precious").read_text() == "stays"


def test_a_half_made_cluster_is_deleted_by_a_later_down(
    site_fs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(deploy, "_clear", lambda directory, spec: None)  # as if killed
        patch.setattr(
            "wavetank.cluster.filesystems.existing.driver.Existing.mount", lambda *_: 1 / 0
        )
        with pytest.raises(ZeroDivisionError):
            deploy.bring_up(spec(site_fs))
    assert (site_fs / "wavetank-site").is_dir()
    deploy.take_down("site")
    assert list(site_fs.iterdir()) == []


@pytest.fixture
def lustre(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs of a client of Lustre before those of this machine; the log of their calls."""
    log = tmp_path / "lustre.log"
    (tmp_path / "bin").mkdir()
    texts = {
        "lfs": LFS.format(log=log),
        "stat": STAT.format(),
        "lctl": LCTL.format(log=log, then=""),
    }
    for name, text in texts.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setitem(namespace_host.NODE_ENV, "PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    return log


def test_on_lustre_stripes_are_set_and_files_go_to_osts_of_their_own(
    site_fs: Path, lustre: Path
) -> None:
    options = {"options": {"stripe_count": 2, "stripe_size": "1M"}}
    with deploy.deployed(spec(site_fs, layout="one-server-per-file", file_system=options)) as up:
        assert up.settings()["lfs getstripe -d"].startswith("stripe_count: 2 stripe_size: 1048576")
        places = up.place_files({"a": 10, "b": 10, "c": 10})
        # OST 1 takes no files; the third file is on the first OST again
        assert places == {
            name: f"OST {ost} in blocks of 1048576 bytes"
            for name, ost in (("a", 0), ("b", 2), ("c", 0))
        }
    directory = f"{site_fs}/wavetank-site"
    calls = lustre.read_text().splitlines()
    assert f"setstripe -c 2 -S 1M {directory}" in calls
    assert f"setstripe -c 1 -i 0 {directory}/a" in calls
    assert f"setstripe -c 1 -i 2 {directory}/b" in calls


def test_on_lustre_clients_give_their_locks_back(
    site_fs: Path, lustre: Path, tmp_path: Path
) -> None:
    with deploy.deployed(spec(site_fs)) as up:
        assert "c1: locks of Lustre given back; c2: locks" in up.drop_caches()
        calls = lustre.read_text().splitlines()
        assert calls.count("set_param -n ldlm.namespaces.*-*-osc-*.lru_size=clear") == 2
        assert calls.count("set_param -n ldlm.namespaces.*-*-mdc-*.lru_size=clear") == 2
        # what a user who is not root is told (Lustre 2.15.5, utils/lustre_cfg.c)
        denied = """echo "error: set_param: opening 'lru_size': Permission denied" >&2; exit 13"""
        (tmp_path / "bin" / "lctl").write_text(LCTL.format(log=lustre, then=denied))
        assert "c2: caches of Lustre not emptied (error: set_param" in up.drop_caches()


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"file_system": {"path": "/no/such"}}, "is no directory: mount it, or name another one"),
        ({"file_system": {"path": None}}, "needs file_system.path"),
        (
            {"file_system": {"options": {"stripes": 2}}},
            "it has stripe_count, stripe_size",
        ),
        (
            {"file_system": {"options": {"stripe_size": "large"}}},
            "'large' is not possible: write a size",
        ),
        (
            {"file_system": {"options": {"stripe_count": True}}},
            "True is not possible: write a number",
        ),
        (
            {"file_system": {"mount_options": {"noatime": True}}},
            "existing has no such options: remove it",
        ),
        ({"provider": "local"}, "must not write to it"),
    ],
)
def test_what_cannot_be_is_refused(site_fs: Path, parts: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        deploy.bring_up(spec(site_fs, **parts))
    assert list(site_fs.iterdir()) == []
