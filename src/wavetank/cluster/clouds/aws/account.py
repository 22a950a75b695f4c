"""One account in one region, by boto3: calls, and what its errors mean.

Credentials come by boto3's own chain (environment, shared files, single sign-on, instance role). They are never read here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

import boto3
import botocore.exceptions as broken
import botocore.session
from botocore.config import Config
from botocore.loaders import Loader, create_loader
from botocore.parsers import ResponseParserError

from wavetank.cluster.clouds.aws.answers import (
    WHAT_TO_DO,
    Answer,
    NoAnswerError,
    look_at,
    no_answer,
)
from wavetank.cluster.clouds.cloud import CapacityError, RefusedError
from wavetank.cluster.clouds.logs import keep_unlogged
from wavetank.errors import ProviderError

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
