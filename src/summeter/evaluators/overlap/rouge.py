"""ROUGE as an evaluator: overlap of the summary with reference summaries (Lin, 2004)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from summeter.evaluators.base import Evaluator, Prepared, Tools
from summeter.records import Item, Judgment
from summeter.text.rouge import Rouge as Scores
from summeter.text.rouge import Tokenizer, check_stemmer, rouge_l, rouge_lsum, rouge_n
from summeter.text.split import split


class Rouge(Evaluator):
    """ROUGE-1, -2, -L and -Lsum against the references, each in [0, 1]; the best reference counts.

    `measure` is F1, precision or recall. `stemmer` uses NLTK's Porter stemmer, like the reference package (`pip install
    'summeter[rouge]'`). `lsum` defines the sentences of ROUGE-Lsum: lines (as in the reference package) or stored
    sentences. On English the values equal the `rouge_score` package to 1e-9. Other scripts are kept; `tokenizer:
    reference` deletes them, like the package.
    """

    name, version = "rouge", "1"
    summary = "n-gram and subsequence overlap with reference summaries (Lin, 2004)"
    aspects = ("rouge1", "rouge2", "rougeL", "rougeLsum")
    needs = frozenset({"reference"})

    measure: Literal["f1", "precision", "recall"] = "f1"
    stemmer: bool = False
    tokenizer: Tokenizer = "unicode"
    lsum: Literal["lines", "sentences"] = "lines"

    def signature_fields(self) -> Mapping[str, object]:
        """Return changed settings. Raises InstallError if the stemmer is not installed."""
        if self.stemmer:
            check_stemmer()
        return super().signature_fields()

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return four judgments of the summary, one per measure."""
        references = [text for text in item.references if text.strip()]
        lines = self.lsum == "lines"
        by_aspect: dict[str, Scores] = {
            "rouge1": rouge_n(item.summary.text, references, 1, stem=self.stemmer, tokenizer=self.tokenizer),
            "rouge2": rouge_n(item.summary.text, references, 2, stem=self.stemmer, tokenizer=self.tokenizer),
            "rougeL": rouge_l(item.summary.text, references, stem=self.stemmer, tokenizer=self.tokenizer),
            "rougeLsum": rouge_lsum(
                item.summary.text if lines else item.sentences,
                references if lines else [[text[start:end] for start, end in split(text)] for text in references],
                stem=self.stemmer,
                tokenizer=self.tokenizer,
            ),
        }
        builder = self.builder(item, prepared, tools)
        best = "the reference" if len(references) == 1 else f"the best of {len(references)} references"
        return [
            builder.ok(
                aspect,
                value=getattr(scores, self.measure),
                reason=f"precision {scores.precision:.2f}, recall {scores.recall:.2f} with {best}",
            )
            for aspect, scores in by_aspect.items()
        ]
