"""Regression judges on G-Eval prompts: equal inputs in training and judging, and truncated documents."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from summeter.engine.api import evaluate
from summeter.evaluators.aspects import RATED, AspectDef
from summeter.evaluators.catalog import build
from summeter.evaluators.geval.geval import STEPS, GEval, prompt_template
from summeter.models.local.loaded_model import open_model
from summeter.models.local.tokens import Input, Tokens
from summeter.models.networks import Framing
from summeter.records import Document, Item, Summary, UsageError
from summeter.training import train

pytest.importorskip("peft", reason="needs peft: make neural")

ASPECTS = ("coherence", "fluency")
LONGEST = 640
WORDS = ("ab", "cd", "ef", "gh", "ij", "kl")
Row = dict[str, Any]


def backbone(folder: Path, kind: str) -> Path:
    """Write a small network and a tokenizer with the words of the prompts; the decoder has no end-of-sequence token."""
    import transformers
    from neural import checkpoints
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    texts = " ".join(prompt_template(RATED[aspect]) for aspect in ASPECTS).lower()
    known = sorted({*re.findall(r"[a-z]+", texts), *WORDS, "zz", *map(chr, range(33, 127))})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *known, *(f"##{chr(letter)}" for letter in range(33, 127))]
    made = Tokenizer(models.WordPiece({word: at for at, word in enumerate(vocabulary)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    end = " [SEP]" if kind == "encoder" else ""
    marks = [("[CLS]", 2), ("[SEP]", 3)]
    made.post_processor = processors.TemplateProcessing(
        single=f"[CLS] $A{end}", pair=f"[CLS] $A{end} $B{end}", special_tokens=marks
    )
    size = checkpoints._save(made, folder, {"pad_token": "[PAD]"})
    if kind == "encoder":
        config: Any = transformers.BertConfig(vocab_size=size, max_position_embeddings=LONGEST, **checkpoints.SIZES)
        return checkpoints._model(folder, transformers.BertModel, config, 0)
    config = transformers.LlamaConfig(
        vocab_size=size, max_position_embeddings=LONGEST, pad_token_id=0, bos_token_id=2, **checkpoints.SIZES
    )
    return checkpoints._model(folder, transformers.LlamaModel, config, 0)


def rows(documents: int = 30, words: int = 12) -> list[Row]:
    """Return two summaries per document, rated by their number of `zz`."""
    draw, listed = random.Random(3), []
    for number in range(documents):
        document = " ".join(draw.choices(WORDS, k=words)) + f" {number}."
        for system in range(2):
            good = draw.randrange(7)
            summary = " ".join(["zz"] * good + draw.choices(WORDS, k=6 - good))
            ratings = {"coherence": {"ana": 1 + 4 * good / 6}, "fluency": {"ana": 2 + 3 * good / 6}}
            if number % 3 == 0 and system:
                del ratings["fluency"]
            listed.append({"doc_id": f"d{number}", "document": document, "system": f"s{system}", "summary": summary,
                           "human": {"ratings": ratings}})  # fmt: skip
    return listed


def settings(folder: Path, network: Path, listed: Sequence[Row], **more: Any) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "rated.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in listed))
    usual = {"kind": "regression", "data": str(file), "backbone": str(network), "input": "geval"}
    return {**usual, "max_tokens": LONGEST, "resamples": 20, "seed": 3, **more}


def scored(folder: Path, listed: Sequence[Row], model: Path, backend: str = "onnx") -> list[Any]:
    run = evaluate(listed, [build("regression")], models={"regressor": f"local/{model}[backend={backend}]"}, out=folder)
    return list(run.judgments())


def by_place(judgments: Sequence[Any]) -> dict[tuple[str, str, str], Any]:
    return {(row.target.document_id, row.target.system, row.aspect): row for row in judgments}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Input]:
    """Return the inputs of the networks."""
    kept: list[Input] = []
    inputs = Tokens.inputs

    def keep(self: Tokens, given: Sequence[tuple[str, ...]], how: Framing) -> list[Input]:
        kept.extend(made := inputs(self, given, how))
        return made

    monkeypatch.setattr(Tokens, "inputs", keep)
    return kept


def own_prompts(listed: Sequence[Row]) -> list[str]:
    """Return the prompts of G-Eval for these summaries."""
    made = []
    for row in listed:
        item = Item(
            document=Document(id=row["doc_id"], text=row["document"]),
            summary=Summary(document_id=row["doc_id"], system=row["system"], text=row["summary"], splitter="given"),
        )
        for aspect in ASPECTS:
            messages = GEval(aspect=aspect, steps=STEPS).prompt(item, {}).messages
            made.append("\n\n".join(message.content for message in messages))
    return made


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("networks")
    for kind in ("encoder", "decoder"):
        backbone(place / kind, kind)
    return place


@pytest.fixture(scope="module")
def judge(networks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judge on the frozen states of a decoder."""
    place = tmp_path_factory.mktemp("judge")
    train(settings(place, networks / "decoder", rows()), place / "judge")
    return place / "judge"


def test_training_and_judging_read_the_prompt_of_geval(networks: Path, tmp_path: Path, read: list[Input]) -> None:
    listed = rows()
    train(settings(tmp_path, networks / "decoder", listed, onnx=False), tmp_path / "judge")
    in_training = {tuple(input_.ids.tolist()) for input_ in read}
    read.clear()
    scored(tmp_path / "run", listed, tmp_path / "judge", "torch")
    in_judging = {tuple(input_.ids.tolist()) for input_ in read}
    tokens = open_model(str(networks / "decoder"), "encoder").tokens
    wanted = {(2, *encoded.ids.tolist()) for encoded in tokens.encoded(own_prompts(listed))}
    assert in_training == in_judging == wanted
    assert max(map(len, wanted)) < LONGEST


def test_each_aspect_has_its_rating_and_both_runtimes_agree(judge: Path, tmp_path: Path) -> None:
    listed = rows(3)
    onnx, torch = (by_place(scored(tmp_path / name, listed, judge, name)) for name in ("onnx", "torch"))
    assert {place[2] for place in onnx} == set(ASPECTS)
    assert [row.value for row in onnx.values()] == pytest.approx([torch[place].value for place in onnx], abs=1e-4)
    assert {row.truncated_tokens for row in onnx.values()} == {None}


def test_one_output_learns_the_ratings_of_all_aspects(networks: Path, tmp_path: Path) -> None:
    card = train(settings(tmp_path, networks / "encoder", rows(40), pool="mean"), tmp_path / "judge").card
    reached = {
        row["aspect"]: row["value"] for row in card["figures"] if (row["of"], row["statistic"]) == ("judge", "pearson")
    }
    assert min(reached[aspect] for aspect in ASPECTS) > 0.6
    assert json.loads((tmp_path / "judge" / "regressor.json").read_text())["layers"][0]["bias"]["shape"] == [1]


def test_a_network_is_trained_on_prompts(networks: Path, tmp_path: Path) -> None:
    schedule = {"epochs": 1, "batch": 8}
    how = settings(tmp_path, networks / "encoder", rows(), mode="full", onnx=False, schedule=schedule)
    (score,) = train(how, tmp_path / "judge").card["dev"]["scores"]
    assert -1 <= score <= 1
    judgments = scored(tmp_path / "run", rows(1), tmp_path / "judge", "torch")
    assert [row.status for row in judgments] == ["ok"] * 2 * len(ASPECTS)


def test_a_long_document_is_cut_inside_the_prompt_and_counted(judge: Path, tmp_path: Path, read: list[Input]) -> None:
    row = {"doc_id": "d", "document": "ab cd ef " * 200, "system": "s", "summary": "zz gh"}
    judgments = scored(tmp_path / "run", [row], judge)
    tokens = open_model(str(judge), "encoder").tokens
    prompts = dict(zip(ASPECTS, tokens.encoded(own_prompts([row])), strict=True))
    cut = {judgment.aspect: judgment.truncated_tokens for judgment in judgments}
    assert cut == {aspect: len(prompts[aspect].ids) + 1 - LONGEST for aspect in ASPECTS}
    inside = {int(tokens.encoded([word])[0].ids[0]) for word in ("ab", "cd", "ef")}
    for input_, encoded in zip(read, prompts.values(), strict=True):
        kept, whole = ([token for token in ids.tolist() if token not in inside] for ids in (input_.ids, encoded.ids))
        assert kept[1:] == whole
        assert len(input_.ids) == LONGEST


def test_the_card_counts_summaries_whose_document_was_cut(networks: Path, tmp_path: Path) -> None:
    listed = rows()
    listed[0]["document"] = listed[1]["document"] = "ab cd ef " * 200
    card = train(settings(tmp_path, networks / "decoder", listed, onnx=False), tmp_path / "judge").card
    assert card["input"] == "geval"
    assert card["cut"]["summaries"] == 2
    tokens = open_model(str(networks / "decoder"), "encoder").tokens
    assert card["cut"]["tokens"] == sum(len(made.ids) + 1 - LONGEST for made in tokens.encoded(own_prompts(listed[:2])))


def test_a_summary_that_leaves_no_room_for_the_document_is_an_error(judge: Path, tmp_path: Path) -> None:
    listed = [
        {"doc_id": "d1", "document": "ab cd", "system": "s", "summary": "zz " * LONGEST},
        {"doc_id": "d2", "document": "ab cd", "system": "s", "summary": "zz"},
    ]
    found = by_place(scored(tmp_path / "run", listed, judge))
    for aspect in ASPECTS:
        failed, rated = found["d1", "s", aspect], found["d2", "s", aspect]
        assert (failed.status, failed.value, rated.status) == ("error", None, "ok")
        assert failed.reason


def test_aspects_that_the_prompts_do_not_know_come_from_a_file(networks: Path, tmp_path: Path) -> None:
    listed = rows()
    for row in listed:
        row["human"]["ratings"] = {"tone": row["human"]["ratings"]["coherence"]}
    how = settings(tmp_path, networks / "decoder", listed, onnx=False)
    with pytest.raises(UsageError, match="'tone'"):
        train(how, tmp_path / "judge")
    own = AspectDef(name="tone", definition="how calm it is", lowest="it is loud", highest="it is calm")
    (tmp_path / "tone.yaml").write_text(json.dumps(own.model_dump(exclude_none=True)))
    train({**how, "aspect_file": str(tmp_path / "tone.yaml")}, tmp_path / "judge")
    (tmp_path / "tone.yaml").unlink()
    assert {row.aspect for row in scored(tmp_path / "run", listed[:2], tmp_path / "judge", "torch")} == {"tone"}
