"""The folder, services and jobs of one test; cleaned up, checked for leaks, kept as evidence on failure."""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .job import ROOT, Job, Result, Script, base_environment
from .leaks import MARK, files_in_use, marked_processes, new_mark, visible_files
from .service import Service
from .waiting import until

EVIDENCE = ROOT / "tests" / "evidence"
#: Characters of a service's output that the failure itself shows.
LOG_SHOWN = 3000


class Workplace:
    """close() ends everything that was started and says what was left behind."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = Path(tempfile.mkdtemp(prefix="jitc-test-"))
        self.mark = new_mark()
        self.env = base_environment({MARK: self.mark, "TMPDIR": str(self.folder)})
        self.files_before = visible_files()
        self.services: list[Service] = []
        self.jobs: list[tuple[Job, Service | None]] = []
        self.notes: list[str] = []

    def service(
        self, gpus: int = 2, options: tuple[str, ...] = (), before: tuple[str, ...] = (), **env: str
    ) -> Service:
        folder = self.folder / f"s{len(self.services)}"
        folder.mkdir()
        service = Service(folder, {**self.env, **env}, gpus, options, before)
        self.services.append(service)
        return service.ready()

    def job(self, script: Script, service: Service | None, before: tuple[str, ...] = (), **env: str) -> Job:
        """Starts a job on the service; on cpu/gloo where there is none."""
        folder = self.folder / f"job{len(self.jobs)}"
        environment = {**(service.env if service else self.env), **env}
        job = Job(script, folder, environment, "cuda" if service else "cpu", before)
        self.jobs.append((job, service))
        return job

    def run(self, script: Script, service: Service | None, seconds: float = 150.0) -> Result:
        return self.job(script, service).finish(seconds).successful()

    def note(self, text: str) -> None:
        """A line for the evidence, such as the fault that was injected."""
        self.notes.append(text)

    def close(self, failed: bool) -> list[str]:
        """Ends everything; returns complaints. Keeps the folder's content when the test failed."""
        if failed:
            self._ask_services()
        for job, _ in self.jobs:
            job.kill()
        complaints = []
        for service in self.services:
            lived = service.process.poll() is None
            try:
                status = service.stop()
                if lived and status:
                    complaints.append(f"{service.folder.name}: jitc-proxyd ended with {status}")
            except AssertionError as error:
                complaints.append(str(error))
            if "is not proven: " in service.said() and not service.unproven:
                complaints.append(f"{service.folder.name}: a recovery was not proven: {service.said()[-LOG_SHOWN:]}")
        complaints += self._leaks()
        if failed or complaints:
            self._keep()
        shutil.rmtree(self.folder, ignore_errors=True)
        return complaints

    def _leaks(self) -> list[str]:
        complaints = []
        try:
            until(lambda: not marked_processes(self.mark), 10, "all processes ended")
        except AssertionError:
            for pid, command in marked_processes(self.mark).items():
                complaints.append(f"process left: {pid} {command}")
        complaints += [f"file left: {one}" for one in sorted(self._files_left())]
        for service in self.services:
            left = [str(one) for one in service.folder.iterdir() if one != service.log]
            complaints += [f"left by the service: {one}" for one in left]
        return complaints

    def _files_left(self) -> set[str]:
        """None of our processes lives any more: a file that is in use is somebody else's."""

        def left() -> set[str]:
            new = visible_files() - self.files_before
            return new - files_in_use() if new else new

        # Somebody else's may be between its making and its use.
        with contextlib.suppress(AssertionError):
            until(lambda: not left(), 2, "no file is left")
        return left()

    def _ask_services(self) -> None:
        for service in self.services:
            for what in ("status", "report"):
                try:
                    document = getattr(service, what)()
                except Exception as error:  # evidence only: a dead service must not hide the test's own failure
                    document = {"error": str(error)}
                (self.folder / f"{service.folder.name}.{what}.json").write_text(json.dumps(document, indent=1))

    def _keep(self) -> None:
        kept = EVIDENCE / self.name
        shutil.rmtree(kept, ignore_errors=True)
        ignore = shutil.ignore_patterns("*.sock", "*.sock.d", "*.lock", "listener-*")
        shutil.copytree(self.folder, kept, ignore=ignore, ignore_dangling_symlinks=True)
        with_jobs = [service for _, service in self.jobs]
        alone = [shlex.join(one.command) + " &" for one in self.services if one not in with_jobs]
        lines = alone + [job.replay_command(service.command if service else None) for job, service in self.jobs]
        (kept / "replay.txt").write_text("\n".join([*self.notes, *lines]) + "\n")
        print(f"\nevidence: {kept}\n" + "\n".join([*self.notes, *lines[-1:]]))
        for service in self.services:
            print(f"{service.folder.name}, last lines:\n{service.said()[-LOG_SHOWN:]}")


@contextlib.contextmanager
def opened(name: str) -> Iterator[Workplace]:
    """Closed when the block is left; what was left behind is a warning."""
    place, failed = Workplace(name), True
    try:
        yield place
        failed = False
    finally:
        for complaint in place.close(failed):
            print(f"warning: {complaint}", file=sys.stderr)
