"""Images by name: the newest of a distribution, as AWS's parameter store has them.

Names of parameters: Debian wiki "Cloud/AmazonEC2Image", Ubuntu "Find Ubuntu images on AWS", Amazon Linux 2023 user guide.
"""

from __future__ import annotations

from wavetank.cluster.clouds.aws.account import Account, AnswerError
from wavetank.cluster.instance_types import aws_instances
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ProviderError

# name -> parameter, of each architecture
PARAMETERS = {
    "debian-12": {
        "x86_64": "/aws/service/debian/release/12/latest/amd64",
        "arm64": "/aws/service/debian/release/12/latest/arm64",
    },
    "ubuntu-24.04": {
        "x86_64": "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id",
        "arm64": "/aws/service/canonical/ubuntu/server/24.04/stable/current/arm64/hvm/ebs-gp3/ami-id",
    },
    "amazon-linux-2023": {
        "x86_64": "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64",
        "arm64": "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64",
    },
}


def architectures(spec: ClusterSpec) -> set[str]:
    """Of the instance types of a cluster; of types that the catalogue does not have nothing is known."""
    known = aws_instances()
    kinds = {spec.instance_of(node).name for node in spec.node_names()}
    return {
        "arm64" if "arm64" in known[kind].architecture else "x86_64"
        for kind in kinds
        if kind in known
    }


def image_of(account: Account, spec: ClusterSpec) -> tuple[str, str]:
    """Id and name of the root device of the image that a cluster asks for.

    Raises:
        ProviderError: there is none, or it is of another architecture than the instances.
    """
    named = spec.cloud.image if spec.cloud is not None else "debian-12"
    asked = architectures(spec)
    if len(asked) > 1:
        raise ProviderError(
            "instances of x86_64 and arm64 in one cluster: one image serves all nodes. Take types of one architecture"
        )
    architecture = next(iter(asked), "x86_64")
    image = named if named.startswith("ami-") else _newest(account, named, architecture)
    try:
        found = account.call("ec2", "DescribeImages", ImageIds=[image])["Images"]
    except AnswerError as error:
        raise ProviderError(f"cloud.image {named}: {error}") from error
    if not found:
        raise ProviderError(f"cloud.image {named}: {image} is not in {account.region}")
    if found[0].get("Architecture", architecture) != architecture:
        raise ProviderError(
            f"cloud.image {named} is of {found[0]['Architecture']}, and the instances are of {architecture}"
        )
    return image, str(found[0].get("RootDeviceName") or "/dev/xvda")


def _newest(account: Account, named: str, architecture: str) -> str:
    parameter = PARAMETERS[named][architecture]
    try:
        found = account.call("ssm", "GetParameter", Name=parameter)
    except AnswerError as error:
        raise ProviderError(
            f"cloud.image {named}: {parameter} is not in {account.region} ({error.code}): name an ami-... of it"
        ) from error
    return str(found["Parameter"]["Value"])
