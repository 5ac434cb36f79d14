"""Makes the certificates of a cluster: its own authority (CA), and one certificate for each node.

Called by: `jitc cluster`. Promises: a file that is there is replaced only when asked (`renew`), and as a whole; a new
node's folder is there with all its files or not at all; when a file cannot be written, as on a full disk, what was
there before is there still; keys can be read by their owner alone.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from . import der
from .identity import AUTHORITY, CERTIFICATE, KEY
from .names import RULE, dns_name, is_name

AUTHORITY_DAYS, NODE_DAYS = 3650, 90
#: Certificates are valid from so long before they are made: clocks of nodes may be behind.
EARLY_SECONDS = 3600
AUTHORITY_KEY, NODES = "ca.key", "nodes"
_PUBLIC, _PRIVATE = 0o644, 0o600
_ANOTHER = "{} has a CA already; another one needs another folder (--folder)"


class CannotMake(Exception):
    """A certificate cannot be made; the text says why, and what to do."""


class Authority:
    """The folder of a CA: its certificate and key, and a folder for each node. now: the clock, in seconds since
    1970. Operations raise CannotMake or OSError."""

    def __init__(self, folder: Path, now: Callable[[], float] = time.time) -> None:
        self.folder, self._now = folder, now

    def create(self) -> der.Certificate:
        """Makes the CA, in a folder without one."""
        if self._there():
            raise CannotMake(_ANOTHER.format(self.folder))
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name(f"jitc cluster {secrets.token_hex(4)}")
        made = self._builder(name, name, key, self._now() + AUTHORITY_DAYS * 86400)
        usage = _usage(key_cert_sign=True, crl_sign=True)
        made = made.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True).add_extension(
            usage, critical=True
        )
        signed = _pem(made.sign(key, hashes.SHA256()))
        _publish(self.folder, {AUTHORITY_KEY: (_key_pem(key), _PRIVATE), AUTHORITY: (signed, _PUBLIC)})
        return der.from_pem(signed)

    def add(self, node: str) -> Path:
        """Makes a node's folder. Returns it."""
        if not is_name(node):
            raise CannotMake(f"{node[:100]!r} is no name of a node: {RULE}")
        place = self.node_folder(node)
        if place.exists():
            raise CannotMake(f"node {node} is there already, in {place}; `jitc cluster rotate {node}` renews it")
        files = self._signed(node)
        (self.folder / NODES).mkdir(mode=0o700, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".", dir=self.folder / NODES))
        try:
            for name, (data, mode) in files.items():
                _written(made, data, mode).rename(made / name)
            made.rename(place)  # which fails if another command has made it meanwhile
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
        return place

    def renew(self, node: str) -> Path:
        """Makes another certificate, and another key, for a node that is there. Returns its folder."""
        place = self.node_folder(node)
        if not is_name(node) or not place.is_dir():
            known = ", ".join(self.nodes()) or "none yet"
            raise CannotMake(f"there is no node {node[:100]!r} in {self.folder} (nodes: {known}); add it first")
        _replace(place, self._signed(node))
        return place

    def nodes(self) -> list[str]:
        """Returns the nodes that have a folder."""
        with contextlib.suppress(FileNotFoundError):
            return sorted(one.name for one in (self.folder / NODES).iterdir() if is_name(one.name) and one.is_dir())
        return []

    def node_folder(self, node: str) -> Path:
        return self.folder / NODES / node

    def _there(self) -> bool:
        return any(os.path.lexists(self.folder / name) for name in (AUTHORITY, AUTHORITY_KEY))

    def _signed(self, node: str) -> dict[str, tuple[bytes, int]]:
        """Returns the files of a node, with a new key, in the order in which they are replaced."""
        authority, signer = self._load()
        own = ec.generate_private_key(ec.SECP256R1())
        ends = min(self._now() + NODE_DAYS * 86400, authority.not_valid_after_utc.timestamp())
        made = self._builder(_name(node), authority.subject, own, ends)
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        for extension, critical in (
            (x509.BasicConstraints(ca=False, path_length=None), True),
            (_usage(digital_signature=True), True),
            (x509.ExtendedKeyUsage(both), False),
            (x509.SubjectAlternativeName([x509.DNSName(dns_name(node))]), False),
            (x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), False),
        ):
            made = made.add_extension(extension, critical=critical)
        signed = _pem(made.sign(signer, hashes.SHA256()))
        return {
            AUTHORITY: (_pem(authority), _PUBLIC), KEY: (_key_pem(own), _PRIVATE), CERTIFICATE: (signed, _PUBLIC),
        }  # fmt: skip

    def _builder(
        self, subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, ends: float
    ) -> x509.CertificateBuilder:
        made = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer)
        made = made.serial_number(x509.random_serial_number()).public_key(key.public_key())
        made = made.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        return made.not_valid_before(_date(self._now() - EARLY_SECONDS)).not_valid_after(_date(ends))

    def _load(self) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
        """Returns the CA and its key."""
        if not self._there():
            raise CannotMake(f"{self.folder} has no CA; `jitc cluster init` makes one")
        certificate, key = self.folder / AUTHORITY, self.folder / AUTHORITY_KEY
        try:
            found = x509.load_pem_x509_certificate(certificate.read_bytes())
            signer = serialization.load_pem_private_key(key.read_bytes(), None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise CannotMake(f"the CA in {self.folder} cannot be read: {error}; restore its two files") from None
        if not isinstance(signer, ec.EllipticCurvePrivateKey) or signer.public_key() != found.public_key():
            raise CannotMake(f"{key} is not the key of {certificate}; restore the file that belongs to the other one")
        if key.stat().st_mode & 0o077:
            raise CannotMake(f"{key} can be read by other users: `chmod 600 {key}`")
        if self._now() > found.not_valid_after_utc.timestamp():
            ended = der.day(found.not_valid_after_utc.timestamp())
            raise CannotMake(
                f"the CA in {self.folder} expired on {ended}; make another one with `jitc cluster init --folder`, and "
                "give all nodes certificates of it"
            )
        return found, signer


# -- forms ----------------------------------------------------------------------------------------


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _usage(*, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature, key_cert_sign=key_cert_sign, crl_sign=crl_sign, content_commitment=False,
        key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _date(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc).replace(microsecond=0)


def _pem(one: x509.Certificate) -> bytes:
    return one.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)


# -- files ----------------------------------------------------------------------------------------


def _written(folder: Path, data: bytes, mode: int) -> Path:
    """Returns a new file with a name of its own, which is on the disk."""
    number, name = tempfile.mkstemp(prefix=".", dir=folder)
    try:
        with open(number, "wb") as file:
            os.fchmod(number, mode)
            file.write(data)
            file.flush()
            os.fsync(number)
    except BaseException:
        os.unlink(name)
        raise
    return Path(name)


@contextlib.contextmanager
def _all_written(folder: Path, files: dict[str, tuple[bytes, int]]) -> Iterator[dict[str, Path]]:
    """Surrounds the use of new files that are on the disk, by the names that they are meant for; then removes those
    that are left."""
    written: dict[str, Path] = {}
    try:
        for name, (data, mode) in files.items():
            written[name] = _written(folder, data, mode)
        yield written
    finally:
        for file in written.values():
            file.unlink(missing_ok=True)


def _replace(folder: Path, files: dict[str, tuple[bytes, int]]) -> None:
    with _all_written(folder, files) as written:
        for name, file in written.items():
            file.replace(folder / name)


def _publish(folder: Path, files: dict[str, tuple[bytes, int]]) -> None:
    """Makes new files: all of them, or none where one of these names is taken. Raises CannotMake."""
    made: list[Path] = []
    try:
        with _all_written(folder, files) as written:
            for name, file in written.items():
                os.link(file, folder / name)
                made.append(folder / name)
    except BaseException as error:
        for one in made:
            one.unlink()
        if isinstance(error, FileExistsError):
            raise CannotMake(_ANOTHER.format(folder)) from None
        raise
