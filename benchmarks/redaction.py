"""Recall and precision of redaction on planted personal data.

    python benchmarks/redaction.py [--patterns]

redaction_planted.txt has 60 sentences with planted data of six categories, and 60 similar sentences without any. A
planted item is found if the finds of its category cover it completely. A find is correct if most of it is a planted
item of its category.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path

from summeter.benchmark.redaction.finding import CATEGORIES, Category, Match, Presidio, Recognizer, find

PLANTED = Path(__file__).with_name("redaction_planted.txt")
MARK = re.compile(r"\[\[([A-Z]+)\|([^\]]+)\]\]")


def planted(line: str) -> tuple[str, list[Match[Category]]]:
    """Return the text of a line, and its planted items."""
    text, at = "", 0
    items: list[Match[Category]] = []
    for mark in MARK.finditer(line):
        text += line[at : mark.start()]
        items.append(Match(mark[1], len(text), len(text) + len(mark[2])))  # type: ignore[arg-type]
        text += mark[2]
        at = mark.end()
    return text + line[at:], items


def shared(one: Match[Category], other: Match[Category]) -> int:
    """Return the number of characters that two finds of the same category share."""
    return max(0, min(one.end, other.end) - max(one.start, other.start)) if one.label == other.label else 0


def measure(recognize: Recognizer | None, lines: list[str]) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Return counts by (measure, category), and a line for each miss and each wrong find."""
    counts: Counter[tuple[str, str]] = Counter()
    wrong = []
    for line in lines:
        text, items = planted(line)
        found = find(text, recognize)
        for item in items:
            covered = sum(shared(item, each) for each in found) == item.end - item.start
            counts["planted", item.label] += 1
            counts["found", item.label] += covered
            if not covered:
                wrong.append(f"missed  {item.label} {text[item.start : item.end]!r}: {text}")
        for each in found:
            right = any(2 * shared(each, item) > each.end - each.start for item in items)
            counts["finds", each.label] += 1
            counts["right", each.label] += right
            if not right:
                wrong.append(f"wrong   {each.label} {text[each.start : each.end]!r}: {text}")
    return counts, wrong


def main() -> None:
    """Print recall and precision by category and in total."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patterns", action="store_true", help="use patterns only, without the model")
    parser.add_argument("--file", type=Path, default=PLANTED, help="file of marked sentences, one per line")
    parser.add_argument("--show", action="store_true", help="print all misses and wrong finds")
    options = parser.parse_args()
    lines = [line for line in options.file.read_text("utf-8").splitlines() if line and line[0] not in "#-"]
    counts, wrong = measure(None if options.patterns else Presidio(), lines)
    marked = sum("[[" in line for line in lines)
    print(f"{marked} sentences with planted data, {len(lines) - marked} without")
    print(f"{'category':12} {'planted':>7} {'recall':>7} {'finds':>7} {'precision':>9}")
    for category in (*CATEGORIES, "all"):
        categories = CATEGORIES if category == "all" else (category,)
        number = {
            name: sum(counts[name, each] for each in categories) for name in ("planted", "found", "finds", "right")
        }
        recall = f"{number['found'] / number['planted']:.3f}" if number["planted"] else "-"
        precision = f"{number['right'] / number['finds']:.3f}" if number["finds"] else "-"
        print(f"{category:12} {number['planted']:7} {recall:>7} {number['finds']:7} {precision:>9}")
    if options.show:
        print("\n".join(wrong))


if __name__ == "__main__":
    main()
