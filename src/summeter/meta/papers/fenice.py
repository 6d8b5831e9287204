"""Tables of FENICE (Scirè et al., Findings of ACL 2024)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from summeter.meta._protocol import ACCURACY, MEAN, protocol, protocol_named
from summeter.meta.papers.base import Inputs, PaperTable, average, by_judge, place_of
from summeter.meta.results import Row


def _balanced_accuracy(benchmark: str, table: str, *, means: bool) -> Callable[[Inputs], Iterator[Row]]:
    def rows(inputs: Inputs) -> Iterator[Row]:
        study = protocol([inputs.runs], inputs.gold, protocol_named(benchmark), **inputs.draws)
        cells_of_table = [row for row in study if row.details.get("table") == table and row.details.get("cell")]
        cells_of_table = [row for row in cells_of_table if row.statistic == (MEAN if means else ACCURACY)]
        placed = by_judge(cells_of_table, lambda row: " ".join(filter(None, (row.domain, row.category))) or "bAcc")
        yield from placed
        for line in dict.fromkeys(place_of(row)[0] for row in placed):
            cells = [row for row in placed if place_of(row)[0] == line]
            if len(cells) > 1:
                yield average(cells, line, "AVG", "average")

    return rows


_RUN = "the run of `summeter bench protocol CONFIG.yaml -o OUT` (in OUT/run) with the protocol"
TABLES = {
    "fenice.3": PaperTable(
        "AggreFact, balanced accuracy, a threshold for each dataset",
        _balanced_accuracy("aggrefact", "per_data_set", means=True),
        f"{_RUN} aggrefact", digits=1, scale=100.0,
        notes=("AVG is the mean of the cells of the line.",),
    ),
    "fenice.4": PaperTable(
        "AggreFact-SOTA, balanced accuracy, one threshold for each origin",
        _balanced_accuracy("aggrefact", "sota", means=False),
        f"{_RUN} aggrefact", digits=1, scale=100.0,
        notes=("AVG is the mean of the cells of the line.",),
    ),
    "fenice.7": PaperTable(
        "long-form summaries, balanced accuracy", _balanced_accuracy("story-summeval", "all", means=False),
        f"{_RUN} story-summeval", digits=1, scale=100.0,
    ),
}  # fmt: skip
