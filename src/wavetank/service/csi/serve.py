"""The process: a server of gRPC at a unix socket that its owner alone can open."""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import grpc

from wavetank.errors import ServiceError, UsageError, WavetankError
from wavetank.locks import LockedError, lock_folder
from wavetank.service.csi.messages import MESSAGES, PACKAGE, Message
from wavetank.service.csi.statuses import status_of
from wavetank.service.csi.turns import Call

THREADS = 16
"""Calls at once; more wait."""
LAST_CALLS_S = 10.0
LONGEST_PATH = 107  # sun_path of unix(7), without its end
_WORD = re.compile(r"(?<!^)(?=[A-Z])")
_log = logging.getLogger(__name__)


class Answers(Protocol):
    """What answers the calls of one service: a method each, named after the call."""

    service: str


def socket_of(endpoint: str) -> Path:
    """The socket of an endpoint.

    Raises:
        UsageError: it is none.
    """
    path = Path(endpoint.removeprefix("unix://").removeprefix("unix:"))
    if not path.is_absolute() or len(os.fsencode(path)) > LONGEST_PATH:
        raise UsageError(
            f"--endpoint {endpoint}: write unix:///DIRECTORY/NAME, at most {LONGEST_PATH} bytes after unix://"
        )
    return path


@contextmanager
def serving(socket: Path, services: Sequence[Answers]) -> Iterator[None]:
    """Answer at a socket.

    Raises:
        ServiceError: another process does, or the socket cannot be made.
    """
    lock = _locked(socket)
    server = grpc.server(ThreadPoolExecutor(THREADS))
    server.add_generic_rpc_handlers(tuple(_handlers(each) for each in services))
    before = os.umask(0o177)
    try:
        socket.unlink(missing_ok=True)
        server.add_insecure_port(f"unix:{socket}")
        server.start()
    except (OSError, RuntimeError) as error:
        raise ServiceError(f"cannot make the socket {socket}: {error}") from error
    finally:
        os.umask(before)
    try:
        yield
    finally:
        server.stop(LAST_CALLS_S).wait()
        socket.unlink(missing_ok=True)
        os.close(lock)


def _locked(socket: Path) -> int:
    """The lock of a socket, which goes with the process: two would mount the same volume at once."""
    try:
        return lock_folder(folder_of(socket), "lock", "lock", 0o700)
    except LockedError as error:
        raise ServiceError(f"process {error.owner} answers at {socket} already") from error
    except OSError as error:
        raise ServiceError(f"cannot write beside {socket}: {error.strerror}") from error


def folder_of(socket: Path) -> Path:
    """The folder beside a socket."""
    return socket.with_name(f"{socket.name}.d")


def serve(socket: Path, services: Sequence[Answers], told: Callable[[Path], None]) -> None:
    """Answer until SIGTERM or SIGINT comes. What is mounted stays."""
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with serving(socket, services):
        told(socket)
        ended.wait()


def _handlers(answers: Answers) -> grpc.GenericRpcHandler:
    """Handlers of all calls that a service has a method for."""
    found = {}
    for name in MESSAGES:
        call = name.removesuffix("Request")
        method = getattr(answers, _WORD.sub("_", call).lower(), None)
        if call != name and method is not None:
            found[call] = grpc.unary_unary_rpc_method_handler(
                _answering(call, method),
                request_deserializer=MESSAGES[name].FromString,
                response_serializer=MESSAGES[f"{call}Response"].SerializeToString,
            )
    return grpc.method_handlers_generic_handler(f"{PACKAGE}.{answers.service}", found)


def _answering(
    call: str, method: Callable[[Message, Call], Message]
) -> Callable[[Message, Call], Message]:
    """A method whose errors are statuses."""

    def answer(request: Message, context: grpc.ServicerContext) -> Message:
        try:
            return method(request, context)
        except WavetankError as error:
            code = status_of(error)
            _log.warning("%s: %s: %s", call, code.name, error)
            context.abort(code, str(error))

    return answer
