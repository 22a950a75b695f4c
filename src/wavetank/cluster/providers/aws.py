"""Instances of AWS: made in an account, then used as hosts over ssh; with the cluster everything goes.

What is made, in which order, and how it is removed is in clouds/; what is done with hosts in remote/hosts.py.
"""

from __future__ import annotations

from wavetank.cluster.clouds.provider import CloudProvider


class AwsProvider(CloudProvider):
    """Makes EC2 instances, and leaves nothing."""

    name = "aws"
