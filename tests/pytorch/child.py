"""One process that runs tests of one file, one after another, and reports each before and after, as JSON lines.

Started by processes.py under `jitc run`. It ends early when the process is no use for further tests: its device no
longer answers, or, if wanted, after a test has failed. Importing this file does nothing: processes that tests start
import it as their main module.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import json
import multiprocessing.context
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: What a test's error is cut to.
WHY = 400


def in_short(text: str) -> str:
    """An error on one line, without the advice that PyTorch gives behind every one."""
    for advice in ("To execute this test,", "Search for `cuda", "CUDA kernel errors might be", "Exception raised from"):
        text = text.partition(advice)[0]
    return " ".join(text.split())[:WHY]


class Report(unittest.TestResult):
    """The outcome of one test, in a word and a text."""

    def __init__(self) -> None:
        super().__init__()
        self.outcome, self.why = "passed", ""

    def _note(self, outcome: str, error: Any) -> None:
        if self.outcome not in ("failed",):
            self.outcome, self.why = outcome, in_short("".join(traceback.format_exception_only(error[0], error[1])))
        traceback.print_exception(*error)

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        super().addError(test, err)
        self._note("failed", err)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addFailure(test, err)
        self._note("failed", err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        super().addSkip(test, reason)
        self.outcome, self.why = "skipped", reason

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._note("failed", err)

    def thread_ended(self, *error: Any) -> None:
        self._note("failed", error)
        self.why = f"in a thread: {self.why}"

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        super().addUnexpectedSuccess(test)
        self.outcome, self.why = "failed", "the test passes, and says itself that it does not"


class Ranks:
    """The processes of a file whose tests run in all ranks at once (PyTorch's MultiProcContinousTest): this one is rank
    0; the others are forked before PyTorch is loaded, run the same tests, and say what became of each."""

    def __init__(self, count: int) -> None:
        self.rank, self._count, self._folder = 0, count, tempfile.mkdtemp(prefix="jitc-ranks-")
        self._others: list[tuple[int, Any]] = []
        for rank in range(1, count):
            read, write = os.pipe()
            pid = os.fork()
            if pid == 0:
                self.rank, self._others, self._out = rank, [], os.fdopen(write, "w", buffering=1)
                return
            os.close(write)
            self._others.append((pid, os.fdopen(read)))

    def prepare(self, test: unittest.TestCase, number: int) -> None:
        kind: Any = type(test)
        if hasattr(kind, "rdvz_file"):
            kind.rank, kind.world_size, kind.rdvz_file = self.rank, self._count, f"{self._folder}/{number}"

    def agree(self, result: Report) -> None:
        """A test has failed if it has in one of them."""
        if self.rank:
            print(json.dumps([result.outcome, result.why]), file=self._out)
        for rank, (_, said) in enumerate(self._others, 1):
            outcome, why = json.loads(said.readline() or '["failed", "its process has ended"]')
            if result.outcome not in ("failed", outcome):
                result.outcome, result.why = outcome, f"rank {rank}: {why}"

    def end(self) -> None:
        for pid, _ in self._others:
            os.kill(pid, signal.SIGKILL)
        if not self.rank:
            shutil.rmtree(self._folder, ignore_errors=True)


def load(folder: Path, file: str) -> Any:
    """The test file as a module that other processes can import by the same name."""
    os.chdir(folder)
    sys.path[0] = str((folder / file).parent)
    if str(folder) not in sys.path:
        sys.path.insert(1, str(folder))
    sys.argv = [str(folder / file)]
    return importlib.import_module(Path(file).stem)


class Prepared(multiprocessing.context.ForkServerContext):
    """Processes that begin as copies of one that has loaded PyTorch and used no CUDA, instead of loading it each: a
    spawned process in half the time. They get the environment that spawned ones would."""

    def __init__(self) -> None:
        super().__init__()
        self.set_forkserver_preload(["torch.testing._internal.common_distributed"])

    def Process(self, target: Any, name: str, args: Any, kwargs: Any) -> Any:
        words = (dict(os.environ), target, *args)
        return super().Process(target=begin, name=name, args=words, kwargs=kwargs)


def begin(environ: dict[str, str], target: Any, *args: Any, **kwargs: Any) -> None:
    os.environ.clear()
    os.environ.update(environ)
    target(*args, **kwargs)


def prepare_ranks() -> None:
    """For PyTorch's MultiProcessTestCase, which spawns its ranks."""
    module = importlib.import_module("torch.multiprocessing")
    given, prepared = module.get_context, Prepared()
    module.get_context = lambda method=None: prepared if method == "spawn" else given(method)


def tests_of(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from tests_of(one)
        else:
            yield one


def short(test: unittest.TestCase) -> str:
    return ".".join(test.id().rsplit(".", 2)[-2:])


def for_device(name: str) -> bool:
    kind, _, method = name.rpartition(".")
    return kind.endswith("CUDA") or "cuda" in method.lower() or "gpu" in method.lower()


def still_works() -> bool:
    """Whether the device takes work after this test."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return True
    try:
        torch.cuda.synchronize()
        return True
    except RuntimeError:
        return False


def run_one(test: unittest.TestCase) -> Report:
    """With the fixtures of its class and module, as a suite of one. An exception that ends a thread of the test fails
    it, though unittest does not see it: a test whose threads do nothing has shown nothing."""
    result = Report()
    threading.excepthook = lambda args: result.thread_ended(args.exc_type, args.exc_value, args.exc_traceback)
    unittest.TestSuite([test])(result)  # a suite of one runs setUpClass; the tear-down is the next one's or the end's
    return result


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    arguments.add_argument("--folder", type=Path, required=True)
    arguments.add_argument("--file", required=True)
    arguments.add_argument("--device-part", action="store_true")
    arguments.add_argument("--ranks", type=int, default=1, help="processes that run each test at once")
    arguments.add_argument("--prepared", action="store_true", help="processes that tests start have PyTorch loaded")
    arguments.add_argument("--tests", help="a file with their names, one a line; without it they are only listed")
    arguments.add_argument("--stop-after-failure", action="store_true", help="what failed may have left a mess")
    args = arguments.parse_args()
    os.setsid()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    chosen = Path(args.tests).read_text().split() if args.tests else None
    report = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what tests print is none of it
    ranks = Ranks(args.ranks if args.tests else 1)

    def say(**what: Any) -> None:
        if not ranks.rank:
            print(json.dumps(what), file=report)

    say(pid=os.getpid())
    module = load(args.folder, args.file)
    if args.prepared:
        prepare_ranks()
    found = {short(one): one for one in tests_of(unittest.defaultTestLoader.loadTestsFromModule(module))}
    names = [name for name in found if not args.device_part or for_device(name)]
    if chosen is None:
        say(tests=names)
        return 0
    for number, name in enumerate(chosen):
        if name not in found:
            say(begin=name)
            say(
                end=name, outcome="failed", why="this process does not find the test that another one listed", seconds=0
            )
            continue
        say(begin=name)
        print(f"\n=== {name}", flush=True)
        started = time.monotonic()
        test = found.pop(name)
        ranks.prepare(test, number)
        result = run_one(test)
        ranks.agree(result)
        works = still_works()
        sys.stdout.flush()
        say(end=name, outcome=result.outcome, why=result.why, seconds=round(time.monotonic() - started, 1))
        if not works or (args.stop_after_failure and result.outcome == "failed"):
            break
    ranks.end()
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # threads that a test left behind do not keep the process
