"""Numbers and times as the page shows them. Called by: the modules beside. Promise: pure."""

from __future__ import annotations

import math
import time


def duration(seconds: float) -> str:
    """Formats three digits and a unit: 0, 412 us, 4.1 ms, 1.25 s, 2 min 05 s, 3 h 20 min."""
    micros = seconds * 1e6
    if micros < 0.5:
        return "0"
    if micros < 999.5:
        return f"{micros:.0f} us"
    if micros < 999_500:
        return f"{_three(micros / 1000)} ms"
    if round(seconds) < 60:
        return f"{_three(seconds)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min"


def _three(value: float) -> str:
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def clock(when: float) -> str:
    """Formats a time of the clock, in UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(when)) + f".{int(when % 1 * 1000):03} UTC"


def ticks(last: float, count: int = 8) -> list[float]:
    """Returns round numbers from 0 to last, at most count of them besides 0."""
    if last <= 0:
        return [0.0]
    step: float = 10 ** math.floor(math.log10(last / count))
    for factor in (1, 2, 5, 10):
        if step * factor * count >= last:
            step *= factor
            break
    return [round(step * at, 12) for at in range(int(last / step * (1 + 1e-9)) + 1)]
