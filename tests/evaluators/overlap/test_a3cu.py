"""A3CU: directions, truncation and the clipped F1, with a fake network."""

from __future__ import annotations

import numpy as np
import pytest
from evaluators.judging import run
from evaluators.networks import FakeNetwork, item

from summeter.evaluators.overlap.a3cu import A3CU
from summeter.models.networks import ClassifyTokens, Framing, TokenLogits
from summeter.records import Document, Judgment

TEXT = "The mill was sold by Ada to her brother in May of that year."
REFERENCE = "Ada sold the mill to Bo, her brother, and moved away in June."


def numbered(numbers: dict[tuple[str, ...], float]) -> FakeNetwork:
    """Return a network with the number of a pair at the first token and other numbers elsewhere."""

    def logits(request: ClassifyTokens) -> TokenLogits:
        assert request.classes == 1
        rows = np.array([[numbers[request.texts]], [99.0]], dtype=np.float32)
        return TokenLogits(rows, np.zeros((2, 2), dtype=np.int64), np.array([-1, 0]))

    return FakeNetwork({ClassifyTokens: logits})


def judged(
    numbers: dict[tuple[str, ...], float], *references: str, text: str = TEXT, evaluator: A3CU | None = None
) -> tuple[list[Judgment], FakeNetwork]:
    network = numbered(numbers)
    source = Document(id="d", text="Anything.", references=references)
    return run(evaluator or A3CU(), item(source, text), networks={"a3cu": network})[1], network


def test_recall_reads_the_summary_first_and_precision_the_reference() -> None:
    rows, network = judged({(TEXT, REFERENCE): 0.6, (REFERENCE, TEXT): 0.4}, REFERENCE)
    values = {row.aspect: row.value for row in rows}
    assert values == {
        "a3cu_recall": pytest.approx(0.6),
        "a3cu_precision": pytest.approx(0.4),
        "a3cu_f1": pytest.approx(0.48),
    }
    assert network.framings == {Framing((254, 254))}


def test_opposite_signs_give_no_huge_number() -> None:
    numbers = {(TEXT, REFERENCE): 0.25, (REFERENCE, TEXT): -0.25}
    recall, precision, harmonic = judged(numbers, REFERENCE)[0]
    assert (recall.value, precision.value, harmonic.value) == (0.25, -0.25, 0.0)
    assert harmonic.reason == "F1 counts a value below 0 as 0"
    released, network = judged(numbers, REFERENCE, evaluator=A3CU(variant="legacy"))
    assert released[2].value == pytest.approx(-0.125 / 1e-10)
    assert network.framings == {Framing((254, 254), marks=True)}


def test_several_references_are_a_mean() -> None:
    other = "It is said that in June the mill was bought by Bo, the brother."
    numbers = {(TEXT, REFERENCE): 0.6, (REFERENCE, TEXT): 0.4, (TEXT, other): 0.2, (other, TEXT): 0.2}
    values = [row.value for row in judged(numbers, REFERENCE, other)[0]]
    assert values == pytest.approx([0.4, 0.3, (0.48 + 0.2) / 2])


def test_short_and_truncated_texts_are_noted() -> None:
    numbers = {("Ada sold it.", REFERENCE): 0.6, (REFERENCE, "Ada sold it."): 0.4}
    rows, _ = judged(numbers, REFERENCE, text="Ada sold it.")
    assert rows[0].reason == "the summary has fewer than 10 words, too few for A3CU"
    long = "word " * 300
    rows, _ = judged({(long, REFERENCE): 0.6, (REFERENCE, long): 0.4}, REFERENCE, text=long)
    assert rows[0].truncated_tokens == 300 - 254
    rows, _ = judged({(TEXT, long): 0.6, (long, TEXT): 0.4}, long)
    assert rows[0].truncated_tokens == 300 - 254, "a reference that is cut counts too"
