"""The jitc command's documents as text. Called by: command.py."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from ...common.printable import LINE, printable
from ...health import races
from ...protection.determinism.differences import differences_text
from ...recovery.report import NOTHING_TO_COMPARE, PROVEN


def status(document: dict[str, Any]) -> str:
    lines = [f"shuffled with seed {document['shuffle']}"] if document["shuffle"] else []
    for gpu in document["gpus"]:
        used, total = size(gpu["memory_used"]), size(gpu["memory_total"])
        recoveries = "1 recovery" if gpu["recoveries"] == 1 else f"{gpu['recoveries']} recoveries"
        state = f"{gpu['state']}, spare" if gpu["spare"] else gpu["state"]
        lines.append(f"GPU {gpu['index']}  {gpu['device']}  {state}  memory {used} of {total}  {recoveries}")
        for session in gpu["sessions"]:
            rank = f"rank {session['rank']} of {session['world_size']}" if session["rank"] >= 0 else "no rank"
            lines.append(
                f"    pid {session['pid']}  job {session['job']}  {rank}  {session['state']}  "
                f"worker {session['worker_pid'] or 'none'}  boundary {session['boundary']}  "
                f"copies {size(session['copies_held_bytes'])}  journal {size(session['journal_bytes'])}  "
                f"{session['ops_executed']} ops"
                f"{_away(gpu['index'], session['host'])}{_diverged(session['diverged'])}{_races(session['races'])}"
                f"{_reserve(session['reserve']['boundary'])}{_turns(session['turns'])}"
            )
            if session["waiting_for"]:
                lines.append(f"        waits for a {session['waiting_for']}")
    copies = document["copies"]
    lines.append(f"copies of device memory  {size(copies['held_bytes'])} of {size(copies['limit_bytes'])}")
    return _shown(lines)


def _shown(lines: Iterable[str]) -> str:
    """Makes a program's text safe for a line: it can neither end the line nor steer a terminal."""
    return "\n".join(printable(one, LINE) for one in lines)


def report(document: dict[str, Any]) -> str:
    parts = [_recovery(number, one) for number, one in enumerate(document["recoveries"], 1)]
    parts = parts or [["no recoveries so far"]]
    parts += [*map(_validation, document["validations"]), *map(_divergence, document["divergences"])]
    return _shown(chain(*parts, *map(races.lines, document["races"])))


def validation(one: dict[str, Any]) -> str:
    return _shown(_validation(one))


def _validation(one: dict[str, Any]) -> list[str]:
    gpus = ", ".join(map(str, one["gpus"]))
    lines = [
        f"validation on GPU {gpus}, step {one['step']}: {one['outcome']} "
        f"({one['blocks']} live blocks, {size(one['bytes'])}, {one['seconds']:.3f} s)"
    ]
    for block in one["different"]:
        lines.append(f"   differs: {size(block['bytes'])} at address {block['address']:#x}, session {block['session']}")
    if numbers := differences_text(one.get("differences", {})):
        lines.append(f"   {numbers}")
    return lines


def _divergence(one: dict[str, Any]) -> list[str]:
    odd = f", odd: {', '.join(one['odd'])}" if one["odd"] else ""
    lines = [f"job {one['job']}: replicas stopped agreeing at boundary {one['boundary']}{odd}; {one['outcome']}"]
    for block in one["blocks"]:
        lines.append(
            f"   differs: {size(block['bytes'])} at address {block['address']:#x}, ordinal {block['ordinal']}, "
            f"{block['rank']} on GPU {block['gpu']}"
        )
    return lines


def _reserve(boundary: int) -> str:
    return f"  reserve {boundary}" if boundary else ""


def _away(gpu: int, host: int) -> str:
    return f"  on GPU {host}" if host != gpu else ""


def _turns(turns: Mapping[str, Any]) -> str:
    """Describes the turns of a session that does not fit on its GPU together with others."""
    if not turns["moved_out"] and not turns["waits"]:
        return ""
    now = ", not on it now" if turns["waits"] else ""
    return f"  takes turns at the GPU (left it {turns['moved_out']} times, {turns['seconds']:.1f} s of moving{now})"


def _diverged(blocks: int) -> str:
    return f"  {blocks} blocks unlike those of other ranks" if blocks else ""


def _races(count: int) -> str:
    return f"  {count} {'race' if count == 1 else 'races'}" if count else ""


def _recovery(number: int, one: dict[str, Any]) -> list[str]:
    lines = [
        f"{number}. job {one['job']}, GPU {one['gpu']}: {one['cause']}, {one['outcome']}",
        f"   {one['decision']} to boundary {one['boundary']}, {size(one['bytes_restored'])} restored"
        f"{from_peers(one)}, {one['seconds']:.3f} s",
        "   " + ", ".join(f"{name} {seconds * 1000:.1f} ms" for name, seconds in one["phases"].items()),
    ]
    if proof := one.get("proof"):  # reports of an older service, that this one took over from, have none
        lines.append(f"   {_proof(proof)}")
    if one.get("culprits"):
        lines.append(f"   others waited for {', '.join(one['culprits'])}")
    lines += [
        f"   {text}" for text in (differences_text(one.get("differences", {})), one["message"], *one["notes"]) if text
    ]
    return lines


def _proof(proof: Mapping[str, Any]) -> str:
    """Describes the result of the comparison of ranks after a recovery."""
    state = proof["state"]
    if state == NOTHING_TO_COMPARE:
        return f"{state} at boundary {proof['boundary']}: collectives agree, {proof['text']}"
    if state != PROVEN:
        return f"{state}: {proof['text']}"
    compared = f"{proof['blocks']} blocks that ranks held equal are equal"
    return f"{state} at boundary {proof['boundary']}: collectives agree, {compared}"


def from_peers(one: Mapping[str, Any]) -> str:
    paths = [f"{size(count)} from peers by {path}" for path, count in one["bytes_from_peers"].items() if count]
    return f" ({', '.join(paths)})" if paths else ""


def size(count: int) -> str:
    value = float(count)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"
