"""Assumptions of docs/guarantees.md: each names tests that exist; no limit of time goes by the time of day."""

from __future__ import annotations

import ast
import re

from toolkit.tree import ROOT, tracked

HEAD = "| assumption | noticed by | done | test |"
#: The time of day, which may jump.
WALL_CLOCK = re.compile(r"\btime\.time\(|datetime\.now|\bsystem_clock\b|\bgettimeofday\b|CLOCK_REALTIME")
#: Where it is only shown, in reports.
SHOWN = {
    "proxy/cluster/peers/contract.py",
    "proxy/cluster/ranks/stamps.py",
    "proxy/commands/cluster/certificates.py",
    "proxy/commands/questions/command.py",
    "proxy/commands/support/command.py",
    "proxy/node/api/admin.py",
    "proxy/node/fault_injector.py",
    "proxy/health/races.py",
    "proxy/protection/determinism/validation.py",
    "proxy/protection/peer_mode/divergence.py",
    "proxy/recovery/rank_times.py",
    "proxy/recovery/report.py",
}


def rows() -> list[list[str]]:
    text = (ROOT / "docs" / "guarantees.md").read_text()
    table = text[text.index(HEAD) :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]


def test_each_assumption_names_tests_that_exist() -> None:
    known = {path.name for path in tracked("tests/*")} | {
        str(path.parent.relative_to(ROOT)) for path in tracked("tests/*")
    }
    assert len(rows()) > 12
    for row in rows():
        assert len(row) == 4 and all(row), row
        named = re.findall(r"`([^`]+)`", row[3])
        assert named and set(named) <= known, row


def test_no_limit_goes_by_the_time_of_day() -> None:
    sources = tracked(
        "proxy/*.py", "proxy/*.cpp", "proxy/*.h", "interpose/*.cpp", "interpose/*.h", "client_shim/*", "protos/*"
    )
    found = {
        str(path.relative_to(ROOT))
        for path in sources
        if path.suffix in (".py", ".cpp", ".h") and WALL_CLOCK.search(path.read_text())
    }
    assert found == SHOWN


def test_no_code_runs_between_fork_and_exec() -> None:
    """Where gRPC runs, its threads begin anew in the child, lose their descriptors to exec, and end one child of a
    hundred by SIGABRT before its program; without such code, the kernel runs none of its handlers (vfork)."""
    sources = tracked("proxy/*.py", "client_shim/*.py", "tests/*.py", "scripts/*.py", "bench/*.py", "examples/*.py")
    calls = {
        str(path.relative_to(ROOT))
        for path in sources
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.keyword) and node.arg == "preexec_fn"
    }
    assert len(sources) > 900 and not calls


def test_no_service_waits_by_select() -> None:
    """It fails with descriptors from number 1,024 on, which a service with many sessions has."""
    sources = [path for path in tracked("*.py") if path.is_relative_to(ROOT / "proxy")]
    calls = {
        str(path.relative_to(ROOT))
        for path in sources
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "select.select"
    }
    assert len(sources) > 300 and not calls
