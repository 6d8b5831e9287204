"""Local models on torch, loaded by transformers from a folder; code that comes with a model is never run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from summeter.models.base import Generation
from summeter.models.local.backend import Head, Runtime
from summeter.models.local.names import Located
from summeter.records import UsageError

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Floats = NDArray[np.float32]

_CLASSES = {
    "classifier": "AutoModelForSequenceClassification", "encoder": "AutoModel", "seq2seq": "AutoModelForSeq2SeqLM",
}  # fmt: skip
_WHAT = {"classifier": "a sequence classifier", "encoder": "an encoder", "seq2seq": "an encoder-decoder"}
# An encoder's states do not pass through what makes one vector of them.
_UNUSED = ("pooler.",)


def load(model: Located, runtime: Runtime, head: Head) -> Any:
    """The model with a head, ready to compute."""
    import torch

    backend = {"classifier": TorchClassifier, "encoder": TorchEncoder, "seq2seq": TorchSeq2Seq}[head]
    return backend(_network(model, runtime, head), torch.device(runtime.device))


def _network(model: Located, runtime: Runtime, head: Head) -> Any:
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    level = transformers.utils.logging.get_verbosity()
    # What it would warn of (weights that are missing) is an error here.
    transformers.utils.logging.set_verbosity_error()
    try:
        network, report = getattr(transformers, _CLASSES[head]).from_pretrained(
            model.folder, dtype=torch.bfloat16 if runtime.precision == "bf16" else torch.float32,
            output_loading_info=True, local_files_only=True, trust_remote_code=False,
        )  # fmt: skip
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise UsageError(f"{model.folder} cannot be loaded as {_WHAT[head]}: {error}") from error
    finally:
        transformers.utils.logging.set_verbosity(level)
    unused = _UNUSED if head == "encoder" else ()
    missing = sorted(name for name in report["missing_keys"] if not name.startswith(unused))
    if missing:
        raise UsageError(
            f"{model.folder} holds no weights for {', '.join(missing[:3])}{' ...' if missing[3:] else ''}: "
            f"it is not {_WHAT[head]}, and would answer at random"
        )
    network = network.to(runtime.device).eval()
    return _quantised(network) if runtime.precision == "int8" else network


def _quantised(network: Any) -> Any:
    import warnings

    import torch

    if torch.backends.quantized.engine == "none":
        torch.backends.quantized.engine = torch.backends.quantized.supported_engines[-1]
    with warnings.catch_warnings():
        # torch announces another home for this; it works in every version that is allowed here.
        warnings.simplefilter("ignore")
        # A scale for each row of the weights: one for all of them loses far more.
        rows = torch.ao.quantization.per_channel_dynamic_qconfig
        return torch.ao.quantization.quantize_dynamic(network, {torch.nn.Linear: rows}, dtype=torch.qint8)


class _Torch:
    """A network on a device; one pass at a time."""

    def __init__(self, network: Any, device: torch.device) -> None:
        self._network = network
        self._device = device
        self._lock = threading.Lock()
        self._segmented = int(getattr(network.config, "type_vocab_size", 0) or 0) > 1

    def _on(self, array: Ids) -> torch.Tensor:
        import torch

        return torch.from_numpy(array).to(self._device)

    def _inputs(self, ids: Ids, mask: Ids, segments: Ids) -> dict[str, torch.Tensor]:
        given = {"input_ids": self._on(ids), "attention_mask": self._on(mask)}
        return {**given, "token_type_ids": self._on(segments)} if self._segmented else given

    def _pass(self, compute: Callable[[], Any]) -> Any:
        import torch

        with self._lock, torch.inference_mode():
            try:
                return compute()
            except torch.OutOfMemoryError:
                torch.cuda.empty_cache()
                raise


class TorchClassifier(_Torch):
    """A sequence classifier."""

    def logits(self, ids: Ids, mask: Ids, segments: Ids) -> Floats:
        """Shape (inputs, classes)."""
        logits = self._pass(lambda: self._network(**self._inputs(ids, mask, segments)).logits)
        return _array(logits)


class TorchEncoder(_Torch):
    """An encoder."""

    @property
    def layers(self) -> int:
        """How many hidden layers there are."""
        return int(self._network.config.num_hidden_layers)

    def hidden(self, ids: Ids, mask: Ids, segments: Ids, layer: int) -> Floats:
        """The states of a layer: shape (inputs, tokens, dimensions)."""
        given = self._inputs(ids, mask, segments)
        if layer == self.layers:
            return _array(self._pass(lambda: self._network(**given).last_hidden_state))
        return _array(self._pass(lambda: self._network(**given, output_hidden_states=True).hidden_states[layer]))


class TorchSeq2Seq(_Torch):
    """An encoder-decoder."""

    @property
    def eos(self) -> frozenset[int]:
        """The ids that end what is generated."""
        given = self._network.generation_config.eos_token_id
        return frozenset([given] if isinstance(given, int) else given or ())

    def log_likelihoods(self, ids: Ids, mask: Ids, targets: Ids, target_mask: Ids) -> Floats:
        """The mean log-probability of each target's tokens: shape (inputs,)."""

        import torch

        def compute() -> torch.Tensor:
            goal, real = self._on(targets), self._on(target_mask)
            start = self._network.config.decoder_start_token_id
            shifted = torch.cat([goal.new_full((len(goal), 1), start), goal[:, :-1]], dim=1)
            logits = self._network(
                input_ids=self._on(ids), attention_mask=self._on(mask), decoder_input_ids=shifted, use_cache=False
            ).logits.float()
            chosen = logits.gather(-1, goal.unsqueeze(-1)).squeeze(-1) - logits.logsumexp(-1)
            return (chosen * real).sum(-1) / real.sum(-1)

        return _array(self._pass(compute))

    def generate(self, ids: Ids, mask: Ids, how: Generation) -> list[list[int]]:
        """The ids generated for each input; what follows an end is left out, the end is not."""
        given = {name: value for name, value in how._asdict().items() if value is not None}
        rows = self._pass(lambda: self._network.generate(
            input_ids=self._on(ids), attention_mask=self._on(mask), do_sample=False, **given
        ))  # fmt: skip
        return [_ended(row, self.eos) for row in rows[:, 1:].cpu().tolist()]


def _ended(ids: list[int], eos: frozenset[int]) -> list[int]:
    end = next((place for place, token in enumerate(ids) if token in eos), None)
    return ids if end is None else ids[: end + 1]


def _array(tensor: torch.Tensor) -> Floats:
    array: Floats = tensor.float().cpu().numpy()
    return array
