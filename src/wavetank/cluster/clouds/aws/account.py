"""One account in one region, by boto3: calls, and what its errors mean.

Credentials come by boto3's own chain (environment, shared files, single sign-on, instance role). They are never read here.
"""

from __future__ import annotations

import json
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import boto3
import botocore.exceptions as broken
import botocore.session
from botocore.config import Config
from botocore.loaders import Loader, create_loader
from botocore.parsers import ResponseParserError

from wavetank.cluster.clouds.cloud import CapacityError, RefusedError, keep_unlogged
from wavetank.errors import ProviderError

WHAT_TO_DO = (
    "Something else may answer in AWS's place: look at HTTPS_PROXY, NO_PROXY and AWS_ENDPOINT_URL, sign in where the network "
    "asks for it, and call the command again"
)
XML = ("ec2", "query", "rest-xml")
JSON = ("json", "rest-json")
SHOWN = 80  # characters of what came


class NoAnswerError(ProviderError):
    """What came back is none of AWS: a page, nothing, or half of an answer. What was asked for may have been done."""


class Answer(dict[str, Any]):
    """What AWS answered; asking it for what it must have, and has not, says so.

    Args:
        found: the answer as botocore read it.
        asked: the call and its region, for messages.
    """

    def __init__(self, found: dict[str, Any], asked: str) -> None:
        super().__init__(found)
        self.asked = asked

    def __missing__(self, key: str) -> None:
        """Raise NoAnswerError."""
        raise NoAnswerError(f"AWS: {self.asked}: an answer without {key}. {WHAT_TO_DO}")


def look_at(
    operation_model: Any,  # noqa: ANN401 - of botocore
    response_dict: dict[str, Any],
    region: str,
    **_: object,
) -> None:
    """Called by botocore before it reads an answer (its event ``before-parse``).

    What has a status of 500 and more is left to botocore, which tries again, without what it cannot read.

    Raises:
        NoAnswerError: it is none of AWS.
    """
    status, body = int(response_dict["status_code"]), bytes(response_dict.get("body") or b"")
    why = _why(operation_model, status, body)
    headers = response_dict["headers"]
    expected = str(headers.get("content-length", ""))
    packed = "content-encoding" in headers
    if expected.isdigit() and not packed and 0 < len(body) < int(expected):
        why = f"{len(body)} of {expected} bytes: the connection was cut"
    if why is None:
        return
    if status >= 500:
        response_dict["body"] = b""
        return
    service = operation_model.service_model.endpoint_prefix
    raise NoAnswerError(
        f"AWS: {service}:{operation_model.name} in {region}: status {status} and {why}. {WHAT_TO_DO}"
    )


def no_answer(asked: str, status: str, message: str) -> NoAnswerError:
    """After all tries: a status without AWS's own code."""
    return NoAnswerError(
        f"AWS: {asked}: status {status} ({message}) without AWS's own words. {WHAT_TO_DO}"
    )


def _why(operation: Any, status: int, body: bytes) -> str | None:  # noqa: ANN401 - of botocore
    """What is wrong with a body; None where it can be an answer."""
    protocol = operation.service_model.resolved_protocol
    if protocol not in (*XML, *JSON):
        return None
    expects = status >= 300 or (
        operation.output_shape is not None and bool(operation.output_shape.members)
    )
    if not body.strip():
        return "an empty body" if expects else None
    read = _is_xml if protocol in XML else _is_json
    if read(operation, status, body):
        return None
    begin = " ".join(body.decode(errors="replace").split())[:SHOWN]
    return f"no {'XML' if protocol in XML else 'JSON'} of its own ({begin!r})"


def _is_xml(operation: Any, status: int, body: bytes) -> bool:  # noqa: ANN401 - of botocore
    """Answers are called after their call, errors "Response" (EC2) or "ErrorResponse" (STS)."""
    try:
        root = ET.fromstring(body).tag  # noqa: S314 - botocore reads it after this by the same parser
    except ET.ParseError:
        return False
    root = root.rpartition("}")[2]
    return root == f"{operation.name}Response" if status < 300 else root.endswith("Response")


def _is_json(operation: Any, status: int, body: bytes) -> bool:  # noqa: ANN401 - of botocore
    """An object; of an answer, with something that answers of this call have, or nothing."""
    try:
        found = json.loads(body)
    except ValueError:
        return False
    if not isinstance(found, dict):
        return False
    shape = operation.output_shape
    if status >= 300 or shape is None or not found:
        return True
    names = {each.serialization.get("name", name) for name, each in shape.members.items()}
    return not names or not names.isdisjoint(found)


@dataclass(frozen=True)
class Unknown:
    """A sentence on what is not known. It keeps no cluster from coming up."""

    words: str


# botocore repeats what was throttled, and what had no answer: with a pause that doubles, up to 20 s.
SETTINGS = {
    "retries": {"mode": "standard", "max_attempts": 8},
    "connect_timeout": 10,
    "read_timeout": 60,
    "user_agent_extra": "wavetank",
}
# What they log of a call for debugging has the session's token in its headers, and at 'up' the host key in its body.
TALKERS = ("boto3", "botocore", "s3transfer", "urllib3")
# A zone, not the account, is at its end; "Unsupported": the type is not in that zone.
NO_CAPACITY = {
    "InsufficientInstanceCapacity",
    "InsufficientHostCapacity",
    "InsufficientReservedInstanceCapacity",
    "SpotMaxPriceTooLow",
    "Unsupported",
}
NOT_ACCEPTED = {
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidClientTokenId",
    "RequestExpired",
    "SignatureDoesNotMatch",
    "TokenRefreshRequired",
    "UnrecognizedClientException",
    "InvalidSignatureException",
}
NOT_ALLOWED = {"UnauthorizedOperation", "AccessDenied", "AccessDeniedException", "NotAuthorized"}
THROTTLED = {
    "RequestLimitExceeded",
    "Throttling",
    "ThrottlingException",
    "RequestThrottled",
    "TooManyRequestsException",
}
# Services whose name in rights is another one than boto3's.
IAM_NAMES = {"service-quotas": "servicequotas", "efs": "elasticfilesystem"}
# Service -> what asks for the next page, and what names it.
NEXT_PAGE = {"efs": ("Marker", "NextMarker"), "iam": ("Marker", "Marker")}
HOW_CREDENTIALS = "Renew them ('aws sso login', 'aws configure', or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY) and call the command again"


class AnswerError(ProviderError):
    """What AWS answered in place of what was asked for.

    Attributes:
        code: AWS's own, e.g. "DependencyViolation".
        action: as IAM calls it, e.g. "ec2:RunInstances".
    """

    def __init__(self, code: str, action: str, message: str) -> None:
        self.code = code
        self.action = action
        super().__init__(f"AWS: {action}: {code}: {message}")


class ThrottledError(AnswerError):
    """Too many calls, also after repeating: later."""


class Account:
    """Calls to an account in a region."""

    def __init__(self, region: str | None, sleep: Callable[[float], None] = time.sleep) -> None:
        """Take the region, or the one that boto3's own chain names.

        Args:
            region: of AWS.
            sleep: waits for seconds.

        Raises:
            RefusedError: the profile that the environment names does not exist, or there is no region.
        """
        keep_unlogged(TALKERS)
        try:
            own = botocore.session.get_session()
            services = _descriptions(own.get_config_variable("data_path"))
            own.register_component("data_loader", services)
            self._session = boto3.Session(region_name=region, botocore_session=own)
        except broken.BotoCoreError as error:
            raise RefusedError(f"AWS: {error}") from error
        if self._session.region_name is None:
            raise RefusedError("AWS: no region is named: give --region, or set AWS_DEFAULT_REGION")
        self.region: str = self._session.region_name
        self._clients: dict[str, Any] = {}
        self._sleep = sleep

    def pause(self, n_before: int) -> None:
        """Wait before a call is repeated: longer each time, 10 s at most."""
        self._sleep(min(2.0**n_before / 2, 10))

    def call(self, service: str, operation: str, **asked: object) -> dict[str, Any]:
        """One call.

        Args:
            service: as boto3 calls it, e.g. "ec2".
            operation: as AWS calls it, e.g. "RunInstances".
            asked: its parameters.

        Raises:
            RefusedError: no credentials, or they are not accepted; a right is missing.
            CapacityError: the zone has no room.
            ThrottledError: too many calls.
            AnswerError: any other answer.
            NoAnswerError: what came back is none of AWS.
            ProviderError: AWS cannot be reached.
        """
        action = f"{IAM_NAMES.get(service, service)}:{operation}"
        asked_where = f"{action} in {self.region}"
        try:
            client = self._client(service)
            found: dict[str, Any] = getattr(client, _method(operation))(**asked)
        except broken.ClientError as error:
            raise _meaning(error.response.get("Error", {}), action, self.region) from error
        except (
            broken.NoCredentialsError,
            broken.PartialCredentialsError,
            broken.CredentialRetrievalError,
            broken.SSOError,
            broken.TokenRetrievalError,
            broken.ProfileNotFound,
        ) as error:
            raise RefusedError(f"AWS: no credentials: {error}. {HOW_CREDENTIALS}") from error
        except ResponseParserError as error:  # of an answer that has its own form, and is damaged
            raise NoAnswerError(f"AWS: {asked_where}: {error}. {WHAT_TO_DO}") from error
        except broken.BotoCoreError as error:
            raise ProviderError(
                f"AWS: {asked_where}: {error}. Is the network up, and the region's name right?"
            ) from error
        return Answer(found, asked_where)

    def pages(
        self, service: str, operation: str, items: str, **asked: object
    ) -> Iterator[dict[str, Any]]:
        """The items of all pages of a call; ``items`` names their list. Raises as ``call``."""
        following: dict[str, object] = {}
        asks, names = NEXT_PAGE.get(service, ("NextToken", "NextToken"))
        while True:
            page = self.call(service, operation, **asked, **following)
            yield from page.get(items, [])
            if not page.get(names):
                return
            following = {asks: page[names]}

    def has(self, service: str) -> bool:
        """Whether a service is in this region, as far as boto3 knows; of regions that it does not know it is taken to be."""
        partition = self._session.get_partition_for_region(self.region)
        known = self._session.get_available_regions("ec2", partition)
        return self.region not in known or self.region in self._session.get_available_regions(
            service, partition
        )

    def _client(self, service: str) -> Any:  # noqa: ANN401 - boto3 makes its classes as it runs
        if service not in self._clients:
            try:
                client = self._session.client(service, config=Config(**SETTINGS))
            except ValueError as error:  # botocore's for an endpoint that is none
                raise ProviderError(
                    f"AWS: {service} in {self.region}: {error}. Look at AWS_ENDPOINT_URL and endpoint_url of ~/.aws/config"
                ) from error
            client.meta.events.register("before-parse", partial(look_at, region=self.region))
            self._clients[service] = client
        return self._clients[service]


@cache
def _descriptions(path: str | None) -> Loader:
    """The descriptions of AWS's services: read once for all accounts and regions, as that takes longer than a call.

    Args:
        path: where the user's own settings look for more of them.
    """
    return create_loader(path)


def _method(operation: str) -> str:
    """boto3's name: RunInstances is run_instances."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in operation)[1:]


def _meaning(said: Mapping[str, str], action: str, region: str) -> ProviderError:
    code, message = said.get("Code", "unknown"), said.get("Message", "")
    if code.isdigit():  # botocore's, where the body says nothing
        return no_answer(f"{action} in {region}", code, message)
    if code in NO_CAPACITY:
        return CapacityError(f"{code}: {message}")
    if code in NOT_ACCEPTED:
        return RefusedError(
            f"AWS does not accept the credentials ({code}: {message}). {HOW_CREDENTIALS}"
        )
    if code in NOT_ALLOWED:
        return RefusedError(
            f"AWS: these credentials may not call {action} ({message[:200]}). "
            "'wavetank cluster policy aws' prints the rights that are needed"
        )
    return (ThrottledError if code in THROTTLED else AnswerError)(code, action, message)
