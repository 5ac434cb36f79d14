"""A GPU is gone for good: its ranks go on elsewhere on the node, and come home when it is back.

Two or three ranks on the real executor, with software GPUs; what they compute is compared after every move.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import client_rig
import pytest
from client_rig import RealClient, check, inject, together, train
from standin_client import wait_until
from toolkit.waiting import until

from jitc.proxy.node.gpus import Gpu
from jitc.proxy.node.placement import place, shares
from jitc.proxy.service import Service

pytestmark = pytest.mark.timeout(100)


serving = functools.partial(client_rig.serving, spares=2)


def hosts(service: Service) -> list[int]:
    return [one.host for one in service.registry.sessions.values()]


def moved(service: Service, there: list[int]) -> None:
    """The ranks are there, and the recovery that brought them there is over."""
    until(lambda: hosts(service) == there, 30, f"ranks are on GPUs {there}")
    wait_until(service, lambda: not service.own.coordinator._jobs)


def test_beside_the_other_rank_and_home_again(tmp_path: Path) -> None:
    with serving(tmp_path) as service:
        ranks = together(service)
        train(ranks, 2)
        assert "fired" in inject(ranks[1], "lose-gpu").detail
        train(ranks, 2)
        check(ranks, 4)
        moved(service, [0, 0])
        inject(ranks[0], "kill-worker")  # of both ranks: they are on one GPU
        train(ranks)
        check(ranks, 5)
        until(lambda: len(service.own.recoveries()) == 2, 30, "both are recovered")
        assert service.own.return_gpu(1) == "GPU 1 is back; 1 sessions move to it at their next boundary"
        assert service.own.return_gpu(1) == "GPU 1 was not lost"
        train(ranks, 2)
        moved(service, [0, 1])
        train(ranks)
        check(ranks, 8)
        told = service.own.recoveries
        recoveries = until(lambda: len(told()) == 3 and told(), 30, "three recoveries")
        assert [one["cause"] for one in recoveries] == ["device-lost", "worker-death", "gpu-returned"], recoveries
        assert all(one["outcome"] == "recovered" for one in recoveries)
        assert "moves from GPU 1 to GPU 0; its own, GPU 1, is lost" in recoveries[0]["notes"][0]
        for client in ranks:
            client.close()


@pytest.mark.parametrize(
    "where", [{"boundary": 2, "phase": "boundary"}, {"boundary": 2, "phase": "forward", "skip": 3}]
)
def test_a_spare_gpu(where: dict[str, Any], tmp_path: Path) -> None:
    """It is invisible before, is taken before a GPU is shared, and a second loss shares it."""
    with serving(tmp_path, gpus=3, spare_gpus=1) as service:
        ranks = together(service)
        assert len(ranks[0].node.Describe(describe()).gpus) == 2
        inject(ranks[1], "lose-gpu", **where)
        train(ranks, 4)
        check(ranks, 4)
        moved(service, [0, 2])
        inject(ranks[0], "lose-gpu")
        train(ranks)
        check(ranks, 5)
        moved(service, [2, 2])
        for client in ranks:
            client.close()


def test_no_gpu_is_left(tmp_path: Path) -> None:
    """The programs get an error that says so."""
    with serving(tmp_path) as service:
        ranks = together(service)
        train(ranks)
        check(ranks, 1)
        inject(ranks[1], "lose-gpu")
        check(ranks, 1)
        moved(service, [0, 0])
        inject(ranks[0], "lose-gpu")
        until(lambda: all(one.failure for one in service.registry.sessions.values()), 30, "the job is given up")
        failures = {one.failure for one in service.registry.sessions.values()}
        assert len(failures) == 1
        assert "no GPU is left" in failures.pop()
        for client in ranks:
            client.close_stream()
            client.node.Detach(detach(client))
            client.link.close()


def describe() -> Any:
    from jitc.proxy.common.paths import PROTOCOL_VERSION
    from jitc.v1 import control_pb2

    return control_pb2.DescribeRequest(protocol_version=PROTOCOL_VERSION)


def detach(client: RealClient) -> Any:
    from jitc.v1 import control_pb2

    return control_pb2.DetachRequest(token=client.reply.token)


class Rank:
    def __init__(self, gpu: int, host: int) -> None:
        self.gpu, self.host = gpu, host


def test_placement() -> None:
    gpus = [Gpu(index, None, spare=index == 3) for index in range(4)]  # type: ignore[arg-type]
    ranks = [Rank(0, 0), Rank(1, 1), Rank(2, 2)]
    assert [place(one, gpus, ranks) for one in ranks] == gpus[:3]
    gpus[1].lost = "gone"
    assert place(ranks[1], gpus, ranks) is gpus[3]
    assert not shares(ranks[1], gpus[3], ranks)
    ranks[1].host = 3
    gpus[0].lost = "gone"
    assert place(ranks[0], gpus, ranks) is gpus[3]  # a guest alone and a rank at home are one rank each
    assert shares(ranks[0], gpus[3], ranks)
    ranks[0].host = 2
    assert place(ranks[1], gpus, ranks) is gpus[3]
    assert place(ranks[0], gpus, ranks) is gpus[2]  # stays where it is
    gpus[3].lost = "gone"
    assert place(ranks[1], gpus, ranks) is gpus[2]
    gpus[1].lost = gpus[3].lost = ""
    assert place(ranks[1], gpus, ranks) is gpus[1]  # home, though the GPU that serves it can be used too
    for gpu in gpus:
        gpu.lost = "gone"
    assert place(ranks[0], gpus, ranks) is None
