"""Which optimizer steps are boundaries: nested ones are part of the outer one, failed ones are forgotten."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from jitc.client_shim.torch_device import StepHooks


class Recorder:
    def __init__(self) -> None:
        self.said: list[str] = []

    def jitc_torch_step_begin(self, computes: bool) -> None:
        self.said.append("begin" + computes * " with a closure")

    def jitc_torch_step_end(self) -> None:
        self.said.append("end")


@pytest.fixture
def said() -> Iterator[list[str]]:
    recorder = Recorder()
    hooks = StepHooks(recorder)
    handles = [register_optimizer_step_pre_hook(hooks.before), register_optimizer_step_post_hook(hooks.after)]
    yield recorder.said
    for handle in handles:
        handle.remove()


def parameter() -> torch.nn.Parameter:
    made = torch.nn.Parameter(torch.ones(2))
    made.grad = torch.ones(2)
    return made


class Outer(torch.optim.SGD):
    """An optimizer that has another one do a part of its work."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__([parameter()], lr=0.1)
        self.act = act

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        self.act()
        return super().step(closure)


def test_each_step_is_a_boundary(said: list[str]) -> None:
    one, two = torch.optim.SGD([parameter()], lr=0.1), torch.optim.AdamW([parameter()])
    one.step()
    two.step()
    one.step()
    assert said == ["begin", "end"] * 3


def test_a_step_inside_another_is_part_of_it(said: list[str]) -> None:
    inner = torch.optim.SGD([parameter()], lr=0.1)
    Outer(inner.step).step()
    assert said == ["begin", "end"]


def test_a_step_that_raised_does_not_hide_later_ones(said: list[str]) -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Outer(fail).step()
    torch.optim.SGD([parameter()], lr=0.1).step()
    assert said == ["begin", "begin", "end"]


def test_the_same_optimizer_again_after_it_raised(said: list[str]) -> None:
    fails = [True]

    def fail_once() -> None:
        if fails.pop() if fails else False:
            raise ValueError("no")

    outer = Outer(fail_once)
    with pytest.raises(ValueError, match="no"):
        outer.step()
    outer.step()
    assert said == ["begin", "begin", "end"]


def test_steps_of_two_threads_overlap(said: list[str]) -> None:
    """Each is a boundary, whichever ends first."""
    begun, over = threading.Event(), threading.Event()

    def act() -> None:
        begun.set()
        assert over.wait(30)

    thread = threading.Thread(target=Outer(act).step)
    thread.start()
    assert begun.wait(30)
    torch.optim.SGD([parameter()], lr=0.1).step()
    over.set()
    thread.join()
    assert said == ["begin", "begin", "end", "end"]


def test_a_step_with_a_closure_computes_gradients(said: list[str]) -> None:
    weight = parameter()

    def loss() -> float:
        return float(weight.detach().sum())

    torch.optim.SGD([weight], lr=0.1).step(loss)  # type: ignore[arg-type]
    torch.optim.SGD([weight], lr=0.1).step(closure=loss)  # type: ignore[arg-type]
    assert said == ["begin with a closure", "end"] * 2
