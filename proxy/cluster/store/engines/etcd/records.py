"""Keys, entries and changes in the form that etcd's requests and answers have.

Called by: engine.py, watch.py. Pure. Promise: all keys lie under ROOT, in whose place callers see nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jitc.etcd import rpc_pb2

from ...engine import Change, Entry
from .errors import ROOT
from .revisions import Mark


def request_of(key: str) -> Any:
    """Returns the request for one key."""
    return rpc_pb2.RangeRequest(key=_place(key))


def prefix_request(prefix: str, limit: int) -> Any:
    """Returns the request for all keys that begin so."""
    return rpc_pb2.RangeRequest(key=_place(prefix), range_end=_end(prefix), limit=limit)


def watch_request(prefix: str, revision: int) -> Any:
    """Returns the request for all changes under a prefix from a revision on."""
    create = rpc_pb2.WatchCreateRequest(key=_place(prefix), range_end=_end(prefix), start_revision=revision)
    return rpc_pb2.WatchRequest(create_request=create)


def transaction(changes: Sequence[Change], mark: Mark) -> Any:
    """Returns the transaction that makes the changes, or reads their keys."""
    return rpc_pb2.TxnRequest(
        compare=[
            rpc_pb2.Compare(target=rpc_pb2.Compare.MOD, key=_place(one.key), mod_revision=mark.of_etcd(one.expected))
            for one in changes
        ],
        success=[_operation(one) for one in changes],
        failure=[rpc_pb2.RequestOp(request_range=request_of(one.key)) for one in changes],
    )


def entry_of(kv: Any, base: int) -> Entry:
    """Returns an entry; base: of its revision."""
    return Entry(kv.value, base + kv.mod_revision, f"{kv.lease:x}" if kv.lease else "")


def entries_of(kvs: Iterable[Any], base: int) -> dict[str, Entry]:
    return {_key(one): entry_of(one, base) for one in kvs}


def applied(entries: Mapping[str, Entry], events: Iterable[Any], base: int) -> dict[str, Entry]:
    """Returns the entries after these events of a watch."""
    found = dict(entries)
    for one in events:
        if one.type == rpc_pb2.Event.DELETE:
            found.pop(_key(one.kv), None)
        else:
            found[_key(one.kv)] = entry_of(one.kv, base)
    return found


def lease_number(lease: str) -> int:
    """Returns etcd's number of a lease. Raises ValueError for a text that names none."""
    return int(lease, 16)


def _operation(one: Change) -> Any:
    if one.value is None:
        return rpc_pb2.RequestOp(request_delete_range=rpc_pb2.DeleteRangeRequest(key=_place(one.key)))
    put = rpc_pb2.PutRequest(key=_place(one.key), value=one.value, lease=lease_number(one.lease or "0"))
    return rpc_pb2.RequestOp(request_put=put)


def _place(key: str) -> bytes:
    return (ROOT + key).encode()


def _key(kv: Any) -> str:
    """Returns the key as callers know it. Bytes that are no text are shown as such."""
    return bytes(kv.key).decode(errors="backslashreplace").removeprefix(ROOT)


def _end(prefix: str) -> bytes:
    """Returns the first key behind the prefix; no byte of a text is 0xff."""
    place = _place(prefix)
    return place[:-1] + bytes([place[-1] + 1])
