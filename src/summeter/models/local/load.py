"""The local models of a run: from a role's model string to what answers in that role."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from summeter.models.local.backend import Head
from summeter.models.local.classifier import classify, find_labels
from summeter.models.local.coref import find_coreference, head_settings
from summeter.models.local.encoder import compare_states, embed, encode, layers, pooling
from summeter.models.local.loaded_model import LoadedModel, open_model
from summeter.models.local.names import HOW, is_local, parse
from summeter.models.local.network import LocalNetwork
from summeter.models.local.regressor import checked_head, rate
from summeter.models.local.seq2seq import first_words, generate, score_targets
from summeter.models.local.token_classifier import classify_tokens
from summeter.models.networks import (
    Classify,
    ClassifyTokens,
    CompareStates,
    CountLayers,
    CountTokens,
    Embed,
    Encode,
    FindCoreference,
    FindLabels,
    FindTokens,
    FirstWord,
    Generate,
    ModelTask,
    Network,
    NetworkRequest,
    Rate,
    ScoreTarget,
    TokenLimit,
)
from summeter.records import Message, Parameter, UsageError
from summeter.runs.results import Results
from summeter.runs.usage import Usage

GROUP = "summeter.local_models"
"""Other packages' models: an entry point NAME = "module:factory" answers for `NAME/REST`; `factory(rest, task)` gives
a `summeter.models.networks.Network` for that task."""


COMPUTE: Mapping[type[NetworkRequest[Any]], Callable[[LoadedModel, Sequence[Any], Usage], Sequence[Any]]] = {
    Classify: classify,
    ClassifyTokens: classify_tokens,
    Embed: embed,
    Encode: encode,
    CompareStates: compare_states,
    Generate: generate,
    ScoreTarget: score_targets,
    FirstWord: first_words,
    FindCoreference: find_coreference,
    Rate: rate,
    CountTokens: lambda loaded, requests, _: loaded.tokens.count([request.text for request in requests]),
    FindTokens: lambda loaded, requests, _: [
        [(start, end) for start, end in encoded.offsets.tolist()]
        for encoded in loaded.tokens.encoded([request.text for request in requests])
    ],
    TokenLimit: lambda loaded, requests, _: [loaded.tokens.room(request.framing) for request in requests],
    FindLabels: lambda loaded, requests, _: [find_labels(loaded)] * len(requests),
    CountLayers: lambda loaded, requests, _: [layers(loaded)] * len(requests),
}
"""What computes each request."""


class Loading(NamedTuple):
    """How a model of a task is loaded: the head of its network, and what reads (and checks) its own files."""

    head: Head
    read: Callable[[LoadedModel], Any] | None = None


TASKS: Mapping[ModelTask, Loading] = {
    "classifier": Loading("classifier"),
    "token_classifier": Loading("tokens"),
    "encoder": Loading("encoder", pooling),
    "seq2seq": Loading("seq2seq"),
    "coreference": Loading("encoder", head_settings),
    "regressor": Loading("encoder", checked_head),
}
"""How each is loaded."""


@dataclass(frozen=True)
class BoundNetwork:
    """A local model in a role. `name` is what it was asked for by; `loaded` is None where the store answers alone, and
    `own` is another package's."""

    role: str
    task: ModelTask
    id: str
    loaded: LoadedModel | None = None
    own: Network | None = None
    name: str = ""


def identify(
    role: str, text: str, task: ModelTask, *, offline: bool = False, recorded: Sequence[str] = ()
) -> BoundNetwork:
    """The model that `-m ROLE=TEXT` names, found and named but not loaded.

    `recorded` are ids that a run which is to be replayed has in this role: where the model is not on this machine, the
    one of its name is meant. Raises UsageError and InstallError.
    """
    if not is_local(text):
        points = {point.name: point for point in entry_points(group=GROUP)}
        provider, _, rest = text.partition("/")
        if provider not in points:
            others = f"; other packages': {', '.join(sorted(points))}" if points else ""
            raise UsageError(f"the role {role!r} takes a local model ({HOW}), not {text!r}{others}")
        factory: Callable[[str, ModelTask], Network] = points[provider].load()
        own = factory(rest, task)
        return BoundNetwork(role, task, str(own.id), own=own, name=text)
    name = parse(text)
    try:
        loaded = open_model(name, TASKS[task].head, offline=offline)
    except UsageError:
        last = name.path.rstrip("/\\").replace("\\", "/").rpartition("/")[2].partition("@")[0]
        plain = f"hf/{name.path}" if name.source == "hf" else f"{name.source}/{last}"
        alike = [known for known in recorded if known.partition("@")[0] == plain]
        if len(alike) != 1:
            raise
        return BoundNetwork(role, task, alike[0], name=text)
    network = BoundNetwork(role, task, loaded.id, loaded, name=text)
    if (read := TASKS[task].read) is not None:
        loaded.once(read)  # a model that cannot be used is an error now
    return network


def how_to_bind(role: str) -> Message:
    """What binds a local model to a role, for messages."""
    folder, hub = Parameter("models", f"{role}=local/FOLDER"), Parameter("models", f"{role}=hf/ORG/NAME@REVISION")
    return Message(folder, " or ", hub)


def local_network(
    loaded: LoadedModel, store: Results | None = None, usage: Usage | None = None, *, replay: bool = False
) -> LocalNetwork:
    """The network of a model on this disk; its weights are loaded when it first computes."""
    counts = usage or Usage()

    def compute(requests: Sequence[NetworkRequest[Any]]) -> Sequence[Any]:
        return COMPUTE[type(requests[0])](loaded, requests, counts)

    return LocalNetwork(loaded.id, compute, store, counts, replay=replay)


def build(
    networks: Sequence[BoundNetwork],
    store: Results | None = None,
    usage: dict[str, Usage] | None = None,
    *,
    replay: bool = False,
) -> dict[str, Network]:
    """Role -> network. Roles with one model for one task share it; `usage` is given what each does, by id. With
    `replay` the store answers alone, except for token states, which it does not hold."""
    shared: dict[tuple[str, ModelTask], Network] = {}
    by_role: dict[str, Network] = {}
    for network in networks:
        if network.own is not None:
            by_role[network.role] = network.own
            continue
        key = (network.id, network.task)
        if key not in shared:
            counts = Usage() if usage is None else usage.setdefault(network.id, Usage())
            shared[key] = (
                LocalNetwork(network.id, None, store, counts)
                if network.loaded is None
                else local_network(network.loaded, store, counts, replay=replay)
            )
        by_role[network.role] = shared[key]
    return by_role
