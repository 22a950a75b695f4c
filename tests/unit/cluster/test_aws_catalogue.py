"""An instance type as an account describes it, held against the catalogue."""

from __future__ import annotations

from typing import Any

import pytest

from wavetank.cluster.clouds.aws.network import differences
from wavetank.cluster.instance_types import InstanceType, row_of
from wavetank.errors import ProviderError


def entry(**changes: Any) -> dict[str, Any]:
    return {
        "InstanceType": "x1.tiny",
        "VCpuInfo": {"DefaultVCpus": 2},
        "MemoryInfo": {"SizeInMiB": 1024},
        "NetworkInfo": {"NetworkPerformance": "Low"},
        "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]},
        "CurrentGeneration": True,
        "BurstablePerformanceSupported": False,
        **changes,
    }


def network(words: str, gbps: float | None = None) -> dict[str, Any]:
    cards = [] if gbps is None else [{"BaselineBandwidthInGbps": gbps}]
    return {"NetworkInfo": {"NetworkPerformance": words, "NetworkCards": cards}}


def found(known: dict[str, Any], said: dict[str, Any]) -> list[str]:
    return list(differences(InstanceType.model_validate(row_of(known)), said))


def test_what_is_the_same_is_no_finding() -> None:
    assert found(entry(), entry()) == []


def test_words_of_a_network_count_where_no_rate_does() -> None:
    (finding,) = found(entry(), entry(**network("High")))
    assert (
        "has a network of 'High' in this account, and a network of 'Low' in wavetank's" in finding
    )
    assert len(found(entry(), entry(**network("High", 0.5)))) == 1  # the catalogue has no rate
    assert found(entry(**network("Low", 0.5)), entry(**network("Up to 0.5 Gigabit", 0.5))) == []
    (finding,) = found(entry(**network("Low", 0.5)), entry(**network("Low", 0.75)))
    assert "0.75 Gbit/s of network for long in this account, and 0.5 Gbit/s" in finding


def test_what_the_catalogue_does_not_have_is_not_compared() -> None:
    volumes = {"EbsInfo": {"EbsOptimizedInfo": {"BaselineThroughputInMBps": 81.25}}}
    assert found(entry(), entry(**volumes)) == []


def test_disks_that_are_not_there_are_a_finding() -> None:
    disks = {"InstanceStorageInfo": {"Disks": [{"Count": 2, "SizeInGB": 80, "Type": "ssd"}]}}
    (finding,) = found(entry(**disks), entry())
    assert "has no local disks in this account, and 2 x 80 GB of local disks in" in finding


def test_an_answer_without_what_every_type_has_is_named() -> None:
    half = {key: value for key, value in entry().items() if key != "MemoryInfo"}
    with pytest.raises(ProviderError, match=r"says nothing of 'MemoryInfo' of x1\.tiny"):
        found(entry(), half)
