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
    """Compute ROUGE-1, -2, -L and -Lsum against the references.

    Values are in [0, 1]; the score for the best-matching reference is used.

    `measure` is F1, precision or recall. If `stemmer` is true, words are stemmed by NLTK's Porter stemmer, as in the
    reference package (`pip install 'summeter[rouge]'`). `lsum` defines the sentences of ROUGE-Lsum: lines (as in the
    reference package) or stored sentences. For English, the values agree with those of the `rouge_score` package to
    within 1e-9. Words in other scripts are kept, unless `tokenizer` is `reference`, which deletes them, as the package
    does.
    """

    name, version = "rouge", "1"
    summary = "The overlap of n-grams and subsequences with reference summaries (Lin, 2004)."
    aspects = ("rouge1", "rouge2", "rougeL", "rougeLsum")
    needs = frozenset({"reference"})

    measure: Literal["f1", "precision", "recall"] = "f1"
    stemmer: bool = False
    tokenizer: Tokenizer = "unicode"
    lsum: Literal["lines", "sentences"] = "lines"

    def signature_fields(self) -> Mapping[str, object]:
        """Return the changed settings. Raises InstallError if the stemmer is set but not installed."""
        if self.stemmer:
            check_stemmer()
        return super().signature_fields()

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return four judgments of the summary, one per measure."""
        references = item.references
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
