"""Programs with a planted race, each named on the command line, and what they should have done (`right`).

Run by test_order.py. The lines that must be reported are marked `first` and `second`, with the race's name.
"""

from __future__ import annotations

import queue
import sys
import threading
import types

import torch

N = 1 << 16


def missing_wait() -> None:
    side, x = torch.cuda.Stream(), torch.zeros(N, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        x.add_(1)  # first missing_wait
    (x * 2).sum().item()  # second missing_wait


def wrong_stream() -> None:
    side, x = torch.cuda.Stream(), torch.zeros(N, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        x.add_(1)  # first wrong_stream
    event = torch.cuda.Event()
    event.record(torch.cuda.current_stream())
    torch.cuda.current_stream().wait_event(event)
    x.mul_(2)  # second wrong_stream


def early_free() -> None:
    side, x = torch.cuda.Stream(), torch.zeros(N, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = x.exp()  # first early_free
    address = x.data_ptr()
    del x
    z = torch.ones(N, device="cuda")  # second early_free
    assert z.data_ptr() == address
    torch.cuda.current_stream().wait_stream(side)
    (y + z).sum()


def many_places() -> None:
    """Before the race it has been at more lines than are remembered."""
    x = torch.zeros(1, device="cuda")
    for part in range(100):
        exec(compile("x.add_(1)\n" * 1000, f"part_{part}.py", "exec"), {"x": x})
    missing_wait()


def many_functions() -> None:
    """Before the race it has made more functions than are remembered."""
    x = torch.zeros(1, device="cuda")
    code = (lambda: x.add_(1)).__code__
    for number in range(100_000):
        types.FunctionType(code.replace(co_name=f"made_{number}"), globals(), closure=(types.CellType(x),))()
    missing_wait()


def backward() -> None:
    """The second operator is the autograd engine's: the line is that of the call that began the pass."""
    side, x = torch.cuda.Stream(), torch.ones(N, device="cuda", requires_grad=True)
    loss = (x * x).sum()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        x.data.mul_(2)  # first backward
    loss.backward()  # second backward


def callback() -> None:
    """As PyTorch's PowerSGD hook: a copy is made on the default stream, a future's callback reads it on a stream of its
    own, and lets it go."""
    x, future = torch.ones(N, device="cuda"), torch.futures.Future(devices=["cuda:0"])
    copy = x.clone()

    def lost(done: torch.futures.Future[torch.Tensor]) -> torch.Tensor:
        nonlocal copy
        found = copy - done.value()  # first callback
        address.append(copy.data_ptr())
        del copy
        return found

    address: list[int] = []
    after = future.then(lost)
    future.set_result(x)
    z = torch.ones(N, device="cuda")  # second callback
    assert [z.data_ptr()] == address
    (after.wait() + z).sum()


def right() -> None:
    """Order by events, host waits, queries, threads, reuse with record_stream; views that interleave."""
    side, x = torch.cuda.Stream(), torch.zeros(N, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        x.add_(1)
        y = x.exp()
    x.record_stream(side)
    del x
    z = torch.ones(N, device="cuda")
    torch.cuda.current_stream().wait_stream(side)
    (y + z).sum().item()

    matrix = torch.zeros(64, 64, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        matrix[:, ::2].fill_(1)
    matrix[:, 1::2].fill_(2)
    torch.cuda.synchronize()

    host, event = torch.empty(N, pin_memory=True), torch.cuda.Event()
    with torch.cuda.stream(side):
        host.copy_(y * 2, non_blocking=True)
        event.record()
    while not event.query():
        pass
    z.copy_(host, non_blocking=True)

    ready: queue.Queue[torch.Tensor] = queue.Queue()
    threading.Thread(target=_load, args=(ready,)).start()
    (ready.get() + 1).sum().item()


def _load(ready: queue.Queue[torch.Tensor]) -> None:
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        loaded = torch.arange(N).cuda()
        loaded.mul_(2)
    stream.synchronize()
    ready.put(loaded)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    torch.cuda.synchronize()
