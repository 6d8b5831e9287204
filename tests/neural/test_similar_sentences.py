"""Similar sentences marked in annotation tasks by embeddings of a small random network."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from neural import checkpoints

from summeter.annotate.campaign.folder import CampaignFolder
from summeter.benchmark.annotate import STEP, AnnotateSettings, embedder
from summeter.benchmark.step import run_step
from summeter.data.dataset import load, save
from summeter.engine.sync import run_sync
from summeter.models.networks import Embed
from summeter.records import UsageError

TEXT = "ab cd ef. gh ab. cd cd gh. ef ab cd gh. gh gh."
ROWS = [
    {
        "doc_id": f"d{place}",
        "document": TEXT,
        "system": "s",
        "summary": f"ab cd {place}. gh ef.",
        "key_facts": ["ef gh."],
    }
    for place in range(3)
]


def test_the_sentences_with_the_largest_cosines_are_marked(tmp_path: Path) -> None:
    folder = checkpoints.encoder(tmp_path / "encoder", seed=3)
    save(load(ROWS), tmp_path / "data")
    given = {"embed": f"local/{folder}", "simulate": {"annotators": 3}}
    manifest = run_step(STEP, tmp_path / "data", tmp_path / "annotate", AnnotateSettings.model_validate(given))
    network = embedder(f"local/{folder}")
    assert manifest.models == {"embed": network.id}
    work = tmp_path / "work" / "annotate"
    for name in ("sentences", "alignment"):
        campaign = CampaignFolder(work / name)
        for task in campaign.tasks.work:
            sentences = campaign.sources[task.document_id].document.sentence_texts
            assert len(sentences) == 5
            vectors = np.array(
                run_sync(network.ask([Embed(text) for text in (*sentences, campaign.task_type.focus(task) or "")]))
            )
            near = np.round(np.maximum(0.0, vectors[:-1] @ vectors[-1]), 6)
            best = np.argsort(-near, kind="stable")[:2].tolist()
            assert (task.assistance or {})["similar"] == [place for place in best if near[place] > 0]
    rows = [json.loads(line) for line in (work / "similar" / "sentences.jsonl").read_text().splitlines()]
    assert {len(row["scores"]) for row in rows} == {5}


def test_a_missing_network_is_reported_first(tmp_path: Path) -> None:
    save(load(ROWS), tmp_path / "data")
    settings = AnnotateSettings.model_validate({"embed": "local/nowhere", "simulate": {}})
    with pytest.raises(UsageError, match="nowhere"):
        run_step(STEP, tmp_path / "data", tmp_path / "annotate", settings)
    assert not any((tmp_path / "work" / "annotate").iterdir())
