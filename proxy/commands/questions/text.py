"""The jitc command's documents as plain text, and the sentences in it.

Called by: command.py; ../terminal, which shows the same facts in tables. Promise: the plain text keeps its form, since
scripts read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from ...common.printable import LINE, printable
from ...health import races
from ...protection.determinism.differences import differences_text
from ...recovery.report import NOTHING_TO_COMPARE, PROVEN
from .users import several_users, with_users


def status(document: dict[str, Any]) -> str:
    document = with_users(document)
    lines = [f"shuffled with seed {document['shuffle']}"] if document["shuffle"] else []
    node = ""
    for gpu in document["gpus"]:
        if document.get("nodes") and gpu["node"] != node:
            node = gpu["node"]
            lines.append(f"node {node}")
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
                + "  ".join([f"{session['ops_executed']} ops", *_away(gpu["index"], session), *session_notes(session)])
            )
            lines += [f"        {one}" for one in waits(session)]
    return _shown([*lines, *silent(document), copies(document)])


def silent(document: Mapping[str, Any]) -> list[str]:
    """Returns a line for each node that was asked and does not answer."""
    asked = document.get("nodes", ())
    return [f"node {one['node']} does not answer: {one['trouble']}" for one in asked if one["trouble"]]


def _away(gpu: int, session: Mapping[str, Any]) -> list[str]:
    return [f"on GPU {session['host']}"] if session["host"] != gpu else []


def session_notes(session: Mapping[str, Any]) -> list[str]:
    """Returns the unusual facts about a session, besides a GPU that is not its own."""
    diverged, races, reserve = session["diverged"], session["races"], session["reserve"]["boundary"]
    notes = (
        f"{diverged} blocks unlike those of other ranks" if diverged else "",
        f"{races} {'race' if races == 1 else 'races'}" if races else "",
        f"reserve {reserve}" if reserve else "",
        _turns(session["turns"]),
        _elsewhere(session.get("other_nodes", ())),
    )
    return [one for one in notes if one]


def waits(session: Mapping[str, Any]) -> list[str]:
    """Returns the sentences about what a session waits for, and what its job could not be recovered without; empty if
    there is nothing."""
    found = [f"waits for a {session['waiting_for']}"] if session["waiting_for"] else []
    return [*found, session["trouble"]] if session.get("trouble") else found


def copies(document: Mapping[str, Any]) -> str:
    """Returns the line about the memory for copies."""
    held, limit = document["copies"]["held_bytes"], document["copies"]["limit_bytes"]
    return f"copies of device memory  {size(held)} of {size(limit)}"


def _shown(lines: Iterable[str]) -> str:
    """Makes a program's text safe for a line: it can neither end the line nor steer a terminal."""
    return "\n".join(printable(one, LINE) for one in lines)


def report(document: dict[str, Any]) -> str:
    document = with_users(document)
    parts = [recovery_lines(number, one) for number, one in enumerate(document["recoveries"], 1)]
    return _shown(chain(*(parts or [["no recoveries so far"]]), other_lines(document), silent(document)))


def other_lines(document: Mapping[str, Any]) -> Iterable[str]:
    """Returns the lines about all that a report has besides recoveries. Its jobs have names of their own (users.py)."""
    named, nodes = several_users(document), bool(document.get("nodes"))
    validations = (
        validation_lines(one, f" of user {one.get('user', '')}" * named + f" on node {one.get('node')}" * nodes)
        for one in document["validations"]
    )
    return chain(*validations, *map(_divergence, document["divergences"]), *map(races.lines, document["races"]))


def recovery(number: int, one: Mapping[str, Any]) -> str:
    """Returns the text about one recovery."""
    return _shown(recovery_lines(number, one))


def validation(one: dict[str, Any]) -> str:
    return _shown(validation_lines(one))


def validation_lines(one: dict[str, Any], whose: str = "") -> list[str]:
    """Returns the lines about a minibatch that was run twice. whose: the words that name its user."""
    gpus = ", ".join(map(str, one["gpus"]))
    lines = [
        f"validation{whose} on GPU {gpus}, step {one['step']}: {one['outcome']} "
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


def _elsewhere(nodes: Sequence[str]) -> str:
    return f"its job has ranks on {', '.join(nodes)} too" if nodes else ""


def places(one: Mapping[str, Any]) -> list[str]:
    """Returns the GPUs of a recovery's faults, with their nodes in a cluster; a report of an older service has none."""
    known = [(place["gpu"], place["node"]) for place in one.get("places", ())]
    found = [f"{gpu} of node {node}" if node else str(gpu) for gpu, node in known]
    return found or [str(gpu) for gpu in one.get("gpus", ())]


def _turns(turns: Mapping[str, Any]) -> str:
    """Describes the turns of a session that does not fit on its GPU together with others."""
    if not turns["moved_out"] and not turns["waits"]:
        return ""
    now = ", not on it now" if turns["waits"] else ""
    return f"takes turns at the GPU (left it {turns['moved_out']} times, {turns['seconds']:.1f} s of moving{now})"


def recovery_lines(number: int, one: Mapping[str, Any]) -> list[str]:
    """Returns the lines about a recovery."""
    return [
        f"{number}. job {one['job']}, GPU {_first_place(one)}: {one['cause']}, {one['outcome']}",
        f"   {one['decision']} to boundary {one['boundary']}, {size(one['bytes_restored'])} restored"
        f"{from_peers(one)}, {one['seconds']:.3f} s",
        *(f"   {line}" for line in recovery_details(one)),
    ]


def _first_place(one: Mapping[str, Any]) -> str:
    return places(one)[0] if one.get("places") else str(one["gpu"])


def recovery_details(one: Mapping[str, Any]) -> list[str]:
    """Returns the lines about the phases of a recovery, its proof, and whatever else is known of it."""
    lines = [", ".join(f"{name} {seconds * 1000:.1f} ms" for name, seconds in one["phases"].items())]
    if proof := one.get("proof"):  # reports of an older service, that this one took over from, have none
        lines.append(_proof(proof))
    if one.get("culprits"):
        lines.append(f"others waited for {', '.join(one['culprits'])}")
    return [*lines, *filter(None, (differences_text(one.get("differences", {})), one["message"], *one["notes"]))]


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
