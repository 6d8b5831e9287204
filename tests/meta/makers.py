"""Helpers that build judgments for tests of studies."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from summeter.data.dataset import Dataset, load
from summeter.engine.outputs import import_outputs
from summeter.records import Judgment, Target
from summeter.runs.run import RunFolder


def imported(
    shared: Path, dataset: str, folder: Path, parser: str = "legacy", only: str = ""
) -> tuple[Dataset, RunFolder]:
    """Return a released dataset and a run with its released replies, or with its stored scores for `strict`.

    If `only` is given, only the stored rows that contain one of these texts, separated by spaces, are imported.
    """
    data = load(shared / "data" / f"{dataset}.jsonl.gz")
    released = shared / "data" / f"{dataset}.{'scores' if parser == 'strict' else 'outputs'}.jsonl.gz"
    with gzip.open(released, "rt", encoding="utf-8") as lines:
        kept = [line for line in lines if not only or any(f'"{name}"' in line for name in only.split())]
    raw = folder / "released.jsonl"
    raw.write_text("".join(kept), encoding="utf-8")
    import_outputs(data, raw, folder / "run", parser)
    return data, RunFolder(folder / "run")


def judgment(
    document: str, system: str, value: float | None, *, aspect: str = "coherence", judge: str = "j",
    signature: str | None = None, unit: str = "summary", index: int | None = None, list_id: str | None = None,
    status: str = "ok", label: Any = None, error_type: str | None = None,
) -> Judgment:  # fmt: skip
    """Return a judgment. Without value and label, its status is `status` or "skipped"."""
    failed = value is None and label is None
    if failed and status == "ok":
        status = "skipped"
    return Judgment(
        target=Target(document_id=document, system=system, unit=unit, index=index, list_id=list_id),  # type: ignore[arg-type]
        aspect=aspect, judge=judge, signature=signature or f"{judge}|v:1", value=value, label=label,
        error_type=error_type, status=status, reason="because" if status != "ok" else None,  # type: ignore[arg-type]
    )  # fmt: skip


def ratings(
    table: dict[str, dict[str, float | None]], aspect: str = "coherence", judge: str = "j", signature: str | None = None
) -> list[Judgment]:
    """Convert {document: {system: value}} to judgments of summaries."""
    return [
        judgment(document, system, value, aspect=aspect, judge=judge, signature=signature)
        for document, row in table.items() for system, value in row.items()
    ]  # fmt: skip


def people(votes: dict[tuple[str, str], dict[str, float | None]], aspect: str = "coherence") -> list[Judgment]:
    """Convert {(document, system): {annotator: rating}} to human ratings."""
    return [
        judgment(document, system, vote, aspect=aspect, judge=who, signature="human.ratings|v:1")
        for (document, system), cast in votes.items() for who, vote in cast.items()
    ]  # fmt: skip


def sentences(
    labels: dict[tuple[str, str], list[Any]], judge: str = "j", signature: str | None = None,
    aspect: str = "faithfulness", unit: str = "sentence", list_id: str | None = None,
) -> list[Judgment]:  # fmt: skip
    """Convert {(document, system): [label per sentence]} to judgments. None means no vote."""
    return [
        judgment(
            document, system, None if label is None else float(label), label=label, aspect=aspect, judge=judge,
            signature=signature, unit=unit, index=index, list_id=list_id,
        )
        for (document, system), row in labels.items() for index, label in enumerate(row)
    ]  # fmt: skip


def voted(rows: dict[tuple[str, str], list[dict[str, int | None]]]) -> list[Judgment]:
    """Convert {(document, system): [{annotator: label} per sentence]} to human sentence labels."""
    return [
        judgment(
            document, system, None if vote is None else float(vote), label=vote, aspect="faithfulness", judge=who,
            signature="human.sentence_labels|v:1", unit="sentence", index=index,
        )
        for (document, system), cells in rows.items() for index, cell in enumerate(cells) for who, vote in cell.items()
    ]  # fmt: skip
