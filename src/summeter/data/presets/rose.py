"""RoSE (Liu et al., 2023): atomic content units of the reference, present or absent in each summary."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from pydantic import TypeAdapter

from summeter.data.human import unnamed_votes
from summeter.data.presets.base import LIST, TEXTS, Cells, Count, FileRole, Joined, Preset, Text, supported, taken

CONFIGS = ("cnndm_test", "cnndm_validation", "cnndm_protocol_gpt3", "cnndm_protocol", "xsum", "samsum")
_REFERENCE = "reference"
_ANNOTATIONS: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, dict[str, Any] | None])
_OUTPUTS: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Text | None])


def _convert(joined: Joined) -> Iterator[Cells]:
    row = joined.cells
    annotations = taken(row, "annotations", _ANNOTATIONS, "an object of systems")
    outputs = taken(row, "system_outputs", _OUTPUTS, "an object of texts")
    facts = taken(row, "reference_acus", TEXTS, "a list of texts")
    config, example = _config(joined.row.file), row["example_id"]
    shared = {
        "doc_id": f"{config}/{example}" if config else str(example),
        "document": row.pop("source"),
        "key_facts": facts or None,
    }
    shared |= {"domain": config.partition("_")[0], "cut": config.partition("_")[2]} if config else {}
    for system, annotated in annotations.items():
        if annotated is None:
            continue  # in Parquet, each row has a key for every system of the file
        if outputs.get(system) is None:
            if system != _REFERENCE:  # the reference is annotated, but is not an output
                joined.warn("system_outputs", f"has no summary by {system}; its annotations are left out")
            continue
        yield {**row, **shared, "system": system, "summary": outputs[system], "human": _human(annotated)}


def _human(annotated: dict[str, Any]) -> dict[str, Any]:
    human: dict[str, Any] = {}
    labels = annotated.pop("acu_labels", None)
    if labels:
        column = "annotations.acu_labels"
        human["key_fact_labels"] = [supported(label, column) for label in LIST.validate_python(list(labels))]
    votes = {name: value for name, value in annotated.items() if isinstance(value, list)}
    scores = {name: value for name, value in annotated.items() if value is not None and name not in votes}
    human |= {"overall": scores} if scores else {}
    return human | ({"ratings": {name: unnamed_votes(value) for name, value in votes.items()}} if votes else {})


def _config(file: str) -> str | None:
    """Return the configuration in the path of a file: `cnndm_test/data/test-00000.parquet`."""
    for part in reversed(PurePath(file).parts):
        for config in CONFIGS:
            if part == config or part.startswith((f"{config}.", f"{config}-")):
                return config
    return None


ROSE = Preset(
    name="rose",
    about="RoSE: content units of the reference in each summary, and scores",
    citation="Liu et al., 2023",
    licence="BSD-3-Clause",
    roles=(
        FileRole(
            "rows",
            ("source", "reference", "reference_acus", "annotations", "system_outputs"),
            "CONFIG/data/*.parquet (branch refs/convert/parquet)",
        ),
    ),
    gives="key_facts, key_fact_labels, overall.acu, overall.normalized_acu; in the protocol sets also ratings",
    counts=(
        Count("cnndm_test", 500, 6_000),
        Count("cnndm_validation", 1_000, 8_000),
        Count("xsum", 500, 4_000),
        Count("samsum", 500, 4_000),
        Count("cnndm_protocol", 100, 1_200),
        Count("cnndm_protocol_gpt3", 100, 400),
    ),
    convert=_convert,
    ids_repeat=True,
)
