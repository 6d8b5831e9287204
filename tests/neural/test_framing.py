"""Logits of texts, pairs and templates, special tokens in texts, and truncation, compared with transformers."""

from __future__ import annotations

import asyncio
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from neural import checkpoints
from neural.asking import ask, network

from summeter.models.local.loaded_model import LoadedModel, open_model
from summeter.models.local.network import LocalNetwork
from summeter.models.local.tokens import Tokens
from summeter.models.networks import Classify, ClassifyTokens, FindTokens, Framing, entailments
from summeter.records import UsageError
from summeter.runs.results import ResultStore

MARKS = {"bert": "[SEP]", "roberta": "</s>", "deberta": "[SEP]", "t5": "</s>", "bart": "</s>"}
ROWS = [("ab cd. ef", "gh"), ("a", "b c d"), ("gh ab cd ef", "ab")]


def opened(folder: Path, settings: str = "", head: Any = "classifier") -> LoadedModel:
    return open_model(f"local/{folder}{settings}", head)


def tokens(folder: Path, settings: str = "") -> Tokens:
    return opened(folder, settings, "seq2seq" if folder.name in {"t5", "bart"} else "classifier").tokens


def logits(folder: Path, rows: list[tuple[str, ...]], how: Framing = Framing(), classes: Any = 3) -> np.ndarray:  # noqa: B008
    return np.array(ask(network(folder), [Classify(row, classes, how) for row in rows]))


def theirs(folder: Path, texts: list[tuple[str, ...]]) -> np.ndarray:
    """Return the logits of transformers with its own tokenizer."""
    import torch
    import transformers

    network = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    split = transformers.AutoTokenizer.from_pretrained(folder)
    rows = []
    for row in texts:
        given = split(*row, return_tensors="pt")
        if network.config.type_vocab_size < 2:
            given.pop("token_type_ids", None)
        with torch.inference_mode():
            rows.append(network(**given).logits[0].numpy())
    return np.array(rows)


@pytest.mark.parametrize("kind", ["bert", "roberta", "deberta", "onnx"])
def test_raw_outputs_of_a_pair_and_of_one_text(folders: Path, kind: str) -> None:
    plain = "bert" if kind == "onnx" else kind
    for rows in (ROWS, [(first,) for first, _ in ROWS]):
        made = logits(folders / kind, rows)
        assert np.abs(made - theirs(folders / plain, rows)).max() < 2e-5
        assert made.std() > 1e-2, "these answers would not tell a wrong one"


def test_classes_of_inference_are_read_from_the_config(folders: Path, tmp_path: Path) -> None:
    turned = checkpoints.classifier(tmp_path / "turned", "bert", {0: "neutral", 1: "contradiction", 2: "entailment"})
    assert np.array_equal(logits(turned, ROWS, classes="nli"), logits(turned, ROWS)[:, [2, 0, 1]])
    given = np.array(asyncio.run(entailments(network(turned), ROWS)))
    raw = np.exp(logits(turned, ROWS, classes="nli"))
    assert np.abs(given - raw / raw.sum(axis=1, keepdims=True)).max() < 1e-6
    checkpoints.classifier(tmp_path / "plain", "bert", {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"})
    assert logits(tmp_path / "plain", ROWS).shape == (3, 3)
    with pytest.raises(UsageError, match="LABEL_0"):
        logits(tmp_path / "plain", ROWS, classes="nli")


def test_a_checkpoint_with_other_outputs_is_refused(folders: Path) -> None:
    with pytest.raises(UsageError, match=r"local/bert has 3 outputs, but the evaluator needs 1 output; choose another"):
        logits(folders / "bert", ROWS, classes=1)


@pytest.mark.parametrize("kind", list(MARKS))
def test_a_special_token_in_a_text_does_not_end_its_input(folders: Path, kind: str) -> None:
    split, mark = tokens(folders / kind), MARKS[kind]
    end = split._tokenizer.token_to_id(mark)
    (plain,) = split.texts(["ab"])
    (given,) = split.texts([f"a{mark}b"])
    assert (given.ids == end).sum() == (plain.ids == end).sum(), "only the frame's own"
    assert len(given.ids) > len(plain.ids) + 1, "the mark is read as its letters"
    assert len(split.encoded([f"a{mark}b"])[0].ids) == (given.text == 0).sum()
    (parsed,) = split.inputs([(f"a{mark}b",)], Framing(marks=True))
    assert (parsed.ids == end).sum() == (plain.ids == end).sum() + 1, "as released code reads it"


def test_a_document_with_a_special_token_is_read_completely(folders: Path) -> None:
    """In released code, the claim after the special token would be in another segment."""
    (plain, marked) = (ask(network(folders / "roberta"), [Classify((f"ab{mark}cd", "gh"), "nli")])
                       for mark in ("</t>", "</s>"))  # fmt: skip
    assert np.abs(np.array(plain) - np.array(marked)).max() > 0
    read = theirs(folders / "roberta", [("ab</s>cd", "gh")])
    ours = logits(folders / "roberta", [("ab</s>cd", "gh")])
    assert np.abs(ours - read).max() > 1e-3
    assert np.abs(logits(folders / "roberta", [("ab</s>cd", "gh")], Framing(marks=True)) - read).max() < 2e-5


@pytest.mark.parametrize("kind", ["roberta", "deberta"])
def test_a_template_is_one_text_with_special_tokens(folders: Path, kind: str) -> None:
    """MiniCheck's template: one special token between document and claim (RoBERTa's pairs have two), and one
    segment."""
    mark, how = MARKS[kind], Framing(template="{0}{eos}{1}")
    wanted = theirs(folders / kind, [(f"{first}{mark}{second}",) for first, second in ROWS])
    assert np.abs(logits(folders / kind, ROWS, how) - wanted).max() < 2e-5
    split = tokens(folders / kind)
    end = split._tokenizer.token_to_id(mark)
    (given,) = split.inputs([(f"a{mark}b", f"c{mark}")], how)
    assert (given.ids == end).sum() == 2, "the template's and the frame's"
    (released,) = split.inputs([(f"a{mark}b", f"c{mark}")], how._replace(marks=True))
    assert (released.ids == end).sum() == 4
    assert not given.segments.any()


@pytest.mark.parametrize("how", [Framing("only_first"), Framing("only_first", "{0}{eos}{1}")])
@pytest.mark.parametrize("kind", ["roberta", "deberta", "bert"])
def test_the_claim_behind_a_document_that_is_too_long_is_kept_and_counted(
    folders: Path, kind: str, how: Framing
) -> None:
    long = "ab cd. " * 60
    model = network(folders / kind)
    made = ask(model, [Classify(row, 3, how) for row in ((long, "gh"), (long, "ef a"), ("ab", "gh"))])
    assert np.abs(made[0] - made[1]).max() > 1e-3, "the claim is read"
    assert model.usage.truncated == 2
    split = tokens(folders / kind)
    first, second, short = split.inputs([(long, "gh"), (long, "ef a"), ("ab", "gh")], how)
    assert len(first.ids) == len(second.ids) == split.limit == 64
    assert (first.truncated, short.truncated) == (True, False)
    tail = split.inputs([("ab", "gh")], how)[0].ids[-4:]
    assert first.ids[-4:].tolist()[1:] == tail.tolist()[1:], "the end is what it is behind a short document"


def test_cuts_of_one_text_are_those_of_transformers(folders: Path) -> None:
    import transformers

    split = transformers.AutoTokenizer.from_pretrained(folders / "bert")
    pairs = [("a " * first, "b " * second) for first, second in ((70, 5), (61, 1), (10, 51), (2, 60), (100, 60))]
    for (first, second), made in zip(pairs, tokens(folders / "bert").inputs(pairs, Framing("only_first")), strict=True):
        wanted = split(first, second, truncation="only_first", max_length=64)
        assert made.ids.tolist() == wanted["input_ids"]
        assert made.segments.tolist() == wanted["token_type_ids"]
    # Where the second text leaves the first no token, transformers raises; here the longer one is cut.
    (made,) = tokens(folders / "bert").inputs([("a", "b " * 80)], Framing("only_first"))
    assert (made.text == 0).sum() == 1
    assert made.truncated


def test_each_text_may_be_cut_on_its_own(folders: Path) -> None:
    (made,) = tokens(folders / "bert").inputs([("a b c d e f", "g h")], Framing((4, 3)))
    assert [(made.text == number).sum() for number in (-1, 0, 1)] == [3, 4, 2]
    assert made.truncated
    (made,) = tokens(folders / "bert").inputs([("a " * 50, "g " * 50)], Framing((50, 50)))
    assert len(made.ids) == 64, "and no more than the model reads"


@pytest.mark.parametrize(("classes", "answers"), [(4, False), (1, False), (2, True)])
def test_outputs_of_every_token(tmp_path: Path, folders: Path, classes: int, answers: bool) -> None:
    del folders  # where it is, torch is
    import torch
    import transformers

    folder = checkpoints.token_classifier(tmp_path / "m", classes, answers=answers)
    kind = transformers.BertForQuestionAnswering if answers else transformers.BertForTokenClassification
    plain, split = kind.from_pretrained(folder).eval(), transformers.AutoTokenizer.from_pretrained(folder)
    with ResultStore() as store:
        model = network(folder, "tokens", store=store)
        alone = LocalNetwork(model.id, None, store)
        requests = [ClassifyTokens(row, classes) for row in ROWS]
        made, again = ask(model, requests), ask(alone, requests)
        places = ask(model, [FindTokens("ab c")])
        assert places == ask(alone, [FindTokens("ab c")]) == [[(0, 1), (1, 2), (3, 4)]]
    for (first, second), row, stored in zip(ROWS, made, again, strict=True):
        given = split(first, second, return_tensors="pt", return_offsets_mapping=True)
        offsets = given.pop("offset_mapping")[0].numpy()
        with torch.inference_mode():
            output = plain(**given)
        wanted = torch.stack([output.start_logits, output.end_logits], -1) if answers else output.logits
        assert np.abs(row.logits - wanted[0].numpy()).max() < 2e-5
        assert np.array_equal(row.offsets, offsets)
        assert [None if number < 0 else number for number in row.text.tolist()] == given.encodings[0].sequence_ids
        for one, two in zip(row, stored, strict=True):
            assert np.array_equal(one, two)
    model = network(folder, "tokens")
    with pytest.raises(UsageError, match="outputs per token"):
        ask(model, [ClassifyTokens(ROWS[0], 7)])
    (row,) = ask(model, [ClassifyTokens(("ab", "c"), classes, Framing(template="{0} {1}"))])
    assert row.offsets.tolist() == [[0, 0], [0, 1], [1, 2], [3, 4], [0, 0]], "in the filled template"


def test_outputs_of_every_token_on_onnx_runtime(tmp_path: Path, folders: Path) -> None:
    del folders
    folder = checkpoints.token_classifier(tmp_path / "m", 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fast = checkpoints.to_onnx(folder, tmp_path / "onnx", "logits", tokens=True)
    first, second = (ask(network(one, "tokens"), [ClassifyTokens(row, 4) for row in ROWS]) for one in (folder, fast))
    assert opened(fast, head="tokens").runtime.backend == "onnx"
    for one, two in zip(first, second, strict=True):
        assert np.abs(one.logits - two.logits).max() < 1e-5


def test_added_tokens_of_a_template_are_escaped_in_its_texts(folders: Path, tmp_path: Path) -> None:
    """Tokens added by `add_tokens(["<m>", "</m>"])` are parsed in all texts by the tokenizer."""
    from tokenizers import Tokenizer

    folder = shutil.copytree(folders / "bert", tmp_path / "asker")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.add_tokens(["<m>", "</m>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    split = tokens(folder)
    opening, closing = (split.special_id(mark, "asker") for mark in ("<m>", "</m>"))
    framing = Framing(template="{0}<m> {1} </m>{2}")
    for marks, count in ((False, 1), (True, 3)):
        (row,) = split.inputs([("a <m> b", "c", "d </m> <m> </m> e")], framing._replace(marks=marks))
        assert [row.ids.tolist().count(mark) for mark in (opening, closing)] == [count] * 2
