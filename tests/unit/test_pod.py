"""docker/pod.yaml is what Kubernetes takes, by the schema of its API: by itself, and as the template of a Job."""

from __future__ import annotations

from typing import Any

import kubernetes_validate
import pytest
import yaml
from toolkit.tree import ROOT


def pod() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "docker" / "pod.yaml").read_text())
    return document


def job() -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "jitc"}}, "spec": pod()["spec"]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "jitc"}, "spec": {"template": template}}


@pytest.mark.parametrize("document", [pod(), job()], ids=["pod", "job"])
def test_it_is_what_kubernetes_takes(document: dict[str, Any]) -> None:
    kubernetes_validate.validate(document, "1.33", strict=True)


def test_what_it_does_not_take_is_found() -> None:
    document = pod()
    document["spec"]["initContainers"][0]["restartsPolicy"] = "Always"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(document, "1.33", strict=True)


def test_the_service_is_a_sidecar_that_answers_first() -> None:
    (service,) = pod()["spec"]["initContainers"]
    (program,) = pod()["spec"]["containers"]
    assert service["restartPolicy"] == "Always" and service["startupProbe"]["exec"]["command"] == ["jitc", "status"]
    shared = [{one["name"]: one["mountPath"] for one in each["volumeMounts"]}["socket"] for each in (service, program)]
    assert shared == ["/run/jitc"] * 2
