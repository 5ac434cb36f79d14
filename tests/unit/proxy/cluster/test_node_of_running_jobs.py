"""A service goes on with jobs of the one before only as the same node: their sessions' numbers name it."""

from __future__ import annotations

import pytest

from jitc.proxy.common.config import ClusterOptions, Config
from jitc.proxy.keeper.log import Log
from jitc.proxy.node.take_over import OtherOptions, note_options

ALONE = Config("s")


def on(node: str) -> Config:
    return Config("s", cluster=ClusterOptions("etcd://h", node, "h:1", "h:2", "/etc/jitc/peer"))


@pytest.mark.parametrize(
    ("before", "now", "says"),
    [
        (on("n0"), on("n1"), "jobs are running that began with --node n0, not n1; start jitc-proxyd with the same"),
        (on("n0"), ALONE, "jobs are running that began with --node n0, not without one; start"),
        (ALONE, on("n0"), "jobs are running that began with no --cluster, not n0; start"),
    ],
)
def test_another_node_is_refused(before: Config, now: Config, says: str) -> None:
    log = Log.make(lambda descriptor: None)
    note_options(before, log)
    with pytest.raises(OtherOptions) as error:
        note_options(now, log)
    assert str(error.value).startswith(says)
    note_options(before, log)
    log.close()


def test_a_service_from_before_there_were_clusters_goes_on_alone() -> None:
    log = Log.make(lambda descriptor: None)
    note_options(ALONE, log)
    log.put("options", {name: value for name, value in log.get("options").items() if name != "node"})
    note_options(ALONE, log)
    with pytest.raises(OtherOptions):
        note_options(on("n0"), log)
    log.close()
