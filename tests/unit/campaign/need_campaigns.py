"""Campaigns of one cluster each, run without a machine, whose I/O times a test chooses."""

from __future__ import annotations

import yaml
from campaign_fakes import FakeDeployer, FakeObserver
from measure_fakes import FakePerformer, abyss_kernel, abyss_result

from wavetank.campaign.clusters import read_cluster
from wavetank.campaign.load import keep_copies, load_campaign
from wavetank.campaign.plan import make_plan
from wavetank.campaign.results_folder import write_store
from wavetank.campaign.run import run_campaign
from wavetank.campaign.spec import read_campaign

WRITES_S = 0.1
"""That the results of these tests take after they have read."""


def measured(
    folder, io_times_s, *, file_system=None, io=1, emulated=False, kernel=None, cluster=None, **campaign
):  # fmt: skip
    """The output folder of a campaign whose repetitions took these I/O times.

    Args:
        folder: for it, not there yet.
        io_times_s: at least 0.2 s each.
        file_system: of the cluster file; NFS.
        io: I/O nodes.
        emulated: whether nodes had limits.
        kernel: that of ABySS.
        cluster: further keys of the cluster file.
        campaign: further keys of the campaign file.
    """
    folder.mkdir()
    (kernel or abyss_kernel()).write(folder / "k.json")
    kind = (file_system or {"kind": "nfs"})["kind"]
    name = f"{kind}-{io}"
    body = {
        "name": name,
        "instance": {"name": "c3.2xlarge", "vcpus": 8},
        "nodes": {"compute": 2, "io": io},
        "file_system": file_system or {"kind": kind},
        **(cluster or {}),
    }
    (folder / "cluster.yaml").write_text(yaml.safe_dump(body))
    plan = {
        "name": folder.name,
        "applications": [{"kernel": "k.json"}],
        "clusters": ["cluster.yaml"],
        "repetitions": len(io_times_s),
        "output": "results",
        **campaign,
    }
    (folder / "campaign.yaml").write_text(yaml.safe_dump(plan))
    spec = read_campaign(folder / "campaign.yaml")
    loaded = load_campaign(spec, folder, read_cluster)
    results = [lambda made, s=s: abyss_result(made, read_s=s - WRITES_S) for s in io_times_s]
    with write_store(spec.output) as store:
        keep_copies(loaded, store)
        run_campaign(
            spec, make_plan(spec, loaded.applications, loaded.clusters), store,
            deployer=FakeDeployer(limits=None if emulated else {name: {}}),
            performer=FakePerformer(*results), observer=FakeObserver(),
        )  # fmt: skip
    return spec.output
