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
        "proxy/keeper/programs.py",
        "return hmac.compare_digest(token.encode(), said)",
        "return hmac.compare_digest(token.encode()[:8], said[:8])",
        ("tests/unit/proxy/keeper/test_programs.py::test_every_digit_of_a_token_counts",),
    ),
    Mutant(
        "memory-again",
        "a program that asks again and again and does not read fills the keeper's memory",
        "proxy/keeper/programs.py",
        "if len(said) == TOKEN_BYTES and not program.asked else -1",
        "if len(said) == TOKEN_BYTES else -1",
        ("tests/unit/proxy/keeper/test_programs.py::test_memory_is_given_once",),
    ),
    Mutant(
        "crowd",
        "processes that no service knows keep all others away",
        "proxy/keeper/programs.py",
        "        if idle is not None:\n            self._end(idle)\n        return idle is not None",
        "        return False",
        ("tests/unit/proxy/keeper/test_programs.py::test_a_crowd_that_no_service_knows_keeps_nobody_away",),
    ),
)
