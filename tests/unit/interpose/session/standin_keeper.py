"""The real keeper's end of what programs say to it, in a thread of the test; there is no keeper behind it."""

from __future__ import annotations

import os
import selectors
import socket
import threading
from pathlib import Path

from jitc.proxy.keeper.process.programs import Programs


class FakeKeeper:
    """Gives every program the same memory, whatever its token is."""

    def __init__(self, service_socket: str) -> None:
        folder = Path(f"{service_socket}.d")
        folder.mkdir()
        self.memory = -1
        self.asked: list[bytes] = []  # tokens
        self.connected = 0  # so many times
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(folder / "programs"))
        self._listener.listen(16)
        self._selector = selectors.DefaultSelector()
        self.programs = Programs(self._listener, self._selector, self._memory)
        self._stop_read, self._stop_write = os.pipe()
        self._selector.register(self._stop_read, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _memory(self, token: bytes, prefix: str) -> int:
        self.asked.append(token)
        return self.memory

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    return
                if self._selector.get_map().get(key.fd) == key:
                    self.connected += key.fileobj is self._listener
                    key.data()

    def tickets(self) -> list[str]:
        """Of the programs that are connected."""
        return list(self.programs._programs)

    def stop(self) -> None:
        """Ends, and with it all connections."""
        if not self._thread.is_alive():
            return
        os.write(self._stop_write, b"x")
        self._thread.join()
        self.programs.close()
        self._selector.close()
        for descriptor in (self._stop_read, self._stop_write):
            os.close(descriptor)
