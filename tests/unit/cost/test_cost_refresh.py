import gzip
import io
import json
import zipfile
from decimal import Decimal

import pytest
import yaml
from click.testing import CliRunner

from wavetank.cli.instances import command
from wavetank.cost.prices import load_prices
from wavetank.cost.refresh import (
    KARPENTER_FILE,
    MOTO_MEMBER,
    ON_DEMAND,
    SPOT,
    instances_csv,
    read_instances_info,
    read_karpenter,
    read_moto,
    write_info_prices,
    write_instances,
    write_prices,
)
from wavetank.errors import CostError

ENTRY = {
    "InstanceType": "x1.tiny",
    "VCpuInfo": {"DefaultVCpus": 2, "DefaultCores": 1},
    "MemoryInfo": {"SizeInMiB": 1024},
    "NetworkInfo": {
        "NetworkPerformance": "Low",
        "NetworkCards": [
            {"BaselineBandwidthInGbps": 0.5, "PeakBandwidthInGbps": 1.0},
            {"BaselineBandwidthInGbps": 0.5, "PeakBandwidthInGbps": 1.0},
        ],
    },
    "EbsInfo": {"EbsOptimizedInfo": {"BaselineThroughputInMBps": 62.5, "BaselineIops": 4000}},
    "InstanceStorageInfo": {"Disks": [{"Count": 2, "SizeInGB": 80, "Type": "ssd"}]},
    "ProcessorInfo": {"SupportedArchitectures": ["i386", "x86_64"]},
    "CurrentGeneration": True,
    "BurstablePerformanceSupported": False,
}

GO = """\
package pricing

// generated at 2026-07-06T14:20:29Z for us-east-1

var InitialOnDemandPricesAWS = map[string]map[ec2types.InstanceType]float64{
\t// us-east-1
\t"us-east-1": {
\t\t// x1 family
\t\t"x1.tiny": 0.012500, "x1.big": 1.500000,
\t},
\t"eu-west-1": {
\t\t"x1.tiny": 9.000000,
\t},
}
"""


def wheel(path, body):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(MOTO_MEMBER, gzip.compress(json.dumps(body).encode()))
    return path


def module(folder):
    path = folder / "karpenter-provider-aws@v9" / KARPENTER_FILE
    path.parent.mkdir(parents=True)
    path.write_text(GO)
    return folder / "karpenter-provider-aws@v9"


def test_an_instance_becomes_a_row_with_bytes(tmp_path):
    entries = read_moto(wheel(tmp_path / "moto-9-x.whl", {"x1.tiny": ENTRY}))
    lines = instances_csv(entries, "a test").splitlines()
    row = dict(zip(lines[2].split(","), lines[3].split(","), strict=True))
    assert row["name"] == "x1.tiny" and row["memory_bytes"] == str(2**30)
    assert row["network_baseline_bytes_per_s"] == "125000000"  # two cards of 0.5 Gbit/s
    assert row["ebs_baseline_bytes_per_s"] == "62500000" and row["ebs_maximum_iops"] == ""
    assert (row["n_local_disks"], row["local_disk_bytes"]) == ("2", "80000000000")
    assert row["architecture"] == "i386+x86_64"


def test_the_file_says_from_which_version_and_day(tmp_path):
    path = wheel(tmp_path / "moto-5.9.9-py3-none-any.whl", {"x1.tiny": ENTRY})
    with zipfile.ZipFile(path) as archive:
        packed = archive.getinfo(MOTO_MEMBER).date_time
    first = write_instances(path, tmp_path).read_text().splitlines()[0]
    assert first.endswith("moto 5.9.9 of {:04}-{:02}-{:02}".format(*packed[:3]))


def test_prices_are_of_the_region_that_was_asked_for(tmp_path):
    taken, prices = read_karpenter(module(tmp_path), "us-east-1")
    assert taken.isoformat() == "2026-07-06T14:20:29+00:00"
    assert prices == {"x1.tiny": Decimal("0.0125"), "x1.big": Decimal("1.5")}


def test_an_unknown_region_names_those_there_are(tmp_path):
    with pytest.raises(CostError, match="us-east-1, eu-west-1"):
        read_karpenter(module(tmp_path), "mars-1")


def test_a_price_table_has_instances_and_the_regions_storage(tmp_path):
    path = write_prices(module(tmp_path), "us-east-1", tmp_path)
    body = yaml.safe_load(path.read_text())
    assert path.name == "aws-us-east-1-2026-07.yaml"
    assert body["instances"]["x1.tiny"] == "0.0125"
    assert body["storage"]["ebs-gp3"]["per_gb_month"] == "0.08"


def test_what_is_no_wheel_of_moto_is_refused(tmp_path):
    (tmp_path / "x.whl").write_bytes(io.BytesIO(b"no").getvalue())
    with pytest.raises(CostError, match="pip download"):
        read_moto(tmp_path / "x.whl")


def test_what_is_not_the_module_is_refused(tmp_path):
    with pytest.raises(CostError, match="go mod download"):
        read_karpenter(tmp_path, "us-east-1")


YEARS = {
    "yrTerm1Standard.noUpfront": "0.0079",
    "yrTerm3Standard.noUpfront": "0.0054",
    "yrTerm1Standard.allUpfront": "0.0074",
}
ENTRIES = [
    {
        "instance_type": "x1.tiny",
        "pricing": {
            "us-east-1": {
                "linux": {"ondemand": "0.0125", "spot_avg": "0.004100", "reserved": YEARS}
            },
            "eu-west-1": {"linux": {"ondemand": "9"}},
        },
    },
    {"instance_type": "x1.none", "pricing": {"us-east-1": {"linux": {"spot_avg": "0.000000"}}}},
    {"instance_type": "x1.bare", "pricing": {"us-east-1": {}}},
]


NAME = "ec2-instances-info@v0.0.0-20250528091325-32acf84f42eb"


def info_module(folder, entries=ENTRIES, name=NAME):
    path = folder / name / "data" / "instances.json"
    path.parent.mkdir(parents=True)
    path.write_text(entries if isinstance(entries, str) else json.dumps(entries))
    return folder / name


def test_spot_prices_have_the_date_of_the_modules_version(tmp_path):
    taken, prices = read_instances_info(info_module(tmp_path), "us-east-1", SPOT)
    assert taken.isoformat() == "2025-05-28T09:13:25+00:00"
    assert prices == {"x1.tiny": Decimal("0.0041")}


def test_a_spot_table_says_how_instances_are_bought(tmp_path):
    path = write_info_prices(info_module(tmp_path), "us-east-1", tmp_path, SPOT)
    table = load_prices(path)
    assert (path.name, table.name) == ("aws-us-east-1-spot-2025-05.yaml", path.stem)
    assert table.purchase == "spot" and str(table.date) == "2025-05-28"
    assert table.instances == {"x1.tiny": Decimal("0.0041")}
    assert table.storage["efs"].per_gb_month == Decimal("0.30")


@pytest.mark.parametrize(
    ("entries", "name", "says"),
    [
        (ENTRIES, "ec2-instances-info@v1.0.0", "no version with a date"),
        ("no json", "m@v0.0.0-20250528091325-32acf84f42eb", "holds other data"),
        ([{"a": 1}], "m@v0.0.0-20250528091325-32acf84f42eb", "holds other data"),
        ([], "m@v0.0.0-20250528091325-32acf84f42eb", "no spot prices of us-east-1"),
    ],
)
def test_what_is_not_the_module_of_instances_is_refused(tmp_path, entries, name, says):
    with pytest.raises(CostError, match=says):
        read_instances_info(info_module(tmp_path, entries, name), "us-east-1", SPOT)


@pytest.mark.parametrize("there", ["newdata", "data"])
def test_refresh_writes_into_a_new_folder_and_into_one_without_prices(tmp_path, there):
    (tmp_path / "data").mkdir()
    sources = (
        *("--moto", wheel(tmp_path / "moto-5.9.9-py3-none-any.whl", {"x1.tiny": ENTRY})),
        *("--karpenter", module(tmp_path), "--spot", info_module(tmp_path)),
    )
    output = tmp_path / there
    arguments = map(str, ("refresh", *sources, "-o", output))
    said = CliRunner().invoke(command, list(arguments), catch_exceptions=False).stdout
    made = [output / "instances-aws.csv"]
    made += [output / "prices" / f"aws-us-east-1-{day}.yaml" for day in ("2026-07", "spot-2025-05")]
    assert said.splitlines() == [str(path) for path in made]
    assert all(path.is_file() for path in made)


def test_refused_data_leave_no_folder_behind(tmp_path):
    with pytest.raises(CostError, match="mars-1"):
        write_prices(module(tmp_path), "mars-1", tmp_path / "newdata")
    assert not (tmp_path / "newdata").exists()


def refreshed(folder, *options):
    arguments = ["refresh", *options, "-o", str(folder / "new")]
    said = CliRunner().invoke(command, arguments, catch_exceptions=False).stdout
    return [load_prices(line) for line in said.splitlines()]


def test_prices_on_demand_are_those_of_any_region_with_their_date(tmp_path):
    (table,) = refreshed(
        tmp_path, "--on-demand", str(info_module(tmp_path)), "--region", "eu-west-1"
    )
    assert (table.name, table.region) == ("aws-eu-west-1-2025-05", "eu-west-1")
    assert table.purchase == "on-demand" and str(table.date) == "2025-05-28"
    assert table.instances == {"x1.tiny": Decimal(9)}
    assert table.storage == {}  # no public source has it, and no other region's stands for it


def test_reserved_prices_are_a_table_for_each_term(tmp_path):
    one, three = refreshed(tmp_path, "--reserved", str(info_module(tmp_path)))
    assert (one.name, three.name) == (
        "aws-us-east-1-reserved-1y-2025-05",
        "aws-us-east-1-reserved-3y-2025-05",
    )
    assert {one.purchase, three.purchase} == {"reserved"}
    assert one.instances == {"x1.tiny": Decimal("0.0079")}
    assert three.instances == {"x1.tiny": Decimal("0.0054")}
    assert "one year" in one.source and "three years" in three.source


def test_a_region_without_such_prices_names_those_near_it(tmp_path):
    with pytest.raises(
        CostError, match=r"no on-demand prices of eu-west-9;.*Did you mean 'eu-west-1'"
    ):
        read_instances_info(info_module(tmp_path), "eu-west-9", ON_DEMAND)
    with pytest.raises(CostError, match="no spot prices of eu-west-1; it has those of 1 region"):
        read_instances_info(tmp_path / NAME, "eu-west-1", SPOT)


def test_the_source_of_one_region_says_where_the_others_are(tmp_path):
    with pytest.raises(CostError, match=r"ec2-instances-info: see --on-demand"):
        read_karpenter(module(tmp_path), "eu-central-1")
