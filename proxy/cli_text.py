"""The jitc command's documents for people."""

from __future__ import annotations

from typing import Any


def status(document: dict[str, Any]) -> str:
    lines = []
    for gpu in document["gpus"]:
        used, total = _size(gpu["memory_used"]), _size(gpu["memory_total"])
        recoveries = "1 recovery" if gpu["recoveries"] == 1 else f"{gpu['recoveries']} recoveries"
        lines.append(
            f"GPU {gpu['index']}  {gpu['device']}  {gpu['state']}  worker {gpu['worker_pid'] or 'none'}  "
            f"memory {used} of {total}  {recoveries}"
        )
        for session in gpu["sessions"]:
            rank = f"rank {session['rank']} of {session['world_size']}" if session["rank"] >= 0 else "no rank"
            lines.append(
                f"    pid {session['pid']}  {rank}  boundary {session['boundary']}  "
                f"journal {_size(session['journal_bytes'])}  {session['ops_executed']} ops"
            )
    return "\n".join(lines)


def report(document: dict[str, Any]) -> str:
    lines = [_recovery(number, one) for number, one in enumerate(document["recoveries"], 1)]
    return "\n".join([*(lines or ["no recoveries so far"]), *map(validation, document["validations"])])


def validation(one: dict[str, Any]) -> str:
    gpus = ", ".join(map(str, one["gpus"]))
    lines = [
        f"validation on GPU {gpus}, step {one['step']}: {one['outcome']} "
        f"({one['blocks']} live blocks, {_size(one['bytes'])}, {one['seconds']:.3f} s)"
    ]
    for block in one["different"]:
        lines.append(
            f"   differs: {_size(block['bytes'])} at address {block['address']:#x}, session {block['session']}"
        )
    return "\n".join(lines)


def _recovery(number: int, one: dict[str, Any]) -> str:
    lines = [
        f"{number}. GPU {one['gpu']}: {one['cause']}, {one['outcome']}",
        f"   {one['decision']} to boundary {one['boundary']}, {_size(one['bytes_restored'])} restored"
        f"{_from_peers(one)}, {one['seconds']:.3f} s",
        "   " + ", ".join(f"{name} {seconds * 1000:.1f} ms" for name, seconds in one["phases"].items()),
    ]
    lines += [f"   {text}" for text in (one["message"], *one["notes"]) if text]
    return "\n".join(lines)


def _from_peers(one: dict[str, Any]) -> str:
    roads = [f"{_size(size)} from peers by {road}" for road, size in one["bytes_from_peers"].items() if size]
    return f" ({', '.join(roads)})" if roads else ""


def _size(count: int) -> str:
    value = float(count)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"
