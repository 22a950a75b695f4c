"""Which rights a cluster needs of an account, and whether they are there: asked, with nothing changed.

What only looks is called. What makes things of EC2 is called as a dry run. A dry run of what changes or removes things needs things that
have the cluster's tags, as policies ask for these: policies are simulated instead, and so for services that have no dry runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from wavetank.cluster.clouds.aws.account import Account, AnswerError, Unknown
from wavetank.cluster.clouds.aws.found import lookups, tag_specifications
from wavetank.cluster.clouds.aws.managed import ManagedFileSystems
from wavetank.cluster.clouds.aws.network import instance_types, subnets_by_zone
from wavetank.cluster.clouds.cloud import (
    CapacityError,
    Key,
    Lease,
    RefusedError,
    new_lease,
    terms_of,
)
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ProviderError

SIMULATION = "iam:SimulatePrincipalPolicy"


@dataclass(frozen=True)
class Question:
    """Whether calls may be made on one thing.

    Attributes:
        actions: as IAM calls them, e.g. "ec2:TerminateInstances".
        resource: its ARN. It needs not be there.
        context: what conditions of policies may ask for, by IAM's keys.
    """

    actions: tuple[str, ...]
    resource: str
    context: Mapping[str, str]


@dataclass(frozen=True)
class Identity:
    """Who the caller is, as STS says.

    Attributes:
        partition: "aws", or that of a country's or a government's regions.
        account: its number.
        name: "user/ann", "assumed-role/maker/session".
    """

    arn: str
    partition: str
    account: str
    name: str


def identity_of(account: Account) -> Identity:
    """The caller.

    Raises:
        ProviderError: it cannot be asked.
    """
    arn = str(account.call("sts", "GetCallerIdentity")["Arn"])
    _, partition, _, _, number, name = arn.split(":", 5)
    return Identity(arn, partition, number, name)


def policy_source(account: Account, identity: Identity) -> str | None:
    """ARN of the user or role whose policies the caller has; None where IAM has none.

    The ARN of a session lacks the path of its role: the role is asked for, and where it may not be, taken to have none.
    """
    kind, _, name = identity.name.partition("/")
    if kind == "user":
        return identity.arn
    if kind != "assumed-role":
        return None
    role = name.partition("/")[0]
    try:
        return str(account.call("iam", "GetRole", RoleName=role)["Role"]["Arn"])
    except (RefusedError, AnswerError):
        return f"arn:{identity.partition}:iam::{identity.account}:role/{role}"


def refused(
    account: Account, source: str | None, who: str, what_to_do: str, questions: Iterable[Question]
) -> Iterator[str | Unknown]:
    """Findings of calls that policies do not allow, and of which that is not known.

    Args:
        account: to ask.
        source: ARN of a user or role.
        who: has its policies, in words.
        what_to_do: where they refuse.
        questions: to answer.
    """
    asked = list(questions)
    unknown: dict[str, list[str]] = {}  # reason -> actions
    if source is None:
        actions = [action for question in asked for action in question.actions]
        unknown[f"{who} are of no user or role of IAM"] = actions
        asked = []
    for i, question in enumerate(asked):
        try:
            found = _decisions(account, source or "", question)
        except (RefusedError, AnswerError) as error:
            why = f"{SIMULATION} is not allowed" if isinstance(error, RefusedError) else str(error)
            rest = [action for each in asked[i:] for action in each.actions]
            unknown.setdefault(why, []).extend(rest)
            break
        for action in question.actions:
            doubt = _doubt(found.get(action))
            if doubt is None:
                yield f"AWS: {who} may not call {action} (by the policies of {source}). {what_to_do}"
            elif doubt:
                unknown.setdefault(doubt, []).append(action)
    for why, actions in unknown.items():
        listed = ", ".join(dict.fromkeys(actions))
        yield Unknown(f"whether {listed} may be called by {who} is not known: {why}")


def _decisions(account: Account, source: str, question: Question) -> dict[str, dict[str, Any]]:
    """Results by action."""
    entries = [
        {"ContextKeyName": key, "ContextKeyValues": [value], "ContextKeyType": "string"}
        for key, value in question.context.items()
    ]
    results = account.pages(
        "iam", "SimulatePrincipalPolicy", "EvaluationResults", PolicySourceArn=source,
        ActionNames=list(question.actions), ResourceArns=[question.resource], ContextEntries=entries,
    )  # fmt: skip
    return {str(each["EvalActionName"]): each for each in results}


def _doubt(result: Mapping[str, Any] | None) -> str | None:
    """Why a result does not say that the call is refused: empty where it is allowed; None where it is refused."""
    if result is None:
        return f"{SIMULATION} does not say"
    if result["EvalDecision"] == "allowed":
        return ""
    missing = set(result.get("MissingContextValues", []))
    for each in result.get("ResourceSpecificResults", []):
        missing |= set(each.get("MissingContextValues", []))
    if missing:
        return f"policies ask for {', '.join(sorted(missing))}"
    # which keys a policy of the organization asks for is not said
    if not result.get("OrganizationsDecisionDetail", {}).get("AllowedByOrganizations", True):
        return "a policy of the organization may forbid it"
    return None


DRY_RUN = "DryRunOperation"
NO_TOKEN = "0" * 8
NO_ID = "0" * 17
NO_KEY = b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA dry-run"
SCHEDULER = "scheduler.amazonaws.com"
HOW_RIGHTS = "'wavetank cluster policy aws' prints the rights that are needed"
HOW_ROLE = "Give the role this right: docs/reference/aws.md lists those that it needs"


def to_look(account: Account, spec: ClusterSpec) -> Iterator[str]:
    """Findings of what finds a cluster's things, and those that ``down`` and ``prune`` remove."""
    key = Key(spec.name, NO_TOKEN)
    for found in (*lookups(account, key), *ManagedFileSystems(account).lookups(key)):
        try:
            list(found)
        except ProviderError as error:
            yield str(error)


def to_make(
    account: Account, spec: ClusterSpec, zone: str | None, image: str | None
) -> Iterator[str]:
    """Findings of dry runs of everything that makes things of EC2; AWS says then whether it would have been allowed.

    Args:
        account: to ask.
        spec: of the cluster.
        zone: None where it is not known; what needs it is not asked for then.
        image: likewise.
    """
    lease = _no_lease(spec)
    name = lease.label
    calls: list[tuple[str, tuple[str, ...], dict[str, object]]] = [
        ("ImportKeyPair", ("key-pair",), {"KeyName": name, "PublicKeyMaterial": NO_KEY}),
        ("CreatePlacementGroup", ("placement-group",), {"GroupName": name, "Strategy": "cluster"}),
    ]
    if zone is not None:
        subnet = subnets_by_zone(account, spec)[zone]
        asked = {"GroupName": name, "Description": name, "VpcId": subnet["VpcId"]}
        calls.append(("CreateSecurityGroup", ("security-group",), asked))
        calls += _runs(spec, subnet, image)
    for operation, kinds, asked in calls:
        tags = tag_specifications(lease, *kinds)
        try:
            account.call("ec2", operation, DryRun=True, TagSpecifications=tags, **asked)
        except RefusedError as error:
            yield str(error)
        except CapacityError:
            continue  # of one zone, and of now
        except AnswerError as error:
            # what the stand-ins of keys and names lack says nothing of the cluster
            if error.code != DRY_RUN and operation == "RunInstances":
                yield f"a dry run of {operation} was refused: {error}"


def _runs(
    spec: ClusterSpec, subnet: dict[str, Any], image: str | None
) -> Iterator[tuple[str, tuple[str, ...], dict[str, object]]]:
    for kind in instance_types(spec) if image is not None else ():
        asked = {
            "ImageId": image,
            "InstanceType": kind,
            "MinCount": 1,
            "MaxCount": 1,
            "SubnetId": subnet["SubnetId"],
        }
        yield "RunInstances", ("instance", "volume", "network-interface"), asked


def to_change(account: Account, spec: ClusterSpec, identity: Identity) -> Iterator[str | Unknown]:
    """Findings of what names, opens and removes things, of file systems of AWS and of schedules; by policies."""
    source = policy_source(account, identity)
    questions = _questions(account.region, spec, identity)
    yield from refused(account, source, "these credentials", HOW_RIGHTS, questions)
    role = terms_of(spec).reaper
    if role != "none":
        yield from _of_role(account, spec, identity, role)


def _questions(region: str, spec: ClusterSpec, identity: Identity) -> Iterator[Question]:
    lease = _no_lease(spec)
    start = f"arn:{identity.partition}:ec2:{region}:{identity.account}"
    tagged = _context(region, "aws:ResourceTag", lease)
    for actions, thing in (
        (("ec2:TerminateInstances", "ec2:CreateTags"), f"instance/i-{NO_ID}"),
        (("ec2:DeleteVolume",), f"volume/vol-{NO_ID}"),
        (("ec2:DeleteNetworkInterface",), f"network-interface/eni-{NO_ID}"),
        (
            ("ec2:AuthorizeSecurityGroupIngress", "ec2:DeleteSecurityGroup"),
            f"security-group/sg-{NO_ID}",
        ),
        (("ec2:DeletePlacementGroup",), f"placement-group/{lease.label}"),
        (("ec2:DeleteKeyPair",), f"key-pair/{lease.label}"),
    ):
        yield Question(actions, f"{start}:{thing}", tagged)
    making = _context(region, "aws:RequestTag", lease)
    if spec.file_system.kind == "fsx-lustre":
        resource = _of_service(identity, region, "fsx", f"file-system/fs-{NO_ID}")
        yield Question(("fsx:CreateFileSystem", "fsx:TagResource"), resource, making)
        yield Question(("fsx:DeleteFileSystem",), resource, tagged)
    if spec.file_system.kind == "efs":
        resource = _of_service(identity, region, "elasticfilesystem", f"file-system/fs-{NO_ID}")
        makes = ("elasticfilesystem:CreateFileSystem", "elasticfilesystem:TagResource")
        yield Question(makes, resource, making)
        targets = ("CreateMountTarget", "DescribeMountTargets", "DeleteMountTarget")
        uses = (*targets, "DeleteFileSystem")
        yield Question(tuple(f"elasticfilesystem:{each}" for each in uses), resource, tagged)
        # mount targets have interfaces, which have no tags
        interfaces = ("ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface")
        of_region = {"aws:RequestedRegion": region}
        yield Question(interfaces, f"{start}:network-interface/eni-{NO_ID}", of_region)
    role = terms_of(spec).reaper
    if role != "none":
        name = _of_service(identity, region, "scheduler", f"schedule/default/{lease.label}")
        actions = ("scheduler:CreateSchedule", "scheduler:DeleteSchedule")
        yield Question(actions, name, {"aws:RequestedRegion": region})
        passed = {"iam:PassedToService": SCHEDULER, "aws:RequestedRegion": region}
        yield Question(("iam:PassRole",), role, passed)


def _of_role(
    account: Account, spec: ClusterSpec, identity: Identity, role: str
) -> Iterator[str | Unknown]:
    """The role that schedules have: whether it is there, may be theirs, and may end what they are to end."""
    number = role.split(":")[4]
    if number != identity.account:
        yield (
            f"cloud.reaper {role} is of account {number}, and the credentials are of {identity.account}: a schedule takes a role of "
            "its own account"
        )
        return
    try:
        found = account.call("iam", "GetRole", RoleName=role.rpartition("/")[2])["Role"]
    except RefusedError:
        yield Unknown(
            f"whether cloud.reaper {role} is there, and trusts {SCHEDULER}, is not known: iam:GetRole is not allowed"
        )
    except AnswerError as error:
        if error.code == "NoSuchEntity":
            yield (
                f"cloud.reaper {role}: the account has no such role. Make it, with the trust and the rights that "
                "docs/reference/aws.md lists, or name another one"
            )
            return
        yield Unknown(f"whether cloud.reaper {role} is there is not known: {error}")
    else:
        if found["Arn"] != role:
            yield f"cloud.reaper {role}: the account's role of this name is {found['Arn']}"
            return
        if not _trusts_schedules(found.get("AssumeRolePolicyDocument", {})):
            yield f"cloud.reaper {role} does not trust {SCHEDULER}: let its trust policy allow that service sts:AssumeRole"
    ends = _ends(account.region, spec, identity)
    yield from refused(account, role, f"cloud.reaper {role}", HOW_ROLE, ends)


def _ends(region: str, spec: ClusterSpec, identity: Identity) -> Iterator[Question]:
    """What schedules call."""
    tagged = _context(region, "aws:ResourceTag", _no_lease(spec))
    start = f"arn:{identity.partition}:ec2:{region}:{identity.account}"
    yield Question(("ec2:TerminateInstances",), f"{start}:instance/i-{NO_ID}", tagged)
    if spec.file_system.kind == "fsx-lustre":
        resource = _of_service(identity, region, "fsx", f"file-system/fs-{NO_ID}")
        yield Question(("fsx:DeleteFileSystem",), resource, tagged)
    if spec.file_system.kind == "efs":
        resource = _of_service(identity, region, "elasticfilesystem", f"file-system/fs-{NO_ID}")
        actions = ("elasticfilesystem:DeleteFileSystem", "elasticfilesystem:DeleteMountTarget")
        yield Question(actions, resource, tagged)
        of_region = {"aws:RequestedRegion": region}
        interface = f"{start}:network-interface/eni-{NO_ID}"
        yield Question(("ec2:DeleteNetworkInterface",), interface, of_region)


def _trusts_schedules(document: dict[str, Any]) -> bool:
    for statement in _listed(document.get("Statement", [])):
        principal = statement.get("Principal")
        services = _listed(principal.get("Service", [])) if isinstance(principal, dict) else []
        if statement.get("Effect") == "Allow" and (principal == "*" or SCHEDULER in services):
            return True
    return False


def _listed(value: Any) -> list[Any]:  # noqa: ANN401 - one of what a policy has one or several of
    return value if isinstance(value, list) else [value]


def _of_service(identity: Identity, region: str, service: str, name: str) -> str:
    return f"arn:{identity.partition}:{service}:{region}:{identity.account}:{name}"


def _context(region: str, key: str, lease: Lease) -> dict[str, str]:
    """Where, and all of a cluster's tags: of a thing, or of the call that makes it."""
    tags = {f"{key}/{name}": value for name, value in lease.tags().items()}
    return {"aws:RequestedRegion": region, **tags}


def _no_lease(spec: ClusterSpec) -> Lease:
    return new_lease(spec, NO_TOKEN, "dry-run", datetime.now(UTC))
