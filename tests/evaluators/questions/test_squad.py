"""Windows, the best and the null answer, the overlap of answers, and QAEval's decoding from stored numbers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluators.networks import FakeNetwork

from summeter.evaluators.questions.squad import (
    Answer,
    Logits,
    answer_all,
    decode,
    owners,
    token_f1,
)
from summeter.models.networks import ClassifyTokens, FindTokens, TokenLogits
from summeter.text.chunks import windows
from summeter.text.fold import Offsets

FIXTURE = json.loads((Path(__file__).parents[2] / "neural" / "questions.json").read_text("utf-8"))["decoding"]
CASES = list(zip(FIXTURE["asked"], FIXTURE["gave"], strict=True))


@pytest.mark.parametrize(("case", "gave"), CASES, ids=map(str, range(len(CASES))))
def test_decoding_gives_what_qaeval_gave(case: dict[str, Any], gave: list[Any]) -> None:
    rows = [
        Logits(row["start"], row["end"], frozenset(row["first"]), frozenset(row["last"])) for row in case["windows"]
    ]

    def text_of(number: int, start: int, end: int) -> tuple[str, Offsets]:
        return " ".join(case["windows"][number]["tokens"][start : end + 1]), Offsets(start, end)

    found = decode(rows, text_of, n_best=case["n_best"], longest=case["longest"], nonce="empty")
    assert found.text == gave[0]
    assert (found.probability, found.null) == pytest.approx(tuple(gave[1:]), abs=1e-12)


def test_without_an_answer_the_text_is_none() -> None:
    row = Logits([-5.0, 0.0], [-5.0, 0.0], frozenset(), frozenset())
    found = decode([row], lambda *_: ("never", None))
    assert found == Answer(None, 0.0, 1.0)
    assert not found.answered
    # The released code answers "empty" here, which it counts as answered if the null score is below 0.
    assert decode([row], lambda *_: ("never", None), nonce="empty").answered


def test_the_null_score_is_the_lowest_over_windows() -> None:
    rows = [Logits([4.0, 1.0], [4.0, 1.0], frozenset({1}), frozenset({1})),
            Logits([0.0, 0.5], [0.0, 0.5], frozenset({1}), frozenset({1}))]  # fmt: skip
    found = decode(rows, lambda number, *_: (str(number), None))
    shares = np.exp([2.0, 1.0, 0.0]) / np.exp([2.0, 1.0, 0.0]).sum()
    assert (found.text, found.probability, found.null) == ("0", pytest.approx(shares[0]), pytest.approx(shares[2]))


def test_every_token_of_squads_windows_has_one_owner() -> None:
    for tokens in range(1, 60):
        spans = windows(tokens, 12, 5, tail="short")
        of = owners(spans)
        assert len(of) == tokens
        for token, number in enumerate(of.tolist()):
            # As in SQuAD's released code: the window with the widest narrower side, the first of equals.
            scores = [
                min(token - first, last - 1 - token) + 0.01 * (last - first) if first <= token < last else -1.0
                for first, last in spans
            ]  # fmt: skip
            assert number == scores.index(max(scores))


def test_overlap_of_answers() -> None:
    assert token_f1("The Mill!", "a mill") == 1.0
    assert token_f1("the", "") == 1.0
    assert token_f1("Ana Ode", "Ana") == pytest.approx(2 / 3)
    assert token_f1("Bern", "Kiel") == 0.0


def reader(wanted: Callable[[str], Sequence[str]], tokens: Callable[[str], list[tuple[int, int]]]) -> FakeNetwork:
    """Return a network whose answer can start and end at each token wanted for the question; the null score is 0."""

    def logits(request: ClassifyTokens) -> TokenLogits:
        assert request.classes == 2
        assert isinstance(request.framing.cut, tuple)
        question, text = request.texts
        parts = zip(request.texts, request.framing.cut, strict=True)
        asked, read = (tokens(part)[:most] for part, most in parts)
        offsets = [(0, 0), *asked, (0, 0), *read, (0, 0)]
        of = [-1, *[0] * len(asked), -1, *[1] * len(read), -1]
        rows = np.full((len(of), 2), -9.0)
        rows[0] = 0.0
        for place, (start, end) in enumerate(offsets):
            if of[place] == 1 and text[start:end] in wanted(question):
                rows[place] = 2.0
        return TokenLogits(rows, np.array(offsets), np.array(of), len(tokens(text)) > len(read))

    return FakeNetwork({ClassifyTokens: logits, FindTokens: lambda request: tokens(request.text)}, "words/reader")


def whole_words(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\S+", text)]


def words(*wanted: str) -> FakeNetwork:
    return reader(lambda _: wanted, whole_words)


def test_an_answer_at_the_end_of_a_long_text() -> None:
    text = " ".join([*(f"filler{place}" for place in range(300)), "KIEL", *["filler"] * 40])
    network = words("KIEL")
    (found,) = asyncio.run(answer_all(network, [("where ?", text)], 60, 20))
    assert found.answered
    assert found.text == "KIEL"
    assert found.place is not None
    assert text[slice(*found.place)] == "KIEL"
    assert len(network.texts) == 16
    assert all(len(row.split()) <= 55 for _, row in network.texts)


def test_long_questions_are_truncated() -> None:
    # A question never fills more than half of the input.
    network = words("b")
    (found,) = asyncio.run(answer_all(network, [("why " * 90, "a " * 40 + "b")], 60, 20))
    assert (found.text, found.answered) == ("b", True)
    assert {framing.cut for framing in network.framings} == {(30, 27)}
