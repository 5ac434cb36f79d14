"""Certificates for tests of TLS, and an authority that signs them.

Called by: tests of engines. Promises: keys are new for each test; certificates are those of 127.0.0.0/8's first nodes.
"""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from toolkit.etcd import Tls

#: Addresses of toolkit's nodes of loopback.
ADDRESSES = [f"127.0.0.{number}" for number in (1, 11, 12, 13)]
DAY = datetime.timedelta(days=1)


class Authority:
    """An authority with files in a folder."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        builder = _builder(self._name, self._name, self._key, 1)
        self.ca = folder / f"{name}.pem"
        self._certificate = builder.add_extension(x509.BasicConstraints(True, None), True).sign(
            self._key, hashes.SHA256()
        )
        self.ca.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def sign(self, name: str, addresses: list[str] | None = None, days: int = 1, mutual: bool = False) -> Tls:
        """Returns the files of a new certificate for these addresses; days: negative ones are over."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.IPAddress(ipaddress.ip_address(one)) for one in addresses or ADDRESSES]
        builder = _builder(_named(name), self._name, key, days)
        certificate = builder.add_extension(x509.SubjectAlternativeName(names), False).sign(self._key, hashes.SHA256())
        files = Tls(self.ca, self._folder / f"{name}.pem", self._folder / f"{name}.key", mutual)
        files.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        form = serialization.PrivateFormat.PKCS8
        files.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
        return files


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 10 * DAY)
        .not_valid_after(now + days * DAY)
    )
