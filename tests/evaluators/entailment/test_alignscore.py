"""AlignScore: hand-worked chunks, means of maxima, heads, truncation and empty texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from evaluators.networks import FakeNetwork, document, judge
from numpy.typing import NDArray

from summeter.evaluators.entailment.alignscore import AlignScore, document_chunks
from summeter.models.networks import Classify, Framing
from summeter.records import Document, Judgment

SOURCE = document("Ada sold the mill.", "It rained in May.")
TEXT = "Ada sold it. It snowed."


def table_of(rows: Mapping[tuple[str, str], Sequence[float]] | None = None, limit: int = 512) -> FakeNetwork:
    """Return a network with these logits for (premise, hypothesis), else zeros; tokens are words."""

    def logits(request: Classify) -> NDArray[np.float64]:
        zeros = [0.0] * (3 if request.classes == "nli" else request.classes)
        return np.array((rows or {}).get((request.texts[0], request.texts[1]), zeros))

    return FakeNetwork({Classify: logits}, "table/classifier", limit=limit)


def run(evaluator: AlignScore, table: FakeNetwork, source: Document = SOURCE, text: str = TEXT) -> list[Judgment]:
    (rows,) = judge(evaluator, source, text, alignscore=table)
    return rows


def sentences(count: int, words: int) -> Document:
    """Return a document with this number of sentences and this number of words in total."""
    each = [words // count + (at < words % count) for at in range(count)]
    return document(*(" ".join([f"w{at}"] * (size - 1) + ["end."]) for at, size in enumerate(each)))


@pytest.mark.parametrize(
    ("count", "words", "sizes"),
    [
        (
            31,
            700,
            [10, 10, 10, 1],
        ),  # in the released code: 700 // 350 + 1 = 3 chunks, 31 // 3 = 10 sentences each
        (31, 699, [15, 15, 1]),
        (10, 349, [10]),
        (10, 350, [5, 5]),
        (1, 3000, [1]),
        (3, 3000, [1, 1, 1]),
    ],
)
def test_chunks_are_those_of_the_released_code(count: int, words: int, sizes: list[int]) -> None:
    source = sentences(count, words)
    made = document_chunks(source)
    assert [chunk.text.count("end.") for chunk in made] == sizes
    assert " ".join(chunk.text for chunk in made) == source.text
    assert [source.text[chunk.start : chunk.end] for chunk in made] == [chunk.text for chunk in made]


def test_the_score_is_the_mean_over_sentences_of_the_best_chunk() -> None:
    source = sentences(10, 350)
    first, second = (chunk.text for chunk in document_chunks(source))
    table = table_of({(first, "Ada sold it."): (2, 0, 0), (second, "Ada sold it."): (0, 0, 0),
                   (second, "It snowed."): (0, 0, 3)})  # fmt: skip
    whole, ada, snow = run(AlignScore(), table, source)
    best = np.exp(2) / (np.exp(2) + 2)
    assert (ada.value, ada.label) == (pytest.approx(best), 1)
    assert (snow.value, snow.label) == (pytest.approx(1 / 3), 0)
    assert whole.value == pytest.approx((best + 1 / 3) / 2)
    assert [(one.target.unit, one.target.index) for one in (ada, snow)] == [("sentence", 0), ("sentence", 1)]
    assert [span.cut(source.text) for span in ada.evidence] == [first]
    assert ada.reason == "aligned with chunk 1 of 2 (.79)"
    assert {(one.classes, one.framing) for one in table.asked} == {("nli", Framing("only_first"))}


def test_the_other_heads() -> None:
    table = table_of({(SOURCE.text, "Ada sold it."): (0, 2), (SOURCE.text, "It snowed."): (2, 0)})
    whole, ada, snow = run(AlignScore(mode="bin_sp"), table)
    assert (ada.value, snow.value) == (pytest.approx(1 / (1 + np.exp(-2))), pytest.approx(1 / (1 + np.exp(2))))
    assert whole.value == pytest.approx(0.5)
    table = table_of({(SOURCE.text, "Ada sold it."): (1.7,), (SOURCE.text, "It snowed."): (-0.2,)})
    whole, ada, snow = run(AlignScore(mode="reg_sp"), table)
    assert [one.value for one in (whole, ada, snow)] == pytest.approx([0.75, 1.7, -0.2]), "no bounds"


def test_whole_texts_take_one_pass() -> None:
    table = table_of({(SOURCE.text, TEXT): (1, 0, 0)})
    (whole,) = run(AlignScore(mode="nli"), table)
    several, *_ = run(AlignScore(), table_of())
    assert several.reason == "mean over 2 sentences, each at the best of 1 chunk; lowest .33"
    assert len(table.asked) == 1
    assert whole.value == pytest.approx(np.e / (np.e + 2))


def test_legacy_truncates_the_batch_of_a_long_claim_longest_first() -> None:
    """A claim as long as the input decides how the document is truncated in its batch of 32 pairs."""
    table = table_of(limit=5)
    run(AlignScore(variant="legacy"), table, text="Ada sold it. It snowed and it rained.")
    assert table.framings == {Framing("longest_first", marks=True)}
    table = table_of(limit=6)
    run(AlignScore(variant="legacy"), table, text="Ada sold it. It snowed and it rained.")
    assert table.framings == {Framing("only_first", marks=True)}
