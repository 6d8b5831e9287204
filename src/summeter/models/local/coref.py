"""Resolve coreference with checkpoints in the format of F-coref (Otmazgin et al., AACL 2022).

The folder of a model contains an encoder (in `biu-nlp/f-coref`, a distilled RoBERTa) and the weights of its head;
`coref_head` in the config sets the maximum lengths of mentions and segments. A mention is a span of at most
`max_span_length` tokens. The mentions with the highest scores are used; their number is `top_lambda` times the number
of tokens. Each mention is linked to the earlier mention with the highest link score (the sum of both mention scores and
the four products of the mentions' boundaries), provided that this score is not negative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from summeter.interrupt import checkpoint
from summeter.models.local.loaded_model import LoadedModel
from summeter.models.local.names import Located
from summeter.models.networks import FindCoreference
from summeter.records import InstallError, UsageError
from summeter.runs.usage import Usage
from summeter.text.english import tokens as tokens_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

Mention = tuple[int, int]
Clusters = list[list[Mention]]

_MLPS = ("start_mention_mlp", "end_mention_mlp", "start_coref_mlp", "end_coref_mlp")
_LINEAR = (
    *("mention_start_classifier", "mention_end_classifier", "mention_s2e_classifier"),
    *(f"antecedent_{pair}_classifier" for pair in ("s2s", "e2e", "s2e", "e2s")),
)
_MASKED = -10_000.0
"""The score that the released code adds for invalid mentions; all scores are clipped to this absolute value."""
ROWS = 512
"""Maximum number of mentions whose links are computed together."""


def find_coreference(loaded: LoadedModel, requests: Sequence[FindCoreference], usage: Usage) -> list[Clusters]:
    """Return the coreference clusters of each text."""
    head, layers = loaded.once(CoreferenceHead), int(loaded.model.config["num_hidden_layers"])
    found: list[Clusters] = []
    for request in requests:
        clusters: Clusters = []
        found.append(clusters)
        tokens = tokens_of(request.text)
        ids, words = loaded.tokens.of_words([token.text for token in tokens])
        if not tokens or len(ids) == 0:
            continue
        states = []
        for first in range(0, len(ids), head.settings.segment):
            checkpoint()
            segment = ids[None, first : first + head.settings.segment]
            states.append(loaded.backend.hidden(segment, np.ones_like(segment), np.zeros_like(segment), layers)[0])
        usage.tokens += len(ids)
        for cluster in head.clusters(np.concatenate(states)):
            mentions = [
                (tokens[words[start]].start, tokens[words[end]].end)
                for start, end in cluster
                # Special tokens are not mentions.
                if words[start] >= 0 and words[end] >= 0
            ]
            unique = list(dict.fromkeys(mentions))
            if len(unique) > 1:
                clusters.append(unique)
    return found


class Settings(NamedTuple):
    """Settings in the config of a model.

    `segment` and `longest` are the maximum numbers of tokens in a segment and in a mention, `share` is the number of
    mentions used per token, and `epsilon` is the constant of the layer normalisation.
    """

    segment: int
    longest: int
    share: float
    epsilon: float


def read_settings(loaded: LoadedModel) -> Settings:
    """Return the settings of the model's head.

    Raises UsageError if the config of the model has a different format.
    """
    model = loaded.model
    head = model.config.get("coref_head")
    if not isinstance(head, Mapping) or not {"max_segment_len", "max_span_length", "top_lambda"} <= set(head):
        raise UsageError(
            f"{model.name} is not a coreference model in the f-coref format: its config.json has no coref_head with "
            "max_segment_len, max_span_length and top_lambda"
        )
    if model.config.get("hidden_act") != "gelu":
        raise UsageError(f"{model.name}: hidden_act must be gelu, not {model.config.get('hidden_act')!r}")
    return Settings(
        int(head["max_segment_len"]),
        int(head["max_span_length"]),
        float(head["top_lambda"]),
        float(model.config["layer_norm_eps"]),
    )


class CoreferenceHead:
    """The layers above the encoder, which compute clusters from the encoder's hidden states."""

    def __init__(self, loaded: LoadedModel) -> None:
        model = loaded.model
        self.settings = loaded.once(read_settings)
        weights = _weights(model)
        names = [
            *(
                f"{mlp}.{part}.{kind}"
                for mlp in _MLPS
                for part in ("dense", "layer_norm")
                for kind in ("weight", "bias")
            ),
            *(f"{name}.{kind}" for name in _LINEAR for kind in ("weight", "bias")),
        ]
        if missing := [name for name in names if name not in weights]:
            raise UsageError(
                f"{model.folder} contains no weights for {', '.join(missing[:3])}{' ...' if missing[3:] else ''}: it "
                "is not a coreference model in the f-coref format, and its outputs would be random"
            )
        self._weights = {name: weights[name].astype(np.float32) for name in names}

    def clusters(self, states: Floats) -> list[list[Mention]]:
        """Return the clusters of mentions (first token, last token), in the order of the released code."""
        starts, ends, scores = self._mentions(states)
        antecedents = self._antecedents(states, starts, ends, scores)
        clusters: list[list[Mention]] = []
        cluster_of: dict[Mention, int] = {}
        for index, other in enumerate(antecedents):
            if other < 0:
                continue
            mention, antecedent = (int(starts[index]), int(ends[index])), (int(starts[other]), int(ends[other]))
            if antecedent in cluster_of:
                number = cluster_of[antecedent]
            elif mention in cluster_of:
                mention, antecedent, number = antecedent, mention, cluster_of[mention]
            else:
                number = len(clusters)
                clusters.append([antecedent])
                cluster_of[antecedent] = number
            if mention not in clusters[number]:
                clusters[number].append(mention)
                cluster_of[mention] = number
        return clusters

    def _mentions(self, states: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
        """Return the first tokens, last tokens and scores of the best mentions, in the order of the text."""
        starts, ends = self._mlp("start_mention_mlp", states), self._mlp("end_mention_mlp", states)
        first = self._linear("mention_start_classifier", starts)[:, 0]
        last = self._linear("mention_end_classifier", ends)[:, 0]
        joint = self._linear("mention_s2e_classifier", starts)
        size, longest = len(states), min(self.settings.longest, len(states))
        scores = np.full((size, longest), -np.inf, dtype=np.float32)  # by first token and length
        for more in range(longest):
            here = slice(0, size - more)
            products = np.einsum("ij,ij->i", joint[here], ends[more:])
            scores[here, more] = np.clip(products + first[here] + last[more:], _MASKED, -_MASKED)
        count = int(size * self.settings.share)
        order = np.argsort(-scores, axis=None, kind="stable")[:count]
        order = np.sort(order[np.isfinite(scores.ravel()[order])])
        begin, length = np.divmod(order, longest)
        return begin, begin + length, scores.ravel()[order]

    def _antecedents(
        self, states: Floats, starts: NDArray[np.intp], ends: NDArray[np.intp], scores: Floats
    ) -> list[int]:
        """Return the index of each mention's antecedent, or -1 if it has none."""
        first, last = self._mlp("start_coref_mlp", states)[starts], self._mlp("end_coref_mlp", states)[ends]
        linked: list[int] = []
        for begin in range(0, len(starts), ROWS):
            checkpoint()
            here = slice(begin, min(begin + ROWS, len(starts)))
            links = scores[here, None] + scores[None, :]
            for pair, mention, antecedent in (
                ("s2e", first, last),
                ("e2s", last, first),
                ("s2s", first, first),
                ("e2e", last, last),
            ):
                links = links + self._linear(f"antecedent_{pair}_classifier", mention[here]) @ antecedent.T
            earlier = np.arange(len(starts))[None, :] < np.arange(here.start, here.stop)[:, None]
            links = np.clip(np.where(earlier, links, links + _MASKED), _MASKED, -_MASKED)
            best = links.argmax(axis=1)
            top = links[np.arange(len(best)), best]
            # The released code appends a null antecedent with score 0, which loses against an equal score.
            linked += np.where(top >= 0, best, -1).tolist()
        return linked

    def _mlp(self, name: str, states: Floats) -> Floats:
        from scipy.special import erf

        inner = self._linear(f"{name}.dense", states)
        active = (inner * 0.5 * (1.0 + erf(inner / np.sqrt(np.float32(2.0))))).astype(np.float32)
        mean = active.mean(axis=-1, keepdims=True)
        spread = np.sqrt(active.var(axis=-1, keepdims=True) + np.float32(self.settings.epsilon))
        normed: Floats = (active - mean) / spread
        scaled: Floats = normed * self._weights[f"{name}.layer_norm.weight"] + self._weights[f"{name}.layer_norm.bias"]
        return scaled

    def _linear(self, name: str, states: Floats) -> Floats:
        outputs: Floats = states @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return outputs


def _weights(model: Located) -> Mapping[str, Any]:
    """Return all weights in the folder of a model by name.

    Raises UsageError if there are no weights, and InstallError if the package that reads them is not installed.
    """
    file = model.folder / "model.safetensors"
    if file.is_file():
        try:
            from safetensors.numpy import load_file
        except ImportError as error:
            raise InstallError.missing("safetensors", "torch") from error
        weights: Mapping[str, Any] = load_file(file)
        return weights
    file = model.folder / "pytorch_model.bin"
    if not file.is_file():
        raise UsageError(f"{model.folder} contains neither model.safetensors nor pytorch_model.bin")
    try:
        import torch
    except ImportError as error:
        raise InstallError.missing("torch", "torch") from error
    state = torch.load(file, map_location="cpu", weights_only=True)
    return {name: tensor.float().numpy() for name, tensor in state.items()}
