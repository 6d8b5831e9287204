"""Compute one batch of arrays at a time with torch or ONNX Runtime.

The methods of a backend depend on the architecture: `logits` for a `classifier`; `token_logits` for `tokens`; `hidden`
and `layers` for an `encoder`; `encode`, `log_likelihoods`, `first`, `generate` and `eos` for a `seq2seq` model. With
torch, models are loaded from a folder by transformers; code in a folder is never executed.
"""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from summeter.interrupt import checkpoint
from summeter.models.local.names import LocalSettings, Located, onnx_file
from summeter.models.local.tokens import reads_segments
from summeter.models.networks import Generation
from summeter.records import InstallError, UsageError

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Floats = NDArray[np.float32]

Architecture = Literal["classifier", "tokens", "encoder", "seq2seq"]

INT8_FILES = ("model_int8.onnx", "model_quantized.onnx")


class Runtime(NamedTuple):
    """Settings in which every `auto` is resolved; `file` is the ONNX model, or None for torch."""

    backend: Literal["torch", "onnx"]
    device: str
    precision: Literal["fp32", "bf16", "int8"]
    file: Path | None = None

    @property
    def alone(self) -> bool:
        """Whether each input is a batch of its own.

        This is the case for int8, which scales activations per batch, so that results would depend on the batch.
        """
        return self.precision == "int8"

    @property
    def budget(self) -> int:
        """The default number of tokens per batch: large for a GPU, and small enough for the cache of a CPU."""
        return 32_768 if self.device == "cuda" else 1024


def choose_runtime(model: Located, settings: LocalSettings, *, torch_only: bool = False) -> Runtime:
    """Return the runtime for a model.

    With `torch_only`, ONNX files are ignored. Raises UsageError for settings that cannot be combined, and InstallError
    for missing packages.
    """
    file = None if torch_only else onnx_file(model.folder)
    if settings.backend == "onnx" and file is None:
        raise UsageError(
            f"{model.name}: encoder-decoders run on torch only; remove backend=onnx" if torch_only
            else f"{model.name}: backend=onnx, but {model.folder} contains no model.onnx"
        )  # fmt: skip
    if file is not None and settings.backend != "torch":
        try:
            import onnxruntime
        except ImportError as error:
            raise InstallError.missing("onnxruntime", "local") from error
        if settings.precision == "bf16" or settings.device == "mps":
            raise UsageError(f"{model.name}: ONNX Runtime supports neither bf16 nor mps; add backend=torch")
        if settings.precision == "int8":
            quantised = onnx_file(model.folder, *INT8_FILES)
            if quantised is None:
                raise UsageError(
                    f"{model.name}: precision=int8 on ONNX Runtime needs a quantised file beside model.onnx: "
                    f"{' or '.join(INT8_FILES)}; or add backend=torch"
                )
            _require_cpu(model, settings)
            return Runtime("onnx", "cpu", "int8", quantised)
        cuda = "CUDAExecutionProvider" in onnxruntime.get_available_providers()
        if settings.device == "cuda" and not cuda:
            raise UsageError(f"{model.name}: device=cuda, but this ONNX Runtime has no CUDA; install onnxruntime-gpu")
        return Runtime("onnx", "cuda" if cuda and settings.device != "cpu" else "cpu", "fp32", file)
    try:
        import torch
        import transformers  # noqa: F401 - raises now if it is not installed
    except ImportError as error:
        raise InstallError.missing(f"{error.name or 'torch'} ({model.name})", "torch") from error
    if settings.precision == "int8":
        _require_cpu(model, settings)
        return Runtime("torch", "cpu", "int8")
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    device = next(name for name in available if available[name]) if settings.device == "auto" else settings.device
    if not available[device]:
        raise UsageError(f"{model.name}: device={device}, but torch finds no such device")
    if settings.precision != "auto":
        return Runtime("torch", device, settings.precision)
    bf16 = device == "cuda" and torch.cuda.is_bf16_supported()
    return Runtime("torch", device, "bf16" if bf16 else "fp32")


def _require_cpu(model: Located, settings: LocalSettings) -> None:
    if settings.device not in {"auto", "cpu"}:
        raise UsageError(f"{model.name}: int8 runs on the CPU only; remove device={settings.device}")


# Weights are loaded once per process and shared while a run uses them.
_LOADED: WeakValueDictionary[tuple[object, ...], Any] = WeakValueDictionary()
_LOADING = threading.Lock()


def load(model: Located, runtime: Runtime, architecture: Architecture) -> Torch | Onnx:
    """Return the backend of a model, loading its weights if necessary.

    Raises UsageError if the weights do not belong to this architecture.
    """
    key = (model.digest, runtime, architecture)
    with _LOADING:
        backend: Torch | Onnx | None = _LOADED.get(key)
        if backend is None:
            backend = (Torch if runtime.backend == "torch" else Onnx)(model, runtime, architecture)
            _LOADED[key] = backend
        return backend


_CLASSES = {
    "classifier": "AutoModelForSequenceClassification", "tokens": "AutoModelForTokenClassification",
    "encoder": "AutoModel", "seq2seq": "AutoModelForSeq2SeqLM",
}  # fmt: skip
_QUESTION_ANSWERING = "AutoModelForQuestionAnswering"
_DESCRIPTIONS = {
    "classifier": "a sequence classifier", "tokens": "a token classifier", "encoder": "an encoder",
    "seq2seq": "an encoder-decoder",
}  # fmt: skip
# Hidden states do not depend on the pooler.
_UNUSED = ("pooler.",)


class Torch:
    """A torch network on a device, used by one thread at a time."""

    def __init__(self, model: Located, runtime: Runtime, architecture: Architecture) -> None:
        self._network = _network(model, runtime, architecture)
        self._device = runtime.device
        self._lock = threading.Lock()
        self._segmented = reads_segments(self._network.config)
        # The parameter for the keys and values of earlier steps is named `cache` in newer versions of transformers.
        parameters = inspect.signature(self._network.forward).parameters
        self._cache = "cache" if "cache" in parameters else "past_key_values"

    @property
    def layers(self) -> int:
        """The number of hidden layers."""
        return int(self._network.config.num_hidden_layers)

    @property
    def eos(self) -> frozenset[int]:
        """The ids of the end-of-sequence tokens."""
        eos = self._network.generation_config.eos_token_id
        return frozenset([eos] if isinstance(eos, int) else eos or ())

    def logits(self, ids: Ids, mask: Ids, segments: Ids) -> Floats:
        """Return the logits of a classifier in an array of shape (inputs, classes)."""
        return _array(self._pass(lambda: self._network(**self._inputs(ids, mask, segments)).logits))

    def token_logits(self, ids: Ids, mask: Ids, segments: Ids) -> Floats:
        """Return the logits of all tokens in an array of shape (inputs, tokens, classes).

        The classes of extractive question answering are start and end.
        """

        def compute() -> torch.Tensor:
            import torch

            output = self._network(**self._inputs(ids, mask, segments))
            return output.logits if "logits" in output else torch.stack([output.start_logits, output.end_logits], -1)

        return _array(self._pass(compute))

    def hidden(self, ids: Ids, mask: Ids, segments: Ids, layer: int) -> Floats:
        """Return the hidden states of a layer in an array of shape (inputs, tokens, dimensions).

        Layers are numbered from 0 (the input embeddings) to `layers`.
        """
        inputs = self._inputs(ids, mask, segments)
        if layer == self.layers:
            return _array(self._pass(lambda: self._network(**inputs).last_hidden_state))
        return _array(self._pass(lambda: self._network(**inputs, output_hidden_states=True).hidden_states[layer]))

    def encode(self, ids: Ids, mask: Ids) -> Sources:
        """Return the encoded sources, which are used for all their targets.

        They consist of the encoder states and the cross-attention keys and values.
        """

        def compute() -> Sources:
            attention = self._on(mask)
            states = self._network.get_encoder()(input_ids=self._on(ids), attention_mask=attention).last_hidden_state
            output = self._network(
                encoder_outputs=(states,), attention_mask=attention, decoder_input_ids=self._starts(len(ids)),
                use_cache=True,
            )  # fmt: skip
            layers = getattr(output, self._cache).cross_attention_cache.layers
            return Sources(states, attention, [(layer.keys, layer.values) for layer in layers])

        sources: Sources = self._pass(compute)
        return sources

    def log_likelihoods(self, sources: Sources, owners: Ids, targets: Ids, target_mask: Ids) -> Floats:
        """Return the mean log-probability of each target's tokens in an array of shape (targets,).

        `owners` holds the index of each target's source in `sources`.
        """
        import torch

        def compute() -> torch.Tensor:
            labels, weights = self._on(targets), self._on(target_mask)
            states, mask, cache = sources.of(self._on(owners))
            logits = self._network(
                encoder_outputs=(states,), attention_mask=mask, use_cache=True, **{self._cache: cache},
                decoder_input_ids=torch.cat([self._starts(len(labels)), labels[:, :-1]], dim=1),
            ).logits.float()  # fmt: skip
            logprobs = logits.gather(-1, labels.unsqueeze(-1)).squeeze(-1) - logits.logsumexp(-1)
            return (logprobs * weights).sum(-1) / weights.sum(-1)

        return _array(self._pass(compute))

    def first(self, ids: Ids, mask: Ids, pieces: Sequence[int]) -> Floats:
        """Return the log-probability of each token in `pieces` at the first step of the decoder.

        The array has shape (inputs, pieces).
        """

        def compute() -> torch.Tensor:
            logits = self._network(
                input_ids=self._on(ids), attention_mask=self._on(mask), decoder_input_ids=self._starts(len(ids)),
                use_cache=False,
            ).logits[:, 0].float()  # fmt: skip
            return logits[:, list(pieces)] - logits.logsumexp(-1, keepdim=True)

        return _array(self._pass(compute))

    def _starts(self, count: int) -> torch.Tensor:
        import torch

        start = self._network.config.decoder_start_token_id
        return torch.full((count, 1), start, dtype=torch.int64, device=self._device)

    def generate(self, ids: Ids, mask: Ids, generation: Generation, start: int | None = None) -> list[list[int]]:
        """Return the generated token ids for each input, up to and including the first end-of-sequence token.

        The token with which the decoder starts is not included; it is `start`, or the model's own if `start` is None.
        """
        if generation.search is not None:
            first = self._network.config.decoder_start_token_id if start is None else start
            rows = self._pass(lambda: self._plain_sum(ids, mask, generation, first)).tolist()
        else:
            settings = generation._replace(start=None)._asdict()
            arguments = {name: value for name, value in settings.items() if value is not None}
            if start is not None:
                arguments["decoder_start_token_id"] = start
            output = self._pass(lambda: self._network.generate(
                input_ids=self._on(ids), attention_mask=self._on(mask), do_sample=False, **arguments
            ))  # fmt: skip
            rows = output[:, 1:].cpu().tolist()
        eos = self.eos
        ends = [next((index for index, token in enumerate(row) if token in eos), len(row)) for row in rows]
        return [row[: end + 1] for row, end in zip(rows, ends, strict=True)]

    def _plain_sum(self, ids: Ids, mask: Ids, generation: Generation, start: int) -> torch.Tensor:
        """Return the token ids of the best hypothesis of AllenNLP's beam search for each input.

        The tensor has shape (inputs, steps). Hypotheses are ranked by the sum of their log-probabilities. The
        end-of-sequence token is repeated up to the last step.
        """
        import torch

        steps, beams = generation.max_new_tokens, generation.num_beams
        if steps is None or beams is None:
            raise ValueError(f"search={generation.search} needs max_new_tokens and num_beams")
        ends = torch.tensor(sorted(self.eos), device=self._device)
        attention = self._on(mask)
        states = self._network.get_encoder()(input_ids=self._on(ids), attention_mask=attention).last_hidden_state
        # QAEval skips position 1: a second token has this position and is masked.
        seen = [1, 0] if generation.search == "qaeval" else [1]
        fed = torch.full((len(ids), len(seen)), start, device=self._device)
        sums = torch.zeros((len(ids), 1), device=self._device)
        chosen = torch.zeros((len(ids), 1, 0), dtype=torch.int64, device=self._device)
        cache = None
        for step in range(steps):
            checkpoint()
            output = self._network(
                encoder_outputs=(states,), attention_mask=attention, decoder_input_ids=fed, **{self._cache: cache},
                decoder_attention_mask=torch.tensor([seen], device=self._device).expand(len(fed), -1), use_cache=True,
            )  # fmt: skip
            logs, cache = output.logits[:, 0].float().log_softmax(-1), getattr(output, self._cache)
            if step:
                finished = torch.isin(fed[:, 0], ends)
                logs[finished] = float("-inf")
                logs[finished, fed[finished, 0]] = 0.0
            width, words = sums.shape[1], logs.shape[-1]
            sums, best = (sums.unsqueeze(-1) + logs.view(len(ids), width, words)).flatten(1).topk(beams)
            parents = best // words
            chosen = torch.cat(
                [chosen.gather(1, parents.unsqueeze(-1).expand(-1, -1, step)), (best % words).unsqueeze(-1)], dim=-1
            )
            fed = chosen[:, :, -1].reshape(-1, 1)
            if torch.isin(fed, ends).all():
                break
            rows = (torch.arange(len(ids), device=self._device).unsqueeze(-1) * width + parents).flatten()
            states, attention = states[rows], attention[rows]
            cache.reorder_cache(rows)
            seen.append(1)
        return chosen[:, 0]

    def _on(self, array: Ids) -> torch.Tensor:
        import torch

        return torch.from_numpy(array).to(self._device)

    def _inputs(self, ids: Ids, mask: Ids, segments: Ids) -> dict[str, torch.Tensor]:
        inputs = {"input_ids": self._on(ids), "attention_mask": self._on(mask)}
        return {**inputs, "token_type_ids": self._on(segments)} if self._segmented else inputs

    def _pass(self, compute: Callable[[], Any]) -> Any:
        import torch

        with self._lock, torch.inference_mode():
            try:
                return compute()
            except torch.OutOfMemoryError:
                torch.cuda.empty_cache()
                raise


class Sources(NamedTuple):
    """Encoded sources.

    `states` has shape (sources, tokens, dimensions). `mask` is 1 for tokens and 0 for padding. `layers` holds the
    cross-attention keys and values of each decoder layer.
    """

    states: torch.Tensor
    mask: torch.Tensor
    layers: list[tuple[torch.Tensor, torch.Tensor]]

    def of(self, owners: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, Any]:
        """Return the states, the mask and the decoder cache for targets, with one row per target.

        `owners` holds the index of each target's source. If all targets have the same source, its row is expanded
        without copies.
        """
        from transformers.cache_utils import DynamicCache, EncoderDecoderCache

        single = len(self.states) == 1 or bool((owners == owners[0]).all())
        indices, count = owners[:1] if single else owners, len(owners)

        def select(tensor: torch.Tensor) -> torch.Tensor:
            selected = tensor.index_select(0, indices)
            return selected.expand(count, *selected.shape[1:]) if single else selected

        cross_attention = DynamicCache()
        for number, (keys, values) in enumerate(self.layers):
            cross_attention.update(keys[:1], values[:1], number)
            layer = cross_attention.layers[number]
            layer.keys, layer.values = select(keys), select(values)
        return select(self.states), select(self.mask), EncoderDecoderCache(DynamicCache(), cross_attention)


def _network(model: Located, runtime: Runtime, architecture: Architecture) -> Any:
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    level = transformers.utils.logging.get_verbosity()
    # Missing weights, of which it warns, raise an error below.
    transformers.utils.logging.set_verbosity_error()
    try:
        # Token classifiers include models for extractive question answering, which are recognised by their config.
        class_ = _CLASSES[architecture]
        if architecture == "tokens" and str((model.config.get("architectures") or [""])[0]).endswith(
            "ForQuestionAnswering"
        ):
            class_ = _QUESTION_ANSWERING
        network, report = getattr(transformers, class_).from_pretrained(
            model.folder, dtype=torch.bfloat16 if runtime.precision == "bf16" else torch.float32,
            output_loading_info=True, local_files_only=True, trust_remote_code=False,
        )  # fmt: skip
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise UsageError(f"{model.folder} cannot be loaded as {_DESCRIPTIONS[architecture]}: {error}") from error
    finally:
        transformers.utils.logging.set_verbosity(level)
    unused = _UNUSED if architecture == "encoder" else ()
    missing = sorted(name for name in report["missing_keys"] if not name.startswith(unused))
    if missing:
        raise UsageError(
            f"{model.folder} contains no weights for {', '.join(missing[:3])}{' ...' if missing[3:] else ''}: "
            f"it is not {_DESCRIPTIONS[architecture]}, and its outputs would be random"
        )
    network = network.to(runtime.device).eval()
    if runtime.precision != "int8":
        return network
    import warnings

    if torch.backends.quantized.engine == "none":
        torch.backends.quantized.engine = torch.backends.quantized.supported_engines[-1]
    with warnings.catch_warnings():
        # The function is deprecated, but works in all supported versions of torch.
        warnings.simplefilter("ignore")
        # One scale per row of the weights is far more precise than a single scale.
        rows = torch.ao.quantization.per_channel_dynamic_qconfig
        return torch.ao.quantization.quantize_dynamic(network, {torch.nn.Linear: rows}, dtype=torch.qint8)


def _array(tensor: torch.Tensor) -> Floats:
    array: Floats = tensor.float().cpu().numpy()
    return array


_SEGMENTS = "token_type_ids"
_INPUTS = frozenset({"input_ids", "attention_mask", _SEGMENTS})
_OUTPUT = {"classifier": ("logits",), "tokens": ("logits",), "encoder": ("last_hidden_state",)}
_SPAN = ("start_logits", "end_logits")


class Onnx:
    """A session of ONNX Runtime, which several threads may use.

    Encoders return only their last layer.
    """

    def __init__(self, model: Located, runtime: Runtime, architecture: Architecture) -> None:
        self._session = session = _session(model, runtime)
        self._name = model.name
        self._inputs = frozenset(port.name for port in session.get_inputs())
        if architecture == "encoder":
            self.layers = int(model.config.get("num_hidden_layers") or model.config["n_layer"])
        names = [port.name for port in session.get_outputs()]
        self._outputs = _SPAN if architecture == "tokens" and set(_SPAN) <= set(names) else _OUTPUT[architecture]
        if self._inputs - _INPUTS or not set(self._outputs) <= set(names):
            raise UsageError(
                f"{runtime.file} is not {_DESCRIPTIONS[architecture]} with the expected inputs and outputs: it has "
                f"{', '.join(port.name for port in session.get_inputs())} -> {', '.join(names)}, expected "
                f"{', '.join(sorted(_INPUTS))} -> {', '.join(_OUTPUT[architecture])}"
            )

    def logits(self, ids: Ids, mask: Ids, segments: Ids) -> Floats:
        """Return the logits of a classifier in an array of shape (inputs, classes)."""
        return self._run(ids, mask, segments)[0]

    def token_logits(self, ids: Ids, mask: Ids, segments: Ids) -> Floats:
        """Return the logits of all tokens in an array of shape (inputs, tokens, classes).

        The classes of extractive question answering are start and end.
        """
        outputs = self._run(ids, mask, segments)
        return outputs[0] if len(outputs) == 1 else np.stack(outputs, axis=-1)

    def hidden(self, ids: Ids, mask: Ids, segments: Ids, layer: int) -> Floats:
        """Return the hidden states of the last layer in an array of shape (inputs, tokens, dimensions).

        Raises UsageError for any other layer.
        """
        if layer != self.layers:
            raise UsageError(
                f"{self._name}: layer {layer} of {self.layers} is needed, but model.onnx only returns the last layer; "
                "add backend=torch after the model's name"
            )
        return self._run(ids, mask, segments)[0]

    def _run(self, ids: Ids, mask: Ids, segments: Ids) -> list[Floats]:
        arrays = {"input_ids": ids, "attention_mask": mask, _SEGMENTS: segments}
        inputs = {name: array for name, array in arrays.items() if name in self._inputs}
        outputs = self._session.run(list(self._outputs), inputs)
        return [output.astype(np.float32, copy=False) for output in outputs]


def _session(model: Located, runtime: Runtime) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Spinning threads would take processor time from working ones.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS") or 0)
    providers = ["CPUExecutionProvider"]
    if runtime.device == "cuda":
        providers.insert(0, "CUDAExecutionProvider")
    try:
        return onnxruntime.InferenceSession(str(runtime.file), options, providers=providers)
    except Exception as error:  # its errors have no other common base
        raise UsageError(f"{model.name}: {runtime.file} cannot be loaded: {error}") from error
