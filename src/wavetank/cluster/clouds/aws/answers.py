"""Whether what came back is an answer of AWS at all: proxies and sign-in pages of networks answer in its place.

botocore reads an HTML page as damaged XML, or as an answer without content. Here it is looked at before botocore reads it.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import Any

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
