"""What peers hold, and when copies are left out because of it."""

from __future__ import annotations

from ..mutant import Mutant

MUTANTS = (
    Mutant(
        "classes-passing",
        "blocks that are new in each step and changed by it are lost with a worker: no peer can say what they were",
        "proxy/protection/peer_mode/classes.py",
        "if any(row.ordinal in passing and row.changed_in_step() for row in table.rows):",
        "if False:",
        ("tests/unit/proxy/protection/test_classes.py::test_a_replica_that_is_new_in_each_step_and_changed_by_it",),
    ),
    Mutant(
        "classes-own-changed",
        "a shard that only one rank has is not copied, and lost with its worker",
        "proxy/protection/peer_mode/classes.py",
        "        if changed:\n",
        "        if False:\n",
        ("tests/unit/proxy/protection/test_classes.py::test_shards_have_no_replica",),
    ),
    Mutant(
        "classes-variables",
        "device variables that a step changes are lost with a worker",
        "proxy/protection/peer_mode/classes.py",
        "        if table.variables:\n",
        "        if False:\n",
        ("tests/unit/proxy/protection/test_classes.py::test_steps_that_cannot_be_finished_alone",),
    ),
    Mutant(
        "classes-unmeasured",
        "a block that was not measured counts as unchanged",
        "proxy/protection/peer_mode/classes.py",
        "return not self.before or self.hash != self.before",
        "return bool(self.before) and self.hash != self.before",
        ("tests/unit/proxy/protection/test_classes.py::test_what_was_not_measured_is_volatile_and_changed",),
    ),
    Mutant(
        "classes-equal-bytes",
        "a zeroed buffer of a peer counts as a replica of another block",
        "proxy/protection/peer_mode/classes.py",
        "holders.setdefault((row.ordinal, row.size, row.hash), [])",
        "holders.setdefault((0, row.size, row.hash), [])",
        ("tests/unit/proxy/protection/test_classes.py::test_equal_bytes_elsewhere_are_no_replica",),
    ),
    Mutant(
        "replicas-old-step",
        "a replica that goes apart after a step that was skipped is not noticed",
        "proxy/protection/peer_mode/replicas.py",
        "stepped = _stepped(held, part) or any(one.stepped for one in old if part <= one.ranks)",
        "stepped = _stepped(held, part)",
        (
            "tests/unit/proxy/protection/test_replicas.py::test_a_step_that_leaves_a_block_out_does_not_make_it_a_counter",
        ),
    ),
    Mutant(
        "replicas-at-once",
        "buffers that are equal by chance are told as replicas that disagree",
        "proxy/protection/peer_mode/replicas.py",
        "return self.looks >= AGREEING and",
        "return",
        ("tests/unit/proxy/protection/test_replicas.py::test_what_was_never_equal_for_long_may_differ",),
    ),
    Mutant(
        "replicas-counters",
        "a program's own counters are told as replicas that disagree",
        "proxy/protection/peer_mode/replicas.py",
        "and (self.stepped or self.size > SMALL)",
        "",
        ("tests/unit/proxy/protection/test_replicas.py::test_counters_of_the_program_may_go_apart",),
    ),
    Mutant(
        "replicas-filled",
        "a buffer that each rank fills is told as a replica that has gone apart",
        "proxy/protection/peer_mode/replicas.py",
        "and one.watched() and not (one.ranks <= held.keys() and one.is_filled(held)):",
        "and one.watched():",
        ("tests/unit/proxy/protection/test_replicas.py::test_a_buffer_that_each_rank_fills_was_no_replica",),
    ),
    Mutant(
        "majority-of-half",
        "of two against two ranks two are healed with bytes that may be the wrong ones",
        "proxy/protection/peer_mode/replicas.py",
        "2 * len(self.parts[0]) > ranks",
        "2 * len(self.parts[0]) >= ranks",
        ("tests/unit/proxy/protection/test_replicas.py::test_two_against_two",),
    ),
    Mutant(
        "findings-disagree",
        "peers are relied on though findings about blocks differ from step to step",
        "proxy/protection/peer_mode/group_policy.py",
        "any(one.obstacle or one.classes != newest for one in self.findings)",
        "any(one.obstacle for one in self.findings)",
        ("tests/unit/proxy/protection/test_group_policy.py::test_findings_in_a_row_must_agree",),
    ),
    Mutant(
        "findings-cover",
        "blocks that have begun to change between steps are left without copies",
        "proxy/protection/peer_mode/group_policy.py",
        "            and classes.mutable <= relied_on[number].mutable\n",
        "",
        ("tests/unit/proxy/protection/test_group_policy.py::test_what_is_copied_covers_what_must_be",),
    ),
    Mutant(
        "reserve-of-one-rank",
        "a reserve counts although one rank has no copies of it",
        "proxy/protection/peer_mode/reserves.py",
        "if all(self.wanted in one.reserves for one in ranks):",
        "if any(self.wanted in one.reserves for one in ranks):",
        ("tests/unit/proxy/protection/test_reserve_times.py::test_it_counts_once_all_ranks_have_it",),
    ),
)
