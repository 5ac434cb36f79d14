"""How a recovery goes, hangs, tolerances, what is reported."""

from __future__ import annotations

from ..mutant import Mutant

MUTANTS = (
    Mutant(
        "replay-end-executed",
        "a lost rank counts as recovered before it has run all that it had been given",
        "proxy/recovery/recovery.py",
        "return int(position.received)\n        failed",
        "return int(position.executed)\n        failed",
        ("tests/unit/proxy/recovery/test_replay_ends.py::test_a_lost_rank_runs_all_that_it_had_received",),
    ),
    Mutant(
        "replay-end-failed-op",
        "a rank counts as recovered before the op that had failed has run again",
        "proxy/recovery/recovery.py",
        "return max(int(position.executed), min(failed, int(position.received)))",
        "return int(position.executed)",
        ("tests/unit/proxy/recovery/test_replay_ends.py::test_a_healthy_rank_runs_what_it_had_run_and_what_failed",),
    ),
    Mutant(
        "damage-is-not-told",
        "a copy that memory errors have damaged is repaired, and nobody learns that memory is bad",
        "proxy/recovery/restore/restore.py",
        "            if damaged:\n                self._transfers.note(",
        "            if False:\n                self._transfers.note(",
        ("tests/unit/proxy/recovery/test_restore.py::test_a_damaged_copy_that_a_peer_makes_good_is_told",),
    ),
    Mutant(
        "restore-anywhere",
        "a rank that is not where it was sent to is resumed all the same",
        "proxy/recovery/restore/restore.py",
        "        self._require_cut(replies, boundaries)\n",
        "",
        ("tests/unit/proxy/recovery/test_restore.py::test_ranks_must_stand_where_they_were_sent",),
    ),
    Mutant(
        "direct-again",
        "a direct transfer that hung is tried again in the same recovery",
        "proxy/recovery/restore/transfer.py",
        "self._direct = False  # also when the call is interrupted",
        "pass",
        (
            (
                ""
                "tests/unit/proxy/recovery/test_restore.py::test_after_a_direct_transfer_that_was_interrupted_the_next_attempt_takes_the_host"
            ),
        ),
    ),
    Mutant(
        "hangs-stopped-service",
        "a service that was stopped takes healthy ranks for hung when it goes on",
        "proxy/health/hang_watch.py",
        "self.look(min(self._looked - before, 2 * self._pause))",
        "self.look(self._looked - before)",
        ("tests/unit/proxy/health/test_hang_watch.py::test_time_in_which_the_service_stood_still_does_not_count",),
    ),
    Mutant(
        "hangs-beyond-the-limit",
        "a rank that the device's own limit has hit is judged a second time, and recovered twice",
        "proxy/health/hang_watch.py",
        "if found and not under_way and found[0].seconds < self._seconds:",
        "if found and not under_way:",
        (
            (
                ""
                "tests/unit/proxy/health/test_hang_watch.py::test_beyond_the_longest_time_devices_and_the_heartbeat_say_so"
            ),
        ),
    ),
    Mutant(
        "hangs-judged-twice",
        "the same hang begins a recovery at each look",
        "proxy/health/hang_watch.py",
        "if found and not under_way and found[0].seconds",
        "if found and found[0].seconds",
        ("tests/unit/proxy/health/test_hang_watch.py::test_one_verdict_at_a_time",),
    ),
    Mutant(
        "gaps-before-known",
        "a job's slow first steps are taken for a hang",
        "proxy/health/gaps.py",
        "if self._count < ENOUGH:",
        "if self._count < 1:",
        ("tests/unit/proxy/health/test_hang_suspects.py::test_nothing_is_a_hang_before_the_job_is_known",),
    ),
    Mutant(
        "gaps-mean",
        "one evaluation makes hangs be found only after minutes",
        "proxy/health/gaps.py",
        "TIMES * median(self._steps)))",
        "TIMES * max(self._steps)))",
        ("tests/unit/proxy/health/test_hang_suspects.py::test_limit_follows_the_median_of_the_same_kind",),
    ),
    Mutant(
        "gaps-again-step",
        "a boundary that is made again after a recovery counts as a step",
        "proxy/health/gaps.py",
        "        if steps <= 0:\n            return\n",
        "        if steps < 0:\n            steps = 1\n",
        ("tests/unit/proxy/health/test_hang_suspects.py::test_a_boundary_that_is_made_again_is_no_step",),
    ),
    Mutant(
        "suspects-idle",
        "a rank with a slow data loader is taken for hung",
        "proxy/health/suspects.py",
        "State.LATE: HUNG_COLLECTIVE}",
        "State.LATE: HUNG_COLLECTIVE, State.IDLE: HUNG_KERNEL}",
        (
            (
                ""
                "tests/unit/proxy/health/test_hang_suspects.py::test_rank_whose_program_gives_it_nothing_to_do_is_never_suspected"
            ),
        ),
    ),
    Mutant(
        "suspects-goes-on",
        "ranks that wait only for a boundary are taken for hung",
        "proxy/health/suspects.py",
        "other.state is not State.WAITS or other.will_go_on for",
        "other.state is not State.WAITS for",
        ("tests/unit/proxy/health/test_hang_suspects.py::test_collective_in_which_one_waits_only_for_a_boundary",),
    ),
    Mutant(
        "tolerance-unlimited",
        "a job that shows large differences once is allowed any difference in its replay",
        "proxy/protection/determinism/tolerance.py",
        "return min(MOST, max(LEAST, TIMES * largest))",
        "return max(LEAST, TIMES * largest)",
        ("tests/unit/proxy/protection/test_tolerances.py::test_the_bound_follows_from_what_a_job_showed",),
    ),
    Mutant(
        "tolerance-of-identical",
        "a job that a validation found identical is allowed differences",
        "proxy/protection/determinism/tolerance.py",
        "if largest == 0 and self._mode == AUTO:",
        "if False:",
        ("tests/unit/proxy/protection/test_tolerances.py::test_the_bound_follows_from_what_a_job_showed",),
    ),
    Mutant(
        "incident-replaced",
        "a worker that jitc itself has replaced is reported as one that died",
        "proxy/recovery/incident.py",
        "if worker.gpu is not None and not worker.replaced:",
        "if worker.gpu is not None:",
        ("tests/unit/proxy/recovery/test_lost_workers.py::test_one_that_is_replaced_is_none",),
    ),
    Mutant(
        "proof-of-nothing",
        "a recovery after which nothing was compared is called proven",
        "proxy/recovery/proof.py",
        "NOT_PROVEN if found.unlike else PROVEN if found.blocks else NOTHING_TO_COMPARE",
        "NOT_PROVEN if found.unlike else PROVEN",
        ("tests/unit/proxy/recovery/test_proof.py::test_one_rank_has_nobody_to_be_compared_with",),
    ),
    Mutant(
        "proof-other-fault",
        "any fault that comes later has the recovery before it called unproven",
        "proxy/recovery/proof.py",
        "event.cause in LONELY and event.cause not in proof.causes",
        "event.cause not in proof.causes",
        ("tests/unit/proxy/recovery/test_proof.py::test_another_error_is_none",),
    ),
    Mutant(
        "spans-of-waiting",
        "a rank that does two things at a time is shown as if it had waited less than it did",
        "proxy/recovery/rank_times.py",
        "seconds += max(0.0, one.end - max(one.start, until))",
        "seconds += one.end - one.start",
        ("tests/unit/proxy/recovery/test_rank_times.py::test_time_in_which_a_rank_does_two_things_counts_once",),
    ),
    Mutant(
        "spacing-journal",
        "the journal fills up between two boundaries, and steps stand still until one is made",
        "proxy/protection/spacing.py",
        "and 2 * every <= most:",
        "and 2 * every <= MOST:",
        ("tests/unit/proxy/protection/test_spacing.py::test_the_journal_holds_the_minibatches",),
    ),
    Mutant(
        "replay-unchecked",
        "a worker that is lost in the last moment of a recovery: that is called recovered all the same",
        "proxy/recovery/replay.py",
        "        self._calls.check()\n",
        "",
        ("tests/unit/proxy/recovery/test_kills_in_recoveries.py::test_kill_in_a_recovery[replay-end-replay-rebuilt]",),
    ),
    Mutant(
        "half-restored",
        "a worker that had got half of its memory when a recovery was interrupted is taken as it is",
        "proxy/recovery/recovery.py",
        "                session.worker.replace()\n",
        "                pass\n",
        (
            "tests/unit/proxy/recovery/test_kills_in_recoveries.py::test_kill_in_a_recovery"
            "[restore-before-Rollback-survivor]",
        ),
    ),
)
