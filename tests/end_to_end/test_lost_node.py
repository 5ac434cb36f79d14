"""A node that is lost under a job, and begins anew: what the programs on the other nodes learn, and what comes then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from toolkit.cluster import NodeService, started, why_not
from toolkit.job import Script
from toolkit.jobs import JOBS
from toolkit.pace import PACED
from toolkit.record import Record, assert_identical
from toolkit.waiting import until
from toolkit.workplace import Workplace

Reference = Callable[[Script, str], list[Record]]
GPT = JOBS["gpt"]
LONG = replace(GPT.with_arguments("--steps", "12"), around=PACED)
SECONDS = 60.0
pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())


@pytest.mark.slow
def test_a_node_that_is_lost_and_begins_anew(shared_workplace: Workplace, reference: Reference, tmp_path: Path) -> None:
    """Programs that wait for its ranks learn that these have ended; the next job has both nodes."""
    with started(shared_workplace.folder / "anew", 2, shared_workplace.env) as made:
        job = made.job(LONG, tmp_path / "lost", made.services)
        job.go_to(4)
        made.nodes.kill(1)
        lost = made.services.pop()
        lost.kill()
        job.pace.grant(12)
        until(lambda: "cannot be reached" in made.services[0].said(), SECONDS, "the other node has noticed")
        made.nodes.add(1)
        made.services.append(NodeService(made, made.nodes[1], options=lost.options).ready())
        error = "the node of this rank was started again, and has lost it"
        until(lambda: error in job.output(), SECONDS, "the other rank has the error")
        job.kill()  # PyTorch's watchdog keeps a process with such an error for another minute
        after = made.job(GPT, tmp_path / "next", made.services).finish().successful()
        assert_identical(after.records, reference(GPT, "cuda"))
