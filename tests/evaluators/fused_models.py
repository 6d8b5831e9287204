"""Fused judges with coefficients set by hand, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from summeter.evaluators.fused import FILE, Combination, FusedMember, FusedModel, Input, save


def by_hand(**changed: Any) -> FusedModel:
    """coherence = 3 + 0.5 z(words) - 0.25 z(abstractiveness), with means 10 and 0.5, deviations 5 and 0.25."""
    members = (
        FusedMember(name="length", signature="length|split:rules-1|v:1"),
        FusedMember(name="abstractiveness", signature="abstractiveness|v:1"),
    )
    inputs = (Input(member=0, aspect="words"), Input(member=1, aspect="abstractiveness"))
    combination = Combination(
        scale=(1, 5), intercept=3.0, weights=(0.5, -0.25), means=(10.0, 0.5), deviations=(5.0, 0.25),
        half_width=1.5, confidence=0.9,
    )  # fmt: skip
    fields: dict[str, Any] = {"members": members, "inputs": inputs, "aspects": {"coherence": combination}}
    return FusedModel(**{**fields, **changed})


def written(folder: Path, model: FusedModel | None = None) -> Path:
    """Write the model to a folder and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    save(model or by_hand(), folder / FILE)
    return folder
