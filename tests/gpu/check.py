"""make gpu-check: what works on this machine's GPU, step by step, into one JSON file and an archive of all logs.

Called by: scripts/gpu_check.py, also from the folder of `make gpu-bundle`. Promises: the results file is there before
the first step; whatever happens in a step is recorded and the next one runs; nothing of it is alive afterwards.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from . import children, plan, results, stacks, variants
from .evidence import Evidence
from .held import HeldContext
from .lab import Lab
from .places import PACKAGE, ROOT
from .preflight import libraries
from .results import FAILED, NOT_RUN, Results

#: What a step gets beyond its limit to say what it found: its own waits end with it, and stacks are written then.
GRACE_SECONDS = 12.0 + stacks.SECONDS
MISSING, BAD = "missing", "bad"
#: What a rehearsal has in place of a GPU: another device of jitc's, or stand-ins for NVIDIA's libraries (tests/fakes).
SOFTWARE, STAND_INS = "software", "stand-ins"
#: Bytes of a folder's name in which services can have theirs: the name of a service's socket may have 85.
FOLDER_LIMIT = 80


class Told(BaseException):
    """A signal asks for the end."""


def main(argv: list[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    try:
        found, earlier_file = _results(arguments)
        wanted = _wanted(arguments.steps, found)
    except (OSError, ValueError) as error:
        print(f"gpu-check: {error}", file=sys.stderr)
        return 2
    found.plan(plan.NAMES, wanted)
    found.write()
    print(f"gpu-check: results in {found.path}", file=sys.stderr)
    evidence = Evidence()
    if earlier_file is not None:
        evidence.take_over(earlier_file.with_suffix(".tar.gz"))
    check, begin = Check(arguments, found, evidence), time.monotonic()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _told)
    try:
        check.run(wanted)
    except Told as asked:
        check.interrupted(str(asked))
    finally:
        check.let_go()
        children.end_all()
        check.save(complete=check.over)
        evidence.close()
    print(found.text())
    print(f"written: {found.path}, {found.archive}")
    print(f"{len(wanted)} steps in {time.monotonic() - begin:.0f} s")
    return 0 if found.good(wanted) else 1


class Check:
    """A run of the steps that are wanted."""

    def __init__(self, arguments: argparse.Namespace, found: Results, evidence: Evidence) -> None:
        self._found, self._evidence = found, evidence
        self._device = "software" if arguments.rehearse == SOFTWARE else "cuda"
        self._stand_ins = arguments.rehearse == STAND_INS
        self._options = list(arguments.service)
        self._cap: float = arguments.step_seconds
        self._once: bool = arguments.once
        self._end = time.monotonic() + arguments.minutes * 60
        self._running: tuple[str, float] | None = None
        self._held: HeldContext | None = None
        self.over = False

    def run(self, wanted: list[str]) -> None:
        children.adopt_orphans()
        steps = [step for step in plan.PLAN if step.name in wanted]
        for at, step in enumerate(steps):
            left = self._end - time.monotonic()
            if why := self._found.lack(step.needs):
                self._found.add(step.name, NOT_RUN, why)
            elif left <= 1:
                self._found.add(step.name, NOT_RUN, results.TIME_OVER)
            else:
                self._hold_for(step)
                self._step(step, min(step.limit(left, steps[at + 1 :]), self._cap))
                self.save()
                self._again(step, steps[at + 1 :])
            self.save()
        self.over = True

    def let_go(self) -> None:
        if self._held is not None:
            self._held.close()

    def save(self, complete: bool = False) -> None:
        self._found.write(complete)
        self._evidence.pack(self._found.archive)

    def interrupted(self, why: str) -> None:
        if self._running is not None:
            name, begin = self._running
            self._found.add(name, NOT_RUN, f"{results.RUNNING}: {why}", time.monotonic() - begin)

    def _hold_for(self, step: plan.Step) -> None:
        """From the first step on that needs a GPU: until then nobody has started it but for a look."""
        if self._held is None and self._device == "cuda" and plan.GPU in step.needs:
            folder = self._evidence.step("held-context")
            driver = libraries.path("driver", self._options)
            self._held = HeldContext(driver, Lab(folder).environment(), folder / "01-held.log")

    def _again(self, step: plan.Step, later: Sequence[plan.Step]) -> None:
        """Which part it was that failed: variants.py."""
        known = self._found.step(step.name)
        if self._once or known["verdict"] != FAILED or "not_ended" in known["data"]:
            return
        for found in variants.again(step, functools.partial(self._variant, step), lambda: self._spare(later)):
            self._found.note(step.name, variants=found)
            self.save()

    def _spare(self, later: Sequence[plan.Step]) -> float:
        """Of what the later steps do not need at least, half: most of them can do with more."""
        left = self._end - time.monotonic() - sum(one.least for one in later)
        return min(self._cap, left / 2 if later else left)

    def _variant(
        self, step: plan.Step, name: str, environment: Mapping[str, str], seconds: float
    ) -> tuple[str, str, float]:
        print(f"gpu-check: {step.name} with {name} (at most {seconds:.0f} s)", file=sys.stderr, flush=True)
        begin = time.monotonic()
        verdict, reason, _ = self._outcome(step, seconds, results.slug(name), environment)
        print(f"gpu-check: {step.name} with {name}: {verdict}", file=sys.stderr, flush=True)
        return verdict, reason, time.monotonic() - begin

    def _step(self, step: plan.Step, seconds: float) -> None:
        print(f"gpu-check: {step.name} (at most {seconds:.0f} s)", file=sys.stderr, flush=True)
        self._running = step.name, time.monotonic()
        self._found.add(step.name, NOT_RUN, results.RUNNING)
        self._found.write()
        begin = time.monotonic()
        verdict, reason, data = self._outcome(step, seconds)
        self._found.add(step.name, verdict, reason, time.monotonic() - begin, data)
        self._running = None
        print(f"gpu-check: {step.name}: {verdict}{': ' * bool(reason)}{reason[:200]}", file=sys.stderr, flush=True)

    def _outcome(self, *what: Any) -> tuple[str, str, dict[str, object]]:
        try:
            return self._run_child(*what)
        except Exception as error:  # of the check's own: recorded like any other
            return FAILED, f"the check itself: {type(error).__name__}: {error}", {}

    def _run_child(
        self, step: plan.Step, seconds: float, variant: str = "", changes: Mapping[str, str] | None = None
    ) -> tuple[str, str, dict[str, object]]:
        folder = self._evidence.step(step.name, variant)
        with _step_folder() as between:
            request, answer = between / "request.json", between / "answer.json"
            request.write_text(
                json.dumps(
                    {
                        "name": step.name, "module": step.module, "folder": str(folder), "device": self._device,
                        "options": self._options, "seconds": seconds, "known": self._found.data(),
                        "scratch": str(between), "stand_ins": self._stand_ins,
                    }
                )
            )  # fmt: skip
            command = [sys.executable, "-m", "gpu.step", str(request), str(answer)]
            environment = Lab(folder).environment(**changes or {})
            ended = children.run(command, seconds + GRACE_SECONDS, environment, folder / "00-step.log")
            known = json.loads(answer.read_text()) if answer.exists() else {}
        if not variant:
            self._found.said(known.get("said", {}))
        data = known.get("data", {})
        if ended.left:
            data["not_ended"] = list(ended.left)
        if "verdict" in known:
            return known["verdict"], known["reason"], data
        return FAILED, ended.text() + _last_words(folder / "00-step.log"), data


@contextlib.contextmanager
def _step_folder() -> Iterator[Path]:
    """Where a step has its sockets, and this process its request. It is removed when nothing of the step is alive."""
    made = tempfile.TemporaryDirectory(prefix="jitc-", ignore_cleanup_errors=True)
    if len(os.fsencode(made.name)) > FOLDER_LIMIT:
        made.cleanup()
        made = tempfile.TemporaryDirectory(prefix="jitc-", dir="/tmp", ignore_cleanup_errors=True)
    with made:
        yield Path(made.name)


def _last_words(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n") if log.exists() else []
    said = " | ".join(line for line in lines[-5:] if line.strip())
    return f": {said[-600:]}" if said else ""


def _told(number: int, _: FrameType | None) -> None:
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)  # once is enough: what follows takes a moment
    raise Told(signal.Signals(number).name)


def _results(arguments: argparse.Namespace) -> tuple[Results, Path | None]:
    """The document of this run, and the file of an earlier run that it goes on from."""
    out = os.environ.get("OUT", "")
    folder = ROOT / ("build/gpu-rehearsal" if arguments.rehearse else "docs/gpu-results")
    place: Path = arguments.out or (Path(out) if out else folder)
    earlier: Path | None = arguments.earlier
    if earlier is None and arguments.steps:
        earlier = (place if place.exists() else None) if place.suffix == ".json" else results.newest(place)
    document = results.read(earlier) if earlier else None
    if document and document["rehearsal"] != bool(arguments.rehearse):
        raise ValueError(
            f"{earlier} is of {'a rehearsal' if document['rehearsal'] else 'a real GPU'}: name another --from"
        )
    found = Results(place, _commit(), bool(arguments.rehearse), document)
    found.document["gpu"] = "software device" if arguments.rehearse == SOFTWARE else found.document["gpu"]
    return found, earlier


def _wanted(words: str, found: Results) -> list[str]:
    """The names that are meant, in the plan's order. Raises ValueError."""
    if not words:
        return plan.default()
    verdicts = {step["name"]: step["verdict"] for step in found.document["steps"]}
    names = set[str]()
    for word in words.split(","):
        if word == MISSING:
            names |= {name for name in plan.default() if verdicts.get(name, NOT_RUN) == NOT_RUN}
        elif word == BAD:
            names |= {name for name in plan.NAMES if verdicts.get(name) in (FAILED, results.SLOW)}
        elif word in plan.NAMES:
            names.add(word)
        else:
            raise ValueError(f"--steps: there is no step {word!r}; they are {', '.join(plan.NAMES)}")
    return [name for name in plan.NAMES if name in names]


def _commit() -> str:
    carried = ROOT / "COMMIT"
    if carried.exists():
        return carried.read_text().strip()
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"], cwd=PACKAGE, check=False,
            capture_output=True, text=True,
        )  # fmt: skip
    except OSError:
        return ""
    return done.stdout.strip()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gpu_check.py", description=(__doc__ or "").split("\n")[0], epilog=f"Steps: {', '.join(plan.NAMES)}"
    )
    parser.add_argument(
        "--out", type=Path, metavar="PLACE",
        help="a .json file, or a folder for <date>-<gpu>.json ($OUT where that is set, else docs/gpu-results)",
    )  # fmt: skip
    parser.add_argument(
        "--steps", default="", metavar="NAME,...",
        help="these only, the others stay as they are in the earlier file; missing: those that were not run; "
        "bad: those that failed or were slow",
    )  # fmt: skip
    parser.add_argument(
        "--from", dest="earlier", type=Path, metavar="FILE",
        help="the earlier file that --steps adds to (the one at --out, or the newest there)",
    )  # fmt: skip
    parser.add_argument("--minutes", type=float, default=9.0, help="for all steps together (%(default)s)")
    parser.add_argument("--once", action="store_true", help="a step that failed does not run again with variants")
    parser.add_argument("--step-seconds", type=float, default=3600.0, metavar="S", help="the most that a step gets")
    parser.add_argument(
        "--rehearse", nargs="?", const=SOFTWARE, default="", choices=(SOFTWARE, STAND_INS),
        help="without a GPU: on the software device, with tiny models (%(const)s), or with stand-ins for NVIDIA's "
        "libraries, which PyTorch cannot use",
    )  # fmt: skip
    parser.add_argument(
        "--service", action="append", default=[], metavar="OPTION",
        help="an option for every jitc-proxyd (--service=--nccl=PATH); libraries named so are taken by preflight too",
    )  # fmt: skip
    return parser
