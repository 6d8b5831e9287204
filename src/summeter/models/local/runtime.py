"""What a model runs on: ONNX Runtime or torch, which device, which precision."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from summeter.models.local.files import Located
from summeter.models.local.names import LocalSettings
from summeter.records import InstallError, UsageError

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


def decide(model: Located, settings: LocalSettings, *, torch_only: bool = False) -> Runtime:
    """What to run a model on. UsageError for what does not go together, InstallError for what is not installed."""
    plain = next((file for file in _places(model.folder, ("model.onnx",)) if file.is_file()), None)
    has_onnx = plain is not None and not torch_only
    if settings.backend == "onnx" and not has_onnx:
        raise UsageError(
            f"{model.name}: an encoder-decoder runs on torch only; leave backend=onnx out" if torch_only
            else f"{model.name}: backend=onnx, but {model.folder} holds no model.onnx"
        )  # fmt: skip
    if plain is not None and has_onnx and settings.backend != "torch":
        return _onnx(model, settings, plain)
    return _torch(model, settings)


def _places(folder: Path, names: tuple[str, ...]) -> list[Path]:
    return [place / name for name in names for place in (folder, folder / "onnx")]


def _onnx(model: Located, settings: LocalSettings, plain: Path) -> Runtime:
    try:
        import onnxruntime
    except ImportError as error:
        raise InstallError.missing("onnxruntime", "local") from error
    if settings.precision == "bf16" or settings.device == "mps":
        raise UsageError(f"{model.name}: ONNX Runtime does not run bf16 or on mps; add backend=torch")
    if settings.precision == "int8":
        file = next((one for one in _places(model.folder, INT8_FILES) if one.is_file()), None)
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


def _torch(model: Located, settings: LocalSettings) -> Runtime:
    try:
        import torch
        import transformers  # noqa: F401 - both are needed, and the error should come now
    except ImportError as error:
        raise InstallError.missing(f"{error.name or 'torch'} ({model.name})", "torch") from error
    if settings.precision == "int8":
        _no_card(model, settings)
        return Runtime("torch", "cpu", "int8")
    has = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    device = next(one for one in has if has[one]) if settings.device == "auto" else settings.device
    if not has[device]:
        raise UsageError(f"{model.name}: device={device}, but torch finds none here")
    if settings.precision != "auto":
        return Runtime("torch", device, settings.precision)
    fit = device == "cuda" and torch.cuda.is_bf16_supported()
    return Runtime("torch", device, "bf16" if fit else "fp32")


def _no_card(model: Located, settings: LocalSettings) -> None:
    if settings.device not in {"auto", "cpu"}:
        raise UsageError(f"{model.name}: int8 runs on the CPU; leave device={settings.device} out")
