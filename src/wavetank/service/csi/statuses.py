"""Errors as the interface names them: a status of gRPC for each refusal of the service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import grpc

from wavetank.errors import ServiceError, WavetankError
from wavetank.service.client.connection import AnsweredError

Code: TypeAlias = grpc.StatusCode

OF_REFUSALS: Mapping[str, Code] = {
    "invalid": Code.INVALID_ARGUMENT,
    "not_offered": Code.INVALID_ARGUMENT,
    "unknown": Code.NOT_FOUND,
    "exists": Code.ALREADY_EXISTS,
    "quota": Code.RESOURCE_EXHAUSTED,
    "no_room": Code.RESOURCE_EXHAUSTED,
    "changed": Code.ABORTED,
    "state": Code.FAILED_PRECONDITION,
    "in_use": Code.FAILED_PRECONDITION,
    "unauthorized": Code.UNAUTHENTICATED,
    "too_many": Code.UNAVAILABLE,
    "too_large": Code.INVALID_ARGUMENT,
    "unavailable": Code.UNAVAILABLE,
}
"""Code of the service's refusal -> status. Of these, callers repeat UNAVAILABLE and ABORTED at once."""


class CallError(ServiceError):
    """A call that is answered with a status other than OK.

    Attributes:
        code: the status.
    """

    def __init__(self, code: Code, message: str) -> None:
        self.code = code
        super().__init__(message)


def invalid(message: str) -> CallError:
    """The call itself is wrong."""
    return CallError(Code.INVALID_ARGUMENT, message)


def status_of(error: WavetankError) -> Code:
    """The status of an error."""
    if isinstance(error, CallError):
        return error.code
    if isinstance(error, AnsweredError):
        return OF_REFUSALS.get(error.code, Code.INTERNAL)
    # Of the service: there is no answer, or a space could not be made. Both may go by themselves.
    return Code.UNAVAILABLE if isinstance(error, ServiceError) else Code.INTERNAL
