"""Which of many tests run now: each is in one of N shares, by its name.

Called by: conftest.py, of `--share K/N`. Promise: a test stays in its share whatever else there is, and all shares
together are all tests.
"""

from __future__ import annotations

import argparse
import zlib
from typing import NamedTuple


class Share(NamedTuple):
    number: int  # from 0
    of: int

    @classmethod
    def read(cls, text: str) -> Share:
        """Of K/N; K may be any number from 0 on, such as a commit's: shares are counted round and round."""
        number, _, of = text.partition("/")
        if not (number.isdecimal() and of.isdecimal() and int(of)):
            raise argparse.ArgumentTypeError(f"{text!r} is no share: K/N, such as 3/20")
        return cls(int(number) % int(of), int(of))

    def has(self, test: str) -> bool:
        return zlib.crc32(test.encode()) % self.of == self.number
