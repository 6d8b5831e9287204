"""The local models of a run: from a role's model string to what answers in that role."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from summeter.models.base import Kind
from summeter.models.local.backend import Head
from summeter.models.local.batcher import LocalUsage
from summeter.models.local.classifier import LocalClassifier
from summeter.models.local.coref import LocalCoref
from summeter.models.local.encoder import LocalEncoder
from summeter.models.local.names import HOW, LocalName, is_local, parse
from summeter.models.local.nli import LocalNLI
from summeter.models.local.opened import LocalModel, Opened, open_model
from summeter.models.local.regressor import LocalRegressor
from summeter.models.local.seq2seq import LocalSeq2Seq
from summeter.models.local.tagger import LocalTokenClassifier
from summeter.records import Message, Parameter, UsageError
from summeter.runs.results import Results

GROUP = "summeter.local_models"
"""Other packages' models: an entry point NAME = "module:factory" answers for `NAME/REST`; `factory(rest, kind)` gives
an object of that kind's protocol in `summeter.models.base`, whose `id` names its weights."""


class Loading(NamedTuple):
    """How summeter itself loads a kind of model: the head of its network, and what answers with it."""

    head: Head
    model: Callable[..., LocalModel]


KINDS: Mapping[Kind, Loading] = {
    "nli": Loading("classifier", LocalNLI),
    "classifier": Loading("classifier", LocalClassifier),
    "tokens": Loading("tokens", LocalTokenClassifier),
    "embed": Loading("encoder", LocalEncoder),
    "encoder": Loading("encoder", LocalEncoder),
    "seq2seq": Loading("seq2seq", LocalSeq2Seq),
    "coref": Loading("encoder", LocalCoref),
    "regressor": Loading("encoder", LocalRegressor),
}
"""How each kind is loaded."""


@dataclass(frozen=True)
class Network:
    """A local model in a role. `name` is what it was asked for by; `opened` is None where the store answers alone, and
    `own` is another package's."""

    role: str
    kind: Kind
    id: str
    opened: Opened | None = None
    own: Any = None
    name: str = ""


def identify(role: str, text: str, kind: Kind, *, offline: bool = False, recorded: Sequence[str] = ()) -> Network:
    """The model that `-m ROLE=TEXT` names, found and named but not loaded.

    `recorded` are ids that a run which is to be replayed has in this role: where the model is not on this machine, the
    one of its name is meant. Raises UsageError and InstallError.
    """
    if not is_local(text):
        return _other(role, text, kind)
    name = parse(text)
    try:
        opened = open_model(name, KINDS[kind].head, offline=offline)
    except UsageError:
        alike = [known for known in recorded if known.partition("@")[0] == _plain(name)]
        if len(alike) != 1:
            raise
        return Network(role, kind, alike[0], name=text)
    network = Network(role, kind, opened.id, opened, name=text)
    build([network])  # what its files say of labels and pooling is looked at now
    return network


def how_to_bind(role: str) -> Message:
    """What binds a local model to a role, for messages."""
    folder, hub = Parameter("models", f"{role}=local/FOLDER"), Parameter("models", f"{role}=hf/ORG/NAME@REVISION")
    return Message(folder, " or ", hub)


def _plain(name: LocalName) -> str:
    if name.source == "embedded":
        return "embedded/" + name.path.partition("@")[0]
    last = name.path.rstrip("/\\").replace("\\", "/").rpartition("/")[2].partition("@")[0]
    return f"hf/{name.path}" if name.source == "hf" else f"local/{last}"


def _other(role: str, text: str, kind: Kind) -> Network:
    from importlib.metadata import entry_points

    known = {point.name: point for point in entry_points(group=GROUP)}
    provider, _, rest = text.partition("/")
    if provider not in known:
        others = f"; other packages': {', '.join(sorted(known))}" if known else ""
        raise UsageError(f"the role {role!r} takes a local model ({HOW}), not {text!r}{others}")
    factory: Callable[[str, Kind], Any] = known[provider].load()
    own = factory(rest, kind)
    return Network(role, kind, str(own.id), own=own, name=text)


def build(
    networks: Sequence[Network], store: Results | None = None, usage: dict[str, LocalUsage] | None = None,
    *, replay: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Role -> model. Roles with one model of one kind share it; `usage` is given what each does, by id. With `replay`
    the store answers alone, save for token states, which it does not hold."""
    shared: dict[tuple[str, Callable[..., LocalModel]], LocalModel] = {}
    by_role: dict[str, Any] = {}
    for network in networks:
        if network.own is not None:
            by_role[network.role] = network.own
            continue
        model = KINDS[network.kind].model
        if (network.id, model) not in shared:
            counts = LocalUsage() if usage is None else usage.setdefault(network.id, LocalUsage())
            shared[network.id, model] = model(network.id, network.opened, store, counts, replay=replay)
        by_role[network.role] = shared[network.id, model]
    return by_role
