"""A campaign of two clusters that is killed after some measurements, and goes on when it is run again."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import yaml
from campaign_fakes import FakeDeployer, FakeObserver
from measure_fakes import FakePerformer, abyss_kernel, abyss_result

from wavetank.campaign.clusters import read_cluster
from wavetank.campaign.comparison import compare_campaign
from wavetank.campaign.load import keep_copies, load_campaign
from wavetank.campaign.plan import make_plan
from wavetank.campaign.results_folder import write_store
from wavetank.campaign.run import run_campaign
from wavetank.campaign.spec import read_campaign


def write_campaign(folder: Path, **more: object) -> None:
    """Write the files of a campaign of four measurements; ``more``: keys of its file."""
    abyss_kernel().write(folder / "k.json")
    for name in ("a", "b"):
        body = {
            "name": name,
            "instance": {"name": "c3.2xlarge", "vcpus": 8},
            "nodes": {"compute": 2, "io": 1},
            "file_system": {"kind": "nfs"},
        }
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(body))
    body = {
        "name": "killed",
        "applications": [{"kernel": "k.json"}],
        "clusters": ["a.yaml", "b.yaml"],
        "repetitions": 2,
        "prices": "papers-2016",
        "other_prices": ["aws-us-east-1-spot-2025-05"],
    }
    (folder / "campaign.yaml").write_text(yaml.safe_dump(body | more))


def measure_some(folder: Path, n: int, *, compares: bool = False) -> Path:
    """Run it for ``n`` measurements, after which it is killed, and compare if asked to; the folder of its results."""
    spec = read_campaign(folder / "campaign.yaml")
    loaded = load_campaign(spec, folder, read_cluster)
    plan = make_plan(spec, loaded.applications, loaded.clusters)
    performer = FakePerformer(*[abyss_result] * n, KeyboardInterrupt())
    with write_store(spec.output) as store:
        keep_copies(loaded, store)
        with suppress(KeyboardInterrupt):
            run_campaign(
                spec, plan, store, deployer=FakeDeployer(), performer=performer,
                observer=FakeObserver(),
            )  # fmt: skip
        if compares:
            done = compare_campaign(spec, plan, store, loaded.prices)
            done.write(store.folder / "comparison.json")
    return spec.output
