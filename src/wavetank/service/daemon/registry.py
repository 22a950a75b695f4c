"""Makers that come with wavetank, by the kind of file system that they make."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from wavetank.service.core.records import Kind
from wavetank.service.reconcile.maker import Maker
from wavetank.service.store.store import Store

MAKERS: Mapping[Kind, str] = {
    "glusterfs": "wavetank.service.makers.glusterfs.maker:maker",
    "nfs": "wavetank.service.makers.nfs.maker:maker",
}
"""Kind -> "module:function": the function is given the store, to read where spaces lie, and gives a Maker."""


def load_makers(store: Store, registry: Mapping[Kind, str] = MAKERS) -> dict[Kind, Maker]:
    """All makers.

    Raises:
        WavetankError: a maker cannot work on this machine.
    """
    made: dict[Kind, Maker] = {}
    for kind, place in registry.items():
        module, _, name = place.partition(":")
        made[kind] = getattr(importlib.import_module(module), name)(store)
    return made
