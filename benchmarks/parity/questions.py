"""Compare summeter with the code of MENLI, QAEval, QuestEval, DAE, Lite3Pyramid and F-coref on small networks.

    python benchmarks/parity questions --peers FOLDER [--write]

FOLDER contains the unpacked released code: `pip download --no-deps menli==1.0.1 qaeval==0.1.0 questeval==0.2.4
fastcoref==2.1.6 allennlp==1.1.0`, transformers 3.0.2 in a folder `transformers-3.0.2`, and, without a licence and
therefore run but not copied, `dae/train_utils.py` of tagoyal/factuality-datasets and `lite3pyramid/extract_stus.py`
(the folder `metric` of ZhangShiyue/Lite2-3Pyramid). Dependencies that can no longer be installed are replaced by small
stand-ins below; the compared code is unchanged. `--write` stores the results in tests/neural/questions.json, with which
tests/neural/test_questions.py and tests/evaluators/questions compare without the released code. Each project runs in a
separate process; the stored results of a missing one are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

HERE = Path(__file__).parent
FIXTURE = HERE.parents[1] / "tests" / "neural" / "questions.json"


def stand_in(name: str, **members: Any) -> None:
    """Install a module with the given name and members."""
    module = ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module


# ---- cases: what both sides are given ----


def menli_cases() -> dict[str, Any]:
    """Return references and summaries; one pair is longer than the network's context."""
    references = [
        "Ana Ode built the mill in Bern. She sold it to her brother.",
        "The ferry left Kiel at noon.",
        "Nobody saw the buoy " * 30,
    ]
    summaries = ["Ana Ode sold a mill.", "The ferry never left Kiel.", "Everyone saw the buoy."]
    return {"references": references, "summaries": summaries, "length": 64}


def decoding_cases() -> list[dict[str, Any]]:
    """Return windows of random logits. Words repeat, so that an answer occurs several times."""
    import numpy as np

    draw = np.random.RandomState(11)
    cases = []
    for number in range(14):
        windows = []
        for _ in range(1 + number % 3):
            size = int(draw.randint(6, 26))
            words = draw.choice(["mill", "bern", "ode", "sold", "boat"], size=size).tolist()
            allowed = list(range(4, size - 1)) if number != 5 else []
            begin = [place for place in allowed if draw.rand() < 0.8]
            scale = 0.2 if number == 7 else 3.0
            start, end = (np.round(draw.randn(2, size) * scale, 4)).tolist()
            if number in {3, 9}:  # a null answer beyond the list of the best, and one before all
                start[0] = end[0] = -40.0 if number == 3 else 40.0
            if number == 11:  # equal scores
                start, end = [1.0] * size, [1.0] * size
            windows.append({"tokens": words, "start": start, "end": end, "first": begin, "last": allowed})
        cases.append({"windows": windows, "n_best": 20 if number % 4 else 5, "longest": 30 if number % 5 else 3})
    return cases


TEXTS = {
    "hyp": "Ana sold the mill.",
    "src": "Ana Ode built the mill in Bern. She sold it in May.",
    "ref1": "Ode sold a mill.",
    "ref2": "The mill was sold in May.",
    "bare": "It rained.",
}


def questeval_cases() -> dict[str, Any]:
    """Return the outputs of the stand-in networks (answers, questions, new answers), and the compared texts."""
    import numpy as np

    draw = np.random.RandomState(5)
    answers = {
        "hyp": {"NER": ["Ana"], "NOUN": ["Ana", "the mill"]},
        "src": {"NER": ["Ana Ode", "Bern", "May"], "NOUN": ["Ana Ode", "the mill", "She"]},
        "ref1": {"NER": [], "NOUN": ["Ode", "a mill"]},
        "ref2": {"NER": ["May"], "NOUN": ["The mill", "May"]},
        "bare": {"NER": [], "NOUN": []},
    }
    asked: dict[str, Any] = {}
    replies = ["Ana", "the mill", "a mill in Bern", "unanswerable", "The May", ""]
    for of in TEXTS:
        for on in TEXTS:
            for answer in dict.fromkeys(answers[of]["NER"] + answers[of]["NOUN"]):
                asked[f"{of}|{answer}|{on}"] = {
                    "reply": replies[draw.randint(len(replies))],
                    "answerability": float(np.round(draw.rand() * 1.1 - 0.05, 6)),
                }
    golden = {answer for kinds in answers.values() for some in kinds.values() for answer in some}
    pairs = [f"{reply}|{answer}" for reply in replies for answer in sorted(golden)]
    similar = {pair: float(np.round(draw.rand() * 1.1, 6)) for pair in pairs}
    weights = {answer: float(np.round(draw.rand(), 6)) for answer in ("Ana Ode", "Bern", "May", "the mill", "She")}
    runs = [
        {"source": "src", "references": []},
        {"source": None, "references": ["ref1"]},
        {"source": "src", "references": ["ref1", "ref2"]},
        {"source": "src", "references": [], "weighter": True},
        {"source": "src", "references": ["ref1"], "weighter": True},
        {"source": "bare", "references": []},
        {"source": "bare", "references": ["ref2"]},
    ]
    return {"texts": TEXTS, "answers": answers, "asked": asked, "similar": similar, "weights": weights, "runs": runs}


def dae_cases() -> list[dict[str, Any]]:
    """Return words and arcs (child, head; from 0).

    One document is truncated, one word has several pieces, and one summary has more than twenty arcs.
    """
    long = "the ferry left kiel at noon with forty people and captain holt knew the fjord well".split()  # noqa: SIM905
    many = [[place, place + 1] for place in range(14)] + [[place + 2, place] for place in range(12)]
    return [
        {"document": ["ana", "ode", "built", "the", "mill", "."], "summary": ["ana", "built", "mills", "."],
         "arcs": [[0, 1], [2, 1]]},
        {"document": long * 45, "summary": ["captain", "holt", "knew", "unfathomable", "kiel"],
         "arcs": [[0, 1], [1, 2], [3, 4], [4, 2]]},
        {"document": long, "summary": long, "arcs": many},
    ]  # fmt: skip


def stu_cases() -> list[dict[str, Any]]:
    """Return random sentences with random semantic roles.

    They contain verbs of one and two words, adjacent arguments of the same role, auxiliaries, negations, "to" and
    modals.
    """
    import numpy as np

    draw = np.random.RandomState(17)
    vocabulary = ["Ada", "Bo", "is", "was", "to", "will", "not", "sold", "mills", "kept", "in", "May"]
    roles = ["ARG0", "ARG1", "ARGM-NEG", "ARGM-TMP"]
    cases = []
    for _ in range(60):
        size = int(draw.randint(3, 10))
        frames = []
        for _ in range(draw.randint(0, 3)):
            verb, length = int(draw.randint(1, size)), int(draw.randint(1, 3))
            tags = ["O"] * size
            tags[verb : verb + length] = ["B-V", *["I-V"] * (length - 1)][: size - verb]
            place = 0
            while place < size:
                if tags[place] == "O" and draw.rand() < 0.8:
                    tags[place] = f"B-{roles[draw.randint(len(roles))]}"
                    if place + 1 < size and tags[place + 1] == "O" and draw.rand() < 0.5:
                        tags[place + 1] = f"I-{tags[place][2:]}"
                        place += 1
                place += 1
            frames.append(tags)
        cases.append({"words": draw.choice(vocabulary, size=size).tolist(), "frames": frames})
    return cases


LONG = (
    " say how he had crossed the fjord in a storm that sank two other boats, broke the harbour wall, and kept every "
    "ferry of the town at its berth until noon."
)
ROWS = [
    ["", "Ana Ode", " built the mill in Bern."],
    ["Ana Ode built ", "the mill", " in Bern."],
    ["Nobody on the quay at Kiel had ever heard ", "Captain Holt", LONG],
    ["Bo: have you seen ", "my keys", "?\nAna: on the table, next to the blue cup!\nBo: thanks."],
    ["#Person1#: I'd like ", "a room", ", please. #Person2#: For how many nights?"],
    ["She wasn't sure that ", "it", " rained."],
    ["He paid ", "$ 4,000", " - in cash (so he said)."],
    ["", "It", " rained."],
]  # fmt: skip
"""Phrases with the text before and after: short, long, in a dialogue with line breaks, and with punctuation."""


COREF = [
    "Ada Ode built the mill. She sold it to her brother Bo, and he burnt it down in May.",
    "Kiel slept.",
    "The ferry left Kiel at noon. It carried forty people, and Captain Holt knew its engine. He had crossed the fjord.",
]
"""Texts of one segment and of several segments."""


# ---- the peers, each in a process of its own ----


def side_menli(peers: Path, task: dict[str, Any]) -> Any:
    """Return scores by direction and formula."""
    import transformers

    sys.path.insert(0, str(peers / "menli"))
    stand_in("gdown")
    stand_in("menli_code.metric_utils", init_scorer=None, scoring=None)
    package = ModuleType("menli_code")
    package.__path__ = [str(peers / "menli")]
    sys.modules["menli_code"] = package
    from importlib import import_module

    released = import_module("menli_code.MENLI").MENLI
    scorer = object.__new__(released)
    tokenizer = transformers.AutoTokenizer.from_pretrained(task["folder"])
    tokenizer.model_max_length = task["length"]
    tokenizer.__class__.encode_plus = lambda self, *texts, **how: self(*texts, **how)
    network = transformers.AutoModelForSequenceClassification.from_pretrained(task["folder"]).eval()
    scorer.__dict__ |= {
        "_tokenizer": tokenizer, "_model": network, "device": "cpu", "src": False, "cross_lingual": False,
        "model_type": "R", "nli_scores": [], "metric_scores": [], "nli_weight": 0.3,
    }  # fmt: skip
    scores: dict[str, Any] = {}
    for direction in ("rh", "hr", "avg"):
        for formula in ("e", "-c", "e-c", "e-n"):
            found = scorer.score_nli([], task["references"], task["summaries"], direction, formula)
            scores[f"{direction} {formula}"] = [float(value) for value in found]
    other = [0.25, 0.75, 0.5]
    combined = scorer.combine(other, scores["avg e"])
    return {"scores": scores, "other": other, "combined": [float(value) for value in combined]}


def side_decoding(peers: Path, task: list[dict[str, Any]]) -> Any:
    """Return (text, probability, null probability) of each case by QAEval's decoding; texts are their own tokens."""
    import math

    def softmax(scores: list[float]) -> list[float]:
        powers = [math.exp(score - max(scores)) for score in scores]
        return [power / sum(powers) for power in powers]

    def best(logits: list[float], count: int) -> list[int]:
        return [place for place, _ in sorted(enumerate(logits), key=lambda pair: pair[1], reverse=True)][:count]

    stand_in("edlib")
    stand_in("transformers")
    stand_in("transformers.data")
    stand_in("transformers.data.metrics")
    stand_in(
        "transformers.data.metrics.squad_metrics",
        get_final_text=lambda text, *_: text,
        _get_best_indexes=best,
        _compute_softmax=softmax,
    )
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("released", peers / "qaeval" / "answering" / "utils.py")
    assert spec is not None and spec.loader is not None  # noqa: PT018
    released = module_from_spec(spec)
    spec.loader.exec_module(released)
    tokenizer = SimpleNamespace(convert_tokens_to_string=" ".join)
    found = []
    for case in task:
        example = SimpleNamespace(
            qas_id="0", doc_tokens=["w"] * 30, char_to_word_offset=list(range(30)), context_text="w" * 30
        )
        features, results = [], []
        for number, window in enumerate(case["windows"]):
            features.append(
                SimpleNamespace(
                    example_index=0, unique_id=number, tokens=window["tokens"],
                    token_to_orig_map={place: place for place in window["last"]},
                    token_is_max_context=dict.fromkeys(window["first"], True),
                )
            )  # fmt: skip
            results.append(SimpleNamespace(unique_id=number, start_logits=window["start"], end_logits=window["end"]))
        given = (tokenizer, [example], features, results, case["n_best"], case["longest"], True, False, True)
        texts, shares, nulls = released.compute_predictions_logits_with_null(*given)
        found.append([texts["0"], shares["0"], nulls["0"]])
    return found


def side_questeval(peers: Path, task: dict[str, Any]) -> Any:
    """Return the score of each run by QuestEval's arithmetic, from given answers."""
    sys.path.insert(0, str(peers / "questeval-0.2.4"))
    stand_in("datasets", load_metric=None)
    stand_in("unidecode", unidecode=lambda text: text)
    from questeval import questeval_metric, utils

    names = {text: name for name, text in task["texts"].items()}

    class Given(questeval_metric.QuestEval):  # type: ignore[misc, name-defined]
        """QuestEval with stand-in networks. A question consists of the text's name and the answer."""

        def __init__(self, *, weighter: bool) -> None:
            self.log_dir = tempfile.mkdtemp()
            self.hash_files: set[str] = set()
            self.use_cache, self.task, self.src_preproc_pipe = False, "summarization", None
            self.answer_types, self.list_scores = ("NER", "NOUN"), ("answerability", "bertscore", "f1")
            self.do_consistency, self.do_weighter, self.reduction_multi_refs = False, weighter, max
            self.device, self.metric_BERTScore, self.sep = "cpu", None, "</s>"
            model = SimpleNamespace(pretrained_model_name_or_path="given")
            self.models = {name: {"QA": model, "QG": model} for name in ("hyp", "src", "ref")} | {"Weighter": model}

        def _predict_self_answers(self, texts: list[str], answer_type: str) -> list[list[str]]:
            return [task["answers"][names[text]][answer_type] for text in texts]

        def _predict_questions(self, asked: list[tuple[str, str]], _: str) -> list[str]:
            return [f"{names[text]}|{answer}" for answer, text in asked]

        def _predict_answers(self, asked: list[tuple[str, str]], _: str) -> tuple[list[float], list[str]]:
            rows = [task["asked"][f"{question}|{names[text]}"] for question, text in asked]
            return [row["answerability"] for row in rows], [row["reply"] for row in rows]

        def _predict_weighter(self, asked: list[str]) -> list[float]:
            return [1 - task["weights"][text.partition(" </s> ")[0]] for text in asked]

    def bertscore(predictions: list[str], references: list[str], *_: Any, **__: Any) -> list[float]:
        return [task["similar"]["|".join(pair)] for pair in zip(predictions, references, strict=True)]

    questeval_metric.calculate_BERTScore = bertscore
    assert utils.calculate_f1_squad("the mill", "mill") == 1.0
    found = []
    for run in task["runs"]:
        scorer = Given(weighter=run.get("weighter", False))
        texts = task["texts"]
        found.append(
            float(
                scorer.corpus_questeval(
                    hypothesis=[texts["hyp"]],
                    sources=[texts[run["source"]]] if run["source"] else None,
                    list_references=[[texts[name] for name in run["references"]]] if run["references"] else None,
                )["corpus_score"]
            )
        )
    return found


def side_dae(peers: Path, task: dict[str, Any]) -> Any:
    """Return the logits of each arc by DAE's features and network."""
    import torch
    import transformers
    from safetensors.torch import load_file

    stand_in("pycorenlp", StanfordCoreNLP=None)
    stand_in(
        "transformers.modeling_electra",
        ElectraPreTrainedModel=transformers.ElectraPreTrainedModel,
        ElectraModel=transformers.ElectraModel,
    )
    sys.path.insert(0, str(peers / "dae"))
    import train_utils

    config = transformers.ElectraConfig.from_pretrained(task["folder"])
    transformers.ElectraPreTrainedModel.init_weights = lambda _: None
    network = train_utils.ElectraDependencyModel(config).eval()
    weights = load_file(Path(task["folder"]) / "model.safetensors")
    head, bias = weights.pop("classifier.weight"), weights.pop("classifier.bias")
    weights["dep_label_classifier.weight"] = torch.cat([head[:2], head[2:]], dim=1)
    weights["dep_label_classifier.bias"] = bias[:2]
    report = network.load_state_dict(weights, strict=False)
    assert not report.missing_keys and not report.unexpected_keys, report  # noqa: PT018
    tokenizer = transformers.BertTokenizer(str(Path(task["folder"]) / "vocab.txt"), do_lower_case=True)
    found = []
    for case in task["cases"]:
        example: dict[str, Any] = {
            "input": " ".join(case["document"]), "context": " ".join(case["summary"]), "sentlabel": 1,
        }  # fmt: skip
        for place in range(20):
            there = place < len(case["arcs"])
            child, parent = case["arcs"][place] if there else (0, 0)
            words = f"{case['summary'][child]} {case['summary'][parent]}"
            example |= {
                f"dep_idx{place}": f"{child} {parent}" if there else "", f"dep_label{place}": 1,
                f"dep_words{place}": words, f"dep{place}": "nsubj",
            }  # fmt: skip
        (features,) = train_utils.convert_examples_to_features([example], tokenizer, 512, tokenizer.pad_token_id)

        def tensor(values: Any) -> Any:
            return torch.tensor([values], dtype=torch.long)

        with torch.no_grad():
            _, logits = network(
                tensor(features.input_ids), tensor(features.input_attention_mask), tensor(features.child_indices),
                tensor(features.head_indices), tensor(features.mask_entail), tensor(features.mask_cont),
                tensor(1)[0], torch.tensor([features.num_dependencies]), device="cpu",
            )  # fmt: skip
        found.append(logits[0, : features.num_dependencies].tolist())
    return found


def side_coref(peers: Path, task: dict[str, Any]) -> Any:
    """Return the clusters of each text (words with offsets) by F-coref."""
    import numpy as np
    import torch
    import transformers
    from safetensors.torch import load_file
    from tokenizers.pre_tokenizers import ByteLevel

    for name in ("fastcoref", "fastcoref.utilities", "fastcoref.coref_models"):
        package = ModuleType(name)
        package.__path__ = [str(peers / "fastcoref-2.1.6" / name.replace(".", "/"))]
        sys.modules[name] = package
    from fastcoref.coref_models.modeling_fcoref import FCorefModel
    from fastcoref.utilities.collate import LeftOversCollator
    from fastcoref.utilities.util import align_to_char_level, create_clusters, create_mention_to_antecedent

    transformers.PreTrainedModel.init_weights = lambda _: None
    config = transformers.AutoConfig.from_pretrained(task["folder"])
    network = FCorefModel(config).eval()
    report = network.load_state_dict(load_file(Path(task["folder"]) / "model.safetensors"), strict=False)
    assert not report.unexpected_keys, report
    assert all("pooler" in name or "position_ids" in name for name in report.missing_keys), report
    file = str(Path(task["folder"]) / "tokenizer.json")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=file, pad_token="<pad>")
    tokenizer.backend_tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=True)
    collate = LeftOversCollator(tokenizer, "cpu", config.coref_head["max_segment_len"])
    found = []
    for words in task["words"]:
        encoded = tokenizer([[word for word, _ in words]], is_split_into_words=True, return_attention_mask=True)
        batch = collate({"input_ids": encoded["input_ids"], "attention_mask": encoded["attention_mask"]})
        with torch.no_grad():
            outputs = [tensor.numpy() for tensor in network(batch, return_all_outputs=True)]
        starts, ends, _, logits = outputs
        _, links = create_mention_to_antecedent(starts, ends, logits)
        places = [(start, start + len(word)) for word, start in words]
        chars, _ = align_to_char_level(starts[0], ends[0], places, encoded.encodings[0].word_ids)
        clusters = [[chars[mention][1] for mention in cluster] for cluster in create_clusters(np.array(links))]
        found.append([[list(map(int, place)) for place in cluster if place is not None] for cluster in clusters])
    return found


def stand_in_for_qaeval(peers: Path, base: type) -> None:
    """Install the imports of QAEval's model, with `base` as AllenNLP's base class of models."""
    for name in ("allennlp", "allennlp.common", "allennlp.nn", "qaeval", "qaeval.generation"):
        stand_in(name, __path__=[str(peers / name.replace(".", "/"))])
    stand_in("allennlp.common.checks", ConfigurationError=ValueError)
    stand_in("allennlp.data", Vocabulary=None)
    stand_in("allennlp.data.fields")
    stand_in("allennlp.data.fields.text_field", TextFieldTensors=None)
    stand_in("allennlp.data.tokenizers", PretrainedTransformerTokenizer=lambda _: None)
    stand_in("allennlp.models", Model=base)
    stand_in("allennlp.nn.util", sequence_cross_entropy_with_logits=None)
    stand_in("allennlp.predictors", Predictor=None)
    stand_in("overrides", overrides=lambda method: method)
    stand_in("qaeval.generation.dataset_reader", QuestionGenerationDatasetReader=None)
    stand_in("qaeval.generation.predictor", QuestionGenerationPredictor=None)
    stand_in("transformers", __version__="3.0.2", __path__=[str(peers / "transformers-3.0.2" / "transformers")])


def side_generation(peers: Path, task: dict[str, Any]) -> Any:
    """Return the question of each (text before, phrase, text after) by AllenNLP 1.1.0 and BART of transformers 3.0.2.

    `qaeval` uses QAEval's class; `plain_sum` decodes complete sequences, with positions as in training.
    """
    import torch
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    folder = Path(task["folder"])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

    class Released(torch.nn.Module):
        """AllenNLP's base class of models, of which the network needs only the registration."""

        def __init__(self, _: Any) -> None:
            super().__init__()

        @staticmethod
        def register(_: str) -> Callable[[Any], Any]:
            return lambda kind: kind

    stand_in_for_qaeval(peers, Released)
    from transformers.configuration_bart import BartConfig
    from transformers.modeling_bart import BartForConditionalGeneration

    sys.modules["transformers"].BartForConditionalGeneration = BartForConditionalGeneration
    from qaeval.generation import model as released
    from transformers.tokenization_utils_base import PreTrainedTokenizerBase

    config = json.loads((folder / "config.json").read_text())
    network = BartForConditionalGeneration(BartConfig(**config)).eval()
    weights = load_file(folder / "model.safetensors")
    report = network.load_state_dict(weights, strict=False)
    tied = {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"}
    assert not report.unexpected_keys and set(report.missing_keys) <= tied, report  # noqa: PT018
    network.tie_weights()
    asker = object.__new__(released._QuestionGenerationModel)
    Released.__init__(asker, None)

    def decode(ids: list[int]) -> str:
        return str(PreTrainedTokenizerBase.clean_up_tokenization(tokenizer.decode(ids, skip_special_tokens=False)))

    asker.bart, asker.tokenizer = network, SimpleNamespace(tokenizer=SimpleNamespace(decode=decode))
    asker._start_id, asker._end_id, asker._pad_id = config["bos_token_id"], config["eos_token_id"], 1
    asker._beam_search = released.BeamSearch(asker._end_id, max_steps=task["steps"], beam_size=task["beams"])
    asker.eval()

    def step(last: Any, state: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        prefix = torch.cat([state["prefix"], last.view(-1, 1)], dim=1)
        logits = network(state["ids"], state["mask"], decoder_input_ids=prefix, use_cache=False)[0][:, -1]
        return logits.log_softmax(-1), {**state, "prefix": prefix}

    found: dict[str, list[str]] = {"qaeval": [], "plain_sum": []}
    for before, phrase, behind in task["rows"]:
        ids = torch.tensor([tokenizer.encode(f"{before}<m> {phrase} </m>{behind}").ids])
        mask = torch.ones_like(ids)
        with torch.no_grad():
            output = asker({"tokens": {"token_ids": ids, "mask": mask}}, [{}])
        found["qaeval"].append(output["predicted_question"][0])
        state = {"ids": ids, "mask": mask, "prefix": torch.zeros((1, 0), dtype=torch.int64)}
        predicted, _ = asker._beam_search.search(torch.tensor([asker._start_id]), state, step)
        kept = [token for token in predicted[0, 0].tolist() if token != asker._end_id]
        found["plain_sum"].append(decode(kept).strip())
    return found


def side_stus(peers: Path, task: list[dict[str, Any]]) -> Any:
    """Return the units of each sentence by Lite3Pyramid's rules."""
    stand_in("nltk", sent_tokenize=None)
    stand_in("xgboost")
    for name in ("allennlp", "allennlp.predictors"):
        stand_in(name)
    stand_in("allennlp.predictors.predictor", Predictor=None)
    sys.path.insert(0, str(peers / "lite3pyramid"))
    import extract_stus

    return [
        extract_stus._get_srl_list([{"words": case["words"], "verbs": [{"tags": tags} for tags in case["frames"]]}])
        for case in task
    ]


SIDES: dict[str, Callable[[Path, Any], Any]] = {
    "menli": side_menli,
    "decoding": side_decoding,
    "questeval": side_questeval,
    "dae": side_dae,
    "generation": side_generation,
    "stus": side_stus,
    "coref": side_coref,
}


def tasks(folder: Path) -> dict[str, Any]:
    """Return the input of each project, with networks written to a folder."""
    sys.path[:0] = [str(HERE.parents[1] / "tests")]
    from neural import parity, question_networks

    from summeter.text.english import tokens

    menli, dae = menli_cases(), dae_cases()
    nli = parity.network(folder / "nli", [*menli["references"], *menli["summaries"]])
    arcs = question_networks.arcs(folder / "dae", [" ".join(case["document"] + case["summary"]) for case in dae])
    return {
        "menli": {**menli, "folder": str(nli)},
        "decoding": decoding_cases(),
        "questeval": questeval_cases(),
        "dae": {"cases": dae, "folder": str(arcs)},
        "generation": {
            "rows": ROWS,
            "steps": 40,
            "beams": 4,
            "folder": str(question_networks.questions(folder / "questions")),
        },
        "stus": stu_cases(),
        "coref": {
            "texts": COREF,
            "words": [[list(word) for word in tokens(text)] for text in COREF],
            "folder": str(question_networks.coref(folder / "coref")),
        },
    }


def main() -> None:
    """Run the comparison; see the module docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, required=True, help="folder of the released code")
    parser.add_argument("--write", action="store_true", help="write the fixture")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side:
        kept, sys.stdout = sys.stdout, sys.stderr  # what the peers print is no result
        json.dump(SIDES[given.side](given.peers, json.load(sys.stdin)), kept)
        return
    fixture: dict[str, Any] = json.loads(FIXTURE.read_text("utf-8")) if FIXTURE.is_file() else {}
    with tempfile.TemporaryDirectory() as place:
        for side, task in tasks(Path(place)).items():
            done = subprocess.run(
                [sys.executable, __file__, "--peers", str(given.peers), "--side", side],
                input=json.dumps(task), capture_output=True, text=True, check=False,
                env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
            )  # fmt: skip
            if done.returncode:
                print(f"{side}: not run ({done.stderr.strip().splitlines()[-1:]}); what was kept of it stays")
                continue
            asked = (
                {name: value for name, value in task.items() if name != "folder"} if isinstance(task, dict) else task
            )
            fixture[side] = {"asked": asked, "gave": json.loads(done.stdout)}
            print(f"{side}: done")
    if given.write:
        FIXTURE.write_text(json.dumps(fixture, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
