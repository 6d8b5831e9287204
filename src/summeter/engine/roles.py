"""Assign models to the roles of a run, find local models, and detect context lengths.

If the context length of a model is not given, the server is asked once, and the answer is stored in the run, since a
document that does not fit is judged in windows and prompts therefore depend on the context length. A replay uses the
stored context length, and so does a resumed run unless the server now reports a smaller one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from summeter.engine.options import Options
from summeter.evaluators.base import Evaluator
from summeter.evaluators.derived import DerivedEvaluator
from summeter.models.context_length import context_lengths
from summeter.models.networks import ModelTask
from summeter.models.providers.provider import Options as EndpointOptions
from summeter.models.resolve import lacks_logprobs
from summeter.records import Message, Parameter, UsageError, nearest
from summeter.runs.manifest import Manifest, ModelContext

if TYPE_CHECKING:
    from summeter.models.local.load import BoundNetwork


log = logging.getLogger(__name__)


def parts_of(evaluators: Iterable[Evaluator]) -> list[Evaluator]:
    """Return the components of all evaluators, in order."""
    return [component for evaluator in evaluators for component in evaluator.components()]


def replay_sessions(
    evaluators: Iterable[Evaluator], run: Manifest, models: Mapping[str, str], sampling: Mapping[str, object]
) -> list[tuple[list[Evaluator], dict[str, str]]]:
    """Return the sessions that replay a recorded run, in the order of the run's judges.

    A session is a list of evaluators and the models of their roles. Consecutive judges whose roles have the same models
    share a session. An evaluator is replayed with the models of every judge in the run that has the evaluator's name
    and signature, unless `models` gives other models for the roles. An evaluator without such a judge comes last, with
    the models of those roles that had only one model in the run.
    """
    by_role: dict[str, set[str]] = {}
    for entry in run.judges:
        for role, name in entry.models.items():
            by_role.setdefault(entry.roles.get(role, role), set()).add(name)
    single = {role: next(iter(names)) for role, names in by_role.items() if len(names) == 1}
    repeated: list[tuple[int, Evaluator, dict[str, str]]] = []
    for evaluator in evaluators:
        judges = {
            index: judge
            for index, judge in enumerate(run.judges)
            if judge.name == evaluator.name
            and not judge.imported
            and all(models.get(role, name) == name for role, name in judge.models.items())
            and judge.signature == evaluator.sign(judge.models, run.data.splitter, sampling)
        }
        # A member with renamed roles counts only if there is no other judge.
        preferred = {index: judge for index, judge in judges.items() if not judge.roles} or judges
        repeated += [(index, evaluator, judge.models) for index, judge in preferred.items()]
        if not preferred:
            repeated.append((len(run.judges), evaluator, single))
    sessions: list[tuple[list[Evaluator], dict[str, str]]] = []
    for _, evaluator, recorded in sorted(repeated, key=lambda each: each[0]):
        bound = {**recorded, **models}
        if not sessions or any(sessions[-1][1].get(role, model) != model for role, model in bound.items()):
            sessions.append(([], {}))
        sessions[-1][0].append(evaluator)
        sessions[-1][1].update(bound)
    return sessions


def check_roles(evaluators: Sequence[Evaluator], models: Iterable[str]) -> None:
    """Raise UsageError for a role that none of the evaluators has, which is usually misspelled."""
    names = ", ".join(dict.fromkeys(evaluator.name for evaluator in evaluators))
    roles = sorted({role for component in parts_of(evaluators) for role in component.required_roles})
    for role in models:
        if role not in roles and not roles:
            raise UsageError(
                Parameter("models"),
                f" gives a model for the role {role!r}, but {names} use no model. Remove ",
                Parameter("models"),
                ", or choose other evaluators with ",
                Parameter("evaluators"),
                " (`summeter list evaluators`)",
            )
        if role not in roles:
            raise UsageError(
                Parameter("models"),
                f" gives a model for the role {role!r}, which no evaluator has{nearest(role, roles)}. "
                f"Roles of {names}: {', '.join(roles)}",
            )


def models_of(evaluator: Evaluator, names: Mapping[str, str], models: Mapping[str, str]) -> dict[str, str]:
    """Return the model strings of an evaluator's roles.

    `names` maps the evaluator's roles to roles of the run, and `models` maps roles of the run to model strings. Raises
    UsageError if a role has no model.
    """
    missing = [role for role, name in names.items() if name not in models]
    if not missing:
        return {role: models[name] for role, name in names.items()}
    message: list[str | Parameter] = []
    for role in missing:
        name = names[role]
        definition = evaluator.role(role)
        if definition.kind != "llm":
            from summeter.models.local.load import how_to_bind

            how = how_to_bind(name)
        else:
            example = Parameter("models", f"{name}=openai/MODEL")
            how = Message(Parameter("models", f"{name}=PROVIDER/MODEL"), " (for example ", example, ")")
        subject = ". It also" if message else evaluator.name
        hint = f". {definition.hint.removesuffix('.')}" if definition.hint else ""
        message += [f"{subject} needs a model in the role {name!r}. Give one with ", how, hint]
    raise UsageError(*message)


def _with_members(evaluators: Iterable[Evaluator]) -> Iterator[Evaluator]:
    """Yield the components of all evaluators, including the members of derived judges."""
    for component in parts_of(evaluators):
        if isinstance(component, DerivedEvaluator):
            yield from _with_members(member.evaluator for member in component.members)
        yield component


# ---- local models ----


def local_models(
    evaluators: Sequence[Evaluator],
    bound: Mapping[str, str],
    *,
    offline: bool,
    fetch: bool = True,
    replay: Manifest | None = None,
) -> dict[str, BoundNetwork]:
    """Return the local models by role, without loading them.

    `bound` maps roles to model strings; roles without a model string are omitted. With `offline` or without `fetch`,
    nothing is downloaded; without `fetch`, a hub model that is missing on this machine is accepted. `replay` is the
    manifest of the run whose recorded models are used, or None. Raises UsageError for weights that are marked as
    unavailable, or if two evaluators need models of different types in the same role.
    """
    tasks: dict[str, ModelTask] = {}
    for evaluator in _with_members(evaluators):
        for role in evaluator.required_roles:
            for weights in evaluator.role(role).checkpoints:
                if weights.unavailable is not None and weights.named_in(bound.get(role, "")):
                    raise UsageError(f"{evaluator.name} cannot use {weights.model}: {weights.unavailable}")
            task = evaluator.role(role).kind
            if task != "llm" and tasks.setdefault(role, task) != task:
                raise UsageError(
                    f"the role {role!r} is a {task} model for {evaluator.name}, but a {tasks[role]} model for another "
                    "evaluator. Run them separately"
                )
    found: dict[str, BoundNetwork] = {}
    for role, task in tasks.items():
        if role not in bound:
            continue
        from summeter.models.local.load import BoundNetwork, identify

        text, judges = bound[role], () if replay is None else replay.judges
        recorded = {judge.models[role] for judge in judges if role in judge.models}
        try:
            found[role] = identify(
                role,
                text,
                task,
                offline=offline or not fetch or replay is not None,
                recorded=[text] if text in recorded else list(recorded),
            )
        except UsageError:
            if fetch or offline or not text.startswith("hf/"):
                raise
            found[role] = BoundNetwork(role, task, text)
    return found


# ---- log-probabilities ----


async def possible_variants(
    evaluators: Sequence[Evaluator], models: Mapping[str, str], options: Options, before: Manifest | None, *, send: bool
) -> list[Evaluator]:
    """Return the evaluators, in the variant without log-probabilities where the model of the role "judge" gives none.

    The choice of an earlier session (`before`) is kept. Otherwise, one short request is sent to the model, or, without
    `send`, only vendors that are known to give no log-probabilities count. A warning names each replaced evaluator.
    """

    def recorded(evaluator: Evaluator) -> bool:
        judges = () if before is None else before.judges
        known = [(judge.name, judge.settings, judge.models.get("judge")) for judge in judges]
        parts = [
            (each.name, each.model_dump(mode="json", exclude_defaults=True), model) for each in parts_of([evaluator])
        ]
        return all(part in known for part in parts)

    model, lacks, chosen = models.get("judge"), None, []
    for evaluator in evaluators:
        variant = evaluator.without_logprobs()
        if variant is None or model is None or recorded(evaluator):
            chosen.append(evaluator)
            continue
        if not recorded(variant):
            if lacks is None:
                endpoint = EndpointOptions(options.base_url, options.timeout)
                lacks = await lacks_logprobs(model, endpoint, options.temperature, send=send)
            if not lacks:
                chosen.append(evaluator)
                continue
        log.warning(
            "%s gives no log-probabilities, so %s takes the mean of several replies at temperature 1 "
            "(20 calls per summary and aspect; %s[single] makes one)",
            model,
            evaluator.name,
            evaluator.name,
        )
        chosen.append(variant)
    return chosen


# ---- context lengths ----


async def contexts(
    models: Mapping[str, str],
    options: Options,
    before: Manifest | None,
    *,
    replay: Manifest | None = None,
    load: bool = True,
) -> dict[str, ModelContext]:
    """Return the context lengths, by model string, of the models whose context length is not given.

    `models` maps roles to model strings. `before` is the manifest of the resumed run, or None for a new run. `replay`
    is the manifest of the replayed run, or None; for a replay, no server is asked. With `load`, a server may load its
    model in order to answer. Errors are not raised but described in the result.
    """
    unknown = dict.fromkeys(model for role, model in models.items() if options.context_of(role) is None)
    if replay is not None:
        return {model: replay.contexts[model] for model in unknown if model in replay.contexts}
    recorded = {} if before is None else before.contexts
    lengths = await context_lengths(unknown, EndpointOptions(options.base_url, options.timeout), load=load)
    for model, now in lengths.items():
        old = recorded.get(model, now)
        if old.tokens is not None and (now.tokens is None or now.tokens >= old.tokens):
            lengths[model] = old
        elif old.tokens is not None:
            said = f"{now.said} ({old.tokens:,} in an earlier session)"
            lengths[model] = ModelContext(tokens=now.tokens, said=said)
    return lengths
