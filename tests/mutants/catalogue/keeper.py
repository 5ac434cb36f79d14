"""What outlives the service."""

from __future__ import annotations

from ..mutant import Mutant

MUTANTS = (
    Mutant(
        "log-callers-object",
        "a service that takes over finds what was put first, and not what became of it",
        "proxy/keeper/log.py",
        "self._values[key] = json.loads(json.dumps(value))",
        "self._values[key] = value",
        ("tests/unit/proxy/keeper/test_log.py::test_the_caller_may_change_what_it_has_put",),
    ),
    Mutant(
        "log-cut-off",
        "records from before a damage in the log come back after the next one is written",
        "proxy/keeper/log.py",
        "    os.ftruncate(descriptor, at)  # what was cut off must not be taken for the tail of a later record\n",
        "",
        ("tests/unit/proxy/keeper/test_log.py::test_what_comes_after_a_damaged_record_stays_away",),
    ),
    Mutant(
        "log-grows",
        "the log of a service that runs for weeks fills the memory",
        "proxy/keeper/log.py",
        "if self._end > COMPACT_BYTES and",
        "if False and",
        ("tests/unit/proxy/keeper/test_log.py::test_it_stays_small",),
    ),
    Mutant(
        "token-of-eight-digits",
        "a process that guesses eight digits is given another program's memory",
        "proxy/keeper/process/shelf.py",
        "return hmac.compare_digest(token.encode(), said)",
        "return hmac.compare_digest(token.encode()[:8], said[:8])",
        ("tests/unit/proxy/keeper/test_programs.py::test_every_digit_of_a_token_counts",),
    ),
    Mutant(
        "memory-again",
        "a program that asks again and again and does not read fills the keeper's memory",
        "proxy/keeper/process/programs.py",
        "may_ask = len(said) == TOKEN_BYTES and not program.asked",
        "may_ask = len(said) == TOKEN_BYTES",
        ("tests/unit/proxy/keeper/test_programs.py::test_memory_is_given_once",),
    ),
    Mutant(
        "token-of-another-user",
        "a process that has seen another user's token is given that user's memory",
        "proxy/keeper/process/shelf.py",
        "if one and same(one, token) and prefix_in(name) == prefix)",
        "if one and same(one, token))",
        ("tests/unit/proxy/keeper/test_owners.py::test_a_program_gets_what_is_its_users",),
    ),
    Mutant(
        "ticket-of-another-user",
        "a program opens a session with the ticket of another user's program",
        "proxy/keeper/process/programs.py",
        "if program is None or _prefix(program) != prefix or _ended(program.process):",
        "if program is None or _ended(program.process):",
        ("tests/unit/proxy/keeper/test_owners.py::test_a_program_gets_what_is_its_users",),
    ),
    Mutant(
        "privileges-stay",
        "the keeper of several users keeps all of root's privileges, and so do root's workers",
        "proxy/keeper/process/server.py",
        "privileges.give_up()",
        "privileges.lacking()",
        ("tests/unit/proxy/keeper/test_owners.py::test_the_keeper_has_what_it_needs_and_no_more",),
    ),
    Mutant(
        "socket-of-another-user",
        "the service calls whatever a user has put in the place of a worker's socket",
        "proxy/node/workers/address.py",
        "if stat.S_ISSOCK(found.st_mode) and found.st_uid == self._uid:",
        "if stat.S_ISSOCK(found.st_mode):",
        ("tests/unit/proxy/node/test_worker_address.py::test_what_the_user_has_not_bound",),
    ),
    Mutant(
        "everybody-comes-in",
        "the entrance lets users in who are not on the list",
        "proxy/front/entrance.py",
        "if not self._admits(peer):",
        "if not True:",
        ("tests/unit/proxy/tenants/test_tenants.py::test_who_asks_is_who_the_kernel_says",),
    ),
    Mutant(
        "crowd",
        "processes that no service knows keep all others away",
        "proxy/keeper/process/programs.py",
        "        if idle is not None:\n            self._end(idle)\n        return idle is not None",
        "        return False",
        ("tests/unit/proxy/keeper/test_programs.py::test_a_crowd_that_no_service_knows_keeps_nobody_away",),
    ),
)
