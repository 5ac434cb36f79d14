"""A program with a race: one stream copies to pinned memory, and the program reads there after waiting for another one.

Prints the rounds in which it read something else than what was copied. Arguments: rounds.
"""

from __future__ import annotations

import ctypes
import sys

from promise_calls import KIB, Place, copy, fill, synchronize

#: Waits for the other stream. The copy was given before all of them, so that it takes bad luck to come after them.
WAITS = 4


def main() -> None:
    place, wrong = Place(), []
    for turn in range(int(sys.argv[1])):
        number = place.next()
        fill(place.memory, number, KIB, place.one)
        copy(place.shared, place.memory, KIB, place.one)
        for _ in range(WAITS):
            fill(place.other, number, KIB, place.two)
            synchronize(place.two)
        if ctypes.string_at(place.shared, KIB) != bytes([number]) * KIB:
            wrong.append(turn)
        synchronize(place.one)
    print("wrong", *wrong)


if __name__ == "__main__":
    main()
