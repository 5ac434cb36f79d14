"""docker/pod.yaml and docker/nodes.yaml are what Kubernetes takes, by the schemas of its API: the pod also as the
template of a Job; and what they start is what jitc takes."""

from __future__ import annotations

from typing import Any

import kubernetes_validate
import pytest
import yaml
from toolkit.tree import ROOT

from jitc.proxy.commands import jitc, proxyd
from jitc.proxy.commands.settings.cluster import cluster_options
from jitc.proxy.commands.settings.service import resolve_device_options
from jitc.proxy.commands.settings.setting import SERVICE_SETTINGS

NODES = ("Service", "Deployment", "Job")


def pod() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "docker" / "pod.yaml").read_text())
    return document


def job() -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "jitc"}}, "spec": pod()["spec"]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "jitc"}, "spec": {"template": template}}


def nodes() -> dict[str, dict[str, Any]]:
    """Returns the documents of several nodes, by their kind."""
    found = yaml.safe_load_all((ROOT / "docker" / "nodes.yaml").read_text())
    return {one["kind"]: one for one in found}


def spec_of(kind: str) -> dict[str, Any]:
    """Returns the pod's of a document of several nodes."""
    spec: dict[str, Any] = nodes()[kind]["spec"]["template"]["spec"]
    return spec


def variables(container: dict[str, Any], **fields: str) -> dict[str, str]:
    """Returns what Kubernetes gives to a container. fields: values of the pod's, by the end of their path."""
    found: dict[str, str] = {}
    for one in container["env"]:
        if "value" in one:
            text = one["value"]
            for name, value in found.items():
                text = text.replace(f"$({name})", value)
        else:
            path = one["valueFrom"]["fieldRef"]["fieldPath"]
            text = next(value for name, value in fields.items() if path.strip("]'").endswith(name.replace("_", "-")))
        found[one["name"]] = text
    return found


@pytest.mark.parametrize(
    "document", [pod(), job(), *nodes().values()], ids=["pod", "job", *(f"nodes-{one}" for one in nodes())]
)
def test_it_is_what_kubernetes_takes(document: dict[str, Any]) -> None:
    kubernetes_validate.validate(document, "1.33", strict=True)


def test_what_it_does_not_take_is_found() -> None:
    document = pod()
    document["spec"]["initContainers"][0]["restartsPolicy"] = "Always"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(document, "1.33", strict=True)


@pytest.mark.parametrize("spec", [pod()["spec"], spec_of("Job")], ids=["pod", "nodes"])
def test_the_service_is_a_sidecar_that_answers_first(spec: dict[str, Any]) -> None:
    service = spec["initContainers"][-1]
    (program,) = spec["containers"]
    assert service["restartPolicy"] == "Always" and service["startupProbe"]["exec"]["command"] == ["jitc", "status"]
    shared = [{one["name"]: one["mountPath"] for one in each["volumeMounts"]}["socket"] for each in (service, program)]
    assert shared == ["/run/jitc"] * 2


def test_all_parts_of_several_nodes_are_there() -> None:
    assert tuple(nodes()) == NODES


def test_each_pod_is_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service takes the options that the pod's own number and address make."""
    service = spec_of("Job")["initContainers"][-1]
    given = variables(service, job_completion_index="1", podIP="10.1.2.3")
    given["JITC_PEER_CERTIFICATES"] = "/"  # the folder is the container's
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    arguments = proxyd.parser().parse_args(service["args"])
    resolve_device_options(arguments, SERVICE_SETTINGS)
    found = cluster_options(arguments)
    assert found is not None and found.node == "n1"
    assert (found.peer_address, found.bridge_address) == ("10.1.2.3:7431", "10.1.2.3:7432")
    assert [one["containerPort"] for one in service["ports"]] == [7431, 7432]


def test_the_certificate_is_where_the_service_looks() -> None:
    """And its key is readable by one user alone, without which the service does not take it."""
    first, service = spec_of("Job")["initContainers"]
    mounted = {one["name"]: one["mountPath"] for one in service["volumeMounts"]}
    names = {one["name"]: one.get("value") for one in service["env"]}
    assert mounted["peer"] == names["JITC_PEER_CERTIFICATES"]
    (script,) = first["command"][2:]
    assert script.count("install -m 0600") == 3
    for one in ("ca.pem", "node.pem", "node.key"):
        assert f"/{one}" in script


def test_torchrun_finds_the_store() -> None:
    """By the name and port of its service; jitc takes the command."""
    (store,) = spec_of("Deployment")["containers"]
    assert store["command"][0] == "jitc"
    port = jitc.parser().parse_args(store["command"][1:]).listen.rpartition(":")[2]
    service = nodes()["Service"]
    assert service["spec"]["selector"] == nodes()["Deployment"]["spec"]["template"]["metadata"]["labels"]
    place = f"{service['metadata']['name']}:{service['spec']['ports'][0]['port']}"
    (program,) = spec_of("Job")["containers"]
    assert place == f"jitc-store:{port}" and f"--rdzv-endpoint={place}" in program["command"]
    assert "--rdzv-conf=is_host=0" in program["command"]
    given = variables(program, controller_uid="run7", podIP="10.1.2.3")
    assert given == {"RUN": "run7", "ADDRESS": "10.1.2.3"}
