"""Prepare the pages of the website in build/docs, and write llms.txt.

    python scripts/site.py

The pages keep their places (docs/, reports/, design/), so that links between them hold; README.md is the home page.
`docs/api.md` is made from the public names of the package. `mkdocs build --strict` (in `make docs`) then checks links.
"""

from __future__ import annotations

import inspect
import json
import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import summeter
from summeter import meta
from summeter.cli.main import app

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "docs"
FOLDERS = ("docs", "reports", "design", "examples/cluster", "ci")
REFERENCES = ("studies.md", "campaign-file.md", "bench-file.md", "glossary.md")
LATE = "---\nsearch:\n  boost: 0.3\n---\n\n"
"""The front matter of references, which the search lists after other pages."""
NOTEBOOKS = "examples/notebooks"
FILES = (
    "examples/campaigns/Dockerfile",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "LICENSE",
    "src/summeter/evaluators/support/checks.py",
)


def api() -> str:
    """Return the page of the public classes and functions, with a directive of mkdocstrings for each."""
    lines = [
        f"{LATE}# Python API",
        "",
        "Names are imported from `summeter`, and those of studies from `summeter.meta`.",
        "",
    ]
    for module, names in ((summeter, summeter.__all__), (meta, meta.__all__)):
        for name in names:
            found = getattr(module, name)
            if inspect.isclass(found) or inspect.isfunction(found):
                home = found.__module__
                assert getattr(import_module(home), found.__name__, None) is not None, f"{home}.{name}"
                lines += [f"::: {home}.{found.__name__}", ""]
    return "\n".join(lines)


def commands() -> str:
    """Return the page of all commands with their options, as `--help` prints them."""
    from typer.main import get_command
    from typer.testing import CliRunner

    lines = [f"{LATE}# Commands", "", "Printed by `--help` of each command; `summeter help COMMAND` does the same.", ""]
    waiting: list[tuple[tuple[str, ...], Any]] = [((), get_command(app))]
    while waiting:
        path, command = waiting.pop(0)
        shown = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "100"})
        assert shown.exit_code == 0, path
        if path:
            lines += [f"## {' '.join(path)}", "", "```text", shown.stdout.strip(), "```", ""]
        if hasattr(command, "list_commands"):
            context = command.make_context(path[-1] if path else "summeter", [], resilient_parsing=True)
            waiting[:0] = [
                ((*path, name), command.get_command(context, name)) for name in command.list_commands(context)
            ]
    return "\n".join(lines)


def title_and_lead(page: Path) -> tuple[str, str]:
    """Return the heading of a page and its first sentence."""
    text = page.read_text(encoding="utf-8")
    heading, _, body = text.partition("\n")
    blocks = [" ".join(block.split()) for block in re.split(r"\n\s*\n", body)]
    lead = next((block for block in blocks if block and not re.match(r"[#|>!<-]|```", block)), "")
    plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", lead)
    return heading.removeprefix("# "), re.split(r"(?<=[.?!:])\s", plain)[0]


def llms() -> str:
    """Return llms.txt: the pages with their first sentences, by the headings of docs/README.md."""
    lines = ["# summeter", "", "> Evaluate summaries, and check how far to trust the evaluator.", ""]
    listed: list[str] = []
    for line in (ROOT / "docs" / "README.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            lines += [*([""] if lines[-1] else []), line, ""]
        for name in re.findall(r"\]\(([\w-]+\.md)\)", line):
            if name not in listed:
                listed.append(name)
                title, lead = title_and_lead(ROOT / "docs" / name)
                lines.append(f"- [{title}](docs/{Path(name).stem}.html): {lead}")
    return "\n".join(lines) + "\n"


def notebook(file: Path) -> str:
    """Return a notebook as a page: its texts, code and outputs."""
    parts: list[str] = []
    for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            forms = output.get("data", {"text/plain": output.get("text")})
            shown = forms.get("image/svg+xml") or forms.get("text/html")
            parts.append("".join(shown) if shown else f"```text\n{''.join(forms['text/plain']).rstrip()}\n```")
    return "\n\n".join(parts).replace(".ipynb)", ".md)") + "\n"


def main() -> None:
    shutil.rmtree(OUT, ignore_errors=True)
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, OUT / folder)
    for file in FILES:
        (OUT / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, OUT / file)
    for file in (ROOT / NOTEBOOKS).glob("*.ipynb"):
        (OUT / NOTEBOOKS).mkdir(parents=True, exist_ok=True)
        (OUT / NOTEBOOKS / f"{file.stem}.md").write_text(notebook(file), encoding="utf-8")
    home = OUT / "docs" / "README.md"
    home.write_text(home.read_text(encoding="utf-8").replace(".ipynb)", ".md)"), encoding="utf-8")
    for name in REFERENCES:
        page = OUT / "docs" / name
        page.write_text(LATE + page.read_text(encoding="utf-8"), encoding="utf-8")
    for page in (*(OUT / "design").rglob("*.md"), *(OUT / "reports").glob("*.md"), OUT / "CHANGELOG.md"):
        page.write_text("---\nsearch:\n  exclude: true\n---\n" + page.read_text(encoding="utf-8"), encoding="utf-8")
    (OUT / "index.md").write_text((ROOT / "README.md").read_text(encoding="utf-8"), encoding="utf-8")
    (OUT / "docs" / "api.md").write_text(api(), encoding="utf-8")
    (OUT / "docs" / "commands.md").write_text(commands(), encoding="utf-8")
    (OUT / "llms.txt").write_text(llms(), encoding="utf-8")


if __name__ == "__main__":
    main()
