"""Ways to a service, and its refusals as errors. Records are read from answers; nothing else of the service is imported."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx2

from wavetank.document import Record
from wavetank.errors import ServiceError, UsageError
from wavetank.service.client.trust import why_untrusted
from wavetank.service.core.places import socket_address

RecordT = TypeVar("RecordT", bound=Record)

TIMEOUT_S = 60.0
AUTHORITY = "WAVETANK_SERVICE_CA"
"""Variable that names the file of the authority, for messages."""


class AnsweredError(ServiceError):
    """The service refused.

    Attributes:
        code: why, as one word.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class Connection:
    """Asks a service. Answers are records; refusals are raised.

    Attributes:
        http: the way to it.
        where: the service, for messages.
    """

    def __init__(self, http: httpx2.Client, where: str) -> None:
        self.http = http
        self.where = where

    def get(self, path: str, record: type[RecordT], **params: str | int) -> RecordT:
        """Ask for what there is.

        Raises:
            AnsweredError: refused.
            ServiceError: there is no answer, or none that can be understood.
        """
        return self._record(self._answer("GET", path, params), record)

    def send(
        self,
        method: str,
        path: str,
        record: type[RecordT],
        body: Mapping[str, Any] | None = None,
        **params: str | int,
    ) -> RecordT:
        """Ask for a change that is answered with a record.

        Raises:
            AnsweredError: refused.
            ServiceError: there is no answer, or none that can be understood. Whether it was taken is not known then.
        """
        return self._record(self._answer(method, path, params, body), record)

    def remove(self, path: str) -> None:
        """Ask for something to go.

        Raises:
            AnsweredError: refused.
            ServiceError: there is no answer.
        """
        self._answer("DELETE", path)

    def _answer(
        self,
        method: str,
        path: str,
        params: Mapping[str, str | int] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> httpx2.Response:
        try:
            answer = self.http.request(method, path, params=params or {}, json=body)
        except httpx2.HTTPError as error:
            raise _no_answer(self.where, error) from error
        if answer.is_success:
            return answer
        try:
            body = answer.json()
            raise AnsweredError(body["code"], body["message"])
        except (ValueError, KeyError, TypeError) as error:
            raise ServiceError(
                f"{self.where} answered {method} {path} with status {answer.status_code} and no reason. Is it the service?"
            ) from error

    def _record(self, answer: httpx2.Response, record: type[RecordT]) -> RecordT:
        try:
            return record.model_validate_json(answer.content)
        except ValueError as error:
            raise ServiceError(
                f"the answer of {self.where} cannot be understood. Is it the service, of the same version?"
            ) from error


@contextmanager
def as_tenant(url: str, token: str, authority: Path | None = None) -> Iterator[Connection]:
    """A way to a service over TCP.

    Args:
        url: http://127.0.0.1:8470, https://storage.example.org:8470.
        token: of the tenant.
        authority: PEM of the authority that signed the service's certificate; None: one that this machine trusts.

    Raises:
        UsageError: no URL, or a plain one of another machine: the token would be read on the way.
        ServiceError: the authority's file cannot be used.
    """
    there = _url(url)
    secure = there.scheme == "https"
    if not secure and not _is_this_machine(there.host):
        raise UsageError(
            f"{url} is not encrypted, and the token would be read on the way: write https://{there.netloc.decode()}"
        )
    try:
        token.encode("ascii")
        headers = {"authorization": f"Bearer {token}"}
        verify: bool | ssl.SSLContext = True
        if authority is not None:
            verify = ssl.create_default_context(cafile=str(authority))
    except UnicodeEncodeError as error:
        raise UsageError("the token is none: it has letters of ASCII only") from error
    except OSError as error:
        raise ServiceError(
            f"cannot use {authority} as the authority of certificates: {error.strerror or error}. It is a PEM file"
        ) from error
    # Without TLS a proxy would read the token.
    with httpx2.Client(
        base_url=there, headers=headers, verify=verify, timeout=TIMEOUT_S, trust_env=secure
    ) as http:
        yield Connection(http, url)


@contextmanager
def as_administrator(socket: Path) -> Iterator[Connection]:
    """A way to a service of this machine by the administrator's socket.

    Raises:
        ServiceError: there is no such folder.
    """
    with ExitStack() as stack:
        try:
            address = stack.enter_context(socket_address(socket))
        except OSError as error:
            raise _no_answer(str(socket), error) from error
        transport = httpx2.HTTPTransport(uds=address)
        http = stack.enter_context(
            httpx2.Client(
                base_url="http://service", transport=transport, timeout=TIMEOUT_S, trust_env=False
            )
        )
        yield Connection(http, str(socket))


def _no_answer(where: str, error: Exception) -> ServiceError:
    if why := why_untrusted(error, AUTHORITY):
        return ServiceError(f"the service at {where} is not trusted: {why}")
    if where.startswith("http:") and isinstance(
        error, httpx2.ReadError | httpx2.RemoteProtocolError
    ):
        return ServiceError(
            f"{where} takes the connection and ends it ({error}). A service with a certificate is asked by https://"
        )
    return ServiceError(
        f"no answer from the service at {where}: {error}. Is it running there? 'wavetank service run' starts it"
    )


def _url(text: str) -> httpx2.URL:
    try:
        found = httpx2.URL(text)
    except httpx2.InvalidURL as error:
        raise UsageError(f"{text!r} is no URL: {error}") from error
    if found.scheme not in ("http", "https") or not found.host:
        raise UsageError(f"{text!r} is no URL of a service: write https://HOST:PORT")
    return found


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
