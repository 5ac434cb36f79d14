"""Commands about other nodes: whom they ask, how answers of several nodes become one, and what each mistake says.

The service is one of the test's, on a real socket; answers are those that docs/cli.md gives.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from rich.console import Console
from toolkit.documents import example

from jitc.proxy.commands import jitc
from jitc.proxy.commands.questions import nodes, text
from jitc.proxy.commands.questions.nodes import merged
from jitc.proxy.commands.questions.users import with_users
from jitc.proxy.commands.terminal import recoveries, tables
from jitc.proxy.commands.timeline.page import page
from jitc.proxy.commands.timeline.trace import trace
from jitc.proxy.common import rpc
from jitc.proxy.status.documents import mistakes
from jitc.proxy.status.node import Status
from jitc.proxy.status.report import Report
from jitc.v1 import control_pb2

Node = Callable[[str, Any], control_pb2.AskNodeReply]
SILENT = "no answer to Command within 8 s"


def placed(value: Any, node: str) -> Any:
    """A document as this node gives it."""
    if isinstance(value, dict):
        return {key: node if key == "node" else placed(one, node) for key, one in value.items()}
    return [placed(one, node) for one in value] if isinstance(value, list) else value


def status(node: str, job: str = "run-7", others: list[str] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = placed(example("jitc status --json"), node)
    for session in found["gpus"][0]["sessions"]:
        session |= {"job": job, "other_nodes": others or []}
    return found


def report(node: str, time: float = 1790000000.0) -> dict[str, Any]:
    found: dict[str, Any] = placed(example("jitc report --json"), node)
    found["recoveries"][0]["time"] = time
    return found


class Service:
    """The Admin service of node n1, with what each node answers."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []  # node, method
        self.nodes: dict[str, Node] = {}

    def Describe(self, request: Any, context: Any) -> Any:
        return control_pb2.DescribeReply()

    def Nodes(self, request: Any, context: Any) -> Any:
        first, *others = self.nodes
        return control_pb2.NodesReply(node=first, others=others)

    def AskNode(self, request: Any, context: Any) -> Any:
        self.asked.append((request.node, request.method))
        if request.node not in self.nodes:
            rpc.refuse(context, grpc.StatusCode.NOT_FOUND, f"the cluster has no node {request.node}")
        return self.nodes[request.node](request.method, request.request)

    def __getattr__(self, name: str) -> Any:
        return lambda request, context: rpc.refuse(context, grpc.StatusCode.INTERNAL, f"{name} is this node's own")


def says(documents: dict[str, dict[str, Any]]) -> Node:
    replies = {method: control_pb2.JsonReply(json=json.dumps(one)) for method, one in documents.items()}
    return lambda method, request: control_pb2.AskNodeReply(reply=replies[method].SerializeToString())


def answers(node: str) -> Node:
    return says({"Status": status(node), "Report": report(node)})


def is_silent(method: str, request: Any) -> control_pb2.AskNodeReply:
    return control_pb2.AskNodeReply(trouble=SILENT)


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    one: Any = Service()
    one.nodes = {"n2": answers("n2"), "n1": answers("n1")}

    def add(server: grpc.Server) -> None:
        rpc.add_node(one, server)
        rpc.add_admin(one, server)

    server = rpc.serve(add, str(tmp_path / "s"))
    monkeypatch.setenv("JITC_SOCKET", str(tmp_path / "s"))
    yield one
    server.stop(None).wait()


def drawn(picture: Any) -> str:
    console = Console(width=200, height=50, record=True, force_terminal=True, color_system=None)
    with console.capture() as shown:
        console.print(picture)
    return shown.get()


def test_the_document_of_all_nodes(service: Service, capfd: pytest.CaptureFixture[str]) -> None:
    service.nodes["n3"] = is_silent
    for command, model in (("status", Status), ("report", Report)):
        assert jitc.main([command, "--all-nodes", "--json"]) == 0
        found = json.loads(capfd.readouterr().out)
        assert not list(mistakes(found, model))
        asked = [{"node": one, "trouble": ""} for one in ("n1", "n2")]
        assert found["nodes"] == [*asked, {"node": "n3", "trouble": SILENT}]
    assert sorted(service.asked) == [(node, one) for node in ("n1", "n2", "n3") for one in ("Report", "Status")]


def test_many_nodes_are_asked_some_at_a_time(
    service: Service, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(nodes, "AT_ONCE", 2)
    names = [f"n{number}" for number in range(1, 6)]
    service.nodes = {one: answers(one) for one in names}
    assert jitc.main(["status", "--all-nodes", "--json"]) == 0
    assert [one["node"] for one in json.loads(capfd.readouterr().out)["gpus"]] == names


def test_the_answer_of_one_node(service: Service, capfd: pytest.CaptureFixture[str]) -> None:
    assert jitc.main(["report", "--node", "n2", "--json"]) == 0
    assert json.loads(capfd.readouterr().out) == report("n2") and service.asked == [("n2", "Report")]


@pytest.mark.parametrize(
    "words",
    [
        ["status"],
        ["report"],
        ["inject", "kill-worker", "--gpu", "0"],
        ["validate", "--gpu", "0"],
        ["gpu", "return", "0"],
    ],
)
def test_what_goes_wrong_with_a_node(words: list[str], service: Service, capfd: pytest.CaptureFixture[str]) -> None:
    refusal = control_pb2.AskNodeReply(code=grpc.StatusCode.FAILED_PRECONDITION.value[0], text="not now")
    service.nodes |= {"silent": is_silent, "refuses": lambda method, request: refusal}
    expected = {
        "silent": (3, f"node silent does not answer: {SILENT}"), "refuses": (1, "node refuses: not now"),
        "none": (2, "the cluster has no node none"),
    }  # fmt: skip
    for node, (code, line) in expected.items():
        assert jitc.main([*words, "--node", node]) == code
        assert capfd.readouterr().err == f"jitc: {line}\n"


def test_what_is_done_on_another_node(service: Service, capfd: pytest.CaptureFixture[str]) -> None:
    fired = control_pb2.InjectReply(fired=True, detail="kill-worker fired")
    verdict = placed(example("jitc report --json")["validations"][0], "n2") | {"outcome": "identical"}
    replies = {
        "Inject": fired, "Validate": control_pb2.JsonReply(json=json.dumps(verdict)),
        "ReturnGpu": control_pb2.ReturnGpuReply(detail="GPU 0 was not lost"),
    }  # fmt: skip

    def answer(method: str, request: Any) -> control_pb2.AskNodeReply:
        return control_pb2.AskNodeReply(reply=replies[method].SerializeToString())

    service.nodes["n2"] = answer
    for words, line in (
        (["inject", "kill-worker", "--gpu", "0"], "kill-worker on GPU 0 of node n2 fired: kill-worker fired\n"),
        (["validate", "--gpu", "0"], text.validation(verdict) + "\n"),
        (["gpu", "return", "0"], "GPU 0 was not lost\n"),
    ):
        assert jitc.main([*words, "--node", "n2"]) == 0
        assert capfd.readouterr().out == line
    replies["Inject"] = control_pb2.InjectReply(detail="armed")
    assert jitc.main(["inject", "kill-worker", "--gpu", "0", "--at", "op=9", "--wait", "--node", "n2"]) == 1
    assert capfd.readouterr().out == "kill-worker on GPU 0 of node n2 armed\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["status", "--node", "n2", "--all-nodes"], "not allowed with"),
        (["report", "--follow", "--all-nodes"], "--follow goes with --node, not with --all-nodes"),
        (["inject", "kill-worker", "--gpu", "0", "--all-nodes"], "--all-nodes"),
    ],
)
def test_wrong_words(words: list[str], says: str, service: Service, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(jitc.main(words))
    assert ended.value.code == 2 and says in capfd.readouterr().err and not service.asked


def test_a_node_without_an_answer_is_no_node_without_gpus(service: Service, capfd: pytest.CaptureFixture[str]) -> None:
    service.nodes = {"n1": is_silent, "n2": is_silent}
    assert jitc.main(["status", "--all-nodes"]) == 1
    assert capfd.readouterr().err.startswith(f"jitc: node n1 does not answer: {SILENT}; node n2 does not")


def test_events_of_all_nodes_are_in_their_order() -> None:
    found = merged([("n1", report("n1", 5.0)), ("n2", report("n2", 3.0)), ("n3", report("n3", 4.0))])
    assert [one["node"] for one in found["recoveries"]] == ["n2", "n3", "n1"]
    assert [one["node"] for one in found["races"]] == ["n1", "n2", "n3"]


def test_statuses_of_all_nodes_are_one() -> None:
    one, other = status("n1"), status("n2") | {"shuffle": 5, "started": 1.0}
    found = merged([("n1", one), ("n2", other)])
    assert found["copies"] == {key: 2 * value for key, value in one["copies"].items()}
    assert (found["shuffle"], found["started"]) == (5, one["started"])
    assert [gpu["node"] for gpu in found["gpus"]] == ["n1", "n2"]


def test_status_as_text_and_tables() -> None:
    """A job over both nodes is one job; two of one name that nothing connects are two."""
    troubled = status("n1", others=["n2"])
    troubled["gpus"][0]["sessions"][0]["trouble"] = "node n3 cannot be reached: cut"
    found = merged([("n1", troubled), ("n2", status("n2", others=["n1"])), ("n3", SILENT)])
    lines = text.status(found).splitlines()
    assert [one for one in lines if one.startswith("node")] == [
        "node n1", "node n2", f"node n3 does not answer: {SILENT}"
    ]  # fmt: skip
    assert "        node n3 cannot be reached: cut" in lines
    assert sum("job run-7  rank" in one and one.endswith("its job has ranks on n2 too") for one in lines) == 1
    shown = drawn(tables.status(found))
    for said in ("node n3 cannot be reached: cut", f"node n3 does not answer: {SILENT}", "ranks on n1 too"):
        assert said in " ".join(shown.split())
    heads = [line.split() for line in shown.splitlines() if line.lstrip().startswith("node ")]
    assert heads[0][:2] == ["node", "GPU"] and heads[1][:2] == ["node", "rank"]
    assert shown.count("job run-7") == 1

    apart = merged([("n1", status("n1")), ("n2", status("n2"))])
    named = [line.split("  ")[3] for line in text.status(apart).splitlines() if line.startswith("    pid")]
    assert named == ["job run-7 of node n1", "job run-7 of node n2"]
    assert apart["gpus"][0]["sessions"][0]["job"] == "run-7", "JSON has the name, and the node beside it"


def test_report_as_text_tables_and_pictures() -> None:
    over = report("n1")
    over["recoveries"][0]["ranks"] += [copy.deepcopy(over["recoveries"][0]["ranks"][0]) | {"node": "n2", "session": 2}]
    found = merged([("n1", over), ("n2", report("n2")), ("n3", SILENT)])
    told = text.report(found)
    assert "1. job run-7, GPU 1 of node n1: worker-death" in told
    assert "2. job run-7 of node n2, GPU 1 of node n2: worker-death" in told
    assert "validation on node n2 on GPU 0, 1" in told and told.endswith(f"node n3 does not answer: {SILENT}")
    shown = drawn(recoveries.report(found))
    for said in ("1 of node n1", "1 of node n2", f"node n3 does not answer: {SILENT}"):
        assert said in " ".join(shown.split())
    drawing = page(with_users(found), 1790000100.0)
    for said in ("on GPU 1 of node n1", "GPU 0 of node n2", f"node n3 does not answer: {SILENT}"):
        assert said in drawing
    names = [one["args"].get("name") for one in trace(with_users(found))["traceEvents"] if one["ph"] == "M"]
    assert any("GPU 0 of node n2" in str(one) for one in names)
