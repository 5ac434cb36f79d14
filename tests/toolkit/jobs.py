"""The five jobs of the fault matrix, at sizes that take seconds."""

from __future__ import annotations

from .job import Script

STEPS = 5
_SMALL = ("--steps", str(STEPS), "--layers", "2", "--width", "64")

JOBS: dict[str, Script] = {
    "gpt": Script("train_gpt.py", _SMALL),
    "cnn": Script("train_cnn.py", ("--steps", str(STEPS))),
    "amp": Script("train_amp.py", _SMALL),
    "accumulate": Script("train_accumulate.py", _SMALL),
    "fsdp": Script("train_fsdp.py", _SMALL),
}

#: Ops that every run of the job surely reaches (the number varies a little with the watchdog's timing and the release).
OPS: dict[str, int] = {"gpt": 1500, "cnn": 780, "amp": 1900, "accumulate": 3200, "fsdp": 1850}

#: The same for jobs of LONG_STEPS steps, in which the service gets to know which blocks replicas share.
LONG_STEPS = 60
LONG_OPS: dict[str, int] = {"gpt": 13000, "cnn": 5800, "amp": 17700, "accumulate": 35000, "fsdp": 17000}

#: The same for a comparison with the CPU, whose random numbers differ: without dropout, float32 only.
COMPARABLE: dict[str, Script] = {
    "gpt": JOBS["gpt"],
    "cnn": JOBS["cnn"].with_arguments("--dropout", "0"),
    "accumulate": JOBS["accumulate"],
    "fsdp": JOBS["fsdp"],
}
