"""What the executor is made with: options of the service as texts, each of which it must know."""

from __future__ import annotations

from typing import Any

import pytest
from executor_rig import Control, library

from jitc.proxy.common import executor as binding
from jitc.proxy.common.config import Config


def made(options: dict[str, str]) -> None:
    all_of_it: Any = {"device": "software", "memory_limit": 1 << 20, "threads": 1, "options": options}
    binding.Executor(library(), all_of_it, Control()).close()


def test_it_takes_what_a_service_gives() -> None:
    made(Config("s").for_workers())
    made(Config("s", noise=(1 << 63) - 1, check_order=True, hang_seconds=1e6, images_limit=1 << 40).for_workers())


@pytest.mark.parametrize(
    "option",
    [("colour", "blue"), ("noise", ""), ("noise", "-1"), ("noise", "1.5"), ("noise", "7 "), ("check_order", "yes"),
     ("hang_seconds", "soon"), ("images_limit", "18446744073709551616")],
    ids="=".join,
)  # fmt: skip
def test_what_it_does_not_know_is_refused(option: tuple[str, str]) -> None:
    with pytest.raises(binding.ExecutorError, match=f"this worker knows no option {option[0]}={option[1]}"):
        made(dict([option]))
