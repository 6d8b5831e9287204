"""Check that identifiers, texts and docs avoid the words of `design/vocabulary.txt`.

    python scripts/vocabulary.py            print each use of a forbidden word, and exit with 1 if there is one
    python scripts/vocabulary.py --count    print the number of uses in each folder, words of the section [later] included
    python scripts/vocabulary.py --later    print each use, words of the section [later] included

A phrase is searched in the comments and strings of Python files, and in the whole text of Markdown files, templates, page scripts and YAML
files. White space matches white space of any length, so a phrase is found across a line break. Case matters except for the first letter, so
a rule for the word none does not match None. Jinja code is skipped. In tests, only docstrings and comments are searched, because other strings are data. A name is compared with the
definitions of a module: classes, functions, parameters, variables and attributes, without leading underscores, and with the module's own name.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
VOCABULARY = ROOT / "design" / "vocabulary.txt"
FOLDERS = ("src", "tests", "docs", "design", "examples", "scripts", "benchmarks", "reports")
SUFFIXES = (".py", ".md", ".html", ".j2", ".js", ".yaml", ".yml", ".toml")
NAME_KINDS = ("class", "function", "parameter", "variable", "module")


class Rule(NamedTuple):
    """One forbidden word.

    `kind` is `phrase`, `name` (any identifier), or one of `NAME_KINDS`. The rule applies to paths that start with one of `under`.
    """

    kind: str
    word: str
    instead: str
    under: tuple[str, ...]
    later: bool

    @property
    def pattern(self) -> re.Pattern[str]:
        """The regular expression of a phrase."""
        first, rest = self.word[0], r"\s+".join(map(re.escape, self.word[1:].split(" ")))
        start = f"[{first.lower()}{first.upper()}]" if first.isalpha() else re.escape(first)
        return re.compile(rf"(?<![\w-]){start}{rest}(?![\w-])")


class Use(NamedTuple):
    """A use of a forbidden word in a file."""

    path: str
    line: int
    rule: Rule

    def __str__(self) -> str:
        kind = "" if self.rule.kind == "phrase" else f"{self.rule.kind} "
        return f"{self.path}:{self.line}: {kind}{self.rule.word!r}. Write instead: {self.rule.instead}"


def read_rules(text: str) -> tuple[list[Rule], list[str]]:
    """Parse the vocabulary file.

    Returns the rules and the exempt paths. Raises ValueError for a line with an unknown kind or without a replacement.
    """
    rules: list[Rule] = []
    exempt: list[str] = []
    later = False
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.strip() == "[later]":
            later = True
            continue
        kind, *cells = (cell.strip() for cell in line.split("|"))
        if kind == "exempt":
            exempt.append(cells[0])
        elif kind in {"phrase", "name", *NAME_KINDS} and len(cells) in {2, 3} and all(cells):
            rules.append(Rule(kind, cells[0], cells[1], tuple(cells[2].split()) if len(cells) == 3 else ("",), later))
        else:
            raise ValueError(f"{VOCABULARY.name}:{number}: expected KIND | WORD | INSTEAD [| PATH ...], found {line!r}")
    return rules, exempt


def definitions(tree: ast.AST) -> Iterator[tuple[str, str, int]]:
    """Yield kind, name and line number of each definition in a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield "class", node.name, node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield "function", node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield "parameter", node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield "variable", node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield "variable", node.attr, node.lineno


def texts(source: str, tree: ast.Module, *, docstrings_only: bool) -> Iterator[tuple[int, str]]:
    """Yield first line number and text of each string and each block of comments in a module."""
    strings = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    if docstrings_only:
        statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        strings = [node for node in strings if id(node) in statements]
    yield from ((node.lineno, str(node.value)) for node in strings)
    block: list[str] = []
    start = last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if block and token.start[0] != last + 1:
                yield start, "\n".join(block)
                block = []
            start = start if block else token.start[0]
            block.append(token.string.lstrip("# "))
            last = token.start[0]
    if block:
        yield start, "\n".join(block)


def uses(path: str, source: str, rules: Sequence[Rule]) -> Iterator[Use]:
    """Yield each use of a forbidden word in one file."""
    rules = [rule for rule in rules if path.startswith(rule.under)]
    blocks: Iterator[tuple[int, str]] = iter([(1, source)])
    if path.endswith(".py"):
        tree = ast.parse(source)
        module = Path(path).stem if Path(path).name != "__init__.py" else Path(path).parent.name
        for kind, name, line in [("module", module, 1), *definitions(tree)]:
            public = name.lstrip("_")
            yield from (Use(path, line, rule) for rule in rules if rule.kind in {kind, "name"} and rule.word == public)
        blocks = texts(source, tree, docstrings_only=path.startswith("tests/"))
    elif path.endswith((".j2", ".html")):
        code = re.compile(r"{[{%].*?[%}]}", re.DOTALL)
        blocks = iter([(1, code.sub(lambda match: "\n" * match[0].count("\n"), source))])
    phrases = [(rule, rule.pattern) for rule in rules if rule.kind == "phrase"]
    for first_line, text in blocks:
        for rule, pattern in phrases:
            for match in pattern.finditer(text):
                yield Use(path, first_line + text.count("\n", 0, match.start()), rule)


def checked_files(root: Path, exempt: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield path and text of each file that is checked."""
    files = [file for folder in FOLDERS for file in (root / folder).rglob("*.py" if folder == "tests" else "*")]
    for file in sorted([*files, *root.glob("*.md"), root / "pyproject.toml"]):
        path = file.relative_to(root).as_posix()
        if file.suffix in SUFFIXES and "__pycache__" not in path and not path.startswith(tuple(exempt)):
            yield path, file.read_text(encoding="utf-8")


def folder_of(path: str) -> str:
    """Return the folder that a use is counted for: a room of the source, a folder of tests, or a top folder."""
    parts = path.split("/")
    depth = {"src": 3, "tests": 2}.get(parts[0], 1)
    return "/".join(parts[:depth])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check the vocabulary of the source and the docs.")
    parser.add_argument("--count", action="store_true", help="print the number of uses per folder")
    parser.add_argument("--later", action="store_true", help="check the words of the section [later] too")
    options = parser.parse_args(arguments)
    rules, exempt = read_rules(VOCABULARY.read_text(encoding="utf-8"))
    if not (options.count or options.later):
        rules = [rule for rule in rules if not rule.later]
    found = [
        use for path, text in checked_files(ROOT, [*exempt, "design/vocabulary.txt"]) for use in uses(path, text, rules)
    ]
    if options.count:
        counts = Counter(folder_of(use.path) for use in found)
        for folder, count in counts.most_common():
            words = Counter(use.rule.word for use in found if folder_of(use.path) == folder)
            print(f"{count:6} {folder}: {', '.join(f'{word} {number}' for word, number in words.most_common())}")
        print(f"{len(found):6} in all")
        return 0
    for use in found:
        print(use)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
