"""Certificates that tests make: of an authority, and of services that it signs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

DAY = timedelta(days=1)


class Authority:
    """Signs certificates; its own is in ``file``."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder, self._name, self._number = folder, x509.Name([_common(name)]), 1
        self._key = ec.generate_private_key(ec.SECP256R1())
        own = self._builder(self._name, self._key, -DAY, DAY)
        own = own.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(_pem(own.sign(self._key, hashes.SHA256())))

    def signs(
        self, name: str, address: str = "127.0.0.1", begins: timedelta = -DAY, ends: timedelta = DAY
    ) -> tuple[Path, Path]:
        """A certificate of an address and its key; valid from ``begins`` to ``ends`` from now on."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(x509.Name([_common(name)]), key, begins, ends)
        names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))])
        made = builder.add_extension(names, critical=False).sign(self._key, hashes.SHA256())
        files = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        files[0].write_bytes(_pem(made))
        files[1].touch(mode=0o600)
        files[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return files

    def _builder(
        self, name: x509.Name, key: ec.EllipticCurvePrivateKey, begins: timedelta, ends: timedelta
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        self._number += 1
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(self._number)
            .not_valid_before(now + begins)
            .not_valid_after(now + ends)
        )


def _common(name: str) -> x509.NameAttribute[str]:
    return x509.NameAttribute(x509.NameOID.COMMON_NAME, name)


def _pem(made: x509.Certificate) -> bytes:
    return made.public_bytes(serialization.Encoding.PEM)
