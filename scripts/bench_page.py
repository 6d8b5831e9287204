"""Write docs/bench-file.md, the reference of benchmark files, from the models of their settings.

python scripts/bench_page.py          rewrites the page
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from summeter.benchmark.chain import STEPS, Shared, step_named
from summeter.benchmark.protocol import Config, OwnConfig

PAGE = Path(__file__).resolve().parent.parent / "docs" / "bench-file.md"
INTRODUCTION = """# Reference of benchmark files

The fields of BENCH.yaml, the file of `summeter bench run`, and of the file of `summeter bench protocol`.
[Building a benchmark](build.md) explains the steps, [AggreFact and other benchmarks](aggrefact.md) the protocols. Every section may have a `seed` of its own. This
page is generated from the settings by `python scripts/bench_page.py`.
"""


def page() -> str:
    """The page as Markdown."""
    lines = [INTRODUCTION, "## Above the sections\n", *table(Shared), ""]
    for name in STEPS:
        step = step_named(name)
        lines += [f"## {name}\n", f"{step.settings.__doc__}\n", *table(step.settings), ""]
        lines += [line for field, model in nested(step.settings) for line in (f"`{field}`:\n", *table(model), "")]
    lines += [
        "## A published protocol\n",
        *table(Config),
        "",
        "## A protocol on your own data\n",
        *table(OwnConfig),
        "",
    ]
    return "\n".join(lines)


def table(model: type[BaseModel]) -> Iterator[str]:
    """A line a field."""
    yield "| field | default | |"
    yield "|---|---|---|"
    for name, field in model.model_fields.items():
        if name == "seed" and model is not Shared:
            continue
        text = (field.description or "").replace("|", "\\|")
        yield f"| `{name}` | {default(field)} | {text} |"


def default(field: FieldInfo) -> str:
    """The default of a field; nothing where it is empty."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is None or isinstance(value, BaseModel) or value in ((), [], {}):
        return ""
    values = value if isinstance(value, list | tuple) else [value]
    return ", ".join(f"`{str(each).lower() if isinstance(each, bool) else each}`" for each in values)


def nested(model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """The fields that have fields of their own, each model once."""
    seen: set[type[BaseModel]] = set()
    for name, field in model.model_fields.items():
        for inner in models_in(field.annotation):
            if inner not in seen:
                seen.add(inner)
                yield name, inner


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models in a type."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from models_in(part)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
