"""Tables of SummQual."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from summeter.meta.papers.base import ARRANGED, COUNT, Inputs, PaperTable, by_judge, place
from summeter.meta.results import Row

DIMENSIONS = ("coherence", "consistency", "coverage", "fluency", "overall")


def _correlations(inputs: Inputs) -> list[Row]:
    return by_judge(inputs.correlations(DIMENSIONS, coefficients=("pearson",)), lambda row: str(row.gold_aspect))


def _counts(inputs: Inputs) -> Iterator[Row]:
    documents = inputs.data.documents.values()
    counts = Counter(
        (line, column)
        for document in documents
        for line in (document.domain or "no domain", "all")
        for column in (document.split or "no split", "all")
    )
    for (line, column), count in sorted(counts.items(), key=lambda entry: "all" in entry[0]):
        yield place(Row(study="documents", statistic=COUNT, value=float(count), n=count), line, column)


TABLES = {
    "summqual.1": PaperTable(
        "documents by domain and split", _counts, "data with documents in several domains and splits", "domain",
        best=False, notes=(ARRANGED,),
    ),
    "summqual.2": PaperTable(
        "correlation of evaluators with people (Pearson)", _correlations,
        "a run of evaluators, and people's ratings of coherence, consistency, coverage, fluency and overall quality",
        columns=DIMENSIONS,
        notes=(
            "For the paper's column on hallucination, see `summeter meta correlate --aspect consistency:faithfulness`.",
        ),
    ),
}  # fmt: skip
