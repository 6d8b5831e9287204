"""The cluster fixture starts two Ray nodes."""

from __future__ import annotations

from typing import Any


def test_two_nodes_stand(nodes: Any) -> None:
    import ray

    ray.init(address=nodes.address, log_to_driver=False)
    try:
        assert sum(node["Alive"] for node in ray.nodes()) == 2
        assert ray.cluster_resources()["CPU"] == 4
    finally:
        ray.shutdown()
