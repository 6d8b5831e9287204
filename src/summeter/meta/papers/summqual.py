"""Tables of SummQual."""

from __future__ import annotations

from summeter.meta.papers.base import Inputs, PaperTable, by_judge
from summeter.meta.results import Row

DIMENSIONS = ("coherence", "consistency", "coverage", "fluency", "overall")


def _correlations(inputs: Inputs) -> list[Row]:
    return by_judge(inputs.correlations(DIMENSIONS, coefficients=("pearson",)), lambda row: str(row.gold_aspect))


TABLES = {
    "summqual.2": PaperTable(
        "correlation of evaluators with people (Pearson)", _correlations,
        "a run of evaluators, and people's ratings of coherence, consistency, coverage, fluency and overall quality",
        columns=DIMENSIONS,
        notes=(
            "For the paper's column on hallucination, see `summeter meta correlate --aspect consistency:faithfulness`.",
        ),
    ),
}  # fmt: skip
