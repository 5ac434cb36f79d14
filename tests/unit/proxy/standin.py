"""A worker whose executor is a stand-in in Python: real processes, sockets and shared memory, no device.

Run by the service under test in place of `python -m jitc.proxy.worker`. An op is a JSON line {"seq", "op", ...};
the device's whole state is one number. Ops: add (value), get (answers the number), step, boundary (copies the number;
"alone": it belongs with none of other sessions, and no other is kept),
fail (an error, always), join (a communicator), gate (runs once the file is there), starve (the kernel ends the worker,
as far as the file that counts such ends can tell, until it has done so `times` times). An op with "traps" makes that
many recoveries lose the worker again. The journal is in the session's shared memory, so it outlives this process.
"""

from __future__ import annotations

import json
import mmap
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # workers run with PYTHONSAFEPATH
from standin_stream import Owners, serve_op_streams

from jitc.proxy.common import host_memory
from jitc.proxy.common.executor import ExecutorError, JoinRefused
from jitc.proxy.worker.__main__ import serve

SIZE = 1 << 20


class Shared:
    """A JSON document in shared memory."""

    def __init__(self, path: str) -> None:
        fd = os.open(path, os.O_RDWR)
        self._map = mmap.mmap(fd, SIZE)
        os.close(fd)

    def load(self) -> Any:
        size = int.from_bytes(self._map[:8], "little")
        return json.loads(self._map[8 : 8 + size]) if size else {}

    def store(self, document: Any) -> None:
        data = json.dumps(document).encode()
        self._map[: 8 + len(data)] = len(data).to_bytes(8, "little") + data


#: Collectives that no other session has made.
ALONE = 1000


def tally(boundary: int, alone: bool = False) -> dict[str, Any]:
    """What came before it: sessions make the same steps, each with a collective."""
    collectives = boundary + 1 + ALONE * alone
    return {"memberships": [{"communicator": 1, "rank": -1, "left": False, "collectives": collectives}]}


def starve(file: Path, times: int) -> None:
    count = int(file.read_text().split()[-1])
    if count < times:
        file.write_text(f"oom 3\noom_kill {count + 1}\n")
        os.kill(os.getpid(), signal.SIGKILL)


class StandinSession:
    def __init__(self, request: dict[str, Any]) -> None:
        self.number = request["session"]
        self.journal, self.snapshot = Shared(request["journal_path"]), Shared(request["snapshot_path"])
        self.ops: list[dict[str, Any]] = self.journal.load().get("ops", []) if request["rebuild"] else []
        self.fenced = request["rebuild"]
        self.broken = False
        self.cursor = len(self.ops)  # ops executed
        self.value, self.lost = 0, bool(request["rebuild"])
        self.owed: list[bytes] = []  # results and errors, told again to a client that comes back
        self.out: queue.Queue[bytes | None] = queue.Queue()

    def received(self) -> int:
        return int(self.ops[-1]["seq"]) if self.ops else 0

    def boundary(self) -> int:
        return self.kept()[-1]

    def kept(self) -> list[int]:
        """All boundaries, from the start on, or the one that is alone."""
        copies = self.snapshot.load()
        return sorted(int(one) for one in copies if copies[one].get("alone")) or sorted({0, *map(int, copies)})

    def tally(self, boundary: int) -> dict[str, Any]:
        return tally(boundary, self.snapshot.load().get(str(boundary), {}).get("alone", False))

    def tell(self, document: dict[str, Any]) -> None:
        message = json.dumps(document).encode()
        self.owed.append(message)
        self.out.put(message)

    def prepare(self, alone: bool) -> None:
        """A boundary: copies of all of them are kept."""
        copy = {"value": self.value, "cursor": self.cursor, "alone": alone}
        self.snapshot.store(self.snapshot.load() | {str(self.boundary() + 1): copy})


class StandinExecutor:
    def __init__(self, options: Any, control: Any) -> None:
        self.control = control
        self.sessions: dict[int, StandinSession] = {}
        self.armed: list[dict[str, Any]] = []
        self.lock = threading.RLock()
        self.owners = Owners()
        self.server = serve_op_streams(options["op_socket"], self, self.owners)

    def open_session(self, request: dict[str, Any]) -> None:
        if request["session"] in self.sessions:
            raise ExecutorError(f"session {request['session']} is open already")
        self.sessions[request["session"]] = StandinSession(request)
        self.owners.add(request["token"], request["session"])

    def close_session(self, session: int) -> None:
        self.owners.remove(session)
        self.sessions.pop(session, None)

    def attach(self, session: int, received: int) -> None:
        with self.lock:
            one = self.sessions[session]
            one.out = queue.Queue()
            for message in (json.dumps({"ack": one.received()}).encode(), *one.owed):
                one.out.put(message)

    def detach(self, session: int) -> None:
        if session in self.sessions:
            self.sessions[session].out.put(None)

    def poller(self, session: int, timeout_ms: int) -> Callable[[], bytes | None]:
        out = self.sessions[session].out
        return out.get

    def submit(self, session: int, batch: bytes) -> None:
        with self.lock:
            one = self.sessions[session]
            try:
                op = json.loads(batch)
            except ValueError:
                raise ExecutorError("malformed batch") from None
            if op["seq"] <= one.received():
                return
            one.ops.append(op)
            one.journal.store(one.journal.load() | {"ops": one.ops})
            self.execute(one)

    def execute(self, one: StandinSession) -> None:
        while not one.fenced and not one.broken and one.cursor < len(one.ops):
            op = one.ops[one.cursor]
            if self.fires(one, op):
                return
            if op["op"] == "gate" and not os.path.exists(op["path"]):
                threading.Thread(target=self.opens, args=(one, op["path"]), daemon=True).start()
                return
            one.cursor += 1
            if op["op"] == "add":
                one.value += op["value"]
            elif op["op"] == "boundary":
                one.prepare(op.get("alone", False))
            elif op["op"] == "starve":
                starve(Path(op["file"]), op["times"])
            elif op["op"] == "get":
                one.tell({"seq": op["seq"], "value": one.value})
            elif op["op"] == "join":
                self.join(one, op)

    def join(self, one: StandinSession, op: dict[str, Any]) -> None:
        unique_id = bytes([op.get("id", 0)]) * 128
        try:
            joined = self.control.join(one.number, unique_id, op.get("ranks", 2), op["rank"], self.epoch)
            segment = os.fstat(joined.descriptor)
            os.close(joined.descriptor)
            one.tell({"seq": op["seq"], "segment": segment.st_ino, "size": joined.size, "there": segment.st_size})
        except JoinRefused as refusal:
            one.tell({"seq": op["seq"], "status": refusal.status, "refusal": str(refusal)})

    def opens(self, one: StandinSession, path: str) -> None:
        while not os.path.exists(path):
            threading.Event().wait(0.01)
        self.resumed(one)

    def fires(self, one: StandinSession, op: dict[str, Any]) -> bool:
        if op["op"] == "fail":
            self.fault(one, op, op.get("cause", "operator-error"))
            return True
        if not self.armed:
            return False
        fault = self.armed.pop(0)
        self.control.fault_fired(int(fault.get("number", 0)), f"{fault['kind']} at op {op['seq']}")
        if fault["kind"] == "kill-worker":
            os.kill(os.getpid(), signal.SIGKILL)
        self.fault(one, op, fault["kind"])
        return True

    def fault(self, one: StandinSession, op: dict[str, Any], cause: str) -> None:
        one.broken = True
        threading.Thread(target=self.control.fault, args=(one.number, op["seq"], 700, cause, "it failed")).start()

    epoch = 0

    def command(self, method: str, request: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            return getattr(self, f"do_{method.lower()}")(request)

    def do_stats(self, _: Any) -> dict[str, Any]:
        return {
            "memory_used": 7,
            "sessions": [
                {"session": n, "executed": one.cursor, "boundary": one.boundary(), "journal_bytes": len(one.ops)}
                for n, one in self.sessions.items()
            ],
        }

    def do_arm(self, request: Any) -> dict[str, Any]:
        self.armed.append(request["fault"])
        return {}

    def do_fence(self, request: Any) -> dict[str, Any]:
        one = self.sessions[request["session"]]
        one.fenced = True
        kept = [{"number": number, "tally": one.tally(number)} for number in one.kept()]
        history = {"kept": kept, "now": one.tally(one.boundary())}
        return {
            "prepared": one.boundary(), "executed": one.cursor, "received": one.received(), "history": history
        }  # fmt: skip

    def do_rollback(self, request: Any) -> dict[str, Any]:
        one = self.sessions[request["session"]]
        self.trap(one)
        copies = one.snapshot.load()
        saved = copies.get(str(request["boundary"]), {"value": 0, "cursor": 0})
        one.snapshot.store({number: copy for number, copy in copies.items() if int(number) <= request["boundary"]})
        one.value, one.cursor, one.lost = saved["value"], saved["cursor"], False
        return {"complete": True, "bytes": 8, "missing": [], "tally": one.tally(one.boundary())}

    def trap(self, one: StandinSession) -> None:
        """Dies during this many recoveries, if an op said so."""
        document = one.journal.load()
        traps = document.get("traps", sum(op.get("traps", 0) for op in one.ops))
        if traps:
            one.journal.store(document | {"traps": traps - 1})
            os.kill(os.getpid(), signal.SIGKILL)

    def do_resume(self, request: Any) -> dict[str, Any]:
        one = self.sessions[request["session"]]
        assert not one.lost
        self.epoch = request["epoch"]
        one.fenced = one.broken = False
        threading.Thread(target=self.resumed, args=(one,)).start()
        return {}

    def resumed(self, one: StandinSession) -> None:
        with self.lock:
            self.execute(one)

    def do_abandon(self, request: Any) -> dict[str, Any]:
        one = self.sessions[request["session"]]
        one.tell({"fault": request["status"], "message": request["message"]})
        return {}

    def do_setpolicy(self, _: Any) -> dict[str, Any]:
        return {}

    def do_boundarytable(self, _: Any) -> dict[str, Any]:
        raise ExecutorError("not measured")


if __name__ == "__main__":
    if machine := os.environ.get("JITC_TEST_MACHINE"):
        host_memory.PROC, host_memory.CGROUPS = Path(machine) / "proc", Path(machine) / "cgroup"
    sys.exit(serve(lambda _: "", StandinExecutor))  # type: ignore[arg-type]
