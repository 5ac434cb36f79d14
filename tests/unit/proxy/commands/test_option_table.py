"""The table of options: one description, from which the command line, the configuration and workers get the same."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from option_rig import other_value

from jitc.ops.options.generated_fields import BINDING, OF_WORKERS, ServiceOptions
from jitc.ops.options.table import GROUPS, OPTIONS, OVERHEAD_PARTS, Option
from jitc.proxy.commands.settings.resolve import resolve
from jitc.proxy.commands.settings.service import (
    add_device_options,
    configured,
    device_words,
)
from jitc.proxy.commands.settings.setting import DEVICE_SETTINGS
from jitc.proxy.common.config import Config

FIELDS = {one.name for one in fields(ServiceOptions)}
BUDGETS = [one for one in OPTIONS if one.field in OVERHEAD_PARTS]


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_device_options(parser)
    arguments = parser.parse_args(words)
    resolve(arguments, DEVICE_SETTINGS)
    return arguments


def config(*words: str) -> Config:
    return Config("s", **configured(parsed(*words)))


def words_of(option: Option, folder: Path) -> list[str]:
    value = other_value(option, folder)
    return [f"--{option.name}", value] if value else [f"--{option.name}"]


def test_without_words_the_configuration_has_its_defaults() -> None:
    assert config() == Config("s")


@pytest.mark.parametrize("option", OPTIONS, ids=lambda one: one.name)
def test_each_option_reaches_its_field_and_no_other(option: Option, tmp_path: Path) -> None:
    usual, changed = config(), config(*words_of(option, tmp_path))
    different = {name for name in FIELDS if getattr(usual, name) != getattr(changed, name)}
    expected = {option.field} if option.field else set(OVERHEAD_PARTS)
    assert different == (expected | {"boundary_share"} if option.name == "device" else expected)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda one: one.name)
def test_a_service_that_is_started_for_a_program_has_the_same(option: Option, tmp_path: Path) -> None:
    given = parsed(*words_of(option, tmp_path))
    assert configured(parsed(*device_words(given))) == configured(given)


def test_fields_are_those_of_the_table() -> None:
    assert {one.field for one in OPTIONS} - {""} == FIELDS
    assert set(BINDING) == {one.field for one in OPTIONS if one.binding}
    assert set(OF_WORKERS) == {one.field for one in OPTIONS if one.worker}
    assert {one.group for one in OPTIONS} == set(GROUPS)
    assert len({one.name for one in OPTIONS}) == len(OPTIONS)


# -- one budget for three ----------------------------------------------------------------------------------


def shares(*words: str) -> dict[str, float]:
    values = configured(parsed(*words))
    return {name: round(values[name], 9) for name in OVERHEAD_PARTS}


def test_overhead_is_divided_and_each_part_can_be_given() -> None:
    assert sum(OVERHEAD_PARTS.values()) == pytest.approx(1)
    divided = {"boundary_share": 0.01, "reserve_share": 0.009, "validate_share": 0.001}
    assert shares("--overhead", "2") == divided
    assert shares("--overhead", "2", "--device", "cuda") == divided
    for one in BUDGETS:
        assert shares("--overhead", "2", f"--{one.name}", "4") == divided | {one.field: 0.04}
        assert shares("--overhead", "2", f"--{one.name}", "0") == divided | {one.field: 0.0}


def test_without_it_each_budget_has_its_own_default() -> None:
    assert shares() == {"boundary_share": 0.0, "reserve_share": 0.01, "validate_share": 0.001}
    assert shares("--device", "cuda")["boundary_share"] == 0.01


# -- workers ---------------------------------------------------------------------------------------------------


def test_workers_are_given_texts() -> None:
    given: dict[str, Any] = {"noise": 7, "check_order": True, "hang_seconds": 0.5}
    texts = Config("s", **given).for_workers()
    assert set(texts) == set(OF_WORKERS)
    assert {name: texts[name] for name in given} == {"noise": "7", "check_order": "1", "hang_seconds": "0.5"}
    assert Config("s").for_workers()["check_order"] == "0"
