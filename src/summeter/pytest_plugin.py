"""pytest plugin: the fixture `summeter`, which judges summaries and checks their scores.

    def test_briefing(summeter):
        run = summeter.judge(document, summarize(document))
        summeter.check(run, min={"faithfulness": 0.8})

pytest loads this module in every session, so it imports nothing of summeter until a test uses the fixture.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import pytest

if TYPE_CHECKING:
    from summeter.engine.plan import Data, Evaluators
    from summeter.engine.runs import Run
    from summeter.meta._gate import Checks

_RUNS = pytest.StashKey[dict[Path, bool]]()
"""Folders of the runs of the session, and whether they are of single summaries."""
_ITEM = pytest.StashKey[pytest.Item]()
_PAGE = pytest.StashKey[str]()
_FOLDER = "summeter"
"""Name of the folder in pytest's cache, and of the field that workers of pytest-xdist return."""


P = ParamSpec("P")
T = TypeVar("T")


def _brief(method: Callable[P, T]) -> Callable[P, T]:
    """Show errors of summeter at the line of the test, without the frames in summeter."""

    @wraps(method)
    def hidden(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        from summeter.records import SummeterError

        try:
            return method(*args, **kwargs)
        except SummeterError as error:
            raise error.with_traceback(None) from None

    return hidden


class Summeter:
    """Judges summaries in tests. The runs are stored in pytest's cache, and nothing is judged twice."""

    def __init__(self, config: pytest.Config, folder: Path) -> None:
        self._config = config
        self._folder = folder
        self._texts: dict[str, dict[tuple[str, str], int]] = {}
        """The numbers of the documents and summaries that a test has given as two texts, by test."""

    @_brief
    def judge(
        self,
        data: Data,
        summary: str | None = None,
        *,
        evaluators: Evaluators = None,
        models: dict[str, str] | str | None = None,
        **options: Any,
    ) -> Run:
        """Judge summaries, and return the run.

        `judge(document, summary)` takes two texts; `judge(data)` takes the data that `summeter.evaluate` takes.
        `evaluators`, `models` and the options are also those of `summeter.evaluate`. If the same data were judged in
        the same way before, the stored run is returned. If the data of a file or a test changed, stored replies and
        results of models are used where the requests are the same.
        """
        from summeter.engine.api import evaluate
        from summeter.engine.options import Options
        from summeter.engine.plan import make_plan
        from summeter.engine.runs import Run, copy_stores
        from summeter.records import UsageError, digest

        if summary is not None and isinstance(data, str) and os.path.isfile(data):  # noqa: PTH113 - texts can be long
            what = f"{data} is a file, but a second text is given; to choose judges, write evaluators={summary!r}"
            raise UsageError(what)
        test = self._test.nodeid
        name = str(data) if isinstance(data, str | Path) and summary is None else test
        if summary is not None:
            texts = self._texts.setdefault(test, {})
            number = texts.setdefault((str(data), summary), len(texts) + 1)
            data = [{"doc_id": test if number == 1 else f"{test} ({number})", "document": data, "summary": summary}]
        plan = make_plan(data, evaluators, models, Options.of(**options))
        content = [plan.data.hash, plan.options.limit, sorted(job.signature for job in plan.jobs)]
        label = re.sub(r"\W+", "-", plan.data.card.name or "data")[:40].strip("-")
        folder = self._folder / f"{label}-{digest(content, 16)}"
        latest = self._folder / f"latest-{digest(name, 16)}"  # contains the name of the folder
        with _locked(folder):
            if not folder.exists() and latest.exists():
                copy_stores(self._folder / latest.read_text("utf-8"), folder)
            run = Run(folder) if (folder / "run.json").exists() else None
            if run is None or run.manifest.status != "complete":
                run = evaluate(plan.data, evaluators, models=models, out=folder, **options)
        latest.write_text(folder.name, "utf-8")
        self._config.stash[_RUNS].setdefault(folder, summary is not None)
        return run

    @_brief
    def check(self, run: Run, **bounds: Any) -> Checks:
        """Check a run against bounds, and return the checks.

        The keywords are those of `summeter.meta.gate`, such as `min={"faithfulness": 0.8}`. `baseline` can also be the
        folder of a run. The figures become JUnit properties of the test. Raises AssertionError if a check fails; the
        message contains the sentences that were judged wrong, with their evidence.
        """
        __tracebackhide__ = True
        from summeter.engine.runs import Run
        from summeter.meta import gate
        from summeter.meta._gate import check_complete, findings

        if isinstance(bounds.get("baseline"), str | Path):
            bounds["baseline"] = Run(bounds["baseline"])
        checks = gate(run, **bounds)
        for each in filter(None, (run, bounds.get("baseline"))):
            check_complete(each)
        failed: list[str] = []
        judgments = () if checks.passed else run.judgments()
        for row, label in zip(checks, checks.labels(), strict=True):
            for figure in ("value", "low", "high", "n"):
                if (value := getattr(row, figure)) is not None:
                    self._test.user_properties.append((f"summeter: {label}: {figure}", value))
            if not row.details["passed"]:
                failed += [row.details["verdict"], *(f"  {line}" for line in findings(run, judgments, row))]
        if failed:
            raise AssertionError("\n".join(failed))
        return checks

    @property
    def _test(self) -> pytest.Item:
        return self._config.stash[_ITEM]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--summeter-report`."""
    parser.getgroup("summeter").addoption(
        "--summeter-report", type=Path, metavar="PAGE", help="HTML page of all summaries that the tests judged."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Check the option before the tests run."""
    page = config.getoption("summeter_report")
    if page is not None and page.suffix.lower() not in {".html", ".htm"}:
        raise pytest.UsageError(f"--summeter-report {page}: the page is an .html file")
    config.stash[_RUNS] = {}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Remember the test, because the fixture belongs to the session."""
    item.config.stash[_ITEM] = item


@pytest.fixture(scope="session")
def summeter(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Summeter:
    """Judge summaries, and check their scores against bounds."""
    cache = getattr(pytestconfig, "cache", None)  # absent with `-p no:cacheprovider`
    return Summeter(pytestconfig, tmp_path_factory.mktemp(_FOLDER) if cache is None else cache.mkdir(_FOLDER))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Collect the runs of a worker of pytest-xdist."""
    runs = getattr(node, "workeroutput", {}).get(_FOLDER, {})
    node.config.stash[_RUNS].update({Path(folder): single for folder, single in runs.items()})


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the page, or send the runs to the main process of pytest-xdist, which writes it."""
    config = session.config
    runs, page = config.stash[_RUNS], config.getoption("summeter_report")
    if hasattr(config, "workeroutput"):
        config.workeroutput[_FOLDER] = {str(folder): single for folder, single in runs.items()}
    elif page is not None:
        config.stash[_PAGE] = _write(runs, page)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print where the page is."""
    if (text := config.stash.get(_PAGE, None)) is not None:
        terminalreporter.write_line(text)


def _write(runs: dict[Path, bool], page: Path) -> str:
    """Write the page, on which single summaries are one run, and return a line about it."""
    if not runs:
        return "summeter: the tests judged no summaries, so no page was written"
    import shutil

    from summeter.engine.merge import merge
    from summeter.engine.runs import Run
    from summeter.report import html

    singles = [folder for folder, single in runs.items() if single]
    parts = [Run(folder) for folder, single in runs.items() if not single]
    if len(singles) > 1:
        merged = singles[0].parent / "session"
        shutil.rmtree(merged, ignore_errors=True)
        parts.insert(0, merge(singles, merged))
    else:
        parts += map(Run, singles)
    return f"summeter: report: {html(parts, page)}"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder against other workers of pytest-xdist."""
    import fcntl

    with Path(f"{folder}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
