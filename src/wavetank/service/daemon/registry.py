"""Makers that come with wavetank, by the kind of file system that they make; and what brings servers up."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from wavetank.service.core.records import Kind
from wavetank.service.reconcile.clusters import Clusters
from wavetank.service.reconcile.maker import Maker
from wavetank.service.store.store import Store

MAKERS: Mapping[Kind, str] = {
    "glusterfs": "wavetank.service.makers.glusterfs.maker:maker",
    "nfs": "wavetank.service.makers.nfs.maker:maker",
}
"""Kind -> "module:function": the function is given the store, to read where spaces lie, and gives a Maker."""

NEEDS: Mapping[Kind, str] = {
    "glusterfs": "wavetank.service.makers.glusterfs.maker:needs",
    "nfs": "wavetank.service.makers.nfs.maker:needs",
}
"""Kind -> "module:function", which gives what servers of it need."""

CLUSTERS = "wavetank.service.makers.clusters:ClustersOfSpaces"


def load_makers(store: Store, registry: Mapping[Kind, str] = MAKERS) -> dict[Kind, Maker]:
    """All makers.

    Raises:
        WavetankError: a maker cannot work on this machine.
    """
    return {kind: _at(place)(store) for kind, place in registry.items()}


def load_clusters() -> Clusters:
    """What brings up servers of spaces' own: clusters of any provider."""
    clusters: Clusters = _at(CLUSTERS)({kind: _at(place)() for kind, place in NEEDS.items()})
    return clusters


def _at(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found
