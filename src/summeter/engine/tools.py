"""Make the tools of judges: load the local models of a run, and assign each job its models by role."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from summeter.engine.plan import Job, RunPlan
from summeter.evaluators.base import Tools
from summeter.models.structured import BoundLLM
from summeter.runs.results import Results
from summeter.runs.usage import Usage


def networks_of(plan: RunPlan, results: Results | None, used: dict[str, Usage], *, replay: bool) -> dict[str, Any]:
    """Load the local models of a plan, and return them by role.

    `results` stores the results of the models, and `used` receives their usage by id. With `replay`, results are read
    from the store.
    """
    if not plan.networks:
        return {}
    from summeter.models.local.load import build as build_networks

    return build_networks(list(plan.networks.values()), results, used, replay=replay)


def toolbox(llms: Mapping[str, BoundLLM], networks: Mapping[str, Any] | None = None) -> Callable[[Job], Tools]:
    """Return a function that makes the tools of a job.

    The tools are the job's LLMs, which draw independent samples for each repeat, and its local models.
    """

    def tools(job: Job) -> Tools:
        bound = {role: llms[name] for role, name in job.roles.items() if name in llms}
        if job.repeat > 1:
            bound = {
                role: BoundLLM(model.llm, model.settings._replace(repeat=job.repeat)) for role, model in bound.items()
            }
        local = {
            role: networks[job.roles.get(role, role)]
            for role, definition in job.evaluator.roles.items()
            if definition.kind != "llm" and networks and job.roles.get(role, role) in networks
        }
        return Tools(signature=job.signature, llms=bound, networks=local)

    return tools
