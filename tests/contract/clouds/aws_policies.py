"""IAM for the emulator of AWS: roles, and the simulation of policies, which moto does not have.

Decisions are those of the shipped policy. Of its language there is what it uses: lists of actions and resources with ``*``, and the
conditions Null and StringEquals. Forms of the answers: IAM (2010-05-08) as botocore describes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from importlib import resources
from typing import Any
from urllib.parse import quote

SPACE = "https://iam.amazonaws.com/doc/2010-05-08/"
SCHEDULER = "scheduler.amazonaws.com"


def shipped_policy() -> list[dict[str, Any]]:
    """Statements of the policy that comes with wavetank."""
    text = resources.files("wavetank.cluster").joinpath("data", "aws-policy.json").read_text()
    statements: list[dict[str, Any]] = json.loads(text)["Statement"]
    return statements


def actions_of(policy: Iterable[Mapping[str, Any]]) -> set[str]:
    """All actions of a policy."""
    return {action for statement in policy for action in _listed(statement["Action"])}


def allows(
    policy: Iterable[Mapping[str, Any]], action: str, resource: str, context: Mapping[str, str]
) -> bool:
    """Whether one of its statements allows an action on a resource."""
    return any(
        action in _listed(statement["Action"])
        and any(fnmatchcase(resource, each) for each in _listed(statement["Resource"]))
        and _holds(statement.get("Condition", {}), context)
        for statement in policy
    )


def _holds(condition: Mapping[str, Mapping[str, Any]], context: Mapping[str, str]) -> bool:
    for operator, asked in condition.items():
        for key, value in asked.items():
            if operator == "Null":
                if (key not in context) != (value == "true"):
                    return False
            elif operator == "StringEquals":
                if context.get(key) not in _listed(value):
                    return False
            else:
                raise NotImplementedError(operator)
    return True


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def simulated(
    name: str, asked: Mapping[str, list[str]], refused: Iterable[str], missing: Iterable[str]
) -> bytes:
    """Answer of SimulatePrincipalPolicy.

    Args:
        name: of the call.
        asked: its parameters.
        refused: calls that the policies do not allow, without their service.
        missing: keys that policies ask for, and which were not given, said of every refusal.
    """
    policy = shipped_policy()
    (resource,) = _members(asked, "ResourceArns")
    entries = [key for key in asked if re.fullmatch(r"ContextEntries\.member\.\d+\.ContextKeyName", key)]  # fmt: skip
    context = {
        asked[key][0]: asked[key.replace("ContextKeyName", "ContextKeyValues.member.1")][0]
        for key in entries
    }
    found = []
    for action in _members(asked, "ActionNames"):
        of_role = asked["PolicySourceArn"][0].endswith("/reaper")
        is_refused = (f"reaper:{action}" if of_role else action.partition(":")[2]) in refused
        good = not is_refused and allows(policy, action, resource, context)
        keys = "" if good else "".join(f"<member>{key}</member>" for key in missing)
        found.append(
            f"<member><EvalActionName>{action}</EvalActionName><EvalResourceName>*</EvalResourceName>"
            f"<EvalDecision>{'allowed' if good else 'implicitDeny'}</EvalDecision><ResourceSpecificResults><member>"
            f"<EvalResourceName>{resource}</EvalResourceName><MissingContextValues>{keys}</MissingContextValues>"
            f"</member></ResourceSpecificResults></member>"
        )
    inner = (
        f"<EvaluationResults>{''.join(found)}</EvaluationResults><IsTruncated>false</IsTruncated>"
    )
    return _xml(name, inner)


def role_answer(
    name: str, asked: Mapping[str, list[str]], roles: Mapping[str, str]
) -> tuple[str, bytes] | tuple[int, str, str]:
    """Answer of GetRole.

    Args:
        name: of the call.
        asked: its parameters.
        roles: name -> the service that each trusts.
    """
    role = asked["RoleName"][0]
    if role not in roles:
        return 404, "NoSuchEntity", f"The role with name {role} cannot be found."
    trust = {
        "Version": "2012-10-17",
        "Statement": {
            "Effect": "Allow", "Principal": {"Service": roles[role]}, "Action": "sts:AssumeRole",
        },
    }  # fmt: skip
    inner = (
        f"<Role><Path>/</Path><RoleName>{role}</RoleName><RoleId>AROA{'0' * 17}</RoleId>"
        f"<Arn>arn:aws:iam::123456789012:role/{role}</Arn><CreateDate>2026-11-01T00:00:00Z</CreateDate>"
        f"<AssumeRolePolicyDocument>{quote(json.dumps(trust))}</AssumeRolePolicyDocument></Role>"
    )
    return "text/xml", _xml(name, inner)


def caller(name: str, arn: str) -> bytes:
    """Answer of GetCallerIdentity."""
    inner = f"<Arn>{arn}</Arn><UserId>AIDA{'0' * 17}</UserId><Account>123456789012</Account>"
    return _xml(name, inner, "https://sts.amazonaws.com/doc/2011-06-15/")


def _members(asked: Mapping[str, list[str]], name: str) -> list[str]:
    return [value[0] for key, value in asked.items() if key.startswith(f"{name}.member.")]


def _xml(name: str, inner: str, space: str = SPACE) -> bytes:
    return (
        f'<{name}Response xmlns="{space}"><{name}Result>{inner}</{name}Result>'
        f"<ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></{name}Response>"
    ).encode()
