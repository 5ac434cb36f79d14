"""jitc-proxyd that prints a line when it has given its status, and when a call begins to wait for something: so a test
knows the moment at which it may stop the service."""

from __future__ import annotations

import sys
import threading
from typing import Any

from jitc.proxy.commands import proxyd
from jitc.proxy.node.api import admin

status, wait = admin.AdminService.Status, admin._wait


def announced_status(service: admin.AdminService, request: Any, context: Any) -> Any:
    reply = status(service, request, context)
    print("announced: status", flush=True)
    return reply


def announced_wait(done: threading.Event, wait_ms: float, context: Any) -> None:
    print("announced: waits", flush=True)
    wait(done, wait_ms, context)


if __name__ == "__main__":
    admin.AdminService.Status = announced_status  # type: ignore[method-assign]
    admin._wait = announced_wait
    sys.exit(proxyd.main())
