"""Sentences that AlignScore, MiniCheck, SummaC and UniEval read: Punkt's, or the stored ones for judgments of them."""

from __future__ import annotations

from typing import Any

import pytest
from evaluators.networks import judge, table_seq2seq, word_classifier

from summeter.evaluators.catalog import build
from summeter.records import Document

DIALOGUE = Document(id="d", text="Ana: did you sell the mill\nBo: yes, in May. It rained!!!\n\n  Ana: and the boat")
# Punkt does not end a sentence at a line without a full stop; the stored sentences are the lines.
SUMMARY = "Ana asks about the mill\nBo sold it in May. It rained"
PUNKT = ["Ana asks about the mill\nBo sold it in May.", "It rained"]
STORED = ["Ana asks about the mill", "Bo sold it in May.", "It rained"]
NETWORKS: dict[str, Any] = {
    "alignscore": word_classifier, "minicheck": word_classifier, "summac": word_classifier, "unieval": table_seq2seq,
}  # fmt: skip
ROLES = {"alignscore": "alignscore", "minicheck": "minicheck", "summac": "nli", "unieval": "unieval"}


def requests_of(written: str) -> tuple[list[str], list[str], float | None, list[float | None]]:
    """Return the premises and hypotheses of the network's requests and the values of the summary and its sentences."""
    name = written.partition("[")[0]
    network = NETWORKS[name]()
    (rows,) = judge(build(written), DIALOGUE, SUMMARY, **{ROLES[name]: network})
    order = (1, 0) if name == "unieval" else (0, 1)
    pairs = [tuple(pair[at] for at in order) for pair in network.texts]
    values = {(row.target.unit, row.target.index): row.value for row in rows}
    premises, hypotheses = (list(dict.fromkeys(texts)) for texts in zip(*pairs, strict=True))
    return premises, hypotheses, values["summary", None], [values["sentence", at] for at in range(3)]


@pytest.mark.parametrize(
    ("written", "premises"),
    [
        ("alignscore", ["Ana: did you sell the mill\nBo: yes, in May. It rained!!! Ana: and the boat"]),
        ("minicheck", ["Ana: did you sell the mill\nBo: yes, in May. It rained!! !\n\n   Ana: and the boat"]),
        ("summac", ["Ana: did you sell the mill\nBo: yes, in May.", "It rained!!!", "Ana: and the boat"]),
        ("unieval[consistency]", [DIALOGUE.text]),
    ],
)
def test_punkt_sentences_give_the_score_and_stored_ones_judgments(written: str, premises: list[str]) -> None:
    found, hypotheses, whole, parts = requests_of(written)
    assert found == premises
    assert hypotheses == [*PUNKT, *STORED[:2]]
    stored = written.rstrip("]") + ("," if "[" in written else "[") + "sentences=stored]"
    _, hypotheses, mean, values = requests_of(stored)
    assert hypotheses == STORED
    assert mean == pytest.approx(sum(values) / 3)  # type: ignore[arg-type]
    if found == requests_of(stored)[0]:  # The premises are the same; only the score differs.
        assert values == parts
        assert mean != whole


def test_pairs_of_sentences_keep_line_breaks_and_skip_short_ones() -> None:
    source = Document(id="d", text="Ana left\nKiel at noon. Oh no! Bo stayed\nthere.\nNobody knew it.")
    nli = word_classifier()
    judge(
        build("summac[granularity=2sents-sentence,least=10]"), source, "Ana left Kiel.",
        nli=nli,
    )  # fmt: skip
    assert [premise for premise, _ in nli.texts] == [
        "Ana left\nKiel at noon. Bo stayed\nthere.", "Bo stayed\nthere. Nobody knew it.", "Nobody knew it.",
    ]  # fmt: skip
