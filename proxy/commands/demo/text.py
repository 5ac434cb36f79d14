"""The output of the demo: progress, timelines, the table. Called by: command.py."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any, Protocol

BAR = 40
STEPS_BAR = 20


class Shown(Protocol):
    """The data of a run that the table needs."""

    title: str
    records: list[dict[str, Any]]
    recoveries: list[dict[str, Any]]

    def same(self, other: Any, what: str) -> bool: ...
    def minibatches_replayed(self) -> int: ...
    def steps_lost(self, other: Any) -> int: ...


class Progress:
    """A line that is rewritten on a terminal: a bar of the steps, what was said last, and for how long nothing has been
    said since. Elsewhere a new line from time to time."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._terminal = sys.stdout.isatty()
        self._every = max(1, steps // 5)
        self._done, self._text, self._said = 0, "", 0.0
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._clock = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Progress:
        if self._terminal:
            self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._terminal:
            self._ended.set()
            self._clock.join()
            print(flush=True)

    def say(self, text: str) -> None:
        if self._terminal:
            with self._lock:
                self._text, self._said = text, time.monotonic()
                self._draw(text)
        else:
            print(f"   {text}", flush=True)

    def _tick(self) -> None:
        while not self._ended.wait(1.0):
            with self._lock:
                if (silent := time.monotonic() - self._said) >= 1.0 and self._text:
                    self._draw(f"{self._text}  ({silent:.0f} s)")

    def _draw(self, text: str) -> None:
        bar = "#" * (STEPS_BAR * self._done // self._steps)
        line = f"   [{bar:<{STEPS_BAR}}] {text}"
        print(f"\r\033[K{line[: shutil.get_terminal_size().columns - 1]}", end="", flush=True)

    def line(self, text: str) -> None:
        """Handles a line of the training job's output."""
        words = text.split()
        if len(words) > 1 and words[0] == "step":
            self._done = step = int(words[1].split("/")[0])
            if self._terminal or step % self._every == 0 or step == self._steps:
                self.say(text)
        elif text.startswith("jitc:"):
            self.say(text)


def show(runs: Sequence[Shown], summary: dict[str, Any]) -> None:
    for run in runs:
        for recovery in run.recoveries:
            print(f"\nRecovery: {run.title}")
            for line in timeline(recovery):
                print(f"  {line}")
    print()
    for line in table(runs):
        print(line)
    parameters = runs[0].records[0].get("parameters", 0) if runs[0].records else 0
    fine = summary["identical"] and summary["faults_recovered"] == summary["faults_injected"]
    verdict = "identical to the last bit" if fine else "NOT identical, or a fault did not fire or was not recovered"
    print(f"\n{parameters:,} parameters, {summary['steps']} steps, {summary['faults_injected']} faults: {verdict}")


def timeline(recovery: dict[str, Any]) -> list[str]:
    """Returns the cause, then each phase at its start time, with a bar of its length."""
    total = max(float(recovery["seconds"]), 1e-9)
    lines = [f"{recovery['cause']} on GPU {recovery['gpu']}: {recovery['decision']}"]
    began = 0.0
    for name, value in recovery["phases"].items():
        seconds = float(value)
        bar = " " * round(BAR * began / total) + "#" * max(1, round(BAR * seconds / total))
        lines.append(f"{began:7.3f} s  {name:<10} {seconds:7.3f} s  {bar[: BAR + 1]}")
        began += seconds
    lines.append(f"{total:7.3f} s  running again; {recovery['bytes_restored']:,} bytes restored")
    return lines


def table(runs: Sequence[Shown]) -> list[str]:
    head = ("run", "losses", "weights", "optimizer", "recovery", "replayed", "steps lost")
    rows: list[tuple[str, ...]] = [head]
    for run in runs:
        words = [("identical" if run.same(runs[0], what) else "DIFFER") for what in ("losses", "weights", "optimizer")]
        if run is runs[0]:
            words = ["reference"] * 3
        seconds = ", ".join(f"{one['seconds']:.2f} s" for one in run.recoveries) or "-"
        rows.append((run.title, *words, seconds, str(run.minibatches_replayed()), str(run.steps_lost(runs[0]))))
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [lines[0], "-" * len(lines[0]), *lines[1:]]
