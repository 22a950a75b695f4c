"""What the policies of a user or a role allow, as IAM's simulator says: for calls that have no dry run, or would fail in one.

Keys, decisions and what is missing: SimulatePrincipalPolicy as botocore 1.44.5 describes it. One resource a call, so that the decision of a
call is that of its resource. Policies of a session are not seen by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from wavetank.cluster.clouds.aws.account import Account, AnswerError
from wavetank.cluster.clouds.aws.unknown import Unknown
from wavetank.cluster.clouds.cloud import RefusedError

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
