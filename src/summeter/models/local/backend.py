"""What computes: arrays in, arrays out, one batch at a time, on torch or on ONNX Runtime.

A backend with the head `classifier` answers `logits`, with `tokens` `token_logits`, with `encoder` `hidden` (and
`layers`), with `seq2seq` `encode`, `first` and `generate` (and `eos`). On torch, models are loaded by transformers from
a folder; code that comes with a model is never run.
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
from summeter.models.local.names import LocalSettings, Located
from summeter.models.local.tokens import reads_segments
from summeter.models.networks import Generation
from summeter.records import InstallError, UsageError

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Floats = NDArray[np.float32]

Head = Literal["classifier", "tokens", "encoder", "seq2seq"]

INT8_FILES = ("model_int8.onnx", "model_quantized.onnx")


class Runtime(NamedTuple):
    """Settings with every `auto` decided. `file` is the ONNX model, None for torch."""

    backend: Literal["torch", "onnx"]
    device: str
    precision: Literal["fp32", "bf16", "int8"]
    file: Path | None = None

    @property
    def alone(self) -> bool:
        """Whether inputs go through one by one: int8 scales its activations over a whole batch, so that a result
        would depend on its neighbours."""
        return self.precision == "int8"

    @property
    def budget(self) -> int:
        """Tokens at a time, where the user does not say: what fills a card, or stays in a processor's cache."""
        return 32_768 if self.device == "cuda" else 1024


def choose_runtime(model: Located, settings: LocalSettings, *, torch_only: bool = False) -> Runtime:
    """What to run a model on. UsageError for what does not go together, InstallError for what is not installed."""
    plain = next((file for file in _places(model.folder, ("model.onnx",)) if file.is_file()), None)
    has_onnx = plain is not None and not torch_only
    if settings.backend == "onnx" and not has_onnx:
        raise UsageError(
            f"{model.name}: an encoder-decoder runs on torch only; leave backend=onnx out" if torch_only
            else f"{model.name}: backend=onnx, but {model.folder} holds no model.onnx"
        )  # fmt: skip
    if plain is not None and has_onnx and settings.backend != "torch":
        return _onnx_runtime(model, settings, plain)
    return _torch_runtime(model, settings)


def _places(folder: Path, names: tuple[str, ...]) -> list[Path]:
    return [place / name for name in names for place in (folder, folder / "onnx")]


def _onnx_runtime(model: Located, settings: LocalSettings, plain: Path) -> Runtime:
    try:
        import onnxruntime
    except ImportError as error:
        raise InstallError.missing("onnxruntime", "local") from error
    if settings.precision == "bf16" or settings.device == "mps":
        raise UsageError(f"{model.name}: ONNX Runtime does not run bf16 or on mps; add backend=torch")
    if settings.precision == "int8":
        file = next((place for place in _places(model.folder, INT8_FILES) if place.is_file()), None)
        if file is None:
            raise UsageError(
                f"{model.name}: precision=int8 on ONNX Runtime needs a quantised file beside model.onnx: "
                f"{' or '.join(INT8_FILES)}; or add backend=torch"
            )
        _no_card(model, settings)
        return Runtime("onnx", "cpu", "int8", file)
    cuda = "CUDAExecutionProvider" in onnxruntime.get_available_providers()
    if settings.device == "cuda" and not cuda:
        raise UsageError(f"{model.name}: device=cuda, but this ONNX Runtime has no CUDA; install onnxruntime-gpu")
    return Runtime("onnx", "cuda" if cuda and settings.device != "cpu" else "cpu", "fp32", plain)


def _torch_runtime(model: Located, settings: LocalSettings) -> Runtime:
    try:
        import torch
        import transformers  # noqa: F401 - both are needed, and the error should come now
    except ImportError as error:
        raise InstallError.missing(f"{error.name or 'torch'} ({model.name})", "torch") from error
    if settings.precision == "int8":
        _no_card(model, settings)
        return Runtime("torch", "cpu", "int8")
    has = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    device = next(name for name in has if has[name]) if settings.device == "auto" else settings.device
    if not has[device]:
        raise UsageError(f"{model.name}: device={device}, but torch finds none here")
    if settings.precision != "auto":
        return Runtime("torch", device, settings.precision)
    fit = device == "cuda" and torch.cuda.is_bf16_supported()
    return Runtime("torch", device, "bf16" if fit else "fp32")


def _no_card(model: Located, settings: LocalSettings) -> None:
    if settings.device not in {"auto", "cpu"}:
        raise UsageError(f"{model.name}: int8 runs on the CPU; leave device={settings.device} out")


# One set of weights is loaded once a process, for as long as some run uses it.
_LOADED: WeakValueDictionary[tuple[object, ...], Any] = WeakValueDictionary()
_LOADING = threading.Lock()


def load(model: Located, runtime: Runtime, head: Head) -> Torch | Onnx:
    """The backend of a model's weights with a head: the loaded one where there is one. UsageError where the weights
    are of another kind."""
    key = (model.digest, runtime, head)
    with _LOADING:
        backend: Torch | Onnx | None = _LOADED.get(key)
        if backend is None:
            backend = (Torch if runtime.backend == "torch" else Onnx)(model, runtime, head)
            _LOADED[key] = backend
        return backend


_CLASSES = {
    "classifier": "AutoModelForSequenceClassification", "tokens": "AutoModelForTokenClassification",
    "encoder": "AutoModel", "seq2seq": "AutoModelForSeq2SeqLM",
}  # fmt: skip
_ANSWERS = "AutoModelForQuestionAnswering"
_WHAT = {
    "classifier": "a sequence classifier", "tokens": "a classifier of tokens", "encoder": "an encoder",
    "seq2seq": "an encoder-decoder",
}  # fmt: skip
# An encoder's states do not pass through what makes one vector of them.
_UNUSED = ("pooler.",)


class Torch:
    """A network on a device; one pass at a time."""

    def __init__(self, model: Located, runtime: Runtime, head: Head) -> None:
        self._network = _network(model, runtime, head)
        self._device = runtime.device
        self._lock = threading.Lock()
        self._segmented = reads_segments(self._network.config)
        # What transformers calls the keys and values of earlier steps: `cache` in its newer versions.
        known = inspect.signature(self._network.forward).parameters
        self._cache = "cache" if "cache" in known else "past_key_values"

    @property
    def layers(self) -> int:
        """How many hidden layers there are."""
        return int(self._network.config.num_hidden_layers)

    @property
    def eos(self) -> frozenset[int]:
        """The ids that end what is generated."""
        given = self._network.generation_config.eos_token_id
        return frozenset([given] if isinstance(given, int) else given or ())

    def logits(self, ids: Ids, mask: Ids, segments: Ids) -> Floats:
        """Shape (inputs, classes)."""
        return _array(self._pass(lambda: self._network(**self._inputs(ids, mask, segments)).logits))

    def token_logits(self, ids: Ids, mask: Ids, segments: Ids) -> Floats:
        """Shape (inputs, tokens, classes); of extractive question answering the start and the end."""

        def compute() -> torch.Tensor:
            import torch

            output = self._network(**self._inputs(ids, mask, segments))
            return output.logits if "logits" in output else torch.stack([output.start_logits, output.end_logits], -1)

        return _array(self._pass(compute))

    def hidden(self, ids: Ids, mask: Ids, segments: Ids, layer: int) -> Floats:
        """The states of a layer, 0 (the input embeddings) to `layers`: shape (inputs, tokens, dimensions)."""
        given = self._inputs(ids, mask, segments)
        if layer == self.layers:
            return _array(self._pass(lambda: self._network(**given).last_hidden_state))
        return _array(self._pass(lambda: self._network(**given, output_hidden_states=True).hidden_states[layer]))

    def encode(self, ids: Ids, mask: Ids) -> Sources:
        """What the decoder reads of sources, for all their targets: the states of the encoder, and the keys and values
        that each layer of the decoder makes of them."""

        def compute() -> Sources:
            real = self._on(mask)
            states = self._network.get_encoder()(input_ids=self._on(ids), attention_mask=real).last_hidden_state
            started = self._network(
                encoder_outputs=(states,), attention_mask=real, decoder_input_ids=self._starts(len(ids)), use_cache=True
            )
            layers = getattr(started, self._cache).cross_attention_cache.layers
            return Sources(states, real, [(layer.keys, layer.values) for layer in layers])

        sources: Sources = self._pass(compute)
        return sources

    def log_likelihoods(self, sources: Sources, owners: Ids, targets: Ids, target_mask: Ids) -> Floats:
        """The mean log-probability of each target's tokens, given the source at its place in `owners`: shape
        (targets,)."""
        import torch

        def compute() -> torch.Tensor:
            goal, real = self._on(targets), self._on(target_mask)
            states, mask, cache = sources.of(self._on(owners))
            logits = self._network(
                encoder_outputs=(states,), attention_mask=mask, use_cache=True, **{self._cache: cache},
                decoder_input_ids=torch.cat([self._starts(len(goal)), goal[:, :-1]], dim=1),
            ).logits.float()  # fmt: skip
            chosen = logits.gather(-1, goal.unsqueeze(-1)).squeeze(-1) - logits.logsumexp(-1)
            return (chosen * real).sum(-1) / real.sum(-1)

        return _array(self._pass(compute))

    def first(self, ids: Ids, mask: Ids, pieces: Sequence[int]) -> Floats:
        """The log-probability of each piece at the first step of the decoder: shape (inputs, pieces)."""

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

    def generate(self, ids: Ids, mask: Ids, how: Generation, start: int | None = None) -> list[list[int]]:
        """The ids generated for each input, the decoder's first one (`start`, else the model's own) left out; what
        follows an end is left out, the end is not."""
        if how.search is not None:
            first = self._network.config.decoder_start_token_id if start is None else start
            return [
                _ended(row, self.eos) for row in self._pass(lambda: self._plain_sum(ids, mask, how, first)).tolist()
            ]
        given = {name: value for name, value in how._replace(start=None)._asdict().items() if value is not None}
        if start is not None:
            given["decoder_start_token_id"] = start
        rows = self._pass(lambda: self._network.generate(
            input_ids=self._on(ids), attention_mask=self._on(mask), do_sample=False, **given
        ))  # fmt: skip
        return [_ended(row, self.eos) for row in rows[:, 1:].cpu().tolist()]

    def _plain_sum(self, ids: Ids, mask: Ids, how: Generation, start: int) -> torch.Tensor:
        """The ids of the hypothesis with the highest sum of log-probabilities, by AllenNLP's beam search: shape
        (inputs, steps). After an end mark the same mark is repeated."""
        import torch

        steps, beams = how.max_new_tokens, how.num_beams
        if steps is None or beams is None:
            raise ValueError(f"search={how.search} needs max_new_tokens and num_beams")
        ends = torch.tensor(sorted(self.eos), device=self._device)
        real = self._on(mask)
        states = self._network.get_encoder()(input_ids=self._on(ids), attention_mask=real).last_hidden_state
        # QAEval leaves position 1 out: a second token takes it that no step attends to.
        seen = [1, 0] if how.search == "qaeval" else [1]
        fed = torch.full((len(ids), len(seen)), start, device=self._device)
        sums = torch.zeros((len(ids), 1), device=self._device)
        chosen = torch.zeros((len(ids), 1, 0), dtype=torch.int64, device=self._device)
        cache = None
        for step in range(steps):
            checkpoint()
            output = self._network(
                encoder_outputs=(states,), attention_mask=real, decoder_input_ids=fed, **{self._cache: cache},
                decoder_attention_mask=torch.tensor([seen], device=self._device).expand(len(fed), -1), use_cache=True,
            )  # fmt: skip
            logs, cache = output.logits[:, 0].float().log_softmax(-1), getattr(output, self._cache)
            if step:
                over = torch.isin(fed[:, 0], ends)
                logs[over] = float("-inf")
                logs[over, fed[over, 0]] = 0.0
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
            states, real = states[rows], real[rows]
            cache.reorder_cache(rows)
            seen.append(1)
        return chosen[:, 0]

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


class Sources(NamedTuple):
    """Sources that an encoder read: its states, shape (sources, tokens, dimensions), where there are tokens, and keys
    and values of each layer of the decoder."""

    states: torch.Tensor
    mask: torch.Tensor
    layers: list[tuple[torch.Tensor, torch.Tensor]]

    def of(self, owners: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, Any]:
        """States, mask and the decoder's cache for a target each, of the sources at the places `owners`. One source is
        seen by all its targets, and not copied for each."""
        from transformers.cache_utils import DynamicCache, EncoderDecoderCache

        single = len(self.states) == 1 or bool((owners == owners[0]).all())
        places, count = owners[:1] if single else owners, len(owners)

        def taken(tensor: torch.Tensor) -> torch.Tensor:
            chosen = tensor.index_select(0, places)
            return chosen.expand(count, *chosen.shape[1:]) if single else chosen

        read = DynamicCache()
        for number, (keys, values) in enumerate(self.layers):
            read.update(keys[:1], values[:1], number)
            read.layers[number].keys, read.layers[number].values = taken(keys), taken(values)
        return taken(self.states), taken(self.mask), EncoderDecoderCache(DynamicCache(), read)


def _network(model: Located, runtime: Runtime, head: Head) -> Any:
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    level = transformers.utils.logging.get_verbosity()
    # What it would warn of (weights that are missing) is an error here.
    transformers.utils.logging.set_verbosity_error()
    try:
        # What loads tokens is what the config says the model is.
        answers = head == "tokens" and str((model.config.get("architectures") or [""])[0]).endswith(
            "ForQuestionAnswering"
        )
        network, report = getattr(transformers, _ANSWERS if answers else _CLASSES[head]).from_pretrained(
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


def _ended(ids: list[int], eos: frozenset[int]) -> list[int]:
    end = next((place for place, token in enumerate(ids) if token in eos), None)
    return ids if end is None else ids[: end + 1]


def _array(tensor: torch.Tensor) -> Floats:
    array: Floats = tensor.float().cpu().numpy()
    return array


_SEGMENTS = "token_type_ids"
_KNOWN = frozenset({"input_ids", "attention_mask", _SEGMENTS})
_OUTPUT = {"classifier": ("logits",), "tokens": ("logits",), "encoder": ("last_hidden_state",)}
_SPAN = ("start_logits", "end_logits")


class Onnx:
    """A session of ONNX Runtime; it may be used by several threads. An encoder gives its last layer only."""

    def __init__(self, model: Located, runtime: Runtime, head: Head) -> None:
        self._session = session = _session(model, runtime)
        self._name = model.name
        self._takes = frozenset(port.name for port in session.get_inputs())
        if head == "encoder":
            self.layers = int(model.config.get("num_hidden_layers") or model.config["n_layer"])
        names = [port.name for port in session.get_outputs()]
        self._outputs = _SPAN if head == "tokens" and set(_SPAN) <= set(names) else _OUTPUT[head]
        if self._takes - _KNOWN or not set(self._outputs) <= set(names):
            raise UsageError(
                f"{runtime.file} is no {head} of the usual form: it takes "
                f"{', '.join(port.name for port in session.get_inputs())} and gives {', '.join(names)}; "
                f"wanted: {', '.join(sorted(_KNOWN))} -> {', '.join(_OUTPUT[head])}"
            )

    def logits(self, ids: Ids, mask: Ids, segments: Ids) -> Floats:
        """Shape (inputs, classes)."""
        return self._run(ids, mask, segments)[0]

    def token_logits(self, ids: Ids, mask: Ids, segments: Ids) -> Floats:
        """Shape (inputs, tokens, classes); of extractive question answering the start and the end."""
        outputs = self._run(ids, mask, segments)
        return outputs[0] if len(outputs) == 1 else np.stack(outputs, axis=-1)

    def hidden(self, ids: Ids, mask: Ids, segments: Ids, layer: int) -> Floats:
        """The states of the last layer: shape (inputs, tokens, dimensions). UsageError for another one."""
        if layer != self.layers:
            raise UsageError(
                f"{self._name}: layer {layer} of {self.layers} was asked for, and a model.onnx gives its last layer "
                "only; add backend=torch behind the model's name"
            )
        return self._run(ids, mask, segments)[0]

    def _run(self, ids: Ids, mask: Ids, segments: Ids) -> list[Floats]:
        given = {"input_ids": ids, "attention_mask": mask, _SEGMENTS: segments}
        inputs = {name: array for name, array in given.items() if name in self._takes}
        arrays = self._session.run(list(self._outputs), inputs)
        return [array.astype(np.float32, copy=False) for array in arrays]


def _session(model: Located, runtime: Runtime) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Threads that spin while they wait take the processor from those that work.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if model.config.get("quantised") == "weights":
        # Weights stored small are multiplied out once, when they are loaded, not at every use.
        options.add_session_config_entry("session.disable_quant_qdq", "1")
    options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS") or 0)
    providers = ["CPUExecutionProvider"]
    if runtime.device == "cuda":
        providers.insert(0, "CUDAExecutionProvider")
    try:
        return onnxruntime.InferenceSession(str(runtime.file), options, providers=providers)
    except Exception as error:  # its errors share no other base
        raise UsageError(f"{model.name}: {runtime.file} cannot be loaded: {error}") from error
