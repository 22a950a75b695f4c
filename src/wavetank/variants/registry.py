"""The knobs by name, in the order in which they are tried."""

from __future__ import annotations

import importlib
from functools import cache

from wavetank.errors import UsageError
from wavetank.variants.base import Knob
from wavetank.variants.layouts import LAYOUTS

KNOBS: dict[str, str] = {
    "collective-buffering": "wavetank.variants.collective_buffering:CollectiveBuffering",
    "collective-buffer": "wavetank.variants.collective_buffer:CollectiveBuffer",
    "aggregators": "wavetank.variants.aggregators:Aggregators",
    "data-sieving": "wavetank.variants.data_sieving:DataSieving",
    "request-size": "wavetank.variants.request_size:RequestSize",
    "collective-calls": "wavetank.variants.collective_calls:CollectiveCalls",
    "file-per-process": "wavetank.variants.file_per_process:FilePerProcess",
    "readers": "wavetank.variants.readers:Readers",
}


def knob_names() -> list[str]:
    """All names."""
    return list(KNOBS)


@cache
def knob(name: str) -> Knob:
    """The knob of that name.

    Raises:
        UsageError: there is none.
    """
    if name in LAYOUTS:
        raise UsageError(
            f"{name} is of the cluster: the kernel stays as it is. 'what_if: [{name}]' in a campaign file measures it "
            "on its clusters with another layout of files"
        )
    if name not in KNOBS:
        raise UsageError(
            f"there is no knob {name!r}. Known: {', '.join(KNOBS)}; in campaigns {', '.join(LAYOUTS)} too"
        )
    module, _, attribute = KNOBS[name].partition(":")
    made: Knob = getattr(importlib.import_module(module), attribute)()
    return made
