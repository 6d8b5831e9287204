"""A claim extractor: a sequence-to-sequence network fitted to the claims that an LLM wrote (FENICE, section 3.1)."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from summeter.data.atomic import building
from summeter.engine.progress import Progress
from summeter.engine.sync import run_sync
from summeter.evaluators.claims.extract import generate_claims, sentence_claims
from summeter.meta._overlap import Lists, lists_of, overlap
from summeter.models.local.bind import local_network
from summeter.models.local.names import LocalName, LocalSettings, parse
from summeter.models.local.opened import Opened, open_model
from summeter.models.networks import Framing
from summeter.records import Summary, UsageError, digest
from summeter.runs.run import RunFolder
from summeter.tables import with_interval
from summeter.training.base import Task, Trained, Training
from summeter.training.loop import Fitted, Schedule, fit, need_torch, seeded
from summeter.training.ratings import FEWEST
from summeter.training.split import PARTS, Part, part_masks, split_texts
from summeter.training.work import Work

if TYPE_CHECKING:
    import torch

_AT_ONCE = 16
_IGNORED = -100  # what transformers takes for a place that counts nothing


class ClaimsTraining(Training):
    """Settings of a claim extractor.

    `runs`: runs in which an LLM drew the claims of summaries (`fenice[claims=llm]`, `factscore`); `judge` says whose,
    where a run holds several. `backbone` is the model string of an encoder-decoder. `max_tokens` of a summary and
    `max_claims_tokens` of its claims are read; longer ones are cut, and counted. Dev chooses the epoch by the mean
    log-likelihood a token of the claims.
    """

    kind: Literal["claims"] = "claims"
    runs: tuple[str, ...] = Field(min_length=1)
    judge: str | None = None
    backbone: str
    max_tokens: int = Field(default=512, ge=16)
    max_claims_tokens: int = Field(default=512, ge=16)
    schedule: Schedule = Schedule(epochs=5, batch=8, learning_rate=1e-4, patience=2)

    def task(self, base: Path) -> ClaimsTask:
        """Read and check runs and backbone."""
        need_torch()
        rows = [row for run in self.runs for row in read_claims(RunFolder(base / run), self.judge)]
        return ClaimsTask(self, rows, _opened(self.backbone, base, self.max_tokens))


class Row(NamedTuple):
    """A summary, the domain and text of its document, and the claims that an LLM drew from it."""

    summary: Summary
    domain: str | None
    document: str
    claims: tuple[str, ...]

    @property
    def target(self) -> str:
        """The claims as the network is to write them: one sentence each."""
        return " ".join(claim if claim.endswith((".", "!", "?")) else f"{claim}." for claim in self.claims)


def read_claims(run: RunFolder, judge: str | None) -> list[Row]:
    """The claims of a run's summaries. UsageError where its lists are of documents, or were drawn by no LLM."""
    lists = lists_of(run, judge)
    entry = next((entry for entry in run.manifest.judges if entry.signature == lists.name), None)
    if entry is None or not any(role in entry.models for role in ("judge", "extractor")):
        raise UsageError(
            f"{run.folder}: the claims of {lists.name} were written by no LLM; score with fenice[claims=llm] or "
            "factscore and name that run"
        )
    summaries = {(row.document_id, row.system): row for row in run.data.summaries}
    rows = []
    for (document_id, system), claims in lists.lists.items():
        if system is None:
            raise UsageError(f"{run.folder}: {lists.name} lists what is in documents, not the claims of summaries")
        document = run.data.documents[document_id]
        if claims:
            rows.append(Row(summaries[document_id, system], document.domain, document.text, tuple(claims)))
    return rows


def _opened(text: str, base: Path, max_tokens: int | None) -> Opened:
    """The encoder-decoder that a setting names; a path is relative to `base`, then to the working directory."""
    name = parse(text)
    path = name.path
    if name.source == "local" and (base / Path(path).expanduser()).is_dir():
        path = str(base / Path(path).expanduser())
    settings = name.settings.model_copy(update={"precision": "fp32", "max_tokens": max_tokens})
    return open_model(name.model_copy(update={"path": path, "settings": settings}), "seq2seq")


class ClaimsTask(Task):
    """A claim extractor whose runs and backbone were read."""

    def __init__(self, how: ClaimsTraining, rows: Sequence[Row], backbone: Opened) -> None:
        self.how, self.rows, self.backbone = how, rows, backbone
        # Two runs may call different documents by one name.
        texts = {row.document: row.document for row in rows}
        self.parts = split_texts(texts, how.split, {row.document: row.domain for row in rows})
        masks = part_masks(self.parts, how.split, [(row.document, row.summary.system) for row in rows])
        self.places = {part: np.flatnonzero(masks[part]).tolist() for part in PARTS}
        for part in PARTS:
            documents = self._documents(part)
            if documents < FEWEST[part] and (part != "test" or how.look_at_test):
                raise UsageError(
                    f"too few documents with claims: {documents} in the {part} part, and {FEWEST[part]} are needed; "
                    "give more runs, or change the shares under split"
                )
        pairs = [[row.summary.text, row.target] for row in rows]
        self.key = how.model_copy(update={"backbone": "", "runs": ()}).digest(
            pairs=digest(pairs), backbone=backbone.model.digest
        )
        self.test = f"claims:{self.parts.test}" if how.look_at_test else None
        size = sum(file.stat().st_size for file in backbone.model.folder.glob("*.safetensors"))
        self.space = 10_000_000 + 6 * size

    def _documents(self, part: Part) -> int:
        return len({self.rows[at].document for at in self.places[part]})

    def train(self, work: Work, show: Progress) -> TrainedClaims:
        """Train, write the folder, and let it draw the claims of the test part as `fenice` will."""
        import torch

        seeded(self.how.seed)
        network = _loaded(self.backbone.model.folder)
        tokens = self.backbone.tokens
        sources = tokens.inputs([(row.summary.text,) for row in self.rows], Framing())
        targets = tokens.inputs([(row.target,) for row in self.rows], Framing())
        longest = self.how.max_claims_tokens
        cut = sum(row.truncated for row in sources) + sum(len(row.ids) > longest for row in targets)

        def loss_of(places: Sequence[int]) -> torch.Tensor:
            batch = tokens.padded([sources[at] for at in places])
            labels = np.full((len(places), max(min(len(targets[at].ids), longest) for at in places)), _IGNORED)
            for number, at in enumerate(places):
                ids = targets[at].ids[:longest]
                labels[number, : len(ids)] = ids
            arrays = (torch.from_numpy(array) for array in (batch.ids, batch.mask, labels))
            ids, mask, wanted = arrays
            loss: torch.Tensor = network(input_ids=ids, attention_mask=mask, labels=wanted).loss
            return loss

        train, dev = self.places["train"], self.places["dev"]

        def score() -> float:
            parts = [dev[start : start + _AT_ONCE] for start in range(0, len(dev), _AT_ONCE)]
            sizes = [sum(min(len(targets[at].ids), longest) for at in part) for part in parts]
            losses = [float(loss_of(part)) for part in parts]
            return -float(np.average(losses, weights=sizes))

        fitted = fit(
            network, len(train), lambda batch: loss_of([train[at] for at in batch]), score, self.how.schedule,
            seed=self.how.seed, state=work.state, show=show,
        )  # fmt: skip
        # Whoever asks the folder to generate says no length; transformers would stop after 20 tokens.
        network.generation_config.max_length = None
        network.generation_config.max_new_tokens = longest
        folder = work.folder / "network"
        shutil.rmtree(folder, ignore_errors=True)
        with building(folder) as fresh:
            for file in sorted(self.backbone.model.folder.iterdir()):
                if file.is_file() and file.suffix in (".json", ".txt", ".model") and "index" not in file.name:
                    shutil.copyfile(file, fresh / file.name)
            network.save_pretrained(fresh)
        show.note("drawing the claims of held-out summaries")
        looked: Part = "test" if self.how.look_at_test else "dev"
        drawn = self._drawn(folder, self.places[looked])
        return TrainedClaims(self, fitted, folder, looked, drawn, cut)

    def _drawn(self, folder: Path, places: Sequence[int]) -> list[tuple[str, ...]]:
        """The claims that the written network draws."""
        settings = LocalSettings(precision="fp32", max_tokens=self.how.max_tokens)
        opened = open_model(LocalName(source="local", path=str(folder), settings=settings), "seq2seq")
        model = local_network(opened)

        async def all_claims() -> list[tuple[str, ...]]:
            drawn = await asyncio.gather(*(generate_claims(self.rows[at].summary, model) for at in places))
            return [tuple(claim.text for claim in each.claims) for each in drawn]

        return run_sync(all_claims())


def _loaded(folder: Path) -> Any:
    """The encoder-decoder of a folder on torch, in fp32."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    return transformers.AutoModelForSeq2SeqLM.from_pretrained(
        folder, dtype=torch.float32, local_files_only=True, trust_remote_code=False
    )


class TrainedClaims(Trained):
    """A claim extractor with its card."""

    def __init__(
        self, task: ClaimsTask, fitted: Fitted, folder: Path, looked: Part, drawn: Sequence[tuple[str, ...]], cut: int
    ) -> None:
        self._folder = folder
        self.card = {
            "kind": "claims",
            "data": {
                "runs": [Path(run).name for run in task.how.runs], "summaries": len(task.rows),
                "claims": sum(len(row.claims) for row in task.rows),
            },
            "backbone": {"name": Path(task.backbone.model.name).name, "revision": task.backbone.model.revision},
            "seed": task.how.seed,
            "schedule": task.how.schedule.model_dump(),
            "cut": cut,
            "split": {
                "hash": task.parts.hash,
                "documents": {part: len({task.rows[at].document for at in task.places[part]}) for part in PARTS},
                "summaries": {part: len(task.places[part]) for part in PARTS},
            },
            "dev": {"log_likelihood": fitted.scores, "best_epoch": fitted.best},
            "looked_at": looked,
            "wrote_none": sum(not claims for claims in drawn),
            "figures": _figures(task, task.places[looked], drawn),
        }  # fmt: skip
        self.lines = _lines(self.card)

    def write(self, folder: Path) -> None:
        """The network's files."""
        shutil.copytree(self._folder, folder, dirs_exist_ok=True)

    def readme(self) -> str:
        """The card for people."""
        return _readme(self.card)


def _figures(task: ClaimsTask, places: Sequence[int], drawn: Sequence[tuple[str, ...]]) -> list[dict[str, Any]]:
    """Easiness by ROUGE-1 (FENICE, equations 9 and 10) against the LLM's claims, with intervals by document; beside the
    network the sentences as they are."""
    rows = [task.rows[at] for at in places]
    sentences = [tuple(claim.text for claim in sentence_claims(row.summary).claims) for row in rows]
    items = [(digest(row.document, 16), f"{number} {row.summary.system}") for number, row in enumerate(rows)]
    wanted = Lists(dict(zip(items, (row.claims for row in rows), strict=True)), "the LLM")
    figures = []
    for name, claims in {"network": list(drawn), "sentences": sentences}.items():
        study = overlap(
            Lists(dict(zip(items, claims, strict=True)), name), wanted, resamples=task.how.resamples, seed=task.how.seed
        )
        figures += [
            {"of": name, "statistic": row.statistic, "value": row.value, "low": row.low, "high": row.high, "n": row.n,
             "claims": row.details["claims"], "interval": row.interval}
            for row in study.rows
        ]  # fmt: skip
    return figures


def _lines(card: Mapping[str, Any]) -> list[str]:
    summaries, documents = card["split"]["summaries"], card["split"]["documents"]
    lines = ["; ".join(f"{part}: {summaries[part]} summaries of {documents[part]} documents" for part in PARTS)]
    if card["cut"]:
        lines.append(f"{card['cut']} summaries or lists of claims were longer than the network reads, and cut")
    if card["wrote_none"]:
        lines.append(f"for {card['wrote_none']} summaries of the {card['looked_at']} part it wrote no claim")
    for name in dict.fromkeys(figure["of"] for figure in card["figures"]):
        own = [figure for figure in card["figures"] if figure["of"] == name]
        cells = [
            f"{figure['statistic']} {with_interval(figure['value'], figure['low'], figure['high'], 3)}"
            for figure in own
        ]
        lines.append(f"easiness of {name} on {card['looked_at']}: {', '.join(cells)} ({own[0]['claims']} claims)")
    scores = {figure["of"]: figure["value"] for figure in card["figures"] if figure["statistic"] == "f1"}
    if scores["network"] is None or scores["network"] <= (scores["sentences"] or 0.0):
        lines.append("warning: its claims are no nearer to the LLM's than whole sentences are")
    return lines


def _readme(card: Mapping[str, Any]) -> str:
    about = {
        "Data": f"{card['data']['claims']} claims of {card['data']['summaries']} summaries, written by an LLM in "
        f"{', '.join(card['data']['runs'])}.",
        "Backbone": f"{card['backbone']['name']}@{card['backbone']['revision']}.",
        "Training": f"{card['schedule']['epochs']} epochs at most, seed {card['seed']}; the best on dev was epoch "
        f"{card['dev']['best_epoch']}.",
        "Split": f"by document ({card['split']['hash']}), near-duplicates on one side.",
        "Not known": "whether the LLM's claims were right; how good it is on other kinds of summaries.",
    }
    parts = [
        "# A claim extractor trained by summeter",
        "`summeter score DATA -e fenice -m nli=... -m seq2seq=local/FOLDER` uses it.",
        "\n".join(f"- **{name}**: {text}" for name, text in about.items()),
        "## Figures\n\n" + "\n".join(f"- {line}" for line in _lines(card)),
    ]
    return "\n\n".join(parts) + "\n"
