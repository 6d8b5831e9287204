"""Tests here start Ray or a remote-storage server; without the packages they are skipped."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies in this folder. What other people's packages leave open is no fault of ours."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.cluster)
            item.add_marker(pytest.mark.enable_socket)
            for kind in (
                "DeprecationWarning",
                "FutureWarning",
                "ResourceWarning",
                "pytest.PytestUnraisableExceptionWarning",
            ):
                item.add_marker(pytest.mark.filterwarnings(f"default::{kind}"))


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """Two Ray nodes of two CPUs each on this machine: a `ray.cluster_utils.Cluster`, whose `address` is its own."""
    pytest.importorskip("ray", reason="needs ray: make cluster")
    home = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # the path of a socket may not be long
    (home / "ray").mkdir()
    os.environ.update(RAY_TMPDIR=str(home), RAY_AUTH_MODE="disabled", RAY_DEDUP_LOGS="0", RAY_USAGE_STATS_ENABLED="0")
    from ray.cluster_utils import Cluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        head = {"num_cpus": 2, "object_store_memory": 80_000_000, "include_dashboard": False}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        cluster.add_node(num_cpus=2, object_store_memory=80_000_000)
    try:
        yield cluster
    finally:
        import ray

        ray.shutdown()
        cluster.shutdown()
        shutil.rmtree(home, ignore_errors=True)
