"""PyTorch's events and streams, waited for and asked at once; run by test_promises.py. Prints what was not so."""

from __future__ import annotations

import sys

import torch


def external(stream: torch.Stream) -> torch.cuda.Stream:
    return torch.cuda.Stream(
        stream_id=stream.stream_id, device_index=stream.device_index, device_type=stream.device_type
    )


def device_independent(rounds: int) -> tuple[int, int]:
    """torch.Event on a stream of torch.Stream, between copies and work, and on the default stream."""
    inside = outside = 0
    stream, a, b = torch.Stream(device="cuda"), torch.randn(1000), torch.randn(1000)
    for _ in range(rounds):
        first, second = torch.Event(device="cuda"), torch.Event(device="cuda")
        with torch.cuda.stream(external(stream)):
            x, y = a.to("cuda", non_blocking=True), b.to("cuda", non_blocking=True)
            first.record(stream)
            first.synchronize()
            inside += not first.query()
            z = x + y
        second.record()
        second.synchronize()
        outside += not second.query()
        del z
    return inside, outside


def of_cuda(rounds: int) -> tuple[int, int, int]:
    """torch.cuda.Event; the stream that it was recorded on; a read, which waits for the stream as well."""
    events = streams = reads = 0
    for _ in range(rounds):
        event = torch.cuda.Event()
        total = torch.ones(10, device="cuda").add_(1)
        event.record()
        event.synchronize()
        events += not event.query()
        streams += not torch.cuda.current_stream().query()
        event.record()
        assert total.sum().item() == 20
        reads += not event.query()
    return events, streams, reads


def timed(rounds: int) -> tuple[int, int]:
    """Times between events on one stream, and between streams that wait for each other."""
    same = across = 0
    stream = torch.cuda.Stream()
    for _ in range(rounds):
        first, second, third = (torch.cuda.Event(enable_timing=True) for _ in range(3))
        first.record()
        torch.ones(100, device="cuda").mul_(2)
        second.record()
        stream.wait_event(second)
        third.record(stream)
        third.synchronize()
        same += first.elapsed_time(second) < 0
        across += second.elapsed_time(third) < 0 or not second.query()
    return same, across


if __name__ == "__main__":
    count = int(sys.argv[1])
    print("wrong", *device_independent(count), *of_cuda(count), *timed(count), flush=True)
