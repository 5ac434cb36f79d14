"""What executes ops: the worker's native part."""

from __future__ import annotations

from ..mutant import Mutant

FOLDER = "proxy/native/executor"
TESTS = "tests/unit/executor"
MUTANTS = (
    Mutant(
        "executor-damaged-image",
        "a kernel's image, or a cuDNN plan, with a flipped bit is executed",
        f"{FOLDER}/state/images.cpp",
        "if (!found.empty() && hash_bytes(found) == hash) return found;",
        "if (!found.empty()) return found;",
        (f"{TESTS}/replay/test_damaged_images.py::test_a_rebuilt_worker_loads_no_damaged_image",),
    ),
    Mutant(
        "executor-damaged-journal",
        "a record of the journal with a flipped bit is replayed",
        f"{FOLDER}/journal/record_log.cpp",
        "header.size) != header.checksum) return {};",
        "header.size) != header.checksum && false) return {};",
        (f"{TESTS}/replay/test_rollback.py::test_a_damaged_journal_is_noticed",),
    ),
    Mutant(
        "executor-other-format",
        "a worker reads a journal of another version of jitc",
        f"{FOLDER}/journal/record_log.cpp",
        "if (found.format != kFormat || found.op_format != ops::kFormatVersion)",
        "if (found.op_format != ops::kFormatVersion)",
        (f"{TESTS}/journal/test_journal.py::test_a_journal_of_another_format_is_refused",),
    ),
    Mutant(
        "executor-ops-twice",
        "an op that a client sends again after a cut connection is executed twice",
        f"{FOLDER}/session/intake.cpp",
        "    if (op.header.sequence <= core_.at.received) continue;\n",
        "",
        (f"{TESTS}/session/test_session.py::test_ops_sent_twice_are_taken_once",),
    ),
    Mutant(
        "executor-results-twice",
        "a client gets results again that it has had",
        f"{FOLDER}/results/results.cpp",
        "  for (auto entry = entries_.upper_bound(received_); entry != entries_.end(); ++entry) {\n"
        "    if (entry->second.lost)",
        "  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {\n    if (entry->second.lost)",
        (f"{TESTS}/session/test_session.py::test_results_that_were_not_received_come_again_and_only_those",),
    ),
    Mutant(
        "executor-copies-of-others",
        "a boundary takes the copy of an earlier content for the block's",
        f"{FOLDER}/checkpoint/row_copies.cpp",
        "earlier && earlier->copied() && earlier->hash == row->hash;",
        "earlier && earlier->copied();",
        (f"{TESTS}/checkpoint/test_unchanged_blocks.py::test_identical_whatever_changes_and_is_lost",),
    ),
    Mutant(
        "executor-all-copied-again",
        "what has not changed is copied at each boundary",
        f"{FOLDER}/checkpoint/row_copies.cpp",
        "const bool same = row->hash != kNoHash &&",
        "const bool same = false && row->hash != kNoHash &&",
        (f"{TESTS}/checkpoint/test_unchanged_blocks.py::test_unchanged_blocks_are_not_copied_again",),
    ),
    Mutant(
        "executor-changed-is-kept",
        "a rank that goes back keeps blocks that have changed since the boundary",
        f"{FOLDER}/recovery/restorer.cpp",
        "const bool holds = now[i] != kNoHash && now[i] == rows[i].hash;",
        "const bool holds = now[i] != kNoHash;",
        (f"{TESTS}/replay/test_damaged_ranks.py::test_copies_from_before_a_step",),
    ),
    Mutant(
        "executor-no-barrier",
        "a rank begins its optimizer step before its peers have come to it, and nobody can finish the step for it",
        f"{FOLDER}/step/step_gate.cpp",
        "if (plan().barrier && waits && !wait_for_group(step)) return false;",
        "if (plan().barrier && waits && false) return false;",
        (f"{TESTS}/replay/test_peers.py::test_nobody_begins_a_step_before_all_have_reached_it",),
    ),
    Mutant(
        "executor-waits-for-any-step",
        "after a hung kernel a recovery begins ten seconds late",
        f"{FOLDER}/recovery/recovery.cpp",
        "issued.in_step && !issued.step_collectives && issued.behind_barrier;",
        "issued.in_step && !issued.step_collectives;",
        (f"{TESTS}/replay/test_peers.py::test_a_step_that_began_without_the_barrier_is_not_waited_for",),
    ),
    Mutant(
        "executor-skips-what-is-awaited",
        "a boundary that the service waits for is not made, so that it waits until the next one",
        f"{FOLDER}/step/boundary_maker.cpp",
        "makes(boundary - base) && !is_awaited(boundary) && !filling",
        "makes(boundary - base) && !filling",
        (f"{TESTS}/checkpoint/test_boundaries_apart.py::test_one_that_somebody_waits_for_is_made",),
    ),
    Mutant(
        "executor-stands-in-a-circle",
        "threads of two ranks whose boundaries wait for each other stand for ten seconds at each",
        f"{FOLDER}/drain/lookout.cpp",
        "if (waits_in_circle(ranks.front(), others)) return true;",
        "if (waits_in_circle(ranks.front(), others)) return false;",
        (f"{TESTS}/checkpoint/test_circles.py::test_nobody_waits_in_a_circle[threads-peers]",),
    ),
    Mutant(
        "executor-any-noise",
        "a replay may differ by any amount where the program allowed some",
        f"{FOLDER}/comparison/tolerance.cpp",
        "  return scale == 0 ? kInfinite : largest / scale;\n",
        "  return 0;\n",
        (f"{TESTS}/replay/test_tolerance.py::test_numbers_within_the_bound",),
    ),
    Mutant(
        "executor-policy-forgotten",
        "a worker that takes over does not know that its session relies on peers",
        f"{FOLDER}/boundary/policy.cpp",
        "  policy.copy_all = unpacker.get<uint64_t>() != 0;\n",
        "  policy.copy_all = unpacker.get<uint64_t>() == 0;\n",
        (f"{TESTS}/replay/test_peers.py::test_policies_survive_the_worker",),
    ),
)
