"""Why a request is refused: a sentence for people, and a word for programs."""

from __future__ import annotations

from typing import Literal

from wavetank.errors import ServiceError

Code = Literal[
    "invalid",  # a value that cannot be, or values that do not fit together
    "unfit",  # a server that cannot serve what it is said to
    "not_offered",  # this kind is not offered in this mode
    "unknown",  # no such tenant, space or server
    "exists",  # the name is taken by something else
    "quota",  # the tenant may not have that much
    "no_room",  # the servers have no room for it
    "changed",  # somebody else changed it since it was looked at
    "state",  # not in the state that the space is in
    "in_use",  # something else still needs it
]


class Refused(ServiceError):  # noqa: N818 - an answer, no fault of the service
    """A request that is not carried out. Nothing was changed by it.

    Attributes:
        code: the reason as one word, the same in every version.
    """

    def __init__(self, code: Code, message: str) -> None:
        self.code: Code = code
        super().__init__(message)
