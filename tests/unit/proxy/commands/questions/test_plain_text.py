"""The plain text of `jitc status`, `jitc report` and `jitc doctor` through a pipe, line by line: scripts read it.

The documents are made by hand, so that the lines change with the text alone. Each line that differs here is one that
users' scripts may no longer understand.
"""

from __future__ import annotations

from typing import Any

import pytest

from jitc.proxy.commands.doctor.check import Result, bad, good, unknown
from jitc.proxy.commands.doctor.text import text as doctor_text
from jitc.proxy.commands.questions import command, text
from jitc.proxy.commands.terminal.colour import AUTO

RANK: dict[str, Any] = {
    "pid": 4800, "job": "run-7", "user": "ann", "worker_pid": 4711, "rank": 0, "world_size": 2, "host": 0,
    "state": "serving", "waiting_for": "", "boundary": 37, "journal_bytes": 81920, "copies_held_bytes": 4194304,
    "ops_executed": 14211, "diverged": 0, "races": 0, "reserve": {"boundary": 0, "every": 20},
    "turns": {"moved_out": 0, "bytes": 0, "seconds": 0.0, "waits": False},
}  # fmt: skip
GPU: dict[str, Any] = {
    "index": 0, "device": "software", "state": "ready", "spare": False, "memory_used": 12582912,
    "memory_total": 4294967296, "recoveries": 1, "sessions": [RANK],
}  # fmt: skip
TROUBLED = RANK | {
    "pid": 4801, "rank": 1, "worker_pid": None, "state": "fenced", "host": 2, "diverged": 4, "races": 1,
    "waiting_for": "communicator of 2 ranks: rank 0 missing", "reserve": {"boundary": 20, "every": 20},
    "turns": {"moved_out": 3, "bytes": 5, "seconds": 0.25, "waits": True},
}  # fmt: skip
LONE = RANK | {"pid": 4900, "job": "pid 4900", "rank": -1, "world_size": 0, "journal_bytes": 512, "host": 2}
STATUS: dict[str, Any] = {
    "shuffle": 7,
    "gpus": [
        GPU,
        GPU | {"index": 1, "state": "recovering", "recoveries": 12, "sessions": [TROUBLED]},
        GPU | {"index": 2, "spare": True, "recoveries": 0, "sessions": [LONE]},
        GPU | {"index": 3, "device": "cuda", "state": "failed", "memory_used": 0, "recoveries": 0, "sessions": []},
    ],
    "copies": {"held_bytes": 4194304, "limit_bytes": 12884901888},
}

RECOVERY: dict[str, Any] = {
    "time": 1790000000.0, "began": 1789999999.59, "job": "run-7", "user": "ann", "cause": "worker-death",
    "message": "", "gpu": 1, "gpus": [1], "culprits": [], "decision": "roll-back", "boundary": 36,
    "outcome": "recovered", "seconds": 0.407,
    "phases": {"detect": 0.004, "fence": 0.002, "rebuild": 0.03, "decide": 0.0, "restore": 0.05, "resume": 0.001,
               "replay": 0.32},
    "bytes_restored": 16777216, "bytes_from_peers": {"nccl": 8388608, "host": 0}, "notes": [],
    "differences": {"results": 0, "largest": 0.0, "bound": 0.0},
    "proof": {"state": "proven", "boundary": 37, "blocks": 24, "text": "", "seconds": 0.004},
}  # fmt: skip
HUNG = RECOVERY | {
    "cause": "hang", "culprits": ["rank 1 (pid 4801)"], "message": "no progress for 5.0 s",
    "bytes_from_peers": {"nccl": 0, "host": 0}, "notes": ["NCCL did not work: the host has sent the blocks"],
    "outcome": "recovered, not bit-identical", "differences": {"results": 3, "largest": 2e-06, "bound": 0.01},
    "proof": {"state": "nothing to compare", "boundary": 37, "blocks": 0, "text": "one rank", "seconds": 0.0},
}  # fmt: skip
LOST = RECOVERY | {
    "decision": "none", "boundary": None, "bytes_restored": 0, "bytes_from_peers": {}, "phases": {"detect": 0.004},
    "seconds": 0.004, "outcome": "given up: no boundary is left",
    "proof": {"state": "not compared", "boundary": 0, "blocks": 0, "text": "the recovery was given up", "seconds": 0.0},
}  # fmt: skip
REPORT: dict[str, Any] = {
    "recoveries": [RECOVERY, HUNG, LOST],
    "validations": [{
        "time": 1790000000.0, "user": "ann", "gpus": [0, 1], "step": 102, "outcome": "different", "blocks": 412,
        "bytes": 50331648, "seconds": 0.21, "differences": {"results": 0, "largest": 0.0},
        "different": [{"session": 1, "address": 35184372088832, "bytes": 4096, "ordinal": 17}],
    }],
    "divergences": [{
        "time": 1790000000.0, "job": "run-7", "user": "ann", "boundary": 250, "odd": ["rank 2 (pid 4802)"],
        "blocks": [{"rank": "rank 2 (pid 4802)", "gpu": 2, "address": 4096, "bytes": 2097152, "ordinal": 17}],
        "outcome": "healed at boundary 254",
    }],
    "races": [{
        "time": 1790000000.0, "job": "run-7", "user": "ann", "sessions": ["rank 0 (pid 4800)"],
        "first": {"op": "aten::add_.Tensor", "operator": "aten::add_", "place": "train.py:14 in load\n",
                  "stream": 3, "sequence": 812, "writes": True},
        "second": {"op": "copy", "operator": "", "place": "", "stream": 0, "sequence": 815, "writes": False},
        "address": 8192, "bytes": 262144,
    }],
    "injected": [],
}  # fmt: skip

STATUS_LINES = """\
shuffled with seed 7
GPU 0  software  ready  memory 12.0 MiB of 4.0 GiB  1 recovery
    pid 4800  job run-7  rank 0 of 2  serving  worker 4711  boundary 37  copies 4.0 MiB  journal 80.0 KiB  14211 ops
GPU 1  software  recovering  memory 12.0 MiB of 4.0 GiB  12 recoveries
    pid 4801  job run-7  rank 1 of 2  fenced  worker none  boundary 37  copies 4.0 MiB  journal 80.0 KiB  14211 ops  \
on GPU 2  4 blocks unlike those of other ranks  1 race  reserve 20  \
takes turns at the GPU (left it 3 times, 0.2 s of moving, not on it now)
        waits for a communicator of 2 ranks: rank 0 missing
GPU 2  software  ready, spare  memory 12.0 MiB of 4.0 GiB  0 recoveries
    pid 4900  job pid 4900  no rank  serving  worker 4711  boundary 37  copies 4.0 MiB  journal 512 B  14211 ops
GPU 3  cuda  failed  memory 0 B of 4.0 GiB  0 recoveries
copies of device memory  4.0 MiB of 12.0 GiB
"""
REPORT_LINES = """\
1. job run-7, GPU 1: worker-death, recovered
   roll-back to boundary 36, 16.0 MiB restored (8.0 MiB from peers by nccl), 0.407 s
   detect 4.0 ms, fence 2.0 ms, rebuild 30.0 ms, decide 0.0 ms, restore 50.0 ms, resume 1.0 ms, replay 320.0 ms
   proven at boundary 37: collectives agree, 24 blocks that ranks held equal are equal
2. job run-7, GPU 1: hang, recovered, not bit-identical
   roll-back to boundary 36, 16.0 MiB restored, 0.407 s
   detect 4.0 ms, fence 2.0 ms, rebuild 30.0 ms, decide 0.0 ms, restore 50.0 ms, resume 1.0 ms, replay 320.0 ms
   nothing to compare at boundary 37: collectives agree, one rank
   others waited for rank 1 (pid 4801)
   results that came out otherwise: 3, by up to 2e-06 of their size (0.01 is tolerated)
   no progress for 5.0 s
   NCCL did not work: the host has sent the blocks
3. job run-7, GPU 1: worker-death, given up: no boundary is left
   none to boundary None, 0 B restored, 0.004 s
   detect 4.0 ms
   not compared: the recovery was given up
validation on GPU 0, 1, step 102: different (412 live blocks, 48.0 MiB, 0.210 s)
   differs: 4.0 KiB at address 0x200000000000, session 1
job run-7: replicas stopped agreeing at boundary 250, odd: rank 2 (pid 4802); healed at boundary 254
   differs: 2.0 MiB at address 0x1000, ordinal 17, rank 2 (pid 4802) on GPU 2
race in job run-7, rank 0 (pid 4800): no order between two operators that touch the same memory
  aten::add_.Tensor (aten::add_) writes on stream 0x3
      train.py:14 in load
  copy reads on the default stream
      (no Python code called it)
  262144 bytes at 0x2000
"""
DOCTOR_LINES = """\
system
good     glibc           2.36, at least 2.34 is needed
bad      memory          1 MiB available, half of it (64 MiB) for copies, which
                         is far too little
                         -> free memory, or give the container more (docker run
                            --memory)

gpu
unknown  driver          /a/path/that/is/too/long/for/one/line/and/is/not/broken/anywhere
                         is installed
                         -> try it

1 good, 1 bad, 1 unknown
"""


@pytest.mark.parametrize(
    ("document", "lines", "form"), [(STATUS, STATUS_LINES, text.status), (REPORT, REPORT_LINES, text.report)]
)
def test_answers_of_a_service(document: Any, lines: str, form: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert not command._show(document, False, form, AUTO)
    assert capsys.readouterr().out == lines


def test_nothing_to_report() -> None:
    assert text.report({kind: [] for kind in REPORT}) == "no recoveries so far"
    nothing = {"shuffle": 0, "gpus": [], "copies": {"held_bytes": 0, "limit_bytes": 1024}}
    assert text.status(nothing) == "copies of device memory  0 B of 1.0 KiB"


def test_a_doctor_s_findings() -> None:
    results = [
        Result("system", "glibc", good("2.36, at least 2.34 is needed")),
        Result("system", "memory", bad("1 MiB available, half of it (64 MiB) for copies, which is far too little",
                                       "free memory, or give the container more (docker run --memory)")),
        Result("gpu", "driver", unknown("/a/path/that/is/too/long/for/one/line/and/is/not/broken/anywhere is installed",
                                        "try it")),
    ]  # fmt: skip
    assert doctor_text(results) + "\n" == DOCTOR_LINES
    assert doctor_text([]).strip() == "0 good, 0 bad, 0 unknown"
