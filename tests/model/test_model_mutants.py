"""Every mutant of the model and of the implementation is found: the properties can fail."""

from __future__ import annotations

import contextlib

import pytest

from model.mutants import MUTANTS, PATCHES, RULES, Mutant


@pytest.mark.sampled
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_found(name: str) -> None:
    mutant = MUTANTS[name]
    found = mutant.found_by()
    assert found is not None, f"it survives: {mutant.says}"


def test_there_are_enough_of_both() -> None:
    assert len(RULES) + len(PATCHES) == len(MUTANTS) >= 30
    assert min(len(RULES), len(PATCHES)) >= 15


@pytest.mark.timeout(900)
def test_the_same_search_finds_nothing_without_a_mutant() -> None:
    """After one, too: patches of the real recovery are undone."""
    assert MUTANTS["decide-newest"].found_by() is not None
    none = Mutant("none", "", frozenset(), contextlib.nullcontext)
    assert none.found_by() is None
