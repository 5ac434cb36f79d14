"""Which variables of the environment go to the service with a new session, and what is said of those that do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from standin_node import Node

Start = Callable[..., Any]
#: Read by the libraries, so that it is a program's to say.
SENT = {
    "NCCL_SOCKET_IFNAME": "=eth0",
    "NCCL_IB_HCA": "",
    "CUDA_DEVICE_MAX_CONNECTIONS": "1",
    "NVIDIA_TF32_OVERRIDE": "0",
    "CUDA_MODULE_LOADING": "EAGER",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
}
#: Nobody's matter, jitc's own, or the name of a file or library.
KEPT = {
    "LD_LIBRARY_PATH": "/nowhere", "PYTHONPATH": "/nowhere", "CUDA_VISIBLE_DEVICES": "0", "CUDA_CACHE_PATH": "/nowhere",
    "NCCL_HOSTID": "a", "NCCL_COMM_ID": "127.0.0.1:1", "NCCL_NET_PLUGIN": "x", "NCCL_DEBUG_FILE": "x",
    "NCCL_CUDA_PATH": "x", "NCCL_lower": "x", "XNCCL_ALGO": "x", "CUDA_INJECTION64_PATH": "x",
}  # fmt: skip


def test_they_go_with_a_new_session(node: Node, client: Start) -> None:
    """Also those that the program sets itself after its start; and not again when it asks where the session is."""
    program = client(
        "os.environ['NCCL_ALGO'] = 'Ring'\nsession = Session()\ntold(session.call(b'a')[0])\ngo()\n"
        "told(session.call(b'b')[0])",
        **SENT,
        **KEPT,
    )
    assert program.hear() == "0"
    node.stop_worker()
    node.start_worker()
    program.go()
    assert program.finish() == ("0", "")
    first, *later = node.attached
    assert dict(first.environment) == SENT | {"NCCL_ALGO": "Ring"}
    assert later and not any(one.environment for one in later)


def test_what_is_too_much_is_named_once(node: Node, client: Start) -> None:
    more = {f"NCCL_Z{number:02}": "1" for number in range(64)}
    strange = {"NCCL_LONG": "x" * 513, "NCCL_LINES": "a\nb", "NCCL_LATIN": "\xe9", "NCCL_ALGO": "Ring"}
    _, said = client("Session()\nSession(1)", **more, **strange).finish()
    first, second = (dict(one.environment) for one in node.attached)
    assert first == second == {"NCCL_ALGO": "Ring"} | {name: "1" for name in sorted(more)[:63]}
    (line,) = said.splitlines()
    assert "NCCL_LATIN, NCCL_LINES, NCCL_LONG, NCCL_Z63" in line and "jitc-proxyd itself" in line
    node.attached.clear()
    large = {f"NCCL_Z{number:02}": "x" * 500 for number in range(9)}
    _, said = client("Session()", **large).finish()
    assert len(node.attached[0].environment) == 8 and "NCCL_Z08" in said


def test_a_default_says_nothing(node: Node, client: Start) -> None:
    """PyTorch sets it in every program; that is no wish."""
    client("Session()", CUDA_MODULE_LOADING="LAZY").finish()
    assert not node.attached[0].environment
