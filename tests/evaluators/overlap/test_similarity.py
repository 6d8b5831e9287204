"""Cosines of fake embeddings, worked by hand."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from evaluators.networks import FakeNetwork, document, judge

from summeter.evaluators.overlap.similarity import Similarity
from summeter.models.networks import Embed
from summeter.records import Document
from summeter.scoring import summary_scores

ONE, TWO = "Ada sold the mill.", "It rained."
SOURCE = document(ONE, TWO)
TEXT = "The mill was sold. Rain fell."


def table() -> FakeNetwork:
    """Return an encoder with these vectors by text."""
    vectors: dict[str, tuple[float, float]] = {
        ONE: (1, 0), TWO: (0, 1), SOURCE.text: (0.6, 0.8), TEXT: (0.8, 0.6),
        "The mill was sold.": (0.8, 0.6), "Rain fell.": (0, 1), "A": (1, 0), "B": (0.6, 0.8),
    }  # fmt: skip
    return FakeNetwork({Embed: lambda request: np.array(vectors[request.text], dtype=np.float32)}, "table/embed")


def test_with_the_document_by_hand() -> None:
    (found,) = judge(Similarity(), SOURCE, TEXT, embed=table())
    whole, first, second = found
    # (.8, .6) . (.6, .8) = .96. Sentences: max(.8, .6) = .8 with the first; 1 with the second.
    assert whole.value == pytest.approx(0.96)
    assert [first.value, second.value] == pytest.approx([0.8, 1.0])
    assert [span.cut(SOURCE.text) for one in (first, second) for span in one.evidence] == [ONE, TWO]
    (score,) = summary_scores(found, {"similarity": Similarity.reduce})
    assert score.value == whole.value


def test_means_of_sentences() -> None:
    (found,) = judge(Similarity(pool="sentences"), SOURCE, TEXT, embed=table())
    # Document: (1, 1) / sqrt 2. Summary: (.8, 1.6) / its length 1.78885 = (.44721, .89443). Cosine .94868.
    assert found[0].value == pytest.approx((0.44721 + 0.89443) / sqrt(2), abs=1e-4)


def test_the_most_similar_reference_counts() -> None:
    source = Document(id="d", text=SOURCE.text, sentences=SOURCE.sentences, references=("A", "B"))
    ((whole,),) = judge(Similarity(against="reference"), source, TEXT, embed=table())
    assert whole.value == pytest.approx(0.96)
    assert whole.reason == "cosine with the most similar of 2 references"
    ((none,),) = judge(Similarity(against="reference"), SOURCE, TEXT, embed=table())
    assert (none.status, none.reason) == ("skipped", "there is no reference summary")


def test_the_document_is_embedded_once() -> None:
    network = table()
    judge(Similarity(), SOURCE, TEXT, TEXT, embed=network)
    assert network.texts.count(SOURCE.text) == network.texts.count(ONE) == 1
