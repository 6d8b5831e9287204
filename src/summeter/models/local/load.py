"""Find and load the local models of a run: convert the model strings of roles to networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from summeter.models.local.backend import Architecture
from summeter.models.local.classifier import classify, classify_tokens, find_labels
from summeter.models.local.coref import find_coreference, read_settings
from summeter.models.local.encoder import compare_states, embed, encode, layers, pooling
from summeter.models.local.loaded_model import LoadedModel, open_model
from summeter.models.local.names import LOCAL_NAMES, is_local, parse
from summeter.models.local.network import LocalNetwork
from summeter.models.local.regressor import checked_head, rate
from summeter.models.local.seq2seq import first_words, generate, score_targets
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
"""The entry point group for models in other packages: an entry point NAME = "module:factory" handles the model strings
`NAME/REST`, and `factory(rest, task)` returns a `summeter.models.networks.Network` for the task."""


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
    CountTokens: lambda loaded, requests, _: [
        len(encoded.ids) for encoded in loaded.tokens.encoded([request.text for request in requests])
    ],
    FindTokens: lambda loaded, requests, _: [
        [(start, end) for start, end in encoded.offsets.tolist()]
        for encoded in loaded.tokens.encoded([request.text for request in requests])
    ],
    TokenLimit: lambda loaded, requests, _: [loaded.tokens.room(request.framing) for request in requests],
    FindLabels: lambda loaded, requests, _: [find_labels(loaded)] * len(requests),
    CountLayers: lambda loaded, requests, _: [layers(loaded)] * len(requests),
}
"""The functions that compute requests, by the class of the request."""


TASKS: Mapping[ModelTask, tuple[Architecture, Callable[[LoadedModel], Any] | None]] = {
    "classifier": ("classifier", None),
    "token_classifier": ("tokens", None),
    "encoder": ("encoder", pooling),
    "seq2seq": ("seq2seq", None),
    "coreference": ("encoder", read_settings),
    "regressor": ("encoder", checked_head),
}
"""The architecture of each task, and the function that reads and checks further files of its models (None if there are
no further files)."""


@dataclass(frozen=True)
class BoundNetwork:
    """A local model in a role.

    `name` is the model string. `loaded` is None if all results are read from the store or if the model is `external`,
    which is a network of another package.
    """

    role: str
    task: ModelTask
    id: str
    loaded: LoadedModel | None = None
    external: Network | None = None
    name: str = ""


def identify(
    role: str, text: str, task: ModelTask, *, offline: bool = False, recorded: Sequence[str] = ()
) -> BoundNetwork:
    """Find the model of a role, given as `-m ROLE=TEXT`, without loading it.

    `recorded` holds the ids of the role's models in the run to be replayed; a model that is not on this machine is
    identified by looking up its name among these ids. Raises UsageError if the model is not found or cannot be used,
    and InstallError if a package is missing.
    """
    if not is_local(text):
        points = {point.name: point for point in entry_points(group=GROUP)}
        provider, _, rest = text.partition("/")
        if provider not in points:
            others = f"; models of other packages: {', '.join(sorted(points))}" if points else ""
            raise UsageError(f"the role {role!r} needs a local model ({LOCAL_NAMES}), not {text!r}{others}")
        factory: Callable[[str, ModelTask], Network] = points[provider].load()
        external = factory(rest, task)
        return BoundNetwork(role, task, str(external.id), external=external, name=text)
    name = parse(text)
    architecture, read = TASKS[task]
    try:
        loaded = open_model(name, architecture, offline=offline)
    except UsageError:
        last = name.path.rstrip("/\\").replace("\\", "/").rpartition("/")[2].partition("@")[0]
        plain = f"hf/{name.path}" if name.source == "hf" else f"{name.source}/{last}"
        matches = [known for known in recorded if known.partition("@")[0] == plain]
        if len(matches) != 1:
            raise
        return BoundNetwork(role, task, matches[0], name=text)
    network = BoundNetwork(role, task, loaded.id, loaded, name=text)
    if read is not None:
        loaded.once(read)  # raises now if the model cannot be used
    return network


def how_to_bind(role: str) -> Message:
    """Return the options that assign a local model to a role, for messages."""
    folder, hub = Parameter("models", f"{role}=local/FOLDER"), Parameter("models", f"{role}=hf/ORG/NAME@REVISION")
    return Message(folder, " or ", hub)


def local_network(
    loaded: LoadedModel, store: Results | None = None, usage: Usage | None = None, *, replay: bool = False
) -> LocalNetwork:
    """Return the network of a model on disk; the weights are loaded on first use."""
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
    """Return the networks by role; roles with the same model and task share a network.

    The usage of each network is recorded in `usage` under the id of the network. With `replay`, results are read only
    from the store, except for token states, which are not stored.
    """
    shared: dict[tuple[str, ModelTask], Network] = {}
    by_role: dict[str, Network] = {}
    for network in networks:
        if network.external is not None:
            by_role[network.role] = network.external
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
