"""The meaning of a failed call of etcd's: whether the request can have had an effect, and what to do about it.

Called by: calls.py, watch.py. Pure. Promises: a request is taken for one without effect only if etcd, or gRPC, says so;
texts have one line.
"""

from __future__ import annotations

import enum
import re

import grpc

from .....common.printable import printable

#: Under which all keys of jitc lie, so that an etcd may serve others as well.
ROOT = "jitc/"


class Kind(enum.Enum):
    """Kinds of failures, by what to do after them."""

    LOST = "the request may have had an effect; another member may answer"
    UNSENT = "the request had no effect; another member may answer"
    LOGIN = "the token is not, or no longer, valid: the request had no effect"
    NO_LOGIN = "etcd knows no users: none is needed"
    OTHER = "another cluster has answered"
    NO_LEASE = "the lease is over: the request had no effect"
    REFUSED = "every member would say the same: the request had no effect"


class Failure(Exception):
    """A call that one member has not served."""

    def __init__(self, kind: Kind, text: str) -> None:
        super().__init__(text)
        self.kind = kind


#: Part of etcd's text, or gRPC's -> what it means, and what to do.
_ANSWERS = (
    ("database space exceeded", Kind.REFUSED, "etcd has no space left and takes no writes: compact and defragment it, "
     "then run `etcdctl alarm disarm`"),
    ("permission denied", Kind.REFUSED, "etcd's user has no permission: grant its role one to read and write the "
     f"prefix (`etcdctl role grant-permission ROLE --prefix=true readwrite {ROOT}`)"),
    ("authentication failed", Kind.REFUSED, "etcd does not accept the user and the password: check --cluster-user"),
    ("user name is empty", Kind.REFUSED, "etcd wants a user: give --cluster-user and its password"),
    ("authentication is not enabled", Kind.NO_LOGIN, "etcd knows no users"),
    ("invalid auth token", Kind.LOGIN, "the token has expired"),
    ("revision of auth store is old", Kind.LOGIN, "etcd's users have changed"),
    ("requested lease not found", Kind.NO_LEASE, "the store has forgotten the lease"),
    ("request is too large", Kind.REFUSED, "etcd's --max-request-bytes is too small for this transaction"),
    ("too many operations", Kind.REFUSED, "etcd's --max-txn-ops is too small for this transaction"),
    ("message larger than max", Kind.REFUSED, "the entries that were asked for are too large for one answer"),
    ("corrupt cluster", Kind.REFUSED, "etcd's members have different data (alarm CORRUPT): restore one from a backup"),
    ("ping timeout", Kind.LOST, "no answer in time"),
    ("no leader", Kind.UNSENT, "it knows no leader"),
    ("too many requests", Kind.UNSENT, "it has too many requests"),
    ("not supported for learner", Kind.UNSENT, "it is a learner"),
)  # fmt: skip
#: Part of gRPC's text, where no connection could be made -> what to do.
_CONNECTIONS = (
    ("CERTIFICATE_VERIFY_FAILED", "its certificate is not one of --cluster-ca's, or has expired"),
    ("Hostname Verification", "its certificate is of another host"),
    ("before receiving SETTINGS", "it takes connections and says nothing"),
    ("lookup", "its name cannot be resolved"),
    ("Handshake read failed", "it does not speak TLS: leave out --cluster-ca, or give etcd a certificate"),
    ("Unwrap failed", "it does not accept the certificate, or wants one: check --cluster-cert and --cluster-key"),
    ("Socket closed", "it closes the connection at once; if it wants TLS, give --cluster-ca"),
    ("Connection refused", "connection refused"),
)
_NOT_CONNECTED = ("failed to connect to all addresses", "DNS resolution failed", "errors resolving")


def judge(error: grpc.RpcError) -> Failure:
    """Returns what the failure of a call means."""
    call: grpc.Call = error  # type: ignore[assignment]
    details = str(call.details() or "")
    if found := _answered(details):
        return found
    if any(one in details for one in _NOT_CONNECTED):
        return Failure(Kind.UNSENT, _connection(details))
    if call.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        return Failure(Kind.LOST, "no answer in time")
    if call.code() is grpc.StatusCode.UNIMPLEMENTED:
        return Failure(Kind.UNSENT, f"it is no etcd that jitc can use (3.4 or newer): {_one_line(details)}")
    if call.code() is grpc.StatusCode.INVALID_ARGUMENT:
        return Failure(Kind.REFUSED, f"etcd does not accept the request: {_one_line(details)}")
    return Failure(Kind.LOST, f"{_one_line(details)} ({call.code().name})")


def judge_reason(reason: str) -> Failure:
    """Returns what it means that etcd ends a watch for this reason."""
    return _answered(reason) or Failure(Kind.LOST, f"it has ended the watch: {_one_line(reason) or 'no reason given'}")


def _answered(details: str) -> Failure | None:
    return next((Failure(kind, text) for part, kind, text in _ANSWERS if part in details), None)


def _connection(details: str) -> str:
    for part, text in _CONNECTIONS:
        if part in details:
            return text
    found = re.search(r"last error: (?:\w+: )?(.*)", details, re.DOTALL)
    return "no connection: " + _one_line(found[1] if found else details)


def _one_line(text: str) -> str:
    return printable(" ".join(text.removeprefix("etcdserver: ").split()))
