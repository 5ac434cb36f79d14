"""`jitc doctor --json`: what was looked at here. Called by: commands/doctor/command.py; schema.py and tables.py."""

from __future__ import annotations

from dataclasses import dataclass

from . import model


@dataclass(frozen=True, kw_only=True)
class Check:
    """One point that was looked at."""

    name: str = model.says("its name, unique in its group")
    group: str = model.says("`system`, `gpu`, `installation`, `storage`, `program`, `service` or `cluster`")
    verdict: str = model.says("`good`, `bad` or `unknown`")
    says: str = model.says("what was seen, in one line")
    remedy: str = model.says("what to do if it is not good; empty: nothing")


@dataclass(frozen=True, kw_only=True)
class Doctor:
    """The verdicts about a machine, the installation of jitc and a program."""

    device: str = model.says("kind of device that the checks are for: `software` or `cuda`")
    program: list[str] | None = model.says("words of the program that was looked at; null: none was named")
    checks: list[Check] = model.says("the checks, in the order of the text")
    good: int = model.says("number of good ones")
    bad: int = model.says("number of bad ones; the exit status is 1 if there is one")
    unknown: int = model.says("number of checks without a verdict")
