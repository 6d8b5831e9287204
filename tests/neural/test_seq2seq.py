"""Encoder-decoders: first words, sources that are encoded once, and generation settings."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from neural import asking
from neural.asking import ask

from summeter.models.local.backend import Torch
from summeter.models.local.loaded_model import open_model
from summeter.models.local.network import LocalNetwork
from summeter.models.networks import PLAIN, FirstWord, Framing, Generate, Generation, ScoreTarget
from summeter.records import UsageError
from summeter.runs.usage import Usage

KINDS = ("t5", "bart")
QUESTION = Framing(template="question: good?{eos} text: {0}{eos} source: {1}", limit=40)


def words(rng: random.Random, most: int) -> str:
    return " ".join("".join(rng.choice("abcdefgh.") for _ in range(rng.randint(1, 5))) for _ in range(most))


def model(folder: Path, settings: str = "", **more: Any) -> LocalNetwork:
    return asking.network(f"{folder}{settings}", "seq2seq", **more)


def scored(model: LocalNetwork, pairs: list[tuple[str, str]]) -> list[float]:
    return ask(model, [ScoreTarget(*pair) for pair in pairs])


def first_words(
    model: LocalNetwork, sources: Sequence[tuple[str, ...]], words: tuple[str, ...], framing: Framing = PLAIN
) -> Any:
    return np.array(ask(model, [FirstWord(source, words, framing) for source in sources]))


def generated(model: LocalNetwork, texts: Sequence[str], how: Generation) -> list[str]:
    return ask(model, [Generate((text,), how) for text in texts])


def shared_sources(number: int, targets: int, longest: int = 11) -> list[tuple[str, str]]:
    rng = random.Random(3)
    sources = [words(rng, rng.randint(1, longest)) for _ in range(number)]
    return [(source, words(rng, rng.randint(1, 6))) for source in sources for _ in range(targets)]


def network(folder: Path) -> Any:
    import transformers

    return transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()


def by_hand(folder: Path, pairs: list[tuple[str, str]]) -> list[float]:
    """Return the score of each pair from the loss of the network."""
    import torch

    plain, split = network(folder), open_model(f"local/{folder}", "seq2seq").tokens
    losses = []
    with torch.inference_mode():
        for pair in pairs:
            source, target = (torch.tensor([input_.ids.tolist()]) for input_ in split.texts(pair))
            losses.append(-plain(input_ids=source, labels=target).loss.item())
    return losses


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("number", "targets"), [(9, 1), (3, 5), (1, 12), (6, 2)])
@pytest.mark.parametrize("settings", ["", "[batch_tokens=24]"])
def test_targets_of_one_source_score_as_each_alone(
    folders: Path, kind: str, number: int, targets: int, settings: str
) -> None:
    pairs = shared_sources(number, targets)
    random.Random(1).shuffle(pairs)
    scores = scored(model(folders / kind, settings), pairs)
    np.testing.assert_allclose(scores, by_hand(folders / kind, pairs), atol=2e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_is_encoded_once_for_all_its_targets(
    folders: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[int] = []
    encode = Torch.encode

    def counting(self: Torch, ids: Any, mask: Any) -> Any:
        encoded.append(len(ids))
        return encode(self, ids, mask)

    monkeypatch.setattr(Torch, "encode", counting)
    pairs = shared_sources(4, 6)
    usage = Usage()
    scored(model(folders / kind, usage=usage), pairs)
    assert sum(encoded) == 4
    assert usage.computed == 24


@pytest.mark.parametrize(
    ("kind", "asked"), [("t5-answers", ("Yes", "No")), ("t5-answers", ("0", "1")), ("bart", ("b", "d"))]
)
def test_the_first_word_is_the_softmax_over_the_whole_vocabulary(
    folders: Path, kind: str, asked: tuple[str, ...]
) -> None:
    import torch

    plain, opened = network(folders / kind), open_model(f"local/{folders / kind}", "seq2seq")
    sources = [source for source, _ in shared_sources(7, 1)]
    given = first_words(model(folders / kind), [(source,) for source in sources], asked)
    ids = [opened.tokens.encoded([word])[0].ids[0] for word in asked]
    for source, row in zip(sources, given, strict=True):
        input_ = torch.tensor([opened.tokens.texts([source])[0].ids.tolist()])
        start = torch.tensor([[plain.config.decoder_start_token_id]])
        with torch.inference_mode():
            logits = plain(input_ids=input_, decoder_input_ids=start).logits[0, 0]
        np.testing.assert_allclose(row, torch.log_softmax(logits, -1)[ids], atol=2e-5)
    assert (np.exp(given).sum(axis=1) < 1).all(), "the rest of the vocabulary has its share"


def test_words_with_the_same_first_token_are_refused(folders: Path) -> None:
    with pytest.raises(UsageError, match="'Yes' and 'No' begin with the same token") as raised:
        first_words(model(folders / "t5"), [("a",)], ("Yes", "No"))
    assert "local/t5" in str(raised.value)
    with pytest.raises(UsageError, match="has no tokens for the word ''"):
        first_words(model(folders / "t5"), [("a",)], ("Yes", ""))


def test_special_tokens_are_parsed_in_a_template_and_not_in_its_texts(folders: Path) -> None:
    asked = model(folders / "t5-answers")
    source = "ab cd"
    (plain,), (broken,), (released,) = (
        first_words(asked, [(text, source)], ("Yes", "No"), framing)
        for text, framing in (("a b", QUESTION), ("a</s>b", QUESTION), ("a</s>b", QUESTION._replace(marks=True)))
    )
    assert not np.allclose(broken, released), "a mark inside a text is characters, unless released behaviour is asked"
    tokens = open_model(f"local/{folders / 't5-answers'}", "seq2seq").tokens
    (input_,) = tokens.inputs([("a</s>b", source)], QUESTION)
    assert (input_.ids == 1).sum() == 3, "two marks of the template and the end"
    assert not np.allclose(plain, broken)


def test_a_framing_limits_the_input(folders: Path) -> None:
    tokens = open_model(f"local/{folders / 't5'}", "seq2seq").tokens
    long = "a" * 300
    assert len(tokens.inputs([(long,)])[0].ids) == 64, "what the folder's files say"
    assert len(tokens.inputs([(long,)], Framing(limit=200))[0].ids) == 200
    assert len(tokens.inputs([(long, "b")], QUESTION)[0].ids) == 40
    capped = open_model(f"local/{folders / 't5'}[max_tokens=30]", "seq2seq").tokens
    assert len(capped.inputs([(long,)], Framing(limit=200))[0].ids) == 30
    places = open_model(f"local/{folders / 'bart'}", "seq2seq").tokens
    assert len(places.inputs([(long,)], Framing(limit=900))[0].ids) == 128, "no more than there are positions"


class TestGeneration:
    @staticmethod
    def hand(folder: Path, source: str, **settings: Any) -> str:
        import torch

        opened = open_model(f"local/{folder}", "seq2seq")
        ids = torch.tensor([opened.tokens.texts([source])[0].ids.tolist()])
        with torch.inference_mode():
            rows = network(folder).generate(input_ids=ids, do_sample=False, **settings)
        return opened.tokens.decode(rows[0, 1:].tolist())

    @pytest.mark.parametrize("kind", KINDS)
    def test_all_settings_reach_the_network(self, folders: Path, kind: str) -> None:
        texts = [source for source, _ in shared_sources(4, 1)]
        plain = Generation(12, 3)
        settings = [
            (plain, {}),
            (plain._replace(min_new_tokens=9), {"min_new_tokens": 9}),
            (plain._replace(length_penalty=4.0), {"length_penalty": 4.0}),
            (plain._replace(early_stopping=True), {"early_stopping": True}),
        ]
        for how, given in settings:
            asked = generated(model(folders / kind), texts, how)
            wanted = [self.hand(folders / kind, text, max_new_tokens=12, num_beams=3, **given) for text in texts]
            assert asked == wanted, how

    def test_the_decoder_starts_where_it_is_told(self, folders: Path) -> None:
        how = Generation(6, start="<s>")
        (asked,) = generated(model(folders / "bart"), ["ab cd"], how)
        assert asked == self.hand(folders / "bart", "ab cd", max_new_tokens=6, decoder_start_token_id=0)
        assert asked != self.hand(folders / "bart", "ab cd", max_new_tokens=6)
        with pytest.raises(UsageError, match="has no token '<go>'"):
            generated(model(folders / "bart"), ["a"], Generation(start="<go>"))
        with pytest.raises(ValueError, match="max_new_tokens and num_beams"):
            generated(model(folders / "bart"), ["a"], Generation(5, search="plain_sum"))
