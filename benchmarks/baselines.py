"""The baselines beside the released code and beside bare forward passes, on small networks and one thread.

    python benchmarks/baselines.py [--peers FOLDER] [--documents 20] [--summaries 5] [--only NAME...]

A line is an evaluator on the same summaries of long documents. "Bare" is the network alone on the same unique inputs,
sorted by length and batched by as many tokens: no tokenizer, no stored results, no judgments; "ratio" is the
evaluator's time by that. "Released" is the released class on every pair (BARTScore, UniEval; FOLDER as for
parity_seq2seq.py), and "faster" its time by the evaluator's. Seconds are those of the processor, the least of three
passes. The last column is what 1,000 summaries would take on these small networks.
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
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np

from summeter.evaluators.base import Evaluator, Tools
from summeter.evaluators.catalog import build
from summeter.models.base import Kind
from summeter.models.local.batcher import plan
from summeter.models.local.bind import KINDS, Network
from summeter.models.local.bind import build as models_of
from summeter.models.local.opened import Opened, open_model
from summeter.records import Document, Item, Span, Summary
from summeter.text.split import split

WORDS = 1500
SIZE, INNER, LAYERS, HEADS = 192, 768, 4, 4


class Line(NamedTuple):
    """An evaluator, the folder of its network, and which direction the released class has for it."""

    name: str
    evaluator: str
    folder: str
    released: str | None = None


LINES = (
    Line("bartscore", "bartscore", "bart", "bartscore"),
    Line("unieval coherence", "unieval[coherence]", "t5", "coherence"),
    Line("unieval consistency", "unieval[consistency]", "t5", "consistency"),
    Line("trueteacher", "trueteacher", "t5"),
    Line("alignscore", "alignscore", "roberta"),
    Line("minicheck", "minicheck", "roberta2"),
    Line("a3cu", "a3cu", "bert"),
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
        document = Document(id=f"d{number}", text=text, sentences=spans, references=(sentences(3),))
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
    for name, length in (("bart", 1024), ("roberta", 512), ("roberta2", 512)):
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
    for name, labels in (("roberta", ("entailment", "neutral", "contradiction")), ("roberta2", ("0", "1"))):
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


# ---- the sides ----


def timed(work: Callable[[], Any]) -> float:
    """Seconds of the processor: the least of three."""
    times = []
    for _ in range(3):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def judged(evaluator: Evaluator, items: list[Item], opened: Opened) -> None:
    """All items side by side, as a run has them, with nothing stored."""

    async def work() -> None:
        (role,) = evaluator.required_roles
        kind: Kind = evaluator.local_model_kinds[role]
        bound = models_of([Network(role, kind, opened.id, opened)])
        tools = {item.document.id: Tools("s", networks=bound) for item in items}
        prepared = {item.document.id: await evaluator.prepare(item.document, tools[item.document.id]) for item in items}
        rows = await asyncio.gather(
            *(evaluator.judge(item, prepared[item.document.id], tools[item.document.id]) for item in items)
        )
        assert all(row.status == "ok" for some in rows for row in some)

    asyncio.run(work())


def inputs_of(evaluator: Evaluator, items: list[Item], opened: Opened) -> list[tuple[Any, Any]]:
    """The unique inputs that the network is given: ids and segments."""
    seen: dict[bytes, tuple[Any, Any]] = {}
    run = Opened.run

    def noted(self: Opened, columns: Any, usage: Any, compute: Any) -> Any:
        for input_ in columns[0]:
            seen.setdefault(input_.ids.tobytes(), (input_.ids, input_.segments))
        return run(self, columns, usage, compute)

    Opened.run = noted  # type: ignore[method-assign, assignment]
    try:
        judged(evaluator, items, opened)
    finally:
        Opened.run = run  # type: ignore[method-assign]
    return list(seen.values())


def bare(folder: Path, inputs: list[tuple[Any, Any]], budget: int, pad: int) -> Callable[[], None]:
    """The network alone, on inputs padded beforehand."""
    import torch
    import transformers

    config = transformers.AutoConfig.from_pretrained(folder)
    network = getattr(transformers, config.architectures[0]).from_pretrained(folder).eval()
    batches = []
    for places in plan([(len(ids),) for ids, _ in inputs], budget):
        longest = max(len(inputs[place][0]) for place in places)
        ids = np.full((len(places), longest), pad, dtype=np.int64)
        mask, segments = np.zeros_like(ids), np.zeros_like(ids)
        for row, place in enumerate(places):
            own, kinds = inputs[place]
            ids[row, : len(own)], mask[row, : len(own)], segments[row, : len(own)] = own, 1, kinds
        batch = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
        if getattr(config, "type_vocab_size", 0) > 1:
            batch["token_type_ids"] = torch.from_numpy(segments)
        if config.is_encoder_decoder:
            batch["decoder_input_ids"] = torch.full((len(ids), 1), config.decoder_start_token_id)
            batch["use_cache"] = False
        batches.append(batch)

    def work() -> None:
        with torch.inference_mode():
            for batch in batches:
                network(**batch)

    return work


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
    parser.add_argument("--documents", type=int, default=20)
    parser.add_argument("--summaries", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=[line.name for line in LINES])
    given = parser.parse_args()
    import torch
    import transformers

    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    items = texts(given.documents, given.summaries)
    print(f"{len(items)} summaries of {given.documents} documents; torch {torch.__version__}, one thread")
    print(f"{'evaluator':20} inputs  seconds     bare  ratio  released  faster  of 1,000")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        networks(folder, items)
        for line in LINES:
            if given.only and line.name not in given.only:
                continue
            evaluator = build(line.evaluator)
            (role,) = evaluator.required_roles
            opened = open_model(f"local/{folder / line.folder}", KINDS[evaluator.local_model_kinds[role]].head)
            own = timed(partial(judged, evaluator, items, opened))
            shared = line.evaluator == "bartscore"
            inputs = [] if shared else inputs_of(evaluator, items, opened)
            alone = None if shared else timed(bare(folder / line.folder, inputs, opened.budget, opened.tokens.pad))
            theirs = (
                timed(released(line.released, given.peers, folder / line.folder, items))
                if given.peers and line.released
                else None
            )
            cells = [
                f"{len(inputs) or len(items):>6}", f"{own:>8.2f}", f"{alone:>8.2f}" if alone else f"{'-':>8}",
                f"{own / alone:>6.2f}" if alone else f"{'-':>6}", f"{theirs:>9.2f}" if theirs else f"{'-':>9}",
                f"{theirs / own:>7.2f}" if theirs else f"{'-':>7}", f"{own / len(items) * 1000:>7.0f} s",
            ]  # fmt: skip
            print(f"{line.name:20} {' '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
