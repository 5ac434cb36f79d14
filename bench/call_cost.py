"""Client-side cost of an asynchronous and a synchronous CUDA call, against a bare gRPC stream round trip.

The loop is C++ (native/call_cost.cpp): an asynchronous call is too short to be timed from Python. Bare round trips are
made in the same loop, warm, to a server in C++ (the floor, native/echo_server.cpp) and to one in Python.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from common import LIBRARIES, ROOT, finish, interposed_program, linked_program, parser, summary, workplace

ASYNC_GOAL_US, QUERY_GOAL_US, NEWS_GOAL_US, SYNC_GOAL = 2.0, 1.0, 5.0, 1.2
TRANSPORT = str(LIBRARIES / "libjitc_transport.so")


@contextmanager
def running(command: list[str], env: dict[str, str]) -> Iterator[None]:
    """A server that says when it is ready, and ends with its standard input."""
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        assert server.stdout.readline() == b"ready\n"
        yield
    finally:
        server.stdin.close()
        server.wait(10)
        server.stdout.close()


def measure(rounds: int) -> dict[str, dict[str, float]]:
    program, native = interposed_program("call_cost"), linked_program("echo_server", "echo_server")
    with workplace("call_cost") as place, ExitStack() as servers:
        service = place.service(1)
        sockets = [str(place.folder / f"{name}.sock") for name in ("python", "native")]
        echo = str(ROOT / "bench" / "native" / "echo_server.py")
        servers.enter_context(running([sys.executable, echo, sockets[0]], place.env))
        servers.enter_context(running([str(native), TRANSPORT, sockets[1]], place.env))
        env = {**service.env, "LD_PRELOAD": str(LIBRARIES / "libjitc_interpose.so")}
        command = [str(program), str(rounds), TRANSPORT, *sockets]
        done = subprocess.run(command, env=env, check=True, capture_output=True, text=True, timeout=300)
    figures = {}
    for line in done.stdout.splitlines():
        name, *values = line.split(",")
        figures[name] = summary([int(value) / 1000 for value in values])
        print(f"{name:<14} median {figures[name]['median']:9.2f} us   90 % {figures[name]['high']:9.2f} us")
    return figures


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=500)
    args = arguments.parse_args()
    figures = measure(args.rounds)

    def slowest(*names: str) -> float:
        return max(figures[name]["median"] for name in names)

    calls, queries = slowest("memset", "copy", "record", "wait event"), slowest("query", "query stream")
    ratio, python = (slowest("read", "synchronize") / slowest(echo) for echo in ("echo", "echo python"))
    print(f"synchronous call / bare round trip = {ratio:.3f} (C++), {python:.3f} (Python)")
    news = slowest("query news", "wait for news")
    print(f"query or wait, of work that is over and not yet known to be, {news:.2f} us")
    print(f"slowest asynchronous call {calls:.2f} us, query of what is done {queries:.3f} us")
    met = {
        f"asynchronous call at most {ASYNC_GOAL_US} us": calls <= ASYNC_GOAL_US,
        f"query of what is done at most {QUERY_GOAL_US} us": queries <= QUERY_GOAL_US,
        f"query or wait of work that is over at most {NEWS_GOAL_US} us": news <= NEWS_GOAL_US,
        f"synchronous call at most {SYNC_GOAL} times a bare round trip (C++)": ratio <= SYNC_GOAL,
    }
    return finish(args, {**figures, "ratio": ratio, "ratio python": python}, met)


if __name__ == "__main__":
    sys.exit(main())
