"""The data path of the bridge, libjitc_executor.so's, for Python: a typed ctypes binding of bridge_api.h.

Called by: the bridge process (`__main__.py`), whose streams and control calls use it as `Mirror`. Promises: every call
releases the GIL while it is in the library; a failure is a BridgeError, or Malformed, with the library's own text; of
the calls only collect waits.
"""

from __future__ import annotations

import ctypes
import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..common import paths
from .mirror import Malformed

#: Bytes of frames that one call of collect returns at most: a box of a collective, and what comes beside it.
ROOM = 2 << 20


class BridgeError(Exception):
    """An error with the library's own text about a call that it refused."""


@functools.cache
def _load(path: Path) -> ctypes.CDLL:
    lib = paths.opened(path)
    handle, text, u32, u64, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "jitc_bridge_create": (handle, [text]),
        "jitc_bridge_destroy": (None, [handle]),
        "jitc_bridge_message": (text, []),
        "jitc_bridge_link": (ctypes.c_int, [handle, text]),
        "jitc_bridge_unlink": (ctypes.c_int, [handle, u64]),
        "jitc_bridge_mirror": (ctypes.c_int, [handle, text]),
        "jitc_bridge_collect": (ctypes.c_int64, [handle, u32, ctypes.c_void_p, size, ctypes.c_int]),
        "jitc_bridge_apply": (ctypes.c_int, [handle, u32, ctypes.c_char_p, size]),
        "jitc_bridge_cut": (ctypes.c_int, [handle, u32, text]),
        "jitc_bridge_counters": (ctypes.c_int, [handle, ctypes.POINTER(ctypes.c_void_p)]),
        "jitc_bridge_release": (None, [ctypes.c_void_p]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


class Bridge:
    """The segments and the board of this node, as other nodes see them. Any thread; of collect and apply, those for one
    peer come one after the other. Raises BridgeError."""

    def __init__(self, library: Path, board: str) -> None:
        """board: the path of the node's board."""
        self._lib = _load(library)
        handle = self._lib.jitc_bridge_create(board.encode())
        if not handle:
            raise BridgeError(self._message())
        self._handle = ctypes.c_void_p(handle)
        self._buffers: dict[int, ctypes.Array[ctypes.c_char]] = {}  # by peer

    def close(self) -> None:
        """Ends it, once no other thread uses it: ranks of linked communicators cannot reach the others any more."""
        handle, self._handle = self._handle, ctypes.c_void_p()
        if handle:
            self._lib.jitc_bridge_destroy(handle)

    def link(self, description: Mapping[str, Any]) -> None:
        """Links a communicator with ranks on other nodes. description: of jitc_bridge_link."""
        self._check(self._lib.jitc_bridge_link(self._open(), json.dumps(description).encode()))

    def unlink(self, link: int) -> None:
        """Unlinks it, if it is linked; what its ranks published before is still collected."""
        self._check(self._lib.jitc_bridge_unlink(self._open(), link))

    def show(self, slots: Mapping[str, Any]) -> None:
        """Sets which slots of the board are shown to whom, and which show sessions of others. slots: of
        jitc_bridge_mirror. When it returns, nothing of an earlier epoch is written any more."""
        self._check(self._lib.jitc_bridge_mirror(self._open(), json.dumps(slots).encode()))

    def collect(self, peer: int, milliseconds: int) -> bytes:
        """Returns frames for the peer; waits for some, up to the time. Empty: there are none."""
        buffer = self._buffers.get(peer) or self._buffers.setdefault(peer, ctypes.create_string_buffer(ROOM))
        size: int = self._lib.jitc_bridge_collect(self._open(), peer, buffer, ROOM, milliseconds)
        self._check(size)
        return ctypes.string_at(buffer, size) if size else b""

    def apply(self, peer: int, frames: bytes) -> None:
        """Takes frames that have come from the peer. Raises Malformed: then the connection must be ended."""
        if self._lib.jitc_bridge_apply(self._open(), peer, frames, len(frames)) < 0:
            raise Malformed(self._message())

    def cut(self, peer: int, why: str) -> None:
        """Notes that the connection with the peer is over: collectives with its ranks fail, with the reason."""
        self._check(self._lib.jitc_bridge_cut(self._open(), peer, why.encode()))

    def counters(self) -> dict[str, Any]:
        """Returns the number of links, and frames and bytes by peer and kind (jitc_bridge_counters)."""
        reply = ctypes.c_void_p()
        self._check(self._lib.jitc_bridge_counters(self._open(), ctypes.byref(reply)))
        try:
            found: dict[str, Any] = json.loads(ctypes.string_at(reply))
        finally:
            self._lib.jitc_bridge_release(reply)
        return found

    def _open(self) -> ctypes.c_void_p:
        if not self._handle:
            raise BridgeError("this bridge was closed")
        return self._handle

    def _check(self, code: int) -> None:
        if code < 0:
            raise BridgeError(self._message())

    def _message(self) -> str:
        text: bytes = self._lib.jitc_bridge_message() or b""
        return text.decode(errors="replace")
