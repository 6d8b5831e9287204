"""An NLI network fitted to pairs of texts, for a domain of one's own: what `support[network=true]`, `summac` and
`fenice` ask."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np
from pydantic import Field, field_validator

from summeter.data.atomic import building, write_text
from summeter.data.faults import Faults
from summeter.data.formats import format_of, read_rows
from summeter.engine.progress import Progress
from summeter.evaluators.support.evidence import prepare
from summeter.evaluators.support.premises import premise
from summeter.evaluators.support.scorer import LexicalScorer, Look
from summeter.models.local.names import Located, file_hash, locate, parse
from summeter.models.local.opened import Opened
from summeter.models.networks import Framing
from summeter.records import ModelError, Record, UsageError, digest
from summeter.stats import Bootstrap, Estimate, auroc, classification_interval
from summeter.stats.base import Floats, Ints, codes
from summeter.tables import with_interval
from summeter.text.ngrams import matched, ngrams, words
from summeter.text.split import split
from summeter.training.base import Task, Trained, Training
from summeter.training.loop import Fitted, Schedule, fit, need_torch, seeded
from summeter.training.nli_network import (
    LABELS,
    load_onnx_weights,
    loss_of,
    nli_network,
    rate_of,
    twins_loss,
    write_nli_onnx,
)
from summeter.training.ratings import FEWEST
from summeter.training.regression import open_backbone
from summeter.training.split import PARTS, Part, split_texts
from summeter.training.work import Work

if TYPE_CHECKING:
    import torch

ALLOWED: Final[Mapping[str, tuple[str, ...]]] = {
    "entail": ("entail",), "entailment": ("entail",), "neutral": ("neutral",),
    "contradict": ("contradict",), "contradiction": ("contradict",), "not": ("neutral", "contradict"),
    "not_entailment": ("neutral", "contradict"),
}  # fmt: skip
"""A row's label -> the network's labels that it allows: data with two labels only say "not"."""
_TOLERANCE = {False: 1e-4, True: 0.5}  # of logits: the file beside torch, by whether weights are int8
_AT_ONCE = 32


class Pairs(Record):
    """A file of pairs (`premise`, `hypothesis`, `label`), of which the share `share` trains (2: each pair twice).

    `documents`: premises are whole documents, and the network reads the sentences of them that `support` would put
    before it. `balanced`: entailed pairs and the others train equally often, in sum as often as `share` says;
    not for files with twins, which train together.
    """

    file: str
    share: float = Field(default=1.0, gt=0)
    documents: bool = False
    balanced: bool = False


class NliTraining(Training):
    """Settings of an NLI network.

    `data`: files of rows with `premise`, `hypothesis` and `label` (entail, neutral, contradict; `not` where nobody told
    neutral from contradict). Two rows of a file with the same `twin` train together, and the entailed one is to be
    likelier than the other; `twins` is the weight of that. `prior` is the log-odds of entailment that the hypothesis
    tells alone: added to the network's while it trains, so that it learns what the premise says, not how true sentences
    sound. Rows are divided by premise, near-duplicates on one side. `backbone` is the model
    string of an encoder (of BERT's, RoBERTa's or MPNet's kind). `max_tokens`: longer premises are cut and counted.
    `warm_start` is the model string of a network that `summeter train` wrote for the same encoder (`embedded/support`,
    or `local/FOLDER`): training goes on from its weights. `arithmetic`: `bf16` multiplies matrices in bfloat16 while
    training (weights stay fp32), several times as fast on processors that have it. `weights`: `int8` stores matrices at
    a quarter of their size. Dev chooses the epoch by AUROC of entailed pairs against the others.
    """

    kind: Literal["nli"] = "nli"
    data: tuple[Pairs, ...] = Field(min_length=1)
    backbone: str
    warm_start: str | None = None
    max_tokens: int = Field(default=192, ge=16)
    arithmetic: Literal["fp32", "bf16"] = "fp32"
    weights: Literal["fp32", "int8"] = "int8"
    twins: float = Field(default=0.5, ge=0)
    schedule: Schedule = Schedule(epochs=3, batch=32, learning_rate=1e-4, warmup=0.05, patience=2)

    @field_validator("data", mode="before")
    @classmethod
    def _listed(cls, given: Any) -> Any:
        files = [given] if isinstance(given, str | Mapping) else given
        return [{"file": file} if isinstance(file, str) else file for file in files]

    def task(self, base: Path) -> NliTask:
        """Read and check rows and backbone."""
        need_torch()
        rows = [
            row._replace(twin=row.twin and f"{number}:{row.twin}")
            for number, file in enumerate(self.data)
            for row in _taken(read_pairs(base / file.file, file.share), file)
        ]
        start = None if self.warm_start is None else _start(self.warm_start, base)
        return NliTask(self, rows, open_backbone(self.backbone, base, self.max_tokens, on_torch=True), start)


class Row(NamedTuple):
    """A pair with its label, how often it trains on average, the text it was divided by, what it shares with its twin,
    and the log-odds that its hypothesis alone gives."""

    premise: str
    hypothesis: str
    label: str
    share: float
    document: str
    twin: str | None = None
    prior: float = 0.0


def read_pairs(path: Path, share: float = 1.0) -> list[Row]:
    """The pairs of a file. InputError with every faulty row, by line and field."""
    faults = Faults(str(path))
    rows = []
    for row in read_rows(path, faults, format_of(path)):
        cells = [row.cells.get(name) for name in ("premise", "hypothesis")]
        label, twin = row.cells.get("label"), row.cells.get("twin") or None  # an empty cell of a table names none
        if twin is not None and not isinstance(twin, str):
            faults.add(row.line, "twin", "is not a text")
        prior = _prior(row.cells.get("prior"))
        if prior is None:
            faults.add(row.line, "prior", f"is {row.cells['prior']!r}, not a finite number")
            continue
        for name, cell in zip(("premise", "hypothesis"), cells, strict=True):
            if not isinstance(cell, str) or not cell.strip():
                faults.add(row.line, name, "is not a text")
        if label not in ALLOWED:
            faults.add(row.line, "label", f"is {label!r}; labels are: {', '.join(ALLOWED)}")
        elif isinstance(cells[0], str) and isinstance(cells[1], str):
            own = twin if isinstance(twin, str) else None
            rows.append(Row(cells[0], cells[1], str(label), share, cells[0], own, prior))
    faults.stop()
    return rows


def _prior(cell: object) -> float | None:
    """The number in a cell; 0 for an empty one, None for anything else."""
    if cell is None or cell == "":
        return 0.0
    try:
        number = float(cell) if isinstance(cell, int | float | str) and not isinstance(cell, bool) else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _taken(rows: Sequence[Row], how: Pairs) -> list[Row]:
    """The rows of a file as its settings ask for them; a claim without a word to look for is left out of documents."""
    if how.documents:
        rows = [row._replace(premise=text) for row in rows if (text := passage(row.document, row.hypothesis))]
    if not how.balanced:
        return list(rows)
    if any(row.twin for row in rows):
        raise UsageError(f"data: {how.file} is balanced and has rows with a twin, which train together: leave out one")
    entailed = sum(ALLOWED[row.label] == ("entail",) for row in rows)
    times = {True: len(rows) / max(1, 2 * entailed), False: len(rows) / max(1, 2 * (len(rows) - entailed))}
    return [row._replace(share=row.share * times[ALLOWED[row.label] == ("entail",)]) for row in rows]


def passage(document: str, claim: str) -> str | None:
    """The sentences of a document that `support` puts before its network for a claim; None where the claim has no word
    to look for, or the document none at all.

    >>> passage("It rained. Profits rose in May. Staff fell. Ana left. Ben stayed.", "Profits rose.")
    'It rained. Profits rose in May. Staff fell. Ana left. Ben stayed.'
    """
    evidence = prepare(document, split(document))
    look = LexicalScorer().look(claim, evidence)
    return premise(evidence, look.keys) if isinstance(look, Look) else None


def _start(text: str, base: Path) -> Located:
    """The network that `warm_start` names; a path is relative to `base`, then to the working directory."""
    name = parse(text)
    if name.source == "local" and (base / Path(name.path).expanduser()).is_dir():
        name = name.model_copy(update={"path": str(base / Path(name.path).expanduser())})
    start = locate(name)
    if not (start.folder / "model.onnx").is_file():
        raise UsageError(f"warm_start: {start.folder} holds no model.onnx; name a network that `summeter train` wrote")
    return start


class NliTask(Task):
    """An NLI network whose rows and backbone were read."""

    def __init__(
        self, how: NliTraining, rows: Sequence[Row], backbone: Opened, start: Located | None = None
    ) -> None:  # fmt: skip
        self.how, self.rows, self.backbone, self.start = how, rows, backbone, start
        # The head tells the claim from the text by their segments, also where the encoder does not.
        self.tokens = backbone.tokens.in_two_segments()
        documents = {row.document: row.document for row in rows}
        if how.split.held_out_domains or how.split.held_out_systems:
            raise UsageError("split: pairs have no domains and no systems to hold out")
        self.parts = split_texts(documents, how.split)
        part_of = [self.parts.part[row.document] for row in rows]
        self.places = {part: [at for at, own in enumerate(part_of) if own == part] for part in PARTS}
        self._check()
        texts = [[row.premise, row.hypothesis, row.label, row.share, row.twin, row.prior] for row in rows]
        self.key = how.model_copy(update={"backbone": "", "data": (), "warm_start": None}).digest(
            rows=digest(texts),
            backbone=backbone.model.digest,
            limit=self.tokens.limit,
            start=start.digest if start else None,
        )
        self.test = f"pairs:{self.parts.test}" if how.look_at_test else None
        size = sum(file.stat().st_size for file in backbone.model.folder.glob("*.safetensors"))
        self.space = 10_000_000 + 8 * size

    def _check(self) -> None:
        """UsageError where a part is too small, or has one kind of label only."""
        for part in PARTS:
            if part == "test" and not self.how.look_at_test:
                continue
            premises = len({self.rows[at].document for at in self.places[part]})
            if premises < FEWEST[part]:
                raise UsageError(
                    f"too few premises: {premises} in the {part} part, and {FEWEST[part]} are needed; give more pairs, "
                    "or change the shares under split"
                )
            if len(set(self.entailed(self.places[part]).tolist())) < 2:
                raise UsageError(
                    f"the pairs of the {part} part are all entailed, or none is: there is nothing to tell apart; give "
                    "pairs of both kinds"
                )

    def entailed(self, places: Sequence[int]) -> Floats:
        """1 for each pair that is entailed, 0 for the others."""
        return np.array([ALLOWED[self.rows[at].label] == ("entail",) for at in places], dtype=np.float64)

    def drawn(self) -> list[tuple[int, ...]]:
        """The examples of an epoch: a row, or a row and its twin, as often as its share says, the fraction by a draw of
        the seed."""
        rng = np.random.default_rng([self.how.seed, 1])
        twins: dict[str | int, list[int]] = {}
        for at in self.places["train"]:
            twins.setdefault(self.rows[at].twin or at, []).append(at)
        shares = [self.rows[places[0]].share for places in twins.values()]
        extra = rng.random(len(twins)).tolist()
        return [
            tuple(places)
            for places, share, drawn in zip(twins.values(), shares, extra, strict=True)
            for _ in range(int(share) + (drawn < share % 1))
        ]

    def train(self, work: Work, show: Progress) -> TrainedNli:
        """Train, choose the epoch on dev, write the file, and look at the test part."""
        import torch

        seeded(self.how.seed)
        inputs = self.tokens.inputs([(row.premise, row.hypothesis) for row in self.rows], Framing())
        network = nli_network(_encoder(self.backbone.model.folder))
        if self.start is not None:
            load_onnx_weights(network, self.start.folder / "model.onnx")
        allowed = torch.tensor(
            [[float(label in ALLOWED[row.label]) for label in LABELS] for row in self.rows], dtype=torch.float32
        )
        entailed = torch.tensor(self.entailed(range(len(self.rows))) > 0)
        priors = torch.tensor([[row.prior, 0.0, 0.0] for row in self.rows])
        drawn = self.drawn()

        def logits_of(places: Sequence[int]) -> torch.Tensor:
            batch = self.tokens.padded([inputs[at] for at in places])
            arrays = (torch.from_numpy(array) for array in (batch.ids, batch.segments, batch.mask))
            logits: torch.Tensor = network(*arrays)
            return logits

        def all_logits(places: Sequence[int]) -> Floats:
            # Of like length together: little is padding.
            order = sorted(range(len(places)), key=lambda at: len(inputs[places[at]].ids))
            logits = np.zeros((len(places), len(LABELS)))
            for start in range(0, len(order), _AT_ONCE):
                chosen = order[start : start + _AT_ONCE]
                logits[chosen] = logits_of([places[at] for at in chosen]).double().numpy()
            return logits

        def loss(batch: Sequence[int]) -> torch.Tensor:
            places = [at for example in batch for at in drawn[example]]
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.how.arithmetic == "bf16"):
                logits = logits_of(places)
            logits = logits.float() + priors[places]
            twins = [self.rows[at].twin for at in places]
            return loss_of(logits, allowed[places]) + self.how.twins * twins_loss(logits, entailed[places], twins)

        dev = self.places["dev"]

        def score() -> float | None:
            return auroc(self.entailed(dev), _odds(all_logits(dev))).value

        fitted = fit(
            network, len(drawn), loss, score, self.how.schedule, seed=self.how.seed, state=work.state, show=show,
            rate_of=rate_of if self.start is None else None,
            sizes=[max(len(inputs[at].ids) for at in places) for places in drawn],
        )  # fmt: skip
        looked: Part = "test" if self.how.look_at_test else "dev"
        with torch.inference_mode():
            logits = all_logits(self.places[looked])
            folder = self._written(work, network, show)
            sample = dev[:_AT_ONCE]
            error = self._difference(folder, inputs, sample, all_logits(sample))
        return TrainedNli(self, fitted, folder, logits, looked, error, sum(row.truncated for row in inputs))

    def _written(self, work: Work, network: Any, show: Progress) -> Path:
        """The network's folder as it will be: model.onnx, tokenizer, config."""
        folder = work.folder / "network"
        shutil.rmtree(folder, ignore_errors=True)
        show.note("writing model.onnx")
        with building(folder) as fresh:
            write_nli_onnx(network, fresh / "model.onnx", int8=self.how.weights == "int8")
            write_text(fresh / "tokenizer.json", self.tokens.json())
            config = {
                "architectures": ["SupportNetwork"], "model_type": "bert", "id2label": dict(enumerate(LABELS)),
                "max_position_embeddings": self.tokens.limit,
                "pad_token_id": self.tokens.pad,
                **({"quantised": "weights"} if self.how.weights == "int8" else {}),
            }  # fmt: skip
            write_text(fresh / "config.json", json.dumps(config, indent=1) + "\n")
        return folder

    def _difference(self, folder: Path, inputs: Sequence[Any], places: Sequence[int], expected: Floats) -> float:
        """By how much the file's logits differ from torch's at most. ModelError where that is more than rounding."""
        import onnxruntime

        session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
        batch = self.tokens.padded([inputs[at] for at in places])
        given = {"input_ids": batch.ids, "token_type_ids": batch.segments, "attention_mask": batch.mask}
        (logits,) = session.run(None, given)
        error = float(np.abs(np.asarray(logits) - expected).max())
        if not error < _TOLERANCE[self.how.weights == "int8"]:
            raise ModelError(
                f"the logits of model.onnx differ from torch's by up to {error:.3g}, which is more than rounding"
                + ("; train with weights: fp32" if self.how.weights == "int8" else "")
            )
        return error


def _encoder(folder: Path) -> Any:
    """The encoder of a folder on torch, in fp32."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    return transformers.AutoModel.from_pretrained(
        folder, dtype=torch.float32, local_files_only=True, trust_remote_code=False, attn_implementation="eager"
    )


def _odds(logits: Floats) -> Floats:
    """Log-odds of entailment."""
    return np.asarray(logits[:, 0] - np.logaddexp(logits[:, 1], logits[:, 2]))


class TrainedNli(Trained):
    """An NLI network with its card."""

    def __init__(
        self, task: NliTask, fitted: Fitted, folder: Path, logits: Floats, looked: Part, error: float, cut: int
    ) -> None:
        self._folder = folder
        places = task.places[looked]
        counts: Counter[str] = Counter(task.rows[at].label for at in task.places["train"])
        self.card = {
            "kind": "nli",
            "data": {
                "pairs": len(task.rows), "pairs_an_epoch": sum(map(len, task.drawn())),
                "labels": dict(sorted(counts.items())),
                "files": [
                    {"name": Path(each.file).name, **each.model_dump(exclude={"file"})} for each in task.how.data
                ],
            },
            "backbone": {"name": Path(task.backbone.model.name).name, "revision": task.backbone.model.revision},
            "warm_start": task.start and {"name": Path(task.start.name).name, "revision": task.start.revision},
            "seed": task.how.seed,
            "schedule": task.how.schedule.model_dump(),
            "max_tokens": task.tokens.limit,
            "cut": cut,
            "split": {
                "hash": task.parts.hash,
                "premises": {part: len({task.rows[at].document for at in task.places[part]}) for part in PARTS},
                "pairs": {part: len(task.places[part]) for part in PARTS},
            },
            "dev": {"auroc": fitted.scores, "best_epoch": fitted.best},
            "weights": task.how.weights,
            "file": {"sha256": file_hash(folder / "model.onnx"), "logits_differ_by": error},
            "looked_at": looked,
            "figures": _figures(task, places, logits),
        }  # fmt: skip
        self.lines = _lines(self.card)

    def write(self, folder: Path) -> None:
        """The network's files."""
        shutil.copytree(self._folder, folder, dirs_exist_ok=True)

    def readme(self) -> str:
        """The card for people."""
        return _readme(self.card)


def _figures(task: NliTask, places: Sequence[int], logits: Floats) -> list[dict[str, Any]]:
    """AUROC and accuracy on the pairs, beside words and a constant, with intervals by premise."""
    rows = [task.rows[at] for at in places]
    documents: Ints = codes([row.document for row in rows])
    bootstrap = Bootstrap(documents, resamples=task.how.resamples, seed=task.how.seed)
    entailed = task.entailed(places)
    shared = np.array([_precision(row) for row in rows])
    chosen = [LABELS[at] for at in logits.argmax(axis=1).tolist()]
    right = np.array([float(label in ALLOWED[row.label]) for label, row in zip(chosen, rows, strict=True)])
    trained = [task.rows[at].label for at in task.places["train"]]
    usual = max(LABELS, key=lambda label: sum(label in ALLOWED[own] for own in trained))
    constant = np.array([float(usual in ALLOWED[row.label]) for row in rows])
    estimates: dict[tuple[str, str], Estimate] = {
        ("network", "auroc"): classification_interval(entailed, _odds(logits), "auroc", bootstrap),
        ("words of the hypothesis in the premise", "auroc"): classification_interval(
            entailed, shared, "auroc", bootstrap
        ),
        ("network", "accuracy"): bootstrap.mean(right),
        (f"always {usual}", "accuracy"): bootstrap.mean(constant),
    }
    return [
        {"of": of, "statistic": statistic, "value": each.value, "low": each.low, "high": each.high, "n": each.n,
         "interval": each.interval}
        for (of, statistic), each in estimates.items()
    ]  # fmt: skip


def _precision(row: Row) -> float:
    own = ngrams(words(row.hypothesis), 1)
    return matched(own, ngrams(words(row.premise), 1)) / max(1, sum(own.values()))


def _lines(card: Mapping[str, Any]) -> list[str]:
    pairs, premises = card["split"]["pairs"], card["split"]["premises"]
    lines = ["; ".join(f"{part}: {pairs[part]} pairs of {premises[part]} premises" for part in PARTS)]
    lines += [
        f"{figure['statistic']} of {figure['of']} on {card['looked_at']}: "
        f"{with_interval(figure['value'], figure['low'], figure['high'], 3)}"
        for figure in card["figures"]
    ]
    network, shared = (figure["value"] for figure in card["figures"][:2])
    if network is not None and shared is not None and network <= shared:
        lines.append("warning: the network tells entailed pairs no better than shared words do")
    return lines


def _readme(card: Mapping[str, Any]) -> str:
    lines = _lines(card)
    files = ", ".join(f"{each['name']} (share {each['share']:g})" for each in card["data"]["files"])
    labels = ", ".join(f"{name} {count}" for name, count in card["data"]["labels"].items())
    about = {
        "Data": f"{card['data']['pairs']} pairs: {files}; labels that trained: {labels}.",
        "Backbone": f"{card['backbone']['name']}@{card['backbone']['revision']}; inputs of {card['max_tokens']} tokens "
        f"({card['cut']} pairs were cut).",
        "Training": _begun(card) + f"{card['schedule']['epochs']} epochs at most, seed {card['seed']}; the best on dev "
        f"was epoch {card['dev']['best_epoch']}.",
        "Split": f"by premise ({card['split']['hash']}), near-duplicates on one side.",
        "File": f"model.onnx, weights {card['weights']}; its logits differ from torch's by at most "
        f"{card['file']['logits_differ_by']:.2g}.",
        "Not known": "how good it is on other kinds of text, and on premises longer than those it was trained on.",
    }
    asked = "`summeter score DATA -e summac -m nli=local/FOLDER` asks it; so does `fenice`."
    parts = [
        "# An NLI network trained by summeter",
        asked,
        "\n".join(f"- **{name}**: {text}" for name, text in about.items()),
        "## Figures\n\n" + "\n".join(f"- {line}" for line in lines),
    ]
    return "\n\n".join(parts) + "\n"


def _begun(card: Mapping[str, Any]) -> str:
    start = card["warm_start"]
    return "" if start is None else f"from the weights of {start['name']}@{start['revision']}; "
