"""The content hash (proxy/native/base/content_arithmetic.h) once more, in Python: slow, for blocks of a few KiB."""

from __future__ import annotations

STRIPE, UNIT, PAIRS, SECOND = 4096, 16, 512, 64
ONES = (1 << 64) - 1
WORD = (1 << 32) - 1


def scramble(value: int) -> int:
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & ONES
    value = (value ^ value >> 27) * 0x94D049BB133111EB & ONES
    return value ^ value >> 31


KEYS = [scramble((place + 1) * 0x9E3779B97F4A7C15 & ONES) for place in range(PAIRS + SECOND)]


def product(pair: int, key: int) -> int:
    return ((pair & WORD) + (key & WORD) & WORD) * ((pair >> 32) + (key >> 32) & WORD)


def mixed(a: int, b: int, number: int) -> tuple[int, int]:
    a ^= scramble(b + number * 0x9FB21C651E98DF25 + 0x243F6A8885A308D3 & ONES)
    b ^= scramble(a + 0x13198A2E03707344 & ONES)
    a ^= scramble(b + 0xA4093822299F31D0 & ONES)
    b ^= scramble(a + 0x082EFA98EC4E6C89 & ONES)
    return a, b


def content_hash(data: bytes) -> bytes:
    total_a = total_b = 0
    for number, at in enumerate(range(0, len(data), STRIPE)):
        stripe = data[at : at + STRIPE]
        stripe += bytes(-len(stripe) % UNIT)
        pairs = [int.from_bytes(stripe[i : i + 8], "little") for i in range(0, len(stripe), 8)]
        a = sum(product(pair, KEYS[place]) for place, pair in enumerate(pairs)) & ONES
        b = sum(product(pair, KEYS[place + SECOND]) for place, pair in enumerate(pairs)) & ONES
        a, b = mixed(a, b, number)
        total_a, total_b = total_a + a & ONES, total_b + b & ONES
    a, b = mixed(total_a, total_b, ONES - len(data))
    return a.to_bytes(8, "little") + b.to_bytes(8, "little") if a | b else bytes([1]) + bytes(15)
