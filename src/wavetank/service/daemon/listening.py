"""Sockets that requests come in by: TCP with TLS, plain TCP on this machine alone, and the administrator's."""

from __future__ import annotations

import ipaddress
import os
import socket
import ssl
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wavetank.errors import ServiceError, UsageError
from wavetank.service.core.certificates import load_own
from wavetank.service.core.places import socket_address
from wavetank.service.daemon.settings import Settings

BACKLOG = 1024


def tls_of(settings: Settings) -> ssl.SSLContext | None:
    """What TLS needs; None where requests come in without.

    Raises:
        UsageError: a certificate without its key, or the other way round; no TLS beyond this machine.
        ServiceError: the files cannot be used, or others may read the key.
    """
    if settings.certificate is None or settings.key is None:
        if settings.certificate is not settings.key:
            raise UsageError("a certificate and its key go together: give --certificate and --key")
        _see_on_this_machine(settings.host)
        return None
    _see_private(settings.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    load_certificate(context, settings)
    return context


def load_certificate(context: ssl.SSLContext, settings: Settings) -> None:
    """Have connections that begin from now on use the files as they are now.

    Raises:
        ServiceError: the files cannot be used.
    """
    load_own(context, str(settings.certificate), str(settings.key))


def _see_private(key: Path) -> None:
    try:
        mode = key.stat().st_mode
    except OSError as error:
        raise ServiceError(f"cannot read the key {key}: {error.strerror}") from error
    if mode & (stat.S_IRWXO):
        raise ServiceError(f"everybody on this machine may use the key {key}: chmod o= {key}")


def _see_on_this_machine(host: str) -> None:
    """See that an address without TLS is reached from this machine alone: tokens would be read on the way."""
    beyond = [each for each in _addresses(host) if not ipaddress.ip_address(each).is_loopback]
    if beyond:
        raise UsageError(
            f"{host} is reached from other machines, and without TLS tokens are read on the way: give --certificate "
            "and --key, or listen on 127.0.0.1"
        )


def _addresses(host: str) -> list[str]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise UsageError(
            f"{host!r} is no name and no address of this machine: {error.strerror}"
        ) from error
    return [str(each[4][0]).partition("%")[0] for each in found]


@contextmanager
def tenants_socket(settings: Settings) -> Iterator[socket.socket]:
    """The socket for tenants, listening.

    Raises:
        ServiceError: its address cannot be had.
    """
    address = _addresses(settings.host)[0]
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        listening = socket.create_server(
            (address, settings.port), family=family, backlog=BACKLOG, reuse_port=False
        )
    except OSError as error:
        raise ServiceError(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror}. Choose another one with --listen"
        ) from error
    with listening:
        yield listening


@contextmanager
def administrators_socket(path: Path) -> Iterator[socket.socket]:
    """The administrator's socket, listening; nobody but its owner can open it at any time. It goes at the end.

    Whoever calls has the service's folder alone: what is there is left of a process that was killed.

    Raises:
        ServiceError: it cannot be made.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        before = os.umask(0o177)  # it has mode 0600 from its first moment on
        try:
            path.unlink(missing_ok=True)
            with socket_address(path) as address:
                listening.bind(address)
        except OSError as error:
            raise ServiceError(f"cannot make the socket {path}: {error.strerror}") from error
        finally:
            os.umask(before)
        listening.listen(BACKLOG)
        try:
            yield listening
        finally:
            path.unlink(missing_ok=True)
