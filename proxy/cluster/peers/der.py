"""Reads whose a certificate is, and when it is valid. (Python's ssl says neither of a certificate that is not valid.)

Called by: identity.py, credentials.py, probe.py, certificates.py, admission.py. Promise: bytes that are no certificate
raise ValueError, whatever they are.
"""

from __future__ import annotations

import hashlib
import ssl
from dataclasses import dataclass
from datetime import datetime, timezone

from cryptography import x509
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Certificate:
    """A certificate, as far as it is read here."""

    der: bytes
    name: str  # the subject's common name
    begins: float
    ends: float

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.der).hexdigest()

    @property
    def pem(self) -> bytes:
        return ssl.DER_cert_to_PEM_cert(self.der).encode()


def from_pem(text: bytes) -> Certificate:
    """Returns the first certificate of a PEM file. Raises ValueError."""
    begin, end = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"
    start, stop = text.find(begin), text.find(end)
    if start < 0 or stop < start:
        raise ValueError("there is no certificate in it")
    return from_der(ssl.PEM_cert_to_DER_cert(text[start : stop + len(end)].decode("ascii")))


def from_der(data: bytes) -> Certificate:
    """Raises ValueError."""
    try:
        found = x509.load_der_x509_certificate(data)
        names = found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        name = str(names[0].value) if len(names) == 1 else ""
        begins, ends = found.not_valid_before_utc.timestamp(), found.not_valid_after_utc.timestamp()
    except Exception as error:  # of several kinds, each for another part
        raise ValueError(f"it is no certificate ({error or type(error).__name__})") from None
    return Certificate(data, name, begins, ends)


def day(seconds: float) -> str:
    """Returns a time as messages have it."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
