"""The causes of faults, as reports and events name them.

Used by: all code that reports a fault (workers name theirs in ReportFault, native/executor/faults), and recoveries,
which decide by the cause what to do.
"""

from __future__ import annotations

WORKER_DEATH = "worker-death"
#: The kernel has ended the worker for lack of memory.
OUT_OF_MEMORY = "out-of-memory"
#: The worker lives and does not answer.
HUNG_WORKER = "hung-worker"
#: Only the worker's end stops such a kernel, even if it turns out to be the program's own fault.
HUNG_KERNEL = "hung-kernel"
HUNG_COLLECTIVE = "hung-collective"
#: A rank waits for one that has ended.
COMMUNICATOR_ENDED = "communicator-ended"
#: A value that steers the program differed in a replay; in another replay it may not.
ASTRAY = "replay-astray"

#: Not faults: a session has stopped to have its minibatch run twice (../protection/determinism/validation.py),
VALIDATION = "validation"
#: or so that an odd replica can be healed (../protection/peer_mode/healing.py);
DIVERGENCE = "replica-divergence"
#: the service ended in the middle of a recovery, which begins anew;
RESTART = "service-restart"
#: a session goes back to its own GPU.
MOVED = "gpu-returned"
