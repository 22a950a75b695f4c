"""Certificates as PEM: authorities that sign for clients, which a rule by certificate names, and one's own with its key."""

from __future__ import annotations

import base64
import hashlib
import re
import ssl

from wavetank.errors import ServiceError

MOST_BYTES = 16 * 2**10
_BLOCK = re.compile(r"-----BEGIN CERTIFICATE-----\s.*?-----END CERTIFICATE-----", re.DOTALL)


def normal(text: str) -> str:
    """The certificates of a text in one way of writing, each once, so that the same authorities are the same text.

    Raises:
        ValueError: there are none, one is no authority's, or the text has a private key.
    """
    if "PRIVATE KEY-----" in text:
        raise ValueError(
            "it has a private key, which belongs to the authority alone: give the certificate without it"
        )
    if len(text) > MOST_BYTES:
        raise ValueError(
            f"it has more than {MOST_BYTES} bytes: give the certificates of the authorities that sign for this space"
        )
    blocks = _BLOCK.findall(text)
    if not blocks:
        raise ValueError(
            "it has no certificate: give a file as PEM, which begins with -----BEGIN CERTIFICATE-----"
        )
    try:
        found = dict.fromkeys(ssl.PEM_cert_to_DER_cert(block) for block in blocks)
        pem = "".join(ssl.DER_cert_to_PEM_cert(each) for each in found)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=pem)
    except ValueError as error:  # binascii's too
        raise ValueError(f"it has what is no certificate: {error}") from error
    except ssl.SSLError as error:
        raise ValueError(f"it has what is no certificate: {error.reason or error}") from error
    if context.cert_store_stats()["x509_ca"] != len(found):
        raise ValueError(
            "it has a certificate that may sign no others (basicConstraints is not CA:TRUE): give that of the authority, or one that the "
            "client signed itself"
        )
    return pem


def fingerprint(pem: str) -> str:
    """Of the first certificate, as other programs show it: SHA-256, 16 of its 64 hexadecimal digits."""
    return hashlib.sha256(_first(pem)).hexdigest()[:16]


def as_word(pem: str) -> str:
    """The first certificate as one word of letters, digits, ``-`` and ``_``."""
    return base64.urlsafe_b64encode(_first(pem)).decode().rstrip("=")


def _first(pem: str) -> bytes:
    return ssl.PEM_cert_to_DER_cert(_BLOCK.findall(pem)[0])


def of_word(word: str) -> str:
    """The certificate of a word, as PEM."""
    return ssl.DER_cert_to_PEM_cert(base64.urlsafe_b64decode(word + "=" * (-len(word) % 4)))


def load_own(context: ssl.SSLContext, certificate: str, key: str) -> None:
    """Have connections that begin from now on show a certificate, from files as they are now.

    Raises:
        ServiceError: the files cannot be used.
    """
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except (OSError, ValueError) as error:  # SSLError is an OSError
        told = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise ServiceError(
            f"cannot use certificate {certificate} with key {key}: {told}. "
            "Both are PEM, they belong together, and the key has no password"
        ) from error


def _no_password() -> str:
    raise ValueError("the key has a password")
