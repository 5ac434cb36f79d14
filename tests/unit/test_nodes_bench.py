"""bench/nodes: what is read from counters, which goals figures meet, and what `make nodes-demo` says of its faults."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from toolkit.tree import ROOT

sys.path.insert(0, str(ROOT / "bench"))

from nodes import demo, meter, parts, steps

METRICS = """# TYPE grpc_server_started_total counter
grpc_server_started_total{grpc_method="Range",grpc_service="etcdserverpb.KV",grpc_type="unary"} 7
grpc_server_started_total{grpc_method="Txn",grpc_service="etcdserverpb.KV",grpc_type="unary"} 0
grpc_server_started_total{grpc_method="Watch",grpc_service="etcdserverpb.Watch",grpc_type="bidi_stream"} 2
grpc_server_msg_received_total{grpc_method="Range",grpc_service="etcdserverpb.KV",grpc_type="unary"} 7
grpc_server_msg_received_total{grpc_method="LeaseKeepAlive",grpc_type="bidi_stream"} 1.2e+02
"""
DEVICES = """Inter-|   Receive                |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo:     500 5    0    0    0     0          0         0      500       5    0    0    0     0       0          0
  eth0:    1000 10   0    0    0     0          0         0       30       3    0    0    0     0       0          0
"""
SPENT = {"seconds": 2.0, "processor_seconds": 3.0, "others_share": 0.1, "load": 1.5, "busy_machine": False}


def recovery(seconds: float, outcome: str = "recovered") -> dict[str, Any]:
    return {"seconds": seconds, "outcome": outcome, "phases": {"detect": 0.1, "replay": seconds - 0.1}}


def test_each_request_and_each_message_of_a_stream_is_a_call() -> None:
    before = meter.counted(METRICS)
    assert before == {"Range": 7, "LeaseKeepAlive": 120}
    assert meter.more(before, {"Range": 7, "LeaseKeepAlive": 130, "Put": 1}) == {"LeaseKeepAlive": 10, "Put": 1}


def test_bytes_of_a_link_are_both_directions() -> None:
    assert meter.link_bytes(DEVICES) == 1030
    with pytest.raises(ValueError, match="no eth1"):
        meter.link_bytes(DEVICES, "eth1")


def test_processor_time_is_read_behind_a_name_with_spaces() -> None:
    fields = " ".join(["S", *["0"] * 10, str(3 * meter.TICKS), str(meter.TICKS), *["0"] * 20])
    assert meter.process_seconds(f"7 (a (b) c) {fields}") == 4
    assert meter.machine_seconds(f"cpu  {meter.TICKS} 0 {meter.TICKS} 900 9 0 0 0 0 0\ncpu0 1 1") == 2


def test_what_others_use_makes_the_machine_busy() -> None:
    before, wall = meter.Moment(10.0, 100.0, {1: 5.0, 2: 7.0}), 10.0
    own = {1: 6.0, 3: 0.5}  # 2 has ended, 3 has begun meanwhile
    quiet = meter.spent(before, meter.Moment(20.0, 101.5 + 0.1 * wall * meter.CORES, own))
    assert (quiet["processor_seconds"], quiet["others_share"]) == (1.5, pytest.approx(0.1))
    assert not quiet["busy_machine"] and "busy" not in meter.told(quiet)
    busy = meter.spent(before, meter.Moment(20.0, 101.5 + 0.5 * wall * meter.CORES, own))
    assert busy["busy_machine"] and meter.told(busy).endswith(", busy machine")


def window(step: float, calls: dict[str, int]) -> dict[str, Any]:
    return {"step": [step] * 3, "done": 4, "calls": calls, "wire": 4000, "spent": SPENT}


def test_a_lease_that_is_kept_alive_is_no_call_of_a_step() -> None:
    one = steps.row([window(0.1, {"LeaseKeepAlive": 8}), window(0.1, {"LeaseKeepAlive": 8, "Range": 4})], 3)
    assert (one["store_calls_per_step"], one["wire_bytes_per_step"]) == (0.5, 1000)
    assert one["processor_seconds_per_step"] == 0.75
    assert one["store_calls"] == {"LeaseKeepAlive": 16, "Range": 4}


def test_goals_of_the_step_time() -> None:
    def met(one: float, cluster: float, two: float, calls: dict[str, int]) -> list[bool]:
        rows = {
            way: steps.row([window(step, calls)], 3)
            for way, step in ((steps.ONE, one), (steps.CLUSTER, cluster), (steps.TWO, two))
        }
        return list(steps.goals(rows).values())

    assert met(0.1, 0.104, 0.129, {"LeaseKeepAlive": 9}) == [True, True, True]
    assert met(0.1, 0.12, 0.14, {"Txn": 1}) == [False, False, False]


def test_what_was_not_seen_is_missed() -> None:
    figures, met = parts.worker_figures({"copies": [recovery(0.4), recovery(0.6)], "peers": []}, "")
    assert figures["copies"]["seconds"]["median"] == 0.5 and figures["peers"]["seconds"] is None
    assert met == {
        "a worker, copies: at most 1.0 s (0.50)": True,
        "a worker, peers: at most 2.0 s (not seen)": False,
        "worker: all recovered, and identical to the last bit": True,
    }


def test_one_that_differs_or_is_given_up_misses_its_goal() -> None:
    found = {"copies": [recovery(0.4)], "peers": [recovery(0.4, "given up: no GPU")]}
    assert list(parts.worker_figures(found, "")[1].values()) == [True, True, False]
    _, met = parts.worker_figures({name: [recovery(0.4)] for name in found}, "rank 1: losses differ from step 3 on")
    assert met["worker: all recovered, and identical to the last bit (rank 1: losses differ from step 3 on)"] is False


def test_a_store_that_loses_members_is_compared_with_one_that_does_not() -> None:
    found = {way: [recovery(0.5)] for way in parts.STORE_WAYS} | {parts.LEADS: [recovery(1.5), recovery(3.6)]}
    met = parts.store_figures(found, "")[1]
    assert list(met.values()) == [True, False, True, True]
    assert f"the store loses {parts.LEADS}: at most 3.0 s more (3.10)" in met


CUT = {"cut_seconds": 3.5, "seconds": 0.4, "recoveries": [recovery(0.3)]}


def test_the_demo_s_table_has_all_phases_of_each_fault() -> None:
    rows = [{"fault": "worker on n0 killed", **recovery(0.25)}, {"fault": "link cut", **demo.of_cut(CUT)}]
    head, *lines = demo.table(rows)[1:]
    assert head.split() == ["fault", *demo.PHASES, "all", "outcome"]
    assert lines[0].split() == ["worker", "on", "n0", "killed", "0.10", *"-----", "0.15", "0.25", "recovered"]
    assert lines[2] == "the link was cut for 3.5 s; 0.40 s after its healing the job made a step"
    assert demo.is_good(rows, "")
    assert demo.verdict(rows, "").endswith(": identical to the last bit")


def test_the_demo_is_good_only_if_each_fault_was_recovered_and_nothing_differs() -> None:
    missed = {"fault": "link cut", **demo.of_cut({**CUT, "recoveries": []})}
    assert demo.table([missed])[2].split()[-3:] == ["-", "not", "recovered"]
    assert not demo.is_good([missed], "")
    assert demo.verdict([missed], "").endswith("NOT recovered: link cut")
    fine = {"fault": "link cut", **demo.of_cut(CUT)}
    assert not demo.is_good([fine], "rank 0: SHA-256 differs of weights")
    assert demo.verdict([fine], "rank 0: SHA-256 differs of weights").endswith(
        "NOT identical: rank 0: SHA-256 differs of weights"
    )
