"""A program that counts on everything that CUDA promises to a thread which has waited, and asks whether it holds.

Each round gives work to three streams, waits in one of CUDA's ways, and then asks about all that was done before:
events, streams, times, bytes in pinned memory. Prints a hash of the numbers per step, which equal runs have in common,
and a line per promise that was broken. Arguments: steps.
"""

from __future__ import annotations

import collections
import hashlib
import sys

import torch

ROUNDS = 12
broken: collections.Counter[str] = collections.Counter()


def holds(what: bool, promise: str) -> None:
    if not what:
        broken[promise] += 1


class Lanes:
    """Two streams of the program and the default one, which work on each other's numbers by way of events."""

    def __init__(self) -> None:
        self.main, self.one, self.two = torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()
        self.numbers = torch.arange(4096, device="cuda", dtype=torch.float64)
        self.landing = torch.empty(4096, dtype=torch.float64, pin_memory=True)

    def event_waited_for(self) -> None:
        """The usual way to time something."""
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        self.numbers.mul_(1.0001)
        end.record()
        end.synchronize()
        holds(end.query() and start.query(), "an event that was waited for is done")
        holds(self.main.query(), "a stream whose last event was waited for is done")
        try:
            holds(start.elapsed_time(end) >= 0, "time does not go back")
        except RuntimeError as error:
            holds(False, f"there is a time between events that are done: {error}")

    def number_read(self) -> float:
        """A copy to the host, behind an event of another stream."""
        made = torch.cuda.Event()
        with torch.cuda.stream(self.one):
            self.one.wait_stream(self.main)
            self.numbers.add_(1)
            made.record()
        self.main.wait_event(made)
        total = self.numbers.sum().item()
        holds(made.query(), "an event before a number that was read is done")
        holds(self.one.query(), "a stream before a number that was read is done")
        holds(self.main.query(), "the stream of a number that was read is done")
        return float(total)

    def bytes_landed(self) -> float:
        """A copy to pinned memory that nothing waits for but an event of a third stream."""
        copied, seen = torch.cuda.Event(), torch.cuda.Event()
        with torch.cuda.stream(self.two):
            self.two.wait_stream(self.main)
            self.landing.copy_(self.numbers, non_blocking=True)
            copied.record()
        with torch.cuda.stream(self.one):
            self.one.wait_event(copied)
            seen.record()
        while not seen.query():
            pass
        holds(copied.query(), "an event before one that was seen to be done is done")
        total = float(self.landing.sum())
        self.landing.fill_(float("nan"))  # a late write of this copy would show in the next one
        self.main.wait_stream(self.two)
        return total

    def stream_waited_for(self) -> None:
        event = torch.cuda.Event()
        with torch.cuda.stream(self.two):
            self.two.wait_stream(self.main)
            self.numbers.sub_(0.5)
            event.record()
        self.two.synchronize()
        holds(event.query() and self.two.query(), "a stream that was waited for is done")

    def device_waited_for(self) -> None:
        events = []
        for stream in (self.one, self.two):
            with torch.cuda.stream(stream):
                events.append(torch.cuda.Event())
                events[-1].record()
        torch.cuda.synchronize()
        streams = (self.main, self.one, self.two)
        holds(all(one.query() for one in (*events, *streams)), "all that a device was waited for with is done")


def main() -> None:
    lanes = Lanes()
    weight = torch.nn.Parameter(torch.zeros(64, device="cuda"))
    optimizer = torch.optim.SGD([weight], lr=0.5, momentum=0.9)
    for step in range(int(sys.argv[1])):
        sha = hashlib.sha256()
        for _ in range(ROUNDS):
            lanes.event_waited_for()
            sha.update(str(lanes.number_read()).encode())
            sha.update(str(lanes.bytes_landed()).encode())
            lanes.stream_waited_for()
            lanes.device_waited_for()
        weight.grad = lanes.numbers[:64].float()
        optimizer.step()
        print(step, sha.hexdigest(), weight.sum().item().hex(), flush=True)
    for promise, times in sorted(broken.items()):
        print(f"broken {times} times: {promise}")


if __name__ == "__main__":
    main()
