"""The chunker by hand, the score over a table, cuts and empty texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from evaluators.entailment.test_alignscore import Table
from evaluators.networks import document, judge

from summeter.evaluators.base import Tools
from summeter.evaluators.entailment.minicheck import MiniCheck, chunks, pieces, runs
from summeter.models.base import Framing
from summeter.records import Document, Judgment
from summeter.text.split import split

SOURCE = document("Ada sold the mill.", "It rained in May.")
TEXT = "Ada sold it. It snowed."


def run(evaluator: MiniCheck, table: Table, source: Document = SOURCE, text: str = TEXT) -> list[Judgment]:
    (rows,) = judge(evaluator, source, text, tools=Tools("s", networks={"minicheck": table}))
    return rows


def plain(text: str) -> Document:
    return Document(id="d", text=text)


def texts(source: Document, most: int) -> list[str]:
    """Chunks where a piece is as long as its words."""
    lengths = [len(piece.text.split()) for piece in pieces(source)]
    return [chunk.text for chunk in chunks(source, runs(lengths, most))]


def test_pieces_are_sentences_and_line_ends_with_their_places() -> None:
    text = "\nOne is here. Two is here.\n\n Three is\nhere. \nFour is here.\n"
    made = pieces(plain(text))
    wanted = ["\n", "One is here.", "Two is here.", "\n", "\n", "Three is", "\n", "here.", "\n", "Four is here.", "\n"]
    assert [piece.text for piece in made] == wanted
    assert all(text[piece.start : piece.end] == piece.text for piece in made)


def test_chunks_join_lines_and_drop_blank_ones() -> None:
    text = "One is here. Two is here.\nThree is here.\n\nFour is here."
    assert texts(plain(text), 100) == ["One is here. Two is here.\nThree is here.\n\n Four is here."], (
        "behind a blank line one blank stays, as in the released code"
    )
    assert texts(plain(text), 6) == ["One is here. Two is here.", "Three is here.\n\n Four is here."]
    assert texts(plain("One.\n\n\n" + "w " * 9 + "end."), 5) == ["One.", "w " * 9 + "end."]


def test_a_longer_sentence_is_a_chunk_of_its_own() -> None:
    assert texts(plain("One two three four five six. Seven."), 3) == ["One two three four five six.", "Seven."]
    assert runs([9], 3) == [(0, 1)]
    assert runs([], 3) == []


def test_what_stands_between_given_sentences_is_read_too() -> None:
    source = document("B c.", text="Title\nB c. rest")
    assert [piece.text for piece in pieces(source)] == ["Title", "\n", "B c.", "rest"]


def test_each_sentence_has_its_best_chunk_and_the_summary_their_mean() -> None:
    source = document(
        *split_texts("Ada sold the mill to her brother Bo. It rained in all of May and in June. The end.")
    )
    first, second = texts(source, 16)
    table = Table({(first, "Ada sold it."): (0, 2), (second, "Ada sold it."): (0, 1), (second, "It snowed."): (3, 0)})
    whole, ada, snow = run(MiniCheck(chunk=16), table, source)
    assert (ada.value, ada.label) == (pytest.approx(1 / (1 + np.exp(-2))), 1)
    assert (snow.value, snow.label) == (pytest.approx(0.5), 1), "the first chunk says nothing: even"
    assert whole.value == pytest.approx((ada.value + snow.value) / 2)  # type: ignore[operator]
    assert [span.cut(source.text) for span in ada.evidence] == [first]
    framing = Framing("only_first", "{0}{eos}{1}", limit=2048)
    assert {(classes, how) for _, classes, how in table.asked} == {(2, framing)}
    worst, *_ = run(MiniCheck(chunk=16, pool="min"), table, source)
    assert worst.value == snow.value
    (claim,) = run(MiniCheck(chunk=16, claims="summary"), table, source)
    assert (claim.target.unit, claim.value) == ("summary", pytest.approx(0.5))
    assert {text for (_, text), _, _ in table.asked[-2:]} == {TEXT}


def split_texts(text: str) -> list[str]:
    return [text[start:end] for start, end in split(text)]


def test_released_code_cuts_the_end_and_reads_marks() -> None:
    table = Table()
    run(MiniCheck(variant="legacy"), table)
    assert {how for _, _, how in table.asked} == {Framing("longest_first", "{0}{eos}{1}", marks=True, limit=2048)}


def test_summaries_share_the_chunks_that_were_prepared() -> None:
    table = Table()
    tools = Tools("s", networks={"minicheck": table})
    first, second = judge(MiniCheck(), SOURCE, TEXT, "It rained.", tools=tools)
    assert first[0].prepared == second[0].prepared is not None


def test_empty_texts_are_no_number() -> None:
    for source, text in ((SOURCE, " "), (document(text=" \n"), TEXT)):
        (row,) = run(MiniCheck(), Table(), source, text)
        assert (row.status, row.value) == ("skipped", None)


def test_an_unread_end_is_counted() -> None:
    whole, *_ = run(MiniCheck(), Table(limit=9))
    assert whole.truncated_tokens == 8 + 3 - 9


class First:
    """ln p of the words, from a table; 0.3 and 0.1 for what is not there."""

    id = "table/seq2seq"

    def __init__(self, table: dict[tuple[str, ...], tuple[float, float]]) -> None:
        self.table = table
        self.asked: list[tuple[tuple[str, ...], tuple[str, ...], Framing]] = []

    async def first(self, sources: Sequence[tuple[str, ...]], words: tuple[str, ...], framing: Framing) -> np.ndarray:
        self.asked += [(source, words, framing) for source in sources]
        return np.log([self.table.get(source, (0.3, 0.1)) for source in sources])


def test_t5_is_asked_for_its_first_word_and_chunks_are_counted_in_words() -> None:
    source = document("Ada sold the mill to her brother Bo.", "It rained in all of May and in June.", "The end.")
    network = First({("Ada sold the mill to her brother Bo.", "Ada sold it."): (0.01, 0.04)})
    (rows,) = judge(
        MiniCheck(network="t5", chunk=16), source, "Ada sold it.", tools=Tools("s", networks={"minicheck_t5": network})
    )
    assert rows[0].value == pytest.approx(0.8), "of the two words alone"
    assert [row for row, _, _ in network.asked] == [
        ("Ada sold the mill to her brother Bo.", "Ada sold it."),
        ("It rained in all of May and in June. The end.", "Ada sold it."),
    ]
    framing = Framing("only_first", "predict: {0}{eos}{1}", limit=2048)
    assert {(words, how) for _, words, how in network.asked} == {(("0", "1"), framing)}
    assert MiniCheck(network="t5").required_roles == ("minicheck_t5",)
