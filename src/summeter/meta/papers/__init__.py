"""Tables of published papers, computed from your runs and data in the layout of the paper.

Each table is declared by a `PaperTable` in the module of its paper: a function that computes the rows of the cells with
the studies of this package, and the layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from summeter.meta.inputs import Gold
from summeter.meta.papers import fenice, finesure, shen2023, summqual, unisumeval
from summeter.meta.papers.base import Inputs, PaperTable, Printed, TableOptions
from summeter.meta.results import Row, Study
from summeter.records import UsageError, nearest
from summeter.runs.run import RunFolder

PAPERS: Mapping[str, PaperTable] = {
    name: form for paper in (finesure, unisumeval, fenice, shen2023, summqual) for name, form in paper.TABLES.items()
}
"""The tables by name, such as `shen2023.4`."""
UNDECLARED: Mapping[str, str] = {
    "unisumeval.13": "`summeter meta card RUN`",
    "unisumeval.21": "`summeter meta card RUN`",
    "fenice.8": "`sm.meta.overlap(FIRST, SECOND, similarity=FUNCTION)` with BERTScore as the similarity",
    "fenice.10": "`summeter meta overlap RUN DATA` and `summeter table fenice.7`",
    "shen2023.17": "`summeter table shen2023.18` and `summeter table shen2023.19`",
}
"""What comes closest to each table whose contents are not known well enough to declare it, by name."""


def table(name: str, runs: RunFolder | Sequence[RunFolder], gold: Gold | None = None, **options: object) -> Printed:
    """Compute a table of a paper.

    `runs` are runs over the same data, and `gold` is by default the human judgments in the data of the first run. The
    keywords are `resamples` (0 for no intervals), `confidence`, `seed` and `alpha` (values with a p-value of at least
    this are marked; None for no marks). Raises UsageError if the name is unknown, or if the runs or the human judgments
    lack what the table needs.

        print(sm.table("shen2023.4", sm.Run("runs/rts"), data))
    """
    if name in UNDECLARED:
        raise UsageError(f"what {name} shows is not known well enough to print it; closest is {UNDECLARED[name]}")
    if name not in PAPERS:
        raise UsageError(f"unknown table {name!r}{nearest(name, PAPERS)}; `summeter table --list` lists the tables")
    form, checked = PAPERS[name], TableOptions.checked(options)
    folders = [runs] if isinstance(runs, RunFolder) else list(runs)
    if gold is None and not folders:
        raise UsageError(f"{name} needs {form.needs}; give a RUN, or data with human judgments")
    inputs = Inputs(folders, folders[0].data if gold is None else gold, checked)
    try:
        rows: list[Row] = list(form.rows(inputs))
    except UsageError as error:
        raise UsageError(f"{name}: ", *error.args, f". The table needs {form.needs}") from error
    if not rows:
        raise UsageError(f"{name} needs {form.needs}; none of its values could be computed")
    return Printed(name, form, Study(name, rows), checked)
