"""The baselines beside the released code and beside bare forward passes, on small networks and one thread.

    python benchmarks/baselines.py [--peers FOLDER] [--rounds 3] [--only NAME...]

A line is an evaluator on summaries of long documents, five a document, so many that the work takes a second or more.
"Bare" are the networks alone on the same unique inputs, sorted by length and batched by as many tokens (what is
generated is generated again): no tokenizer, no stored results, no judgments. "Parser" is the English parser of the
judges of questions and arcs, which is another network. "Ratio" is the evaluator's time, less the parser's, by the bare
networks'. "Released" is the released class on every pair (BARTScore, UniEval; FOLDER as for parity_seq2seq.py), and
"faster" its time by the evaluator's. Seconds are those of the processor. The sides take turns; a ratio is the median
over the rounds, seconds are the least. The last column is what 1,000 summaries would take on these small networks.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np

from summeter.evaluators.base import Evaluator, Tools
from summeter.evaluators.catalog import build
from summeter.models.local.backend import Torch
from summeter.models.local.batcher import plan
from summeter.models.local.load import TASKS, BoundNetwork
from summeter.models.local.load import build as models_of
from summeter.models.local.loaded_model import LoadedModel, open_model
from summeter.records import Document, Item, Span, Summary
from summeter.text.english import phrases
from summeter.text.split import split

DOCUMENTS, SUMMARIES = 20, 5
WORDS = 1500
SIZE, INNER, LAYERS, HEADS = 192, 768, 4, 4


class Line(NamedTuple):
    """An evaluator, the folder of each of its networks, its documents, and which direction the released class has."""

    name: str
    evaluator: str
    folders: Mapping[str, str]
    documents: int
    released: str | None = None


LINES = (
    Line("bartscore", "bartscore", {"bartscore": "bart"}, 20, "bartscore"),
    Line("unieval coherence", "unieval[coherence]", {"unieval": "t5"}, 2, "coherence"),
    Line("unieval consistency", "unieval[consistency]", {"unieval": "t5"}, 1, "consistency"),
    Line("trueteacher", "trueteacher", {"trueteacher": "t5"}, 2),
    Line("alignscore", "alignscore", {"alignscore": "roberta"}, 2),
    Line("minicheck roberta", "minicheck", {"minicheck": "roberta2"}, 2),
    Line("minicheck deberta", "minicheck", {"minicheck": "deberta"}, 2),
    Line("minicheck t5", "minicheck[t5]", {"minicheck_t5": "t5"}, 1),
    Line("menli", "menli", {"nli": "roberta"}, 20),
    Line("menli source", "menli[source=true,direction=rh]", {"nli": "roberta"}, 4),
    Line("a3cu", "a3cu", {"a3cu": "bert"}, 20),
    Line("lite2pyramid", "lite2pyramid", {"lite2pyramid": "roberta"}, 20),
    Line("dae", "dae", {"arcs": "arcs"}, 4),
    Line("qafacteval", "qafacteval", {"asker": "bart", "reader": "answers", "lerc": "score"}, 1),
    Line(
        "questeval",
        "questeval[layer=3]",
        {"questions": "t5", "answers": "t5", "answer_encoder": "encoder"},
        1,
    ),
)


# ---- texts and networks ----


def texts(documents: int, summaries: int) -> list[Item]:
    """Documents of 600 to 900 words in sentences, and summaries of about fifty that share their words."""
    rng = random.Random(11)
    words = ["".join(rng.choice("abcdefghilmnoprstuv") for _ in range(rng.randint(2, 9))) for _ in range(WORDS)]

    def sentences(count: int) -> str:
        own = [[rng.choice(words) for _ in range(rng.randint(8, 24))] for _ in range(count)]
        return " ".join(" ".join(sentence).capitalize() + "." for sentence in own)

    items = []
    for number in range(documents):
        text = sentences(rng.randint(38, 56))
        spans = tuple(Span(of="document", start=start, end=end) for start, end in split(text))
        document = Document(
            id=f"d{number}",
            text=text,
            sentences=spans,
            references=(sentences(3),),
            key_facts=tuple(sentences(1) for _ in range(4)),
        )
        for system in range(summaries):
            summary = sentences(rng.randint(2, 4))
            own = tuple(Span(of="summary", start=start, end=end) for start, end in split(summary))
            row = Summary(document_id=document.id, system=f"s{system}", text=summary, sentences=own, splitter="rules-1")
            items.append(Item(document=document, summary=row))
    return items


def networks(folder: Path, items: list[Item]) -> None:
    """A BART, a T5, RoBERTa classifiers of three and of two classes, and a BERT of tokens, with tokenizers trained on
    the texts. Their weights are random: what is measured is time."""
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    lines = [text for item in items for text in (item.document.text, item.summary.text, *item.references)]
    torch.manual_seed(0)

    def tokenizer(made: Any, into: str, pad: str, length: int) -> None:
        (folder / into).mkdir(parents=True, exist_ok=True)
        made.save(str(folder / into / "tokenizer.json"))
        config = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": pad, "model_max_length": length}
        (folder / into / "tokenizer_config.json").write_text(json.dumps(config))

    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    marks = ["<s>", "<pad>", "</s>", "<unk>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    pieces.train_from_iterator(
        lines,
        trainers.BpeTrainer(vocab_size=6000, special_tokens=marks, initial_alphabet=alphabet, show_progress=False),
    )
    pieces.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    pieces.add_special_tokens(["<m>", "</m>", "<q>", "<r>", "<c>"])
    for name, length in (("bart", 1024), ("roberta", 512), ("roberta2", 512), ("score", 512)):
        tokenizer(pieces, name, "<pad>", length)
    model = json.loads(pieces.to_str())["model"]
    (folder / "bart" / "vocab.json").write_text(json.dumps(model["vocab"]))
    merges = "".join(f"{' '.join(pair)}\n" for pair in model["merges"])
    (folder / "bart" / "merges.txt").write_text("#version: 0.2\n" + merges)
    config: Any = transformers.BartConfig(
        vocab_size=pieces.get_vocab_size(), d_model=SIZE, encoder_layers=LAYERS, decoder_layers=LAYERS,
        encoder_attention_heads=HEADS, decoder_attention_heads=HEADS, encoder_ffn_dim=INNER, decoder_ffn_dim=INNER,
        max_position_embeddings=1024, pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2,
    )  # fmt: skip
    transformers.BartForConditionalGeneration(config).save_pretrained(folder / "bart")
    sizes = {
        "vocab_size": pieces.get_vocab_size(), "hidden_size": SIZE, "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS, "intermediate_size": INNER,
    }  # fmt: skip
    nli = ("entailment", "neutral", "contradiction")
    for name, labels in (("roberta", nli), ("roberta2", ("0", "1")), ("score", ("score",))):
        config = transformers.RobertaConfig(
            **sizes, max_position_embeddings=514, type_vocab_size=1, pad_token_id=1, id2label=dict(enumerate(labels)),
        )  # fmt: skip
        transformers.RobertaForSequenceClassification(config).save_pretrained(folder / name)
    unigram = Tokenizer(models.Unigram())
    unigram.pre_tokenizer = pre_tokenizers.Metaspace()
    unigram.decoder = decoders.Metaspace()
    unigram.train_from_iterator(lines, trainers.UnigramTrainer(
        vocab_size=6000, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False,
    ))  # fmt: skip
    state = json.loads(unigram.to_str())
    state["model"]["vocab"] += [["▁Yes", -1.0], ["▁No", -1.0], ["▁1", -1.0], ["0", -5.0]]
    unigram = Tokenizer.from_str(json.dumps(state))
    unigram.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer(unigram, "t5", "<pad>", 1024)
    config = transformers.T5Config(
        vocab_size=unigram.get_vocab_size(), d_model=SIZE, d_kv=SIZE // HEADS, d_ff=INNER, num_layers=LAYERS,
        num_heads=HEADS, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder / "t5")
    every = sorted({word for line in lines for word in line.lower().replace(".", " ").split()})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", ".", *every]
    wordpiece = Tokenizer(models.WordPiece({one: place for place, one in enumerate(vocabulary)}, unk_token="[UNK]"))
    wordpiece.normalizer = normalizers.BertNormalizer()
    wordpiece.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    wordpiece.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    wordpiece.add_special_tokens(["[PAD]", "[CLS]", "[SEP]"])
    tokenizer(wordpiece, "bert", "[PAD]", 512)
    config = transformers.BertConfig(**{**sizes, "vocab_size": len(vocabulary)}, num_labels=1)
    transformers.BertForTokenClassification(config).save_pretrained(folder / "bert")
    for name, classes, kind in (
        ("encoder", 1, transformers.BertModel),
        ("arcs", 4, transformers.ElectraForTokenClassification),
        ("answers", 2, transformers.ElectraForQuestionAnswering),
        ("deberta", 2, transformers.DebertaV2ForSequenceClassification),
    ):
        tokenizer(wordpiece, name, "[PAD]", 512)
        own: dict[str, Any] = {**sizes, "vocab_size": len(vocabulary), "num_labels": classes}
        if kind is transformers.ElectraForTokenClassification or kind is transformers.ElectraForQuestionAnswering:
            config = transformers.ElectraConfig(**own, embedding_size=SIZE)
        elif name == "deberta":
            config = transformers.DebertaV2Config(
                **own, relative_attention=True, position_buckets=256, norm_rel_ebd="layer_norm", share_att_key=True,
                pos_att_type=["p2c", "c2p"], position_biased_input=False, type_vocab_size=0, pad_token_id=0,
            )  # fmt: skip
        else:
            config = transformers.BertConfig(**own)
        kind(config).save_pretrained(folder / name)


# ---- the sides ----


Row = tuple[bytes, bytes]
"""An input's ids and segments, without padding."""
PASSES = ("logits", "token_logits", "hidden", "first", "generate")


def seconds(work: Callable[[], Any]) -> float:
    """Seconds of the processor, in all threads."""
    began = time.process_time()
    work()
    return time.process_time() - began


def judged(evaluator: Evaluator, items: list[Item], networks: Mapping[str, LoadedModel]) -> None:
    """All items side by side, as a run has them, with nothing stored."""

    async def work() -> None:
        bound = models_of(
            [BoundNetwork(role, evaluator.role(role).kind, opened.id, opened) for role, opened in networks.items()]
        )
        tools = {item.document.id: Tools("s", networks=bound) for item in items}
        prepared = {document.id: await evaluator.prepare(document, tools[document.id])
                    for document in {item.document.id: item.document for item in items}.values()}  # fmt: skip
        rows = await asyncio.gather(
            *(evaluator.judge(item, prepared[item.document.id], tools[item.document.id]) for item in items)
        )
        assert all(row.status in {"ok", "skipped"} for some in rows for row in some)
        assert any(row.status == "ok" for some in rows for row in some)

    asyncio.run(work())


class Parser:
    """The English parser, and the seconds that it took."""

    def __init__(self, parser: Any) -> None:
        self._parser, self.seconds = parser, 0.0

    def __call__(self, text: str) -> Any:
        began = time.thread_time()
        parsed = self._parser(text)
        self.seconds += time.thread_time() - began
        return parsed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)


class Noted:
    """The unique inputs that an evaluator gives its networks, by network, kind of pass and settings."""

    def __init__(self) -> None:
        self.inputs: dict[tuple[Any, str, tuple[Any, ...]], dict[Row, int]] = {}

    def of(self, work: Callable[[], None]) -> None:
        """Note what goes through the networks while `work` is done."""
        plain = {name: getattr(Torch, name) for name in PASSES}
        for name, method in plain.items():
            setattr(Torch, name, self._noting(name, method))
        try:
            work()
        finally:
            for name, method in plain.items():
                setattr(Torch, name, method)

    def _noting(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def noted(backend: Torch, ids: Any, mask: Any, *rest: Any) -> Any:
            segments = rest[0] if name in {"logits", "token_logits", "hidden"} else mask
            settings = rest[1:] if segments is not mask else rest
            rows = self.inputs.setdefault((backend, name, tuple(map(_fixed, settings))), {})
            for own, real, kinds in zip(ids, mask, segments, strict=True):
                size = int(real.sum())
                rows.setdefault((own[:size].tobytes(), kinds[:size].tobytes()), size)
            return method(backend, ids, mask, *rest)

        return noted

    @property
    def count(self) -> int:
        """How many inputs there are."""
        return sum(map(len, self.inputs.values()))

    def bare(self, budgets: Mapping[Any, tuple[int, int]]) -> Callable[[], None]:
        """The networks alone on these inputs, padded beforehand; `budgets` has the tokens at a time, and the padding,
        of each."""
        passes: list[Callable[[], Any]] = []
        for (backend, name, settings), rows in self.inputs.items():
            budget, pad = budgets[backend]
            keys = list(rows)
            for places in plan(list(rows.values()), budget):
                batch = _padded([keys[place] for place in places], pad)
                passes.append(_forward(backend, name, settings, *batch))

        def work() -> None:
            import torch

            with torch.inference_mode():
                for forward in passes:
                    forward()

        return work


def _fixed(setting: Any) -> Any:
    return tuple(setting) if isinstance(setting, list) else setting


def _padded(rows: Sequence[Row], pad: int) -> tuple[Any, Any, Any]:
    parts = [(np.frombuffer(ids, np.int64), np.frombuffer(segments, np.int64)) for ids, segments in rows]
    longest = max(len(ids) for ids, _ in parts)
    ids = np.full((len(parts), longest), pad, dtype=np.int64)
    mask, segments = np.zeros_like(ids), np.zeros_like(ids)
    for row, (own, kinds) in enumerate(parts):
        ids[row, : len(own)], mask[row, : len(own)], segments[row, : len(own)] = own, 1, kinds
    return ids, mask, segments


def _forward(backend: Torch, name: str, settings: tuple[Any, ...], *arrays: Any) -> Callable[[], Any]:
    """One pass of a network as transformers has it."""
    import torch

    network = backend._network
    ids, mask, segments = map(torch.from_numpy, arrays)
    given = {"input_ids": ids, "attention_mask": mask}
    if getattr(network.config, "type_vocab_size", 0) and network.config.type_vocab_size > 1:
        given["token_type_ids"] = segments
    if name == "generate":
        how, start = settings
        options = {key: value for key, value in how._asdict().items() if value is not None and key != "start"}
        if start is not None:
            options["decoder_start_token_id"] = start
        return partial(network.generate, **given, do_sample=False, **options)
    if name == "first":
        given["decoder_input_ids"] = torch.full((len(ids), 1), network.config.decoder_start_token_id)
        return partial(network, **given, use_cache=False)
    if name == "hidden" and settings[0] != network.config.num_hidden_layers:
        return partial(network, **given, output_hidden_states=True)
    return partial(network, **given)


def released(which: str, peers: Path, folder: Path, items: list[Item]) -> Callable[[], Any]:
    """The released class on every pair."""
    if which == "bartscore":
        sys.path.insert(0, str(peers / "BARTScore"))
        from bart_score import BARTScorer  # type: ignore[import-not-found]

        scorer = BARTScorer(device="cpu", checkpoint=str(folder))
        sources, targets = [item.document.text for item in items], [item.summary.text for item in items]
        return lambda: scorer.score(sources, targets)
    cut = {item.summary.text: list(item.sentences) for item in items}
    for name, members in {"nltk": {"sent_tokenize": cut.__getitem__}, "prettytable": {"PrettyTable": None}}.items():
        module = ModuleType(name)
        module.__dict__.update(members)
        sys.modules[name] = module
    sys.path.insert(0, str(peers / "UniEval"))
    from metric import evaluator  # type: ignore[import-not-found]
    from metric import scorer as scoring

    scoring.tqdm = lambda steps: steps  # its bar is no part of the time
    evaluator.print = lambda *_: None
    judge = object.__new__(evaluator.SumEvaluator)
    judge.scorer, judge.task = evaluator.UniEvaluator(str(folder), device="cpu"), "summarization"
    data = [{"source": item.document.text, "system_output": item.summary.text} for item in items]
    return lambda: judge.evaluate(data, dims=[which], overall=False)


def main() -> None:
    """See the module's text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=[line.name for line in LINES])
    given = parser.parse_args()
    import torch
    import transformers

    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    items = texts(DOCUMENTS, SUMMARIES)
    print(f"{SUMMARIES} summaries a document; torch {torch.__version__}, one thread, {given.rounds} rounds in turn")
    print(f"{'evaluator':20} documents inputs  seconds     bare  parser  ratio  released  faster  of 1,000")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        networks(folder, items)
        for line in LINES:
            if not given.only or line.name in given.only:
                print(
                    measured(line, folder, items[: line.documents * SUMMARIES], given.peers, given.rounds), flush=True
                )


def measured(line: Line, folder: Path, items: list[Item], peers: Path | None, rounds: int) -> str:
    """A line of the table. The first pass of each side loads and warms up, and is not timed."""
    evaluator = build(line.evaluator)
    opened = {
        role: open_model(f"local/{folder / name}", TASKS[evaluator.role(role).kind].head)
        for role, name in line.folders.items()
    }
    noted, parser = Noted(), Parser(None)
    if {"parser"} & set(evaluator.signature_fields()):
        parser = Parser(phrases._pipeline())
        phrases._pipeline = lambda: parser  # type: ignore[assignment]
    noted.of(partial(judged, evaluator, items, opened))
    bare = noted.bare({one.backend: (one.budget, one.tokens.pad) for one in opened.values()})
    shared = line.evaluator == "bartscore"  # a source is encoded once for its summaries: there is no such pass
    theirs = released(line.released, peers, folder / line.folders["bartscore" if shared else "unieval"], items) \
        if peers and line.released else None  # fmt: skip
    bare()
    own, alone, parsing, others = [], [], [], []
    for _ in range(rounds):
        parser.seconds = 0.0
        own.append(seconds(partial(judged, evaluator, items, opened)))
        parsing.append(parser.seconds)
        alone.append(seconds(bare))
        if theirs:
            others.append(seconds(theirs))
    ratio = median((mine - parse) / least for mine, parse, least in zip(own, parsing, alone, strict=True)) \
        if not shared else None  # fmt: skip
    faster = median(other / mine for other, mine in zip(others, own, strict=True)) if others else None
    cells = [
        f"{line.documents:>9}", f"{noted.count or len(items):>6}", f"{min(own):>8.2f}",
        f"{min(alone):>8.2f}" if ratio else f"{'-':>8}", f"{min(parsing):>7.2f}" if min(parsing) else f"{'-':>7}",
        f"{ratio:>6.2f}" if ratio else f"{'-':>6}", f"{min(others):>9.2f}" if others else f"{'-':>9}",
        f"{faster:>7.2f}" if faster else f"{'-':>7}", f"{min(own) / len(items) * 1000:>7.0f} s",
    ]  # fmt: skip
    return f"{line.name:20} {' '.join(cells)}"


if __name__ == "__main__":
    main()
