"""examples/cluster: the files hold what Slurm, KubeRay and summeter take, and fit one another."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from summeter.cli.main import app

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "cluster"

# The fields that KubeRay documents (docs/reference/api.md of ray-project/kuberay, ray.io/v1), and those of Kubernetes
# that are used here, by the field they stand under.
POD = {
    "spec": {"containers", "volumes"},
    "containers": {"name", "image", "resources", "envFrom", "volumeMounts", "command", "args", "env", "ports"},
    "resources": {"requests", "limits"},
    "envFrom": {"secretRef"},
    "secretRef": {"name", "optional"},
    "volumeMounts": {"name", "mountPath"},
    "volumes": {"name", "persistentVolumeClaim"},
    "persistentVolumeClaim": {"claimName"},
}
RAY_JOB = {
    "activeDeadlineSeconds", "backoffLimit", "rayClusterSpec", "submitterPodTemplate", "metadata", "clusterSelector",
    "submitterConfig", "managedBy", "deletionStrategy", "entrypoint", "runtimeEnvYAML", "jobId", "submissionMode",
    "entrypointResources", "entrypointNumCpus", "entrypointNumGpus", "ttlSecondsAfterFinished",
    "shutdownAfterJobFinishes", "suspend",
}  # fmt: skip
RAY_CLUSTER = {
    "suspend", "managedBy", "autoscalerOptions", "headServiceAnnotations", "enableInTreeAutoscaling",
    "gcsFaultToleranceOptions", "headGroupSpec", "rayVersion", "workerGroupSpecs",
}  # fmt: skip
HEAD = {"template", "headService", "enableIngress", "rayStartParams", "serviceType"}
WORKERS = {
    "suspend", "groupName", "replicas", "minReplicas", "maxReplicas", "idleTimeoutSeconds", "rayStartParams",
    "template", "scaleStrategy", "numOfHosts",
}  # fmt: skip
SBATCH = {
    "job-name", "nodes", "ntasks-per-node", "cpus-per-task", "mem-per-cpu", "exclusive", "time", "output",
    "gpus-per-node",
}  # fmt: skip
"""Options of sbatch, as its manual lists them."""


def documents() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FOLDER / "kuberay.yaml").read_text(encoding="utf-8")))


def job() -> dict[str, Any]:
    (spec,) = (each["spec"] for each in documents() if each["kind"] == "RayJob")
    return dict(spec)


def unknown(value: Any, under: str = "") -> Iterator[str]:
    """Fields of a pod that Kubernetes does not have where they stand."""
    if isinstance(value, list):
        for each in value:
            yield from unknown(each, under)
    elif isinstance(value, dict):
        if under in POD:
            yield from (f"{under}.{name}" for name in value if name not in POD[under])
        for name, inner in value.items():
            yield from unknown(inner, name)


def options_of_score() -> dict[str, Any]:
    """The options of `summeter score`, by each of their spellings."""
    command = typer.main.get_command(app)
    context = typer.Context(command)
    score = command.get_command(context, "score")  # type: ignore[attr-defined]
    return {spelling: option for option in score.params for spelling in (*option.opts, *option.secondary_opts)}


def assert_parsed(words: list[str]) -> dict[str, list[str]]:
    """The options of a `summeter score` command, each of which there is; their values."""
    assert words[:2] == ["summeter", "score"]
    known = options_of_score()
    values: dict[str, list[str]] = {}
    rest = iter(words[2:])
    for word in rest:
        if word.startswith("-"):
            assert word in known, word
            values.setdefault(word, []).append("" if known[word].is_flag else next(rest))
    return values


def test_the_kuberay_file_holds_documented_fields() -> None:
    kinds = [(each["apiVersion"], each["kind"]) for each in documents()]
    assert kinds == [("v1", "PersistentVolumeClaim"), ("ray.io/v1", "RayJob")]
    spec = job()
    assert set(spec) <= RAY_JOB
    cluster = spec["rayClusterSpec"]
    assert set(cluster) <= RAY_CLUSTER
    head, groups = cluster["headGroupSpec"], cluster["workerGroupSpecs"]
    assert set(head) <= HEAD
    for group in groups:
        assert set(group) <= WORKERS
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
    for pod in (head, *groups):
        assert all(isinstance(value, str) for value in pod["rayStartParams"].values())  # KubeRay takes nothing else
        assert list(unknown(pod["template"]["spec"], "spec")) == []


def test_the_pods_mount_what_there_is() -> None:
    (claim,) = (each["metadata"]["name"] for each in documents() if each["kind"] == "PersistentVolumeClaim")
    cluster = job()["rayClusterSpec"]
    images = set()
    for pod in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        spec = pod["template"]["spec"]
        volumes = {each["name"]: each["persistentVolumeClaim"]["claimName"] for each in spec.get("volumes", ())}
        assert set(volumes.values()) == ({claim} if pod is cluster["headGroupSpec"] else set())
        for container in spec["containers"]:
            assert {mount["name"] for mount in container.get("volumeMounts", ())} == set(volumes)
            images.add(container["image"])
    assert len(images) == 1
    assert f"-t {images.pop()} " in (FOLDER / "Dockerfile").read_text()


def test_the_command_on_kubernetes_asks_for_the_processors_there_are() -> None:
    values = assert_parsed(shlex.split(job()["entrypoint"]))
    assert values["--executor"] == ["ray"]
    processors = sum(
        group["replicas"] * int(group["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"])
        for group in job()["rayClusterSpec"]["workerGroupSpecs"]
    )
    assert int(values["--workers"][0]) * int(values["--cpus-per-worker"][0]) == processors


def test_the_image_has_the_cluster_s_ray_and_extras_that_exist() -> None:
    text = (FOLDER / "Dockerfile").read_text()
    (version,) = re.findall(r"^FROM rayproject/ray:([\d.]+)-py311$", text, re.M)
    assert version == job()["rayClusterSpec"]["rayVersion"]
    project = (ROOT / "pyproject.toml").read_text()
    (least,) = re.findall(r'^ray = \["ray>=([\d.]+)"\]$', project, re.M)
    assert version.startswith(least)
    (extras,) = re.findall(r"summeter\[([\w,]+)\]", text)
    for extra in extras.split(","):
        assert re.search(rf"^{extra} = \[", project, re.M), extra


def test_the_slurm_script_is_bash_with_options_of_sbatch() -> None:
    script = FOLDER / "slurm.sh"
    subprocess.run(["bash", "-n", script], check=True)
    lines = script.read_text().splitlines()
    directives = [line for line in lines if line.startswith("#SBATCH")]
    assert directives
    for line in directives:
        match = re.fullmatch(r"#SBATCH --([a-z-]+)(=\S+)?", line)
        assert match, line
        assert match[1] in SBATCH, line
    first = next(place for place, line in enumerate(lines) if line and not line.startswith("#"))
    assert not any(line.startswith("#SBATCH") for line in lines[first:])  # sbatch reads none after a command


@pytest.fixture
def cluster(tmp_path: Path) -> dict[str, str]:
    """An environment with an scontrol, an srun and a ray that say what they were called with."""
    stubs = {
        "scontrol": 'printf "node-1\\nnode-2\\n"',
        "srun": 'while [[ "$1" == --* ]]; do shift; done; exec "$@"',
        "ray": 'printf "%s\\n" "$@"',
    }
    for name, text in stubs.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    return {
        "PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_JOB_NODELIST": "node-[1-2]", "SLURM_JOB_NUM_NODES": "2",
        "SLURM_CPUS_PER_TASK": "8", "SLURM_JOB_ID": "4711",
    }  # fmt: skip


def test_the_slurm_script_starts_ray_on_every_node_and_one_driver(cluster: dict[str, str]) -> None:
    script = FOLDER / "slurm.sh"
    done = subprocess.run(
        ["bash", script, "my data", "runs/one"], env=cluster, check=True, capture_output=True, text=True
    )
    words = done.stdout.splitlines()
    ray, command = words[: words.index("--")], words[words.index("--") + 1 :]
    assert ray[:3] == ["symmetric-run", "--address", "node-1:24711"]
    values = assert_parsed(command)
    assert command[2] == "my data"
    assert values["-o"] == ["runs/one"]
    assert values["--ray-address"] == ["node-1:24711"]
    assert values["--workers"] == ["15"]


def test_the_slurm_script_says_what_it_wants(cluster: dict[str, str]) -> None:
    done = subprocess.run(["bash", FOLDER / "slurm.sh"], env=cluster, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "which data?" in done.stderr
