"""`summeter list` and `summeter doctor`: list what is available; check the installation."""

from __future__ import annotations

import os
import platform
import re
import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from summeter._version import __version__
from summeter.cli.common import Output, output_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from summeter.models.providers.provider import Provider

SET = "is set"
EXTRAS = {
    "parquet": ("pyarrow", "reading Parquet"), "xlsx": ("openpyxl", "reading XLSX"),
    "sources": ("trafilatura", "raw documents in HTML and PDF"), "build": ("presidio-analyzer", "redaction, languages"),
    "pandas": ("pandas", "data frames (.to_pandas())"), "polars": ("polars", "data frames (.to_polars())"),
    "plot": ("vl-convert-python", "figures as PDF and PNG"),
    "bedrock": ("botocore", "bedrock/... with AWS credentials"),
    "annotate": ("markdown-it-py", "annotation campaigns"),
    "local": ("onnxruntime", "local models from a model.onnx"), "torch": ("torch", "all other local models"),
    "train": ("peft", "summeter train"), "ray": ("ray", "score --executor ray"),
}  # fmt: skip

_EXAMPLE = {"document": "The bridge opened in 1998. It is 14 metres wide.", "summary": "The bridge is 14 metres wide."}


@output_options()
def list_(
    output: Output,
    what: Annotated[
        Literal["evaluators", "models", "presets", "datasets", "aspects"], typer.Argument(help="What to list.")
    ],
) -> None:
    """List evaluators, model providers, data presets, bundled datasets or aspects."""
    from summeter.tables import Table

    rows: list[dict[str, Any]]
    match what:
        case "evaluators":
            rows = _evaluators()
        case "models":
            rows = _models()
        case "presets":
            from summeter.data.presets import PRESETS

            keys = ("name", "about", "licence", "terms", "needs", "gives")
            rows = [
                {key: getattr(preset, key) for key in keys}
                | {"counts": [count._asdict() for count in preset.counts], "notes": list(preset.notes)}
                for preset in PRESETS.values()
            ]
        case "datasets":
            from summeter.cli.example import NAME, bundled

            about = "72 summaries of 18 documents in nine domains, with sentence and key-fact labels"
            rows = [{"name": NAME, "about": f"{about}; {bundled()}"}]
        case "aspects":
            from summeter.evaluators.aspects import ASPECTS

            rows = [{"name": name, "about": about} for name, about in ASPECTS.items()]
    more = {"presets": ("needs {needs}", "gives {gives} ({terms})")}.get(what, ())
    cells = [[row["name"], (row["about"], *(text.format(**row) for text in more))] for row in rows]
    output.write([Table.of(["name", "about"], cells)], rows, list=what)


def _evaluators() -> list[dict[str, Any]]:
    from summeter.evaluators.aspects import ASPECTS, RATED
    from summeter.evaluators.catalog import find, names

    rows = []
    for name in names():
        evaluator = find(name)
        texts = (f"a {need}" for need in sorted(evaluator.needs))
        try:
            roles = evaluator().required_roles
        except ValueError:  # the evaluator has required settings, so all its roles are listed
            roles = tuple(evaluator.roles)
        needs = ", ".join((*(f"-m {role}=..." for role in roles), *texts))
        checkpoints = [(name, weights) for name, role in evaluator.roles.items() for weights in role.checkpoints]
        closed = [weights for _, weights in checkpoints if not weights.commercial]
        terms = "".join(f"; non-commercial: {weights.model} ({weights.licence})" for weights in closed)
        named = {tuple(RATED): "any rated aspect", tuple(ASPECTS): "the aspects of its members", (): "key facts"}
        aspects = named.get(evaluator.aspects, ", ".join(evaluator.aspects))
        about = f"{evaluator.summary.rstrip('.')} -> {aspects}{f'  (needs {needs})' if needs else ''}{terms}"
        rows.append(
            {"name": name, "about": about, "aspects": list(evaluator.aspects), "roles": list(evaluator.roles),
             "needs": sorted(evaluator.needs), "version": evaluator.version,
             "code_licence": evaluator.code_licence,
             "weights": [
                 {"role": role, **{key: value for key, value in weights._asdict().items() if value is not None}}
                 for role, weights in checkpoints
             ],
             "settings": {key: str(info.annotation) for key, info in evaluator.model_fields.items()}}
        )  # fmt: skip
    return rows


def _models() -> list[dict[str, Any]]:
    from summeter.models.providers.provider import providers

    return [
        *({"name": f"{name}/...", "about": _about(provider)} for name, provider in providers().items()),
        {"name": "local/FOLDER", "about": "a network (NLI, encoder, encoder-decoder) in a folder; a path works too"},
        {
            "name": "hf/ORG/NAME",
            "about": f"the same from the Hugging Face hub or its cache; HF_TOKEN {_is_set(('HF_TOKEN',))}",
        },
    ]


def _about(provider: Provider) -> str:
    """Return the environment variables of a provider, whether they are set, and notes on it."""
    if provider.hosted:
        variables = ", ".join(f"{names[0]} {_is_set(names)}" for names in provider.variables)
        return "; ".join(filter(None, (variables, provider.about)))
    if provider.address is None:
        return provider.about
    variable = provider.address_variable
    state = _is_set((variable,))
    return f"{variable} {state}" if state == SET else f"{variable} not set: {provider.address}"


@output_options()
def doctor(output: Output) -> None:
    """Show what works on this machine, what is missing, and the command that adds it."""
    from summeter.models.providers.provider import providers
    from summeter.tables import Table

    rows = [
        _row("python", platform.python_version(), ok=sys.version_info >= (3, 11), fix="install Python 3.11 or newer"),
        _row("summeter", __version__, ok=True),
        *_packages(),
    ]
    for names in (names for provider in providers().values() for names in provider.variables):
        # Show only whether a key is set, never the key.
        state = _is_set(names)
        rows.append(_row(names[0], state, ok=state == SET, fix=f"export {names[0]}=...", optional=True))
    rows += _evaluator_checks()
    cells = [[row["state"], row["name"], row["found"], row["fix"] if row["state"] != "ok" else ""] for row in rows]
    output.write([Table.of(["state", "name", "found", "fix"], cells)], rows, list="doctor")
    if any(row["state"] == "broken" for row in rows):
        raise typer.Exit(1)


def _row(name: str, found: str, *, ok: bool, fix: str = "", optional: bool = False) -> dict[str, str]:
    return {"name": name, "found": found, "state": "ok" if ok else "absent" if optional else "broken", "fix": fix}


def _packages() -> Iterator[dict[str, str]]:
    """Yield a row for each dependency, and for the main package of each extra."""
    from importlib.metadata import PackageNotFoundError, requires, version

    needed = [text.split(";")[0].strip() for text in requires("summeter") or [] if "extra ==" not in text]
    packages = [(re.split(r"[^\w.-]", text)[0], "", text, False) for text in needed]
    packages += [(package, f" ({about})", f"summeter[{extra}]", True) for extra, (package, about) in EXTRAS.items()]
    for package, about, wanted, optional in packages:
        try:
            installed = version(package)
        except PackageNotFoundError:
            installed = None
        found, fix = installed or "not installed", f"pip install '{wanted}'"
        yield _row(f"{package}{about}", found, ok=installed is not None, fix=fix, optional=optional)


def _is_set(names: Sequence[str]) -> str:
    """Return whether any of these environment variables is set, in words."""
    return SET if any(os.environ.get(name) for name in names) else "not set"


def _evaluator_checks() -> list[dict[str, str]]:
    """Load every evaluator in the catalog, and run the embedded one."""
    import tempfile

    from summeter.engine.api import evaluate
    from summeter.evaluators.catalog import find, names
    from summeter.records import SummeterError

    rows, fix = [], "reinstall summeter"
    for name in names():
        try:
            find(name)
        except (SummeterError, ImportError, AttributeError) as error:
            rows.append(_row(f"evaluator {name}", f"cannot be loaded: {error}", ok=False, fix=fix))
    with tempfile.TemporaryDirectory() as folder:
        counts = evaluate([_EXAMPLE], ["support"], out=folder).manifest.counts
    judged, wanted = counts.get("ok", 0), sum(counts.values())
    rows.append(_row("embedded evaluator", f"judged {judged} of {wanted} units", ok=judged == wanted, fix=fix))
    return rows
