"""One project in one region of an OpenStack cloud, by openstacksdk: calls, and what its errors mean.

Credentials come by the SDK's own chain (OS_CLOUD with clouds.yaml, or OS_* of the environment). They are never read here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import openstack
import openstack.exceptions as sdk
from keystoneauth1 import exceptions as broken
from requests.exceptions import RequestException

from wavetank.cluster.clouds.cloud import RefusedError, keep_unlogged
from wavetank.errors import ProviderError

# What they log of a call for debugging has tokens in its headers, and at 'up' the host key in its body.
TALKERS = ("keystoneauth", "openstack", "requests", "stevedore", "urllib3")
# Service -> the SDK's name of it, and the version of its interface that is asked for; None: its first one.
# Compute 2.64 (Rocky, 2018): policies of server groups, flavors inside of servers. Shares 2.46 (Stein, 2019): lists of access rules.
SERVICES: dict[str, tuple[str, str | None]] = {
    "nova": ("compute", "2.64"),
    "neutron": ("network", None),
    "cinder": ("block_storage", None),
    "glance": ("image", None),
    "manila": ("shared_file_system", "2.46"),
}
# What the catalogue calls services that not every cloud has.
OPTIONAL = {"manila": {"shared-file-system", "sharev2"}}
# What 403 is about where it is not about rights: quotas of Nova, states of Manila.
NO_RIGHTS = ("quota", "invalid share")
REPEATED = (429, 502, 503)
TRIES = 4
HOW_CREDENTIALS = (
    "Name a cloud of clouds.yaml by OS_CLOUD, or set OS_AUTH_URL and the other variables of your cloud's openrc file, and call the "
    "command again"
)
WHAT_TO_DO = "Something else may answer in its place: look at https_proxy, no_proxy and OS_AUTH_URL, and call the command again"


class AnswerError(ProviderError):
    """What a service answered in place of what was asked for.

    Attributes:
        status: of HTTP.
        said: the service's own words.
    """

    def __init__(self, status: int, action: str, said: str) -> None:
        self.status = status
        self.said = said
        super().__init__(f"OpenStack: {action}: {status}: {said}")

    @property
    def exists(self) -> bool:
        """Whether what was to be made is there, of an earlier try of the same call; Neutron and Nova say 409 of quotas, too."""
        return self.status == 409 and "quota" not in self.said.lower()


class NoAnswerError(ProviderError):
    """What came back is none of OpenStack: a page, or half of an answer. What was asked for may have been done."""


class Account:
    """Calls to a project in a region."""

    def __init__(self, region: str | None, sleep: Callable[[float], None] = time.sleep) -> None:
        """Take the region, or the one that the SDK's own chain names.

        Args:
            region: of the cloud.
            sleep: waits for seconds.

        Raises:
            RefusedError: no cloud is named, its settings are not whole, or there is no region.
        """
        keep_unlogged(TALKERS)
        try:
            self._connection = openstack.connect(app_name="wavetank", region_name=region)
        except (sdk.SDKException, broken.ClientException) as error:
            raise RefusedError(f"OpenStack: {error}. {HOW_CREDENTIALS}") from error
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # The SDK looks at no type in clouds.yaml: "auth: 5" is an AttributeError.
            raise RefusedError(
                f"OpenStack: clouds.yaml or its environment has a value of a wrong kind ({error}). {HOW_CREDENTIALS}"
            ) from error
        found = region or self._connection.config.get_region_name()
        if not found:
            raise RefusedError(
                "OpenStack: no region is named: give --region, or set OS_REGION_NAME"
            )
        self.region = str(found)
        self._sleep = sleep

    def pause(self, n_before: int) -> None:
        """Wait before something is asked again: longer each time, 10 s at most."""
        self._sleep(min(2.0 ** min(n_before, 5) / 2, 10))

    @property
    def project(self) -> str:
        """Id of the project. Raises as ``call``."""
        return str(self._ask_identity(self._connection.session.get_project_id) or "")

    def owner(self) -> str:
        """User and project of the credentials. Raises as ``call``."""
        access = self._access()
        return f"{access.username or access.user_id} of {access.project_name or access.project_id}"

    def regions(self) -> tuple[str, ...]:
        """Regions in which the catalogue has compute services. Raises as ``call``."""
        return tuple(sorted(self._regions_with({"compute"})))

    def has(self, service: str) -> bool:
        """Whether the region has a service that not every one has. Raises as ``call``."""
        return self.region in self._regions_with(OPTIONAL[service])

    def _regions_with(self, kinds: Collection[str]) -> set[str]:
        """Regions in which the catalogue has a service of one of these types."""
        return {
            str(endpoint["region"])
            for service in self._access().service_catalog.catalog
            if service["type"] in kinds
            for endpoint in service["endpoints"]
        }

    def call(
        self, service: str, method: str, path: str, *, body: object = None, query: object = None
    ) -> dict[str, Any]:
        """One call.

        Args:
            service: "nova", "neutron", "cinder", "glance" or "manila".
            method: of HTTP.
            path: below the service's endpoint, e.g. "/servers".
            body: as JSON.
            query: parameters.

        Raises:
            RefusedError: no credentials, or they are not accepted; a policy forbids it.
            AnswerError: any other answer.
            NoAnswerError: what came back is none of OpenStack.
            ProviderError: the cloud cannot be reached.
        """
        name, version = SERVICES[service]
        action = f"{method} {service}:{path}"
        try:
            answer = getattr(self._connection, name).request(
                path, method, json=body, params=query, microversion=version, raise_exc=False,
                status_code_retries=TRIES, retriable_status_codes=REPEATED,
                connect_retries=TRIES if method in ("GET", "DELETE") else 0,
            )  # fmt: skip
        except Exception as error:
            raise _unreached(error, action) from error
        if answer.status_code >= 400:
            raise _meaning(answer, action)
        if not answer.content:
            return {}
        try:
            found = answer.json()
        except ValueError as error:
            raise NoAnswerError(
                f"OpenStack: {action}: status {answer.status_code} and no JSON. {WHAT_TO_DO}"
            ) from error
        if not isinstance(found, dict):
            raise NoAnswerError(f"OpenStack: {action}: an answer without a name. {WHAT_TO_DO}")
        return found

    def pages(
        self, service: str, path: str, items: str, **query: object
    ) -> Iterator[dict[str, Any]]:
        """The items of all pages of a list; ``items`` names it. Raises as ``call``."""
        asked: dict[str, object] | None = query
        while asked is not None:
            page = self.call(service, "GET", path, query=asked)
            found = page.get(items)
            if not isinstance(found, list):
                raise NoAnswerError(
                    f"OpenStack: GET {service}:{path}: an answer without {items}. {WHAT_TO_DO}"
                )
            yield from found
            has_next = f"{items}_links" in page or page.get("next")
            asked = {**query, "marker": _marker(found[-1])} if has_next and found else None

    def _access(self) -> Any:  # noqa: ANN401 - of keystoneauth
        session: Any = self._connection.session
        return self._ask_identity(lambda: session.auth.get_access(session))

    def _ask_identity(self, ask: Callable[[], Any]) -> Any:  # noqa: ANN401 - of keystoneauth
        try:
            return ask()
        except Exception as error:
            raise _unreached(error, "keystone") from error


def _marker(last: Mapping[str, Any]) -> str:
    """What the next page of a list begins after: an id, of Nova's key pairs a name."""
    return str(last["id"] if "id" in last else last["keypair"]["name"])


def _unreached(error: Exception, action: str) -> Exception:
    """What an error of the SDK means; those that are none of its are as they are."""
    if isinstance(error, broken.Unauthorized):
        return RefusedError(
            f"OpenStack does not accept the credentials ({error.message}). {HOW_CREDENTIALS}"
        )
    unset = (broken.MissingRequiredOptions, broken.NoMatchingPlugin, sdk.ConfigException)
    # keystoneauth has no class for a password that is not given
    if isinstance(error, unset) or type(error) is Exception:
        return RefusedError(f"OpenStack: no credentials: {error}. {HOW_CREDENTIALS}")
    if isinstance(error, sdk.SDKException | broken.ClientException | RequestException):
        return ProviderError(
            f"OpenStack: {action}: {error}. Is the network up, and does the cloud have this service in this region?"
        )
    return error


def _meaning(answer: Any, action: str) -> ProviderError:  # noqa: ANN401 - of requests
    said = _words(answer)
    if answer.status_code == 401:
        return RefusedError(
            f"OpenStack does not accept the credentials ({said}). {HOW_CREDENTIALS}"
        )
    if answer.status_code == 403 and not any(words in said.lower() for words in NO_RIGHTS):
        return RefusedError(
            f"OpenStack: these credentials may not call {action} ({said}). The operator's page is "
            "docs/how-to/clusters-on-your-openstack.md"
        )
    return AnswerError(answer.status_code, action, said)


def _words(answer: Any) -> str:  # noqa: ANN401 - of requests
    """Each service has a form of its own: a name, and below it a message."""
    try:
        found = answer.json()
    except ValueError:
        return " ".join(answer.text.split())[:200]
    inner = next(iter(found.values()), "") if isinstance(found, dict) else found
    said = inner.get("message", inner) if isinstance(inner, dict) else inner
    return " ".join(str(said).split())[:400]
