"""A cluster with a knob of the layout turned: what becomes of its specification, or why a file system cannot.

A variant of the layout is the kernel as it is on such a cluster. It is compared with the same kernel on the cluster as it is.
"""

from __future__ import annotations

import hashlib
from typing import Any

from pydantic import ValidationError

from wavetank.cluster.components import Stripe
from wavetank.cluster.spec import ClusterSpec
from wavetank.compare.configuration import TurnedLayout
from wavetank.document import explain
from wavetank.units import exact_size
from wavetank.variants.base import DoesNotApplyError
from wavetank.variants.layouts import WHOLE, count_of, shown, size_of

LONGEST_NAME = 31
"""Characters of a cluster's name."""


def turned(spec: ClusterSpec, setting: str) -> tuple[ClusterSpec, TurnedLayout]:
    """A cluster with a knob of the layout turned, and what that changes.

    Args:
        spec: of the cluster as it is.
        setting: "stripe-size=1MiB".

    Raises:
        DoesNotApplyError: the file system cannot, or it is so already.
        UsageError: it is no value of the knob.
    """
    name, _, value = setting.partition("=")
    stripe, layout = _turned(spec, name, value)
    before, after = _before(spec, name), shown(setting)
    if (stripe, layout) == (spec.file_system.stripe, spec.layout) or before == after:
        raise DoesNotApplyError(f"it is {after} already")
    body: dict[str, Any] = spec.model_dump(mode="json")
    body |= {
        "name": _name(spec.name, name, value),
        "title": None if spec.title is None else f"{spec.title}, {setting}",
        "layout": layout,
    }
    body["file_system"]["stripe"] = stripe.model_dump(mode="json")
    try:
        made = ClusterSpec.model_validate(body)
    except ValidationError as error:
        raise DoesNotApplyError(explain(error).rstrip(".")) from error
    inputs_only = stripe == spec.file_system.stripe
    return made, TurnedLayout(
        cluster=spec.name, setting=setting, before=before, after=after, inputs_only=inputs_only
    )


def _turned(spec: ClusterSpec, name: str, value: str) -> tuple[Stripe, str]:
    """Stripe and layout of input files with the knob turned."""
    stripe = spec.file_system.stripe
    if why := _why_never(spec):
        raise DoesNotApplyError(why)
    if name == "layout" and value == WHOLE:
        return Stripe(), value
    if name == "layout":
        return stripe, value
    if spec.file_system.keeper.fixed_objects:
        raise DoesNotApplyError("its chunks have one size, and its master puts them on any server")
    if name == "stripe-size":
        return Stripe(kind="sharded", size=size_of(value), count=stripe.count), "striped"
    if count_of(value) == 1 and _are_whole(spec):
        raise DoesNotApplyError("each file is on 1 data server already, whole")
    return Stripe(kind="sharded", size=stripe.size, count=count_of(value)), "striped"


def _why_never(spec: ClusterSpec) -> str | None:
    """Why no knob of the layout can be turned on a cluster; None where one may be."""
    fs, servers = spec.file_system, spec.server_names()
    if fs.facts.made_by is None and not servers:
        return (
            f"what data servers file system {fs.kind} has is not chosen here: name a cluster for each layout in "
            "'clusters'"
        )
    if len(servers) == 1:
        return "its one data server holds all of every file"
    if fs.stripe.kind in ("replicated", "disperse"):
        return f"its files are {fs.stripe.kind}: how they lie on the servers follows from that"
    said = [name for name in fs.keeper.layout_options if name in fs.options]
    if said:
        return f"its file_system.options say how files lie: {' and '.join(said)}"
    return None


def _are_whole(spec: ClusterSpec) -> bool:
    """Whether each file is whole on one data server."""
    return spec.file_system.stripe.kind == "distributed" and not spec.file_system.keeper.in_objects


def _before(spec: ClusterSpec, name: str) -> str:
    """A knob's value on the cluster as it is, for people."""
    stripe = spec.file_system.stripe
    if spec.layout == WHOLE:
        return "1DFx1F"
    if _are_whole(spec):
        return "whole files"
    if name == "layout":
        return "striped"
    if name == "stripe-size":
        return "default" if stripe.size is None else exact_size(stripe.size)
    # without a count, one object is filled after the other
    default = 1 if spec.file_system.keeper.in_objects else len(spec.server_names())
    count = stripe.count or default
    return shown(f"stripe-count={count}") if count else "all"


def _name(cluster: str, name: str, value: str) -> str:
    """Of the turned cluster: "nfs-s1mib", "nfs-n2", "nfs-1dfx1f"."""
    mark = {"stripe-size": "s", "stripe-count": "n"}.get(name, "")
    word = "1dfx1f" if value == WHOLE else "".join(c for c in value.lower() if c.isalnum())
    suffix = f"-{mark}{word}"
    if len(cluster) + len(suffix) <= LONGEST_NAME:
        return cluster + suffix
    digest = hashlib.sha256(cluster.encode()).hexdigest()[:4]
    return f"{cluster[: LONGEST_NAME - len(suffix) - 5]}-{digest}{suffix}"
