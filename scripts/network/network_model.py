"""The network behind the `network` scorer: a small encoder over text and claim together, and a head that aligns them.

A plain classifier on the encoder's first token hardly learns from so few rows. The head therefore compares each token
of the claim with what it attends to in the text (as decomposable attention and ESIM do) and pools over the claim.
"""

import json
from pathlib import Path
from typing import NamedTuple

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import BertConfig, BertModel

LABELS = ("entail", "neutral", "contradict")


class Batch(NamedTuple):
    """Token ids, segment (0 text, 1 claim) and attention mask, each (pairs, tokens)."""

    ids: Tensor
    segments: Tensor
    mask: Tensor


class SupportNetwork(nn.Module):
    """Logits (pairs, 3) in the order of LABELS."""

    def __init__(self, config: BertConfig, inner: int = 192) -> None:
        super().__init__()
        size = config.hidden_size
        self.encoder = BertModel(config, add_pooling_layer=False)
        self.compare = nn.Sequential(nn.Linear(4 * size, inner), nn.GELU())
        self.decide = nn.Sequential(
            nn.Linear(4 * size + 2 * inner + 2, inner), nn.GELU(), nn.Dropout(0.1), nn.Linear(inner, 3)
        )
        self.scale = nn.Parameter(torch.tensor(8.0))

    def forward(self, ids: Tensor, segments: Tensor, mask: Tensor) -> Tensor:
        states = self.encoder(input_ids=ids, attention_mask=mask, token_type_ids=segments).last_hidden_state
        kept = mask.to(states.dtype)
        claim = (segments.to(states.dtype) * kept).unsqueeze(-1)
        text = ((1 - segments).to(states.dtype) * kept).unsqueeze(-1)
        text_mean = (states * text).sum(1) / text.sum(1)
        claim_mean = (states * claim).sum(1) / claim.sum(1)
        unit = states / states.norm(dim=-1, keepdim=True).clamp_min(1e-6)
        closeness = unit @ unit.transpose(1, 2)
        closeness = closeness.masked_fill(text.transpose(1, 2) == 0, -1e4)
        attended = torch.softmax(self.scale * closeness, dim=-1) @ states
        compared = self.compare(torch.cat([states, attended, (states - attended).abs(), states * attended], dim=-1))
        mean = (compared * claim).sum(1) / claim.sum(1)
        most = compared.masked_fill(claim == 0, -1e4).amax(1)
        best = closeness.amax(-1, keepdim=True)
        aligned = (best * claim).sum(1) / claim.sum(1)
        worst = best.masked_fill(claim == 0, 1e4).amin(1)
        joined = [
            text_mean,
            claim_mean,
            (text_mean - claim_mean).abs(),
            text_mean * claim_mean,
            mean,
            most,
            aligned,
            worst,
        ]
        return self.decide(torch.cat(joined, dim=-1))


def from_package(folder: Path) -> tuple[SupportNetwork, Tokenizer]:
    """A fresh head on the encoder in `folder` (config.json, model.safetensors, tokenizer.json)."""
    config = BertConfig(**json.loads((folder / "config.json").read_text()))
    model = SupportNetwork(config)
    model.encoder = BertModel.from_pretrained(folder, add_pooling_layer=False)
    return model, tokenizer_of(folder)


def tokenizer_of(folder: Path) -> Tokenizer:
    """The package's tokenizer, without its own padding and truncation."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def encode(tokenizer: Tokenizer, pairs: list[tuple[str, str]], longest: int) -> list[tuple[list[int], list[int]]]:
    """(ids, segments) of each pair; where a pair is too long, the end of the text is left out, never the claim."""
    cls, sep = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    texts = tokenizer.encode_batch([text for text, _ in pairs], add_special_tokens=False)
    claims = tokenizer.encode_batch([claim for _, claim in pairs], add_special_tokens=False)
    made = []
    for text, claim in zip(texts, claims, strict=True):
        tail = claim.ids[: longest // 2]
        head = text.ids[: longest - 3 - len(tail)]
        made.append(([cls, *head, sep, *tail, sep], [0] * (len(head) + 2) + [1] * (len(tail) + 1)))
    return made


def batch_of(rows: list[tuple[list[int], list[int]]]) -> Batch:
    """Rows padded to the longest."""
    width = max(len(ids) for ids, _ in rows)
    ids, segments, mask = (torch.zeros(len(rows), width, dtype=torch.long) for _ in range(3))
    for place, (mine, sides) in enumerate(rows):
        ids[place, : len(mine)] = torch.tensor(mine)
        segments[place, : len(mine)] = torch.tensor(sides)
        mask[place, : len(mine)] = 1
    return Batch(ids, segments, mask)
