"""A program of a test that does a step when it is told to, so that faults can be placed between its steps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .forge_client import start_python
from .job import PRELOAD
from .service import Service
from .waiting import patient

END_SECONDS = 30.0


class Lockstep:
    """A Python program on the preloaded library that answers each line on standard input with a line of its own."""

    def __init__(
        self, service: Service, path: Path, *arguments: object, env: Mapping[str, str] | None = None,
        before: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        """env: in place of what the service has of it, without its own (its socket stays); before: words before its
        command."""
        socket = {"JITC_SOCKET": service.env["JITC_SOCKET"], "LD_PRELOAD": str(PRELOAD)}
        env = {**(service.env if env is None else env), **socket}
        program = [str(path), *map(str, arguments)]
        self.process = start_python(program, env, forged="import torch" in path.read_text(), first=before)

    def tell(self, line: str = "") -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(line + "\n")
        except BrokenPipeError:
            raise AssertionError(f"the program has ended: {self.process.communicate()[1]}") from None

    def answer(self) -> str:
        """Its next line; empty when it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def close(self) -> None:
        """No more lines come."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.stdin = None  # for communicate

    def step(self) -> str:
        """Has it do one step."""
        self.tell()
        return self.answer()

    def finish(self) -> tuple[int, str]:
        """Its exit status, and what it wrote on standard error."""
        _, errors = self.process.communicate(timeout=patient(END_SECONDS))
        return self.process.returncode, errors

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def begin_ranks(programs: list[Lockstep]) -> list[Lockstep]:
    """The first one says how the others find it, where there are others."""
    if len(programs) > 1:
        identity = programs[0].answer()
        for program in programs:
            program.tell(identity)
    return programs


def all_steps(programs: list[Lockstep], count: int) -> list[list[str]]:
    """The lines of all ranks, step by step; all do a step at the same time."""
    lines = []
    for _ in range(count):
        for program in programs:
            program.tell()
        lines.append([program.answer() for program in programs])
    return lines


def finish_all(programs: list[Lockstep]) -> None:
    assert [program.finish() for program in programs] == [(0, "")] * len(programs)
