"""A program that runs a campaign on instances, and runs it again to its end: in the first run the cloud takes one of them back, and the
credentials expire in the last measurement.

Usage: aws_campaign.py FOLDER KERNEL KERNEL-FOR-FIO NAME LOST, as a command of cloud_loopback.py. Prints what was said and found as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import yaml
from aws_account import OWN_IMAGE, ask, body_of, without_waits
from click.testing import CliRunner, Result
from emulated_account import MOUNT

from wavetank.campaign import run as campaign_run
from wavetank.cli.main import cli
from wavetank.cluster import registry
from wavetank.cluster.clouds import engine
from wavetank.cluster.state import directory_of

URL = os.environ["WAVETANK_TEST_CLOUD_URL"]
TAKEN = "Server.SpotInstanceTermination", "Spot instance termination"


def clusters(name: str) -> list[dict[str, Any]]:
    """Two that come up, and one that its budget forbids."""
    mount = {"mount": MOUNT}
    own_image = {**OWN_IMAGE, "spot": True}  # nodes have no kernel's NFS server
    return [
        body_of(f"{name}-nfs", file_system={"kind": "nfs", **mount}, cloud=own_image),
        body_of(f"{name}-gluster", file_system={"kind": "glusterfs", **mount}),
        body_of(f"{name}-dear", file_system={"kind": "nfs"}, cloud={"budget": "0.1 USD"}),
    ]


def take_back(cluster: str, node: str) -> None:
    """The cloud ends an instance."""
    found = engine.noted_lease(directory_of(cluster))
    assert found is not None
    region, key = found
    made = registry.cloud("aws", region).instances(key)
    ask(URL, "", {"ended": {each.key: TAKEN for each in made if each.node == node}})


def main() -> None:
    folder, kernel, for_fio, name, lost = Path(sys.argv[1]), *sys.argv[2:]
    bodies = clusters(name)
    for body in bodies:
        (folder / f"{body['name']}.yaml").write_text(yaml.safe_dump(body))
    campaign = {
        "name": "aws", "applications": [{"name": "btio", "kernel": kernel}, {"name": "byfio", "kernel": for_fio, "program": "fio"}],
        "clusters": [f"{body['name']}.yaml" for body in bodies], "mappings": ["2PxCN"], "repetitions": 2,
        "redeploy": False, "seed": 3,  # NFS comes up before GlusterFS
        "prices": "aws-us-east-1-2026-07", "output": "results",
        "characterise": True,  # by fio on the instances
    }  # fmt: skip
    (folder / "campaign.yaml").write_text(yaml.safe_dump(campaign))
    without_waits()
    measure = campaign_run.measure
    n_last: list[int] = []  # of GlusterFS, in the last round

    def with_an_end(bench: Any, *args: Any, **more: Any) -> Any:
        if more["repetition"] == 1 and bench.cluster.name.endswith("-nfs"):
            take_back(bench.cluster.name, lost)
        if more["repetition"] == 1 and bench.cluster.name.endswith("-gluster"):
            n_last.append(1)
            if len(n_last) == 2:
                ask(URL, "", {"refuse": {"*": "ExpiredToken"}})
        return measure(bench, *args, **more)

    campaign_run.measure = with_an_end  # type: ignore[assignment]
    first = wavetank("run", str(folder / "campaign.yaml"))
    after_first = ask(URL, "left")
    campaign_run.measure = measure
    ask(URL, "", {"refuse": {}})  # renewed
    again = wavetank("run", str(folder / "campaign.yaml"))
    found = wavetank("results", str(folder / "results"), "--format", "json")
    said = {
        "first": [first.exit_code, first.output, repr(first.exception)], "left": after_first,
        "again": [again.exit_code, again.output, repr(again.exception)], "found": found.stdout,
        "bill": wavetank("cluster", "bill", "--format", "json").stdout,
    }  # fmt: skip
    print(json.dumps(said))


def wavetank(*words: str) -> Result:
    """A command in this process, whose clock is quick."""
    return CliRunner().invoke(cli, [*words])


if __name__ == "__main__":
    main()
