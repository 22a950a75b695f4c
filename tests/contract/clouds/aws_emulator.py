"""AWS for tests, as a program: moto's server, and in front of it what moto leaves out or does otherwise.

What is added, each as the EC2 API reference has it: placement groups; a client token that makes no second instances; security
groups and placement groups that are in use; things that are shown late; instances that end slowly; throttling; zones
without room; refused rights, also in simulated policies; roles; spot instances taken back; quotas; images of Debian and Ubuntu in
the parameter store.

Prints its port, and ends when its standard input does.
POST /hostile {...} sets how it behaves, GET /hostile/calls, /hostile/left and /hostile/reset tell and clear. GET /hostile/copy
tells the port of another process, which has the account as it is now; GET /hostile/end ends that.
"""

from __future__ import annotations

import io
import json
import os
import re
import signal
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

os.environ |= {
    "MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION": "1",
    "MOTO_EC2_ENABLE_KEYPAIR_VALIDATION": "1",
}
sys.path.insert(0, str(Path(__file__).parent))
from aws_policies import SCHEDULER, caller, role_answer, simulated
from aws_served import Served, efs_call
from moto.backends import get_backend
from moto.core import responses
from moto.ec2.models import amis, ec2_backends
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    create_backend_app,
)
from served_standin import go_on_as_two, serve

ACCOUNT = "123456789012"
IMAGE, IMAGE_OF_ARM = "ami-12c6146b", "ami-0b301ce3ce347599c"
# moto makes 2500 images anew for each account and region at each reset, and looks through them. Two old ones stay, and today's.
amis.AMIS[:] = [each for each in amis.AMIS if each["ami_id"] in (IMAGE, IMAGE_OF_ARM)]
assert len(amis.AMIS) == 2
every_image = cache(amis.load_resource)
amis.load_resource = lambda path: [
    dict(each) for each in every_image(path) if each["name"].startswith("al2023-ami-2023")
]
EC2 = "http://ec2.amazonaws.com/doc/2016-11-15/"
XML = ("ec2", "sts", "iam")  # services that answer so; others by JSON
Respond = Callable[..., Any]
# action -> where the response has the ids of what was made
MAKERS = {
    "RunInstances": r"<instanceId>(i-[0-9a-f]+)</instanceId>",
    "CreateSecurityGroup": r"<groupId>(sg-[0-9a-f]+)</groupId>",
    "ImportKeyPair": r"<keyName>([^<]+)</keyName>",
}


class Hostile:
    """WSGI: moto behind it."""

    restates = False  # every description of instances

    def __init__(self) -> None:
        self.moto = DomainDispatcherApplication(create_backend_app)
        self.clear()

    def clear(self) -> None:
        self.served = Served()
        self.calls: list[str] = []
        self.made: list[dict[str, list[str]]] = []  # parameters of calls that make something
        self.no_room: list[str] = []  # zones
        self.throttle: dict[str, int] = {}  # action -> how many calls
        self.refuse: dict[str, str] = {}  # action, or "*" for all -> code
        self.hide = 0  # descriptions that do not show what is new
        self.linger = 0  # descriptions for which what was terminated is still ending
        self.quotas: dict[str, float] = {}  # by code; others are large, or not known
        self.no_quotas: list[str] = []  # codes that the account does not know
        self.identity = "arn:aws:iam::123456789012:user/moto"
        self.roles = {"reaper": SCHEDULER}  # and the service that each trusts
        self.missing: list[str] = []  # keys that policies ask for where they refuse
        self.alter: dict[str, dict[str, str]] = {}  # action -> what of its answer is another text
        self.older_s = 0  # by which all instances that there are began earlier
        self.forgets = False  # instances that ended, as AWS does after an hour
        self.hidden: dict[str, int] = {}
        self.ending: dict[str, int] = {}
        self.ended: dict[str, tuple[str, str]] = {}
        self.tokens: dict[str, tuple[str, bytes]] = {}
        self.groups: dict[tuple[str, str], dict[str, Any]] = {}  # region, name
        self.uses: dict[str, tuple[str, ...]] = {}  # instance -> what it uses
        self.interfaces: dict[str, list[str]] = {}  # instance -> its own, which end with it

    def __call__(self, environ: dict[str, Any], start: Respond) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        if path.startswith("/hostile"):
            return self._told(path, body, environ, start)
        environ["wsgi.input"] = io.BytesIO(body)
        scope = re.search(
            r"Credential=[^/]+/\d+/([^/]+)/([^/]+)/", environ.get("HTTP_AUTHORIZATION", "")
        )
        region, service = (scope[1], scope[2]) if scope else ("us-east-1", "")
        asked = parse_qs(body.decode(errors="replace")) if service in XML else {}
        action = self._action(service, environ, asked)
        self.calls.append(action)
        name = action.partition(":")[2]
        if self.throttle.get(name, 0) > 0:
            self.throttle[name] -= 1
            return _error(start, 503, "RequestLimitExceeded", "Request limit exceeded.")
        refused = self.refuse.get(name, self.refuse.get("*"))
        if refused is not None:
            error = _error if service in XML else _json_error
            return error(start, 403, refused, "You are not authorized to perform this operation.")
        if asked.get("DryRun") == ["true"]:
            return _error(
                start,
                412,
                "DryRunOperation",
                "Request would have succeeded, but DryRun flag is set.",
            )
        own = self._own(service, name, region, asked, body)
        if own is None:
            own = self.served.before(service, name, region, path, body)
        if own is not None:
            of_json = service not in XML and isinstance(own[0], int)
            return _json_error(start, *own) if of_json else _answer(start, *own)
        status, headers, text = _collect(self.moto, environ)
        if status.startswith("200") and service == "ec2":
            text = self._after(name, region, asked, text)
        if status.startswith("20"):
            text = self.served.after(service, name, region, body, text, self.uses)
            if name in ("CreateFileSystem", "CreateMountTarget", "CreateSchedule"):
                self.made.append({"Action": [name], "Body": [body.decode()]})
        start(status, [(k, v) for k, v in headers if k.lower() != "content-length"])
        return [text]

    def _action(self, service: str, environ: dict[str, Any], asked: dict[str, list[str]]) -> str:
        if "Action" in asked:
            return f"{service}:{asked['Action'][0]}"
        target = environ.get("HTTP_X_AMZ_TARGET", "")
        if target:
            return f"{service}:{target.rpartition('.')[2]}"
        if service == "elasticfilesystem":
            return f"{service}:{efs_call(environ['REQUEST_METHOD'], environ['PATH_INFO'])}"
        verb = {"GET": "ListSchedules", "POST": "CreateSchedule", "DELETE": "DeleteSchedule"}
        return f"{service}:{verb.get(environ['REQUEST_METHOD'], '?')}"

    def _told(
        self, path: str, body: bytes, environ: dict[str, Any], start: Respond
    ) -> Iterable[bytes]:
        if path == "/hostile/reset":
            asked = {
                "REQUEST_METHOD": "POST", "PATH_INFO": "/moto-api/reset", "SERVER_NAME": "x", "SERVER_PORT": "1",
                "wsgi.input": io.BytesIO(), "wsgi.url_scheme": "http", "HTTP_HOST": "x:1",
            }  # fmt: skip
            _collect(self.moto, asked)
            self.clear()
            return _answer(start, "application/json", b"{}")
        if path == "/hostile/calls":
            found: object = {"calls": self.calls, "made": self.made}
        elif path == "/hostile/left":
            found = self._left()
        elif path == "/hostile/copy":
            found = go_on_as_two(self, environ["werkzeug.socket"])
        elif path == "/hostile/end":
            os._exit(0)
        else:
            for key, value in json.loads(body).items():
                of_served = key.removeprefix("served_")
                setattr(self if of_served == key else self.served, of_served, value)
            for instance in self.ended:
                self._end(instance)
            if self.older_s:
                self._make_older()
            found = {}
        return _answer(start, "application/json", json.dumps(found).encode())

    def _left(self) -> list[str]:
        """What there is, whatever is shown: of every region, without what every account has."""
        left = [f"placement group {name}" for _, name in self.groups] + self.served.left()
        for region, backend in ec2_backends[ACCOUNT].items():
            left += [
                f"{region} {instance.id} {instance._state.name}"
                for instance in backend.all_instances()
                if instance._state.name != "terminated"
            ]
            left += [f"{region} volume {each}" for each in backend.volumes]
            left += [f"{region} interface {each}" for each in backend.enis]
            left += [f"{region} key {each}" for each in backend.key_pairs]
            left += [
                f"{region} group {group.name}"
                for of_vpc in backend.groups.values()
                for group in of_vpc.values()
                if group.name != "default"
            ]
        for region, schedules in get_backend("scheduler")[ACCOUNT].items():
            left += [
                f"{region} schedule {name}"
                for group in schedules.schedule_groups.values()
                for name in group.schedules
            ]
        return left

    def _own(
        self, service: str, name: str, region: str, asked: dict[str, list[str]], body: bytes
    ) -> tuple[str, bytes] | tuple[int, str, str] | None:
        if service == "iam" or name == "GetCallerIdentity":
            return self._of_identity(name, asked)
        if name == "GetServiceQuota":
            code = json.loads(body)["QuotaCode"]
            if code in self.no_quotas:
                return 400, "NoSuchResourceException", "The specified quota does not exist."
            value = self.quotas.get(code, 100_000.0)
            return "application/json", json.dumps({"Quota": {"Value": value}}).encode()
        if name == "GetParameter":
            asked_name = json.loads(body)["Name"]
            if "debian" in asked_name or "canonical" in asked_name:
                value = IMAGE if "arm64" not in asked_name else IMAGE_OF_ARM
                return "application/json", json.dumps(
                    {"Parameter": {"Name": asked_name, "Value": value}}
                ).encode()
        if "PlacementGroup" in name:
            return self._placement_group(name, region, asked)
        if name == "RunInstances":
            return self._before_run(asked)
        if name == "DeleteSecurityGroup":
            used = [i for i, uses in self.uses.items() if asked["GroupId"][0] in uses]
            if used:
                return (
                    400,
                    "DependencyViolation",
                    f"resource {asked['GroupId'][0]} has a dependent object",
                )
        return None

    def _of_identity(
        self, name: str, asked: dict[str, list[str]]
    ) -> tuple[str, bytes] | tuple[int, str, str]:
        if name == "GetCallerIdentity":
            return "text/xml", caller(name, self.identity)
        if name == "GetRole":
            return role_answer(name, asked, self.roles)
        return "text/xml", simulated(name, asked, self.refuse, self.missing)

    def _before_run(
        self, asked: dict[str, list[str]]
    ) -> tuple[str, bytes] | tuple[int, str, str] | None:
        zone = asked["Placement.AvailabilityZone"][0]
        group = asked["SecurityGroupId.1"][0]
        if self.hidden.get(group, 0) > 0:
            self.hidden[group] -= 1
            return 400, "InvalidGroup.NotFound", f"The security group '{group}' does not exist"
        token = asked.get("ClientToken", [""])[0]
        same = json.dumps(asked, sort_keys=True)
        if token in self.tokens:
            if self.tokens[token][0] != same:
                return (
                    400,
                    "IdempotentParameterMismatch",
                    "The client token was used with other parameters",
                )
            return "text/xml", self.tokens[token][1]
        if zone in self.no_room:
            return (
                500,
                "InsufficientInstanceCapacity",
                f"We currently do not have sufficient capacity in {zone}.",
            )
        return None

    def _placement_group(
        self, name: str, region: str, asked: dict[str, list[str]]
    ) -> tuple[str, bytes] | tuple[int, str, str]:
        if name == "DescribePlacementGroups":
            wanted = _filters(asked)
            shown = [
                g
                for (r, _), g in self.groups.items()
                if r == region and _matches(g["tags"], wanted)
            ]
            items = "".join(_group_xml(group) for group in shown)
            return "text/xml", _xml(name, f"<placementGroupSet>{items}</placementGroupSet>")
        group = asked["GroupName"][0]
        if name == "CreatePlacementGroup":
            if (region, group) in self.groups:
                return (
                    400,
                    "InvalidPlacementGroup.Duplicate",
                    f"The placement group '{group}' exists.",
                )
            made = {"name": group, "strategy": asked["Strategy"][0], "tags": _tags(asked)}
            self.groups[region, group] = made
            self.made.append(asked)
            return "text/xml", _xml(
                name, f"<return>true</return>{_group_xml(made, 'placementGroup')}"
            )
        if (region, group) not in self.groups:
            return (
                400,
                "InvalidPlacementGroup.Unknown",
                f"The Placement Group '{group}' is unknown.",
            )
        if any(group in uses for uses in self.uses.values()):
            return 400, "InvalidPlacementGroup.InUse", f"The placement group '{group}' is in use."
        del self.groups[region, group]
        return "text/xml", _xml(name, "<return>true</return>")

    def _after(self, name: str, region: str, asked: dict[str, list[str]], text: bytes) -> bytes:
        for said, altered in self.alter.get(name, {}).items():
            assert said.encode() in text, f"{name} does not say {said}"
            text = text.replace(said.encode(), altered.encode())
        if name in MAKERS:
            self.made.append(asked)
            ids = re.findall(MAKERS[name], text.decode())
            if self.hide:
                self.hidden |= dict.fromkeys(ids, self.hide)
            if name == "RunInstances":
                uses = (asked["SecurityGroupId.1"][0], asked["Placement.GroupName"][0])
                self.uses |= dict.fromkeys(ids, uses)
                backend = ec2_backends[ACCOUNT][region]
                for each in ids:
                    nics = backend.get_instance(each).nics.values()
                    self.interfaces[each] = [nic.id for nic in nics]
                self.tokens[asked["ClientToken"][0]] = (json.dumps(asked, sort_keys=True), text)
        if name == "TerminateInstances":
            for each in re.findall(MAKERS["RunInstances"], text.decode()):
                for interface in self.interfaces.pop(each, []):  # moto leaves them
                    ec2_backends[ACCOUNT][region].enis.pop(interface, None)
                if each in self.uses:
                    self.ending.setdefault(each, self.linger)
                    self._see_ended(each)
        if name.startswith("Describe") and (
            self.restates or self.hidden or self.ending or self.ended or self.forgets
        ):
            return self._rewritten(name, text)
        return text

    def _end(self, instance: str) -> None:
        """AWS itself ends an instance."""
        self.uses.pop(instance, None)
        for backend in ec2_backends[ACCOUNT].values():
            if any(each.id == instance for each in backend.all_instances()):
                backend.terminate_instances([instance])
            for interface in self.interfaces.pop(instance, []):
                backend.enis.pop(interface, None)

    def _make_older(self) -> None:
        for backend in ec2_backends[ACCOUNT].values():
            for instance in backend.all_instances():
                instance.launch_time -= timedelta(seconds=self.older_s)
        self.older_s = 0

    def _see_ended(self, instance: str) -> None:
        if self.ending.get(instance) == 0:
            del self.ending[instance]
            self.uses.pop(instance, None)

    def _rewritten(self, name: str, text: bytes) -> bytes:
        """Without what is not shown yet; instances in the states that they have here."""
        ET.register_namespace("", EC2)
        root = ET.fromstring(text)
        space = root.tag.partition("}")[0] + "}"
        for holder in root:
            if self.forgets and name == "DescribeInstances":
                _forget(holder, space)
            for item in list(holder):
                late = {e.text for e in item.iter() if e.text in self.hidden}
                if any(self.hidden[str(each)] > 0 for each in late):
                    holder.remove(item)
                    for each in late:
                        self.hidden[str(each)] -= 1
        if name == "DescribeInstances":
            for item in root.iter(f"{space}item"):
                identity = item.find(f"{space}instanceId")
                if identity is not None and identity.text is not None:
                    self._restate(item, identity.text, space)
        return ET.tostring(root)

    def _restate(self, item: ET.Element, instance: str, space: str) -> None:
        state = item.find(f"{space}instanceState/{space}name")
        if state is None:
            return
        if instance in self.ended:
            code, message = self.ended[instance]
            state.text = "terminated"
            reason = item.find(f"{space}stateReason")
            if reason is None:
                reason = ET.SubElement(item, f"{space}stateReason")
            for child in list(reason):
                reason.remove(child)
            ET.SubElement(reason, f"{space}code").text = code
            ET.SubElement(reason, f"{space}message").text = message
        elif instance in self.ending:
            state.text = "shutting-down"
            self.ending[instance] -= 1
            self._see_ended(instance)


def _forget(holder: ET.Element, space: str) -> None:
    """Leave out what is terminated."""
    for group in holder.iter(f"{space}instancesSet"):
        for item in list(group):
            if item.findtext(f"{space}instanceState/{space}name") == "terminated":
                group.remove(item)


def _collect(app: Respond, environ: dict[str, Any]) -> tuple[str, list[tuple[str, str]], bytes]:
    kept: list[Any] = []

    def start(status: str, headers: list[tuple[str, str]], _: object = None) -> None:
        kept[:] = [status, headers]

    text = b"".join(app(environ, start))
    return kept[0], kept[1], text


def _answer(start: Respond, *answer: Any) -> Iterable[bytes]:
    if isinstance(answer[0], int):
        return _error(start, *answer)
    kind, text = answer
    start("200 OK", [("Content-Type", kind), ("Content-Length", str(len(text)))])
    return [text]


def _error(start: Respond, status: int, code: str, message: str) -> Iterable[bytes]:
    text = (
        f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors>"
        "<RequestID>1</RequestID></Response>"
    ).encode()
    start(f"{status} Error", [("Content-Type", "text/xml"), ("Content-Length", str(len(text)))])
    return [text]


def _json_error(start: Respond, status: int, code: str, message: str) -> Iterable[bytes]:
    text = json.dumps({"__type": code, "ErrorCode": code, "message": message}).encode()
    start(f"{status} Error", [("Content-Type", "application/json"), ("x-amzn-errortype", code)])
    return [text]


def _xml(name: str, inner: str) -> bytes:
    return (
        f'<{name}Response xmlns="{EC2}"><requestId>1</requestId>{inner}</{name}Response>'.encode()
    )


def _group_xml(group: dict[str, Any], tag: str = "item") -> str:
    tags = "".join(
        f"<item><key>{k}</key><value>{v}</value></item>" for k, v in group["tags"].items()
    )
    return (
        f"<{tag}><groupName>{group['name']}</groupName><strategy>{group['strategy']}</strategy>"
        f"<state>available</state><tagSet>{tags}</tagSet></{tag}>"
    )


def _tags(asked: dict[str, list[str]]) -> dict[str, str]:
    found = {}
    for key, values in asked.items():
        match = re.fullmatch(r"TagSpecification\.1\.Tag\.(\d+)\.Key", key)
        if match:
            found[values[0]] = asked[f"TagSpecification.1.Tag.{match[1]}.Value"][0]
    return found


def _filters(asked: dict[str, list[str]]) -> dict[str, list[str]]:
    return {
        values[0]: [v[0] for k, v in asked.items() if k.startswith(key.replace("Name", "Value"))]
        for key, values in asked.items()
        if re.fullmatch(r"Filter\.\d+\.Name", key)
    }


def _matches(tags: dict[str, str], wanted: dict[str, list[str]]) -> bool:
    return all(
        any(value in tags for value in values)
        if name == "tag-key"
        else tags.get(name.removeprefix("tag:")) in values
        for name, values in wanted.items()
    )


if __name__ == "__main__":
    # moto asks Python at each call
    responses.method_names_from_class = cache(responses.method_names_from_class)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # copies that end
    serve(Hostile())
