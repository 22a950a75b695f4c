"""Servers of an OpenStack cloud: made in a project, then used as hosts over ssh; with the cluster everything goes.

What is made, in which order, and how it is removed is in clouds/; what is done with hosts in remote/hosts.py.
"""

from __future__ import annotations

from wavetank.cluster.clouds.provider import CloudProvider


class OpenStackProvider(CloudProvider):
    """Makes servers of Nova, and leaves nothing."""

    name = "openstack"
