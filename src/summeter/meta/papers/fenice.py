"""Tables of FENICE (Scirè et al., Findings of ACL 2024)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from summeter.meta._overlap import lists_of, overlap
from summeter.meta._protocol import ACCURACY, MEAN, protocol, protocol_named
from summeter.meta.papers.base import ARRANGED, Inputs, PaperTable, average, by_judge, place_of
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


def _claims(inputs: Inputs) -> list[Row]:
    references, rows = lists_of(inputs.data), []
    for run in inputs.folders:
        extracted = lists_of(run)
        own = {"judge": extracted.name.partition("|")[0], "signature": extracted.name}
        rows += [row.model_copy(update=own) for row in overlap(extracted, references, **inputs.draws)]
    return by_judge(rows, lambda row: row.statistic)


def _printed(judge: str) -> Callable[[Row], bool]:
    return lambda row: row.judge == judge and place_of(row)[1] == "AVG"


_RUN = "the run of `summeter bench protocol CONFIG.yaml -o OUT` (in OUT/run) with the protocol"
_AVERAGE = "AVG is the mean of the cells of the line."
_CLAIMS = PaperTable(
    "claims of extractors against reference claims (easiness by ROUGE-1)", _claims,
    "a run for each extractor (`summeter score DATA -e fenice -o RUN`), and data with reference claims as key facts",
    head="extractor", digits=1, scale=100.0, notes=(ARRANGED,),
)  # fmt: skip
TABLES = {
    "fenice.1": _CLAIMS,
    "fenice.2": _CLAIMS,
    "fenice.3": PaperTable(
        "AggreFact, balanced accuracy, a threshold for each dataset",
        _balanced_accuracy("aggrefact", "per_data_set", means=True),
        f"{_RUN} aggrefact", digits=1, scale=100.0,
        notes=(_AVERAGE,),
        differing=(
            (_printed("questeval"), "The paper prints 63.5; its cells give 62.4."),
            (_printed("qafacteval"), "The paper prints 67.0; its cells give 66.2."),
        ),
    ),
    "fenice.4": PaperTable(
        "AggreFact-SOTA, balanced accuracy, one threshold for each origin",
        _balanced_accuracy("aggrefact", "sota", means=False),
        f"{_RUN} aggrefact", digits=1, scale=100.0,
        notes=(_AVERAGE,),
    ),
    "fenice.5": PaperTable(
        "AggreFact, balanced accuracy of the steps of FENICE",
        _balanced_accuracy("aggrefact", "per_data_set", means=True),
        f"{_RUN} aggrefact, of fenice with the steps nli_sent, nli_claim, nli_coref and full",
        digits=1, scale=100.0, notes=(_AVERAGE, ARRANGED),
    ),
    "fenice.7": PaperTable(
        "long-form summaries, balanced accuracy", _balanced_accuracy("story-summeval", "all", means=False),
        f"{_RUN} story-summeval", digits=1, scale=100.0,
    ),
}  # fmt: skip
