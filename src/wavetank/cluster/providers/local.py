"""Nodes out of Linux namespaces on this machine, with the limits of their instance type; without root, with those of the network."""

from __future__ import annotations

from wavetank.cluster.namespaces.provider import NamespaceProvider


class LocalProvider(NamespaceProvider):
    """Makes nodes out of namespaces."""

    name = "local"
