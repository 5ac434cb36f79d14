"""The files with which the store is reached by TLS: the authority that is trusted, and a certificate with its key.

Called by: calls.py. Thread-safe. Promises: files that are replaced are used soon, together or not at all; files that
cannot be used change nothing but one line in the log; where there were none better, no connection is made (`trouble`).
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import grpc

from ...locations import Options


class _Unusable(Exception):
    """Files can be read, and are no certificates, or do not belong together."""


class Files:
    """The files of the options, and what gRPC makes of them (`secret`; None: no TLS is wanted)."""

    def __init__(self, options: Options, report: Callable[[str], None]) -> None:
        """report: receives a line for an operator. Raises ValueError for a file that cannot be read."""
        self._options, self._report = options, report
        self._paths = [one for one in (options.ca, options.key, options.certificate) if one]
        self._one_reads = threading.Lock()
        self._seen = self._state()  # of the files that were read last
        self.secret: grpc.ChannelCredentials | None = None
        #: Why there is no secret although one is wanted; empty: there is one, or no TLS.
        self.trouble = ""
        try:
            self.secret = _read(options) if self._paths else None
        except _Unusable as error:
            self.trouble = str(error)

    def look(self) -> bool:
        """Reads the files if they have changed. Returns whether `secret` is another one now."""
        if not self._paths or not self._one_reads.acquire(blocking=False):
            return False
        try:
            return self._look()
        finally:
            self._one_reads.release()

    def _look(self) -> bool:
        state = self._state()
        if state == self._seen:
            return False
        found, trouble = self.secret, ""
        try:
            found = _read(self._options)
        except (ValueError, _Unusable) as error:
            trouble = str(error)
        if self._state() != state:  # they are being replaced: the next look will see the rest
            return False
        self._seen = state
        self.trouble = "" if found else trouble
        if trouble and found:
            self._report(f"goes on with the certificates for the store that it has: {trouble}")
        renewed, self.secret = found is not self.secret, found
        return renewed

    def _state(self) -> object:
        return [_state(Path(one)) for one in self._paths]


def _read(options: Options) -> grpc.ChannelCredentials:
    """Raises ValueError for a file that cannot be read, _Unusable."""
    ca, key, certificate = (_content(one) for one in (options.ca, options.key, options.certificate))
    tried = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tried.set_ciphers("DEFAULT:@SECLEVEL=0")  # how strong a key must be is for gRPC to say
    try:
        if options.ca:
            tried.load_verify_locations(options.ca)
    except (ssl.SSLError, OSError) as error:
        raise _Unusable(f"{options.ca} has no certificate in PEM ({_why(error)}): check --cluster-ca") from None
    try:
        if options.certificate:
            tried.load_cert_chain(options.certificate, options.key, password="")
    except (ssl.SSLError, OSError) as error:
        raise _Unusable(
            f"{options.key} is not the key of {options.certificate}, or one of them is not in PEM ({_why(error)}): "
            "check --cluster-cert and --cluster-key"
        ) from None
    return grpc.ssl_channel_credentials(ca, key, certificate)


def _content(path: str) -> bytes | None:
    if not path:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from None


def _why(error: OSError) -> str:
    return str(getattr(error, "reason", "") or error.strerror or error)


def _state(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size
