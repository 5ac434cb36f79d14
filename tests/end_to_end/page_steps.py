"""More streams than the progress page has places, each waited for; see test_waiting_programs.py.

The argument is the GPU. A line on standard input is the number of a round: a small fill on every stream, then a wait of
one kind or another for each, then all bytes are read back. Answers: ``given`` before the first wait, ``good``.
Nothing here knows that it is not a GPU.
"""

from __future__ import annotations

import sys
from ctypes import c_int, c_size_t

from cuda_api import call, made
from promise_calls import LEGACY, NON_BLOCKING, fill, read, record, synchronize, synchronize_event, until_done

STREAMS, BYTES = 1100, 64


def main() -> None:
    call("cudaSetDevice", c_int(int(sys.argv[1])))
    memory = made("cudaMalloc", c_size_t(STREAMS * BYTES))
    streams = [made("cudaStreamCreateWithFlags", NON_BLOCKING) for _ in range(STREAMS)]
    event = made("cudaEventCreate")
    for line in sys.stdin:
        number = int(line) % 250 + 1
        for place, stream in enumerate(streams):
            fill(memory + place * BYTES, (number + place) % 256, BYTES, stream)
        print("given", flush=True)
        for place, stream in enumerate(streams):
            # The others are left to the wait for the whole device.
            if place % 4 == 0:
                synchronize(stream)
            elif place % 4 in (1, 2):
                record(event, stream)
                (synchronize_event if place % 4 == 1 else until_done)(event)
        call("cudaDeviceSynchronize")
        expected = b"".join(bytes([(number + place) % 256]) * BYTES for place in range(STREAMS))
        print("good" if read(memory, len(expected), LEGACY) == expected else "wrong", flush=True)


if __name__ == "__main__":
    main()
