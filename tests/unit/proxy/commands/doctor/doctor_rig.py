"""Checks of `jitc doctor`, one at a time: in this process, or in one with less than this one has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module

import pytest

from jitc.proxy.commands.doctor import check
from jitc.proxy.commands.doctor.check import Context, Finding

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user, or give files to one")


@cache
def _own_mounts() -> bool:
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], check=False).returncode == 0


needs_mounts = pytest.mark.skipif(not _own_mounts(), reason="this user cannot mount anything")
_ONE = """
import json, os, sys
from dataclasses import asdict
from importlib import import_module
from doctor_rig import look
from jitc.proxy.commands.doctor.check import Context
module, name, user, context = json.load(sys.stdin)
import_module(f"jitc.proxy.commands.doctor.{module}")
if user is not None:  # now: another user may not read this Python's files
    os.setresuid(user, user, user)
context["program"] = tuple(context["program"])
print(json.dumps(asdict(look(module, name, Context(**context)))))
"""
_FOLDER = os.path.dirname(__file__)
#: Variables of this process that checks are about.
_LEFT_OUT = ("LD_PRELOAD", "CUDA_VISIBLE_DEVICES", "CXX", "TMPDIR", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")


def look(module: str, name: str, context: Context) -> Finding:
    """Returns what the check of a module finds."""
    checks = import_module(f"jitc.proxy.commands.doctor.{module}").CHECKS
    (one,) = check.run([("group", [one for one in checks if one.name == name])], context)
    return one.finding


def clean(**more: str) -> dict[str, str]:
    """Returns an environment in which no variable is of jitc's, beside those that are given."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JITC_")}
    return {name: value for name, value in kept.items() if name not in _LEFT_OUT} | more


def elsewhere(
    module: str, name: str, *before: str, device: str = "software", socket: str = "", program: tuple[str, ...] = (),
    user: int | None = None, environment: Mapping[str, str] | None = None,
) -> Finding:  # fmt: skip
    """Makes a check in a process of its own. before: words before its command; user: the number of its user."""
    done = subprocess.run(
        [*before, sys.executable, "-c", _ONE],
        input=json.dumps([module, name, user, {"device": device, "socket": socket, "program": program}]),
        env=clean(PYTHONPATH=_FOLDER, **(environment or {})), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return Finding(**json.loads(done.stdout))
