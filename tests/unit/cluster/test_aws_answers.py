"""What answers in AWS's place: each answer that is none is an error that says what, where, and what to do."""

from __future__ import annotations

import io
import itertools
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("boto3", reason="boto3 is not installed: make setup-test")

from wavetank.cluster.clouds.aws import account as account_module
from wavetank.cluster.clouds.aws.account import Account, AnswerError, NoAnswerError
from wavetank.cluster.clouds.aws.cloud import AwsCloud
from wavetank.errors import ProviderError

PAGE = b"<!DOCTYPE html><html><head><title>Sign in</title><body>Guests of the hotel</html>"
XHTML = (
    b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body>Sign in</body></html>'
)
REGIONS = (
    b'<DescribeRegionsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>1</requestId>'
    b"<regionInfo><item><regionName>us-east-1</regionName></item></regionInfo></DescribeRegionsResponse>"
)
WITHOUT = b'<DescribeRegionsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"/>'
PAGES = (PAGE, XHTML, b"", REGIONS[:60], b'{"message": "Sign in"}')


class Place:
    """A server in AWS's place. ``answers``: status and body of each call, the last again; None: cut in the middle."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, bytes | None]] = []
        self.n_calls = 0


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    here = Place()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            here.n_calls += 1
            status, body = here.answers[min(here.n_calls, len(here.answers)) - 1]
            self.send_response(status)
            self.send_header("Content-Length", "1000" if body is None else str(len(body)))
            self.end_headers()
            self.wfile.write(b"<Describe" if body is None else body)
            self.close_connection = True

        do_GET = do_POST = do_DELETE = answer  # noqa: N815 - names of the library

        def log_message(self, *said: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    settings = {
        "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI-EXAMPLEKEY",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
    }
    for key, value in settings.items():
        monkeypatch.setenv(key, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setitem(account_module.SETTINGS, "retries", {"mode": "standard", "max_attempts": 1})
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    try:
        yield here
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("service", "operation"),
    [
        ("ec2", "DescribeRegions"),
        ("sts", "GetCallerIdentity"),
        ("fsx", "DescribeFileSystems"),
        ("efs", "DescribeFileSystems"),
        ("scheduler", "ListSchedules"),
    ],
)
def test_what_is_no_answer_says_which_call_where_and_what_to_do(
    place: Place, service: str, operation: str
) -> None:
    account = Account("us-east-1")
    for status, body in itertools.product((200, 302, 403), PAGES):
        place.answers, place.n_calls = [(status, body)], 0
        with pytest.raises(
            NoAnswerError,
            match=rf"AWS: \S+:{operation} in us-east-1: status {status} .*HTTPS_PROXY.*again",
        ):
            account.call(service, operation)
        assert place.n_calls == 1


def test_a_page_with_an_error_of_the_server_is_asked_again(place: Place) -> None:
    place.answers = [(502, PAGE), (200, REGIONS)]
    found = Account("us-east-1").call("ec2", "DescribeRegions")
    assert [each["RegionName"] for each in found["Regions"]] == ["us-east-1"]
    assert place.n_calls == 2


def test_a_page_with_an_error_of_the_server_each_time_is_no_answer(place: Place) -> None:
    place.answers = [(503, PAGE)]
    for service, operation in (("sts", "GetCallerIdentity"), ("fsx", "DescribeFileSystems")):
        place.n_calls = 0
        with pytest.raises(
            NoAnswerError, match=rf"{operation} in us-east-1: status 503 .*HTTPS_PROXY"
        ):
            Account("us-east-1").call(service, operation)
        assert place.n_calls == 2


def test_a_connection_that_is_cut_is_said(place: Place) -> None:
    place.answers = [(200, None)]
    with pytest.raises(
        NoAnswerError, match=r"sts:GetCallerIdentity in us-east-1: .*9 of 1000 bytes.*cut.*again"
    ):
        Account("us-east-1").call("sts", "GetCallerIdentity")


def test_an_answer_without_what_it_must_have_is_no_answer(place: Place) -> None:
    place.answers = [(200, WITHOUT)]
    with pytest.raises(NoAnswerError, match=r"ec2:DescribeRegions in us-east-1: an answer without"):
        AwsCloud("us-east-1").regions()


def test_errors_in_forms_of_aws_keep_their_code(place: Place) -> None:
    place.answers = [
        (400, b"<Response><Errors><Error><Code>Odd</Code><Message>m</Message></Error></Errors></Response>")
    ]  # fmt: skip
    with pytest.raises(AnswerError) as caught:
        Account("us-east-1").call("ec2", "DescribeRegions")
    assert caught.value.code == "Odd"
    place.answers = [(400, b'{"__type": "FileSystemNotFound", "message": "m"}')]
    with pytest.raises(AnswerError) as caught:
        Account("us-east-1").call("fsx", "DescribeFileSystems")
    assert caught.value.code == "FileSystemNotFound"


def test_an_empty_answer_to_a_call_that_answers_nothing_is_one(place: Place) -> None:
    place.answers = [(204, b"")]
    Account("us-east-1").call("efs", "DeleteFileSystem", FileSystemId="fs-12345678")


def test_an_endpoint_that_is_none_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "not an endpoint")
    with pytest.raises(ProviderError, match=r"ec2 in us-east-1: .*AWS_ENDPOINT_URL"):
        Account("us-east-1").call("ec2", "DescribeRegions")


@pytest.mark.parametrize("body", [PAGE, b"\xff\xfe", b""])
def test_a_page_in_place_of_this_machines_address_is_no_address(
    place: Place, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: io.BytesIO(body))
    with pytest.raises(ProviderError, match=r"write cloud\.ssh_from"):
        AwsCloud("us-east-1").public_address()
