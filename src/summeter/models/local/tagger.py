"""A classifier of tokens, or extractive question answering: the raw outputs of every token of a text or a pair."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from summeter.models.base import Framing, TokenLogits
from summeter.models.local.batcher import Batcher, Codec, LocalUsage, Texts
from summeter.models.local.opened import LocalModel, Opened
from summeter.models.local.tokens import Batch, Input
from summeter.records import UsageError
from summeter.runs.results import Results

if TYPE_CHECKING:
    from numpy.typing import NDArray

AT_ONCE = 512
"""Inputs whose outputs are held at a time: one each token is a hundred times what a classifier gives."""


def _pack(row: TokenLogits) -> bytes:
    tokens, classes = row.logits.shape
    header = struct.pack("<iiB", tokens, classes, row.truncated)
    return b"".join(
        (
            header,
            row.logits.astype("<f4").tobytes(),
            row.offsets.astype("<i4").tobytes(),
            row.text.astype("i1").tobytes(),
        )
    )


def _unpack(data: bytes) -> TokenLogits:
    tokens, classes, truncated = struct.unpack_from("<iiB", data)
    place = struct.calcsize("<iiB")
    logits = np.frombuffer(data, "<f4", tokens * classes, place).reshape(tokens, classes)
    place += logits.nbytes
    offsets = np.frombuffer(data, "<i4", tokens * 2, place).reshape(tokens, 2)
    text = np.frombuffer(data, "i1", tokens, place + offsets.nbytes)
    return TokenLogits(logits, offsets.astype(np.int64), text.astype(np.int64), bool(truncated))


ROWS: Codec[TokenLogits] = Codec("token logits", _pack, _unpack)
OFFSETS: Codec[list[tuple[int, int]]] = Codec(
    "offsets",
    lambda offsets: json.dumps(offsets).encode(),
    lambda data: [(start, end) for start, end in json.loads(data)],
)


class LocalTokenClassifier(LocalModel):
    """Raw outputs of every token; with `opened` None from the store alone."""

    def __init__(
        self, id_: str, opened: Opened | None, store: Results | None = None, usage: LocalUsage | None = None,
        *, replay: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(id_, opened, store, usage, replay=replay)
        self._rows = Batcher(
            id_, ROWS, self._compute if self._maybe_opened else None, store=store, usage=self.usage, most=AT_ONCE
        )  # fmt: skip
        # Tokenizing is no work of the network's: it has a usage of its own, which nobody reads.
        self._offsets = Batcher(id_, OFFSETS, self._placed if self._maybe_opened else None, store=store)

    async def offsets(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """(start, end) of each token of each text, in code points, before anything is cut."""
        return await self._offsets.ask([(text,) for text in texts])

    async def logits(
        self,
        rows: Sequence[tuple[str, ...]],
        classes: int,
        how: Framing = Framing(),  # noqa: B008 - frozen
    ) -> list[TokenLogits]:
        """Raw outputs of each row's tokens, marks included. UsageError where the model has another number of classes,
        ValueError for a template, in which a token's place would be one of the whole."""
        if how.template is not None:
            raise ValueError("tokens are classified in one text or a pair, not in a template")
        outputs = await self._rows.ask([(*row, str(classes), how.key) for row in rows])
        for output in outputs:
            self._valid(output.logits)
        return outputs

    def _placed(self, texts: Sequence[Texts]) -> list[list[tuple[int, int]]]:
        encoded = self._opened.tokens.encoded([text for (text,) in texts])
        return [[(start, end) for start, end in one.offsets.tolist()] for one in encoded]

    def _compute(self, asked: Sequence[Texts]) -> list[TokenLogits]:
        opened = self._opened
        by_place: dict[int, Input] = {}
        for how in dict.fromkeys(row[-1] for row in asked):
            places = [place for place, row in enumerate(asked) if row[-1] == how]
            framed = opened.tokens.inputs([asked[place][:-2] for place in places], Framing.from_key(how))
            by_place.update(zip(places, framed, strict=True))
        # Framings may differ from row to row (a cut of its own): all go through the network together.
        inputs = [by_place[place] for place in range(len(asked))]

        def compute(batch: Batch) -> list[NDArray[np.float32]]:
            logits = opened.backend.token_logits(*batch)
            return [row[: int(mask.sum())].copy() for row, mask in zip(logits, batch.mask, strict=True)]

        rows = []
        for row, input_, logits in zip(asked, inputs, opened.run([inputs], self.usage, compute), strict=True):
            if logits.shape[1] != int(row[-2]):
                raise UsageError(
                    f"{opened.model.name} has {logits.shape[1]} outputs a token, and the evaluator reads "
                    f"{row[-2]}: it is another kind of checkpoint"
                )
            rows.append(TokenLogits(logits, input_.offsets, input_.text, input_.truncated))
        return rows
