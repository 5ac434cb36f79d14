"""A cluster for tests of commands that look at one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_rig import SeenCluster
from toolkit.etcd import Etcd


@pytest.fixture
def cluster(one_etcd: Etcd, tmp_path: Path) -> Iterator[SeenCluster]:
    one = SeenCluster(tmp_path, one_etcd)
    yield one
    one.close()
