"""The service of spaces over HTTP: questions that are asked again while there is no answer, and refusals as errors.

Every request to the service may be sent twice: a space is asked for by its name, and all else says what is to be, not what is to change.
"""

from __future__ import annotations

import ipaddress
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import requests

ONE_ANSWER_S = 30.0
SHORTEST_S, LONGEST_S = 0.1, 5.0  # between two tries or looks; each pause is half as long again
UNAVAILABLE, TOO_MANY = 503, 429

Json = Any
"""What an answer holds: objects as dicts, lists, texts, numbers."""


class ServiceError(Exception):
    """What the driver cannot do with the service, for people."""


class RefusedError(ServiceError):
    """The service refused a request.

    Attributes:
        code: one word, e.g. ``no_room``.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class NoAnswerError(ServiceError):
    """A request had no answer; whether it was taken is not known."""


@dataclass(frozen=True)
class Answer:
    """An answer over HTTP.

    Attributes:
        status: of HTTP.
        headers: by their names in lower case.
        body: as it came.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    """Sends one request."""

    def __call__(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        body: Mapping[str, Any] | None,
    ) -> Answer:
        """Send it.

        Raises:
            NoAnswerError: there is no answer.
        """


class OverHttp:
    """A transport by TCP. The token's file is read for each request, so that another token needs no restart.

    Attributes:
        url: of the service, e.g. https://storage.example.org:8470.
        token: file with a tenant's token.
        authority: PEM of the authority that signed the service's certificate; None: one that this machine trusts.
    """

    def __init__(self, url: str, token: Path, authority: Path | None = None) -> None:
        """Nothing is asked yet.

        Raises:
            ValueError: no URL of a service, or a plain one of another machine: the token would be read on the way.
        """
        there = urlsplit(url)
        if there.scheme not in ("http", "https") or not there.hostname:
            raise ValueError(f"{url!r} is no URL of a service: write https://HOST:PORT")
        if there.scheme == "http" and not _is_this_machine(there.hostname):
            raise ValueError(f"{url} is not encrypted, and the token would be read on the way")
        self.url = url.rstrip("/")
        self.token = token
        self.authority = authority

    def __call__(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        body: Mapping[str, Any] | None,
    ) -> Answer:
        """Send one request, by a connection of its own: several threads of Manila ask at once.

        Raises:
            NoAnswerError: there is no answer.
            ServiceError: the service is not trusted, or the file of the token or the authority cannot be used.
        """
        try:
            token = self.token.read_text(encoding="ascii").strip()
        except (OSError, UnicodeError) as error:
            raise ServiceError(f"cannot read the token of the tenant: {error}") from error
        try:
            found = requests.request(
                method,
                f"{self.url}{path}",
                params=dict(params),
                json=body,
                headers={"Authorization": f"Bearer {token}"},
                verify=str(self.authority) if self.authority else True,
                timeout=ONE_ANSWER_S,
                allow_redirects=False,
            )
        except requests.exceptions.SSLError as error:
            raise ServiceError(
                f"the service at {self.url} is not trusted: {error}. Its authority is named by wavetank_ca_file"
            ) from error
        except requests.RequestException as error:
            raise NoAnswerError(f"no answer from the service at {self.url}: {error}") from error
        except OSError as error:
            raise ServiceError(f"cannot use the authority {self.authority}: {error}") from error
        headers = {name.lower(): value for name, value in found.headers.items()}
        return Answer(found.status_code, headers, found.content)


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Limit:
    """How long something may take.

    Attributes:
        sleep: seconds.
    """

    def __init__(
        self,
        limit_s: float,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._now, self._end = now, now() + limit_s
        self._next = SHORTEST_S
        self.sleep = sleep

    def pause(self, least_s: float = 0.0) -> bool:
        """Wait for a while, each time longer; whether there was time left for that."""
        pause_s = max(self._next, least_s)
        if self._now() + pause_s > self._end:
            return False
        self.sleep(pause_s)
        self._next = min(self._next * 1.5, LONGEST_S)
        return True


class Service:
    """A service of spaces, asked as one tenant.

    Attributes:
        limit: begins the time that one thing may take.
    """

    def __init__(self, transport: Transport, limit: Callable[[], Limit]) -> None:
        self._transport = transport
        self.limit = limit

    def ask(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Json:
        """The answer to a request, as JSON. While there is none, or only "later", it is asked again.

        Raises:
            RefusedError: refused.
            NoAnswerError: no answer within the limit.
            ServiceError: an answer that is none of the service, or the token's file cannot be read.
        """
        limit = self.limit()
        while True:
            try:
                answer = self._transport(method, path, params or {}, body)
            except NoAnswerError:
                if not limit.pause():
                    raise
                continue
            if answer.status in (UNAVAILABLE, TOO_MANY) and limit.pause(_seconds(answer)):
                continue
            return _understood(method, path, answer)


def _seconds(answer: Answer) -> float:
    """After which the service wants to be asked again."""
    told = answer.headers.get("retry-after", "")
    return float(told) if told.isdecimal() else 0.0


def _understood(method: str, path: str, answer: Answer) -> Json:
    try:
        body = json.loads(answer.body)
        if 200 <= answer.status < 300:
            return body
        refusal = RefusedError(str(body["code"]), str(body["message"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ServiceError(
            f"{method} {path} was answered with status {answer.status}, and not as the service does. Is it one?"
        ) from error
    raise refusal
