"""What the launch of a kernel costs the program, and the worker, on the tests' stand-in for NVIDIA's driver.

A C++ loop (native/launch_cost.cpp) launches kernels that do nothing, in bursts, and waits after each: once on the
stand-in alone, once with jitc between, in turns. The worker's cost is the processor time of its threads by launch:
`jitc-ops` takes ops from the stream and writes the journal, `jitc-dispatch` gives them to the driver (the stand-in's
own time is part of it), `jitc-poller` tells what is done.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from common import LIBRARIES, finish, linked_program, parser, summary, workplace

if TYPE_CHECKING:
    from toolkit.service import Service

CLIENT_GOAL_NS = 150.0
THREAD_GOALS_US = {"jitc-ops": 0.5, "jitc-dispatch": 1.0}
#: Of the service: nothing but launches is measured.
OPTIONS = ("--device", "cuda", "--spares", "0")


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--launches", type=int, default=1_000_000, help="of a run (1000000)")
    arguments.add_argument("--burst", type=int, default=2_000, help="launches between two waits (2000)")
    arguments.add_argument("--rounds", type=int, default=3)
    args = arguments.parse_args()
    from toolkit.fakes import fake_library, fake_options, fake_system

    sides: dict[str, list[int]] = {"alone": [], "jitc": []}
    threads: dict[str, float] = {}
    words = [str(args.launches), str(args.burst)]
    with workplace("launch_cost") as place:
        driver = place.folder / "driver"
        driver.mkdir()
        environment = fake_system(driver, place.env, DEVICES="1")
        service = place.service(1, (*OPTIONS, *fake_options("nvrtc")), **environment)
        interposer = LIBRARIES / "libjitc_interpose.so"
        with_jitc = linked_program("launch_cost_jitc", "launch_cost", interposer)
        alone = linked_program("launch_cost_alone", "launch_cost", fake_library("cuda"))
        for _ in range(args.rounds):
            sides["alone"] += run([str(alone), *words], {**os.environ, **environment})
            env = {**service.env, "LD_PRELOAD": str(interposer)}
            sides["jitc"] += run([str(with_jitc), *words], env, service, threads)
    issue = {name: summary([value / args.burst for value in bursts]) for name, bursts in sides.items()}
    for name, values in issue.items():
        print(f"{name:<6} {values['median']:8.1f} ns a launch for the program (90 %: {values['high']:.1f})")
    of_all = args.launches * args.rounds / 1e6
    by_thread = {name: seconds / of_all for name, seconds in threads.items() if seconds}
    print("worker, us a launch: " + ", ".join(f"{name} {value:.3f}" for name, value in by_thread.items()))
    met = {f"program: a launch at most {CLIENT_GOAL_NS:g} ns": issue["jitc"]["median"] <= CLIENT_GOAL_NS} | {
        f"{name}: a launch at most {goal:g} us": by_thread.get(name, 0) <= goal
        for name, goal in THREAD_GOALS_US.items()
    }
    figures = {"program_ns": issue, "worker_us": by_thread}
    return finish(args, figures, met)


def run(
    command: list[str], env: dict[str, str], service: Service | None = None, threads: dict[str, float] | None = None
) -> list[int]:
    """Nanoseconds of the launches of each burst. threads: gets the processor time of the worker, in seconds."""
    program = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert program.stdin and program.stdout
    assert program.stdout.readline() == "ready\n"
    worker = service.worker_pid(0) if service else None
    before = processor_time(worker)
    program.stdin.write("\n")
    program.stdin.flush()
    lines: list[str] = []
    for line in program.stdout:
        if line == "done\n":
            break
        lines.append(line)
    if threads is not None:
        for name, seconds in processor_time(worker).items():
            threads[name] = threads.get(name, 0) + seconds - before.get(name, 0)
    program.communicate()
    return [int(line.split()[0]) for line in lines]


def processor_time(pid: int | None) -> dict[str, float]:
    """Seconds of each thread, by name."""
    found: dict[str, float] = {}
    for task in Path(f"/proc/{pid}/task").iterdir() if pid else ():
        text = (task / "stat").read_text()
        name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
        found[name] = found.get(name, 0) + (int(rest[11]) + int(rest[12])) / os.sysconf("SC_CLK_TCK")
    return found


if __name__ == "__main__":
    sys.exit(main())
