"""Compare summeter with the packages fenice, summac and bert-score on the same small network and texts.

    python benchmarks/parity packages --peers FOLDER [--install] [--write]

FOLDER contains an environment per package (`--install` creates missing ones). `--write` stores the results of the
packages in tests/neural/parity.json, with which tests/neural/test_parity.py compares without the packages. A missing
package is left out, with a note; its stored results are kept unless the texts have changed. The largest difference of a
score is printed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests")]

import numpy as np  # noqa: E402
from neural import parity  # noqa: E402
from sides import PACKAGES, interpreter, peer  # noqa: E402

from summeter.evaluators.fenice.coref import PRONOUNS  # noqa: E402
from summeter.text.split import split  # noqa: E402

FEW = "Ana Ode built the mill in Bern. She sold it to her brother. The mill burnt down in May 1950."
MANY = (
    "The ferry left Kiel at noon. It carried forty people. Captain Rasmus Holt knew the fjord. He had crossed it a "
    "thousand times. The fog came quickly. It carried forty people. Nobody saw the buoy. Holt stopped the engine, and "
    "the crew of Rasmus Holt lit the lamps. Everyone waited. The ferry reached Kiel at dusk."
)
PARTS = (
    "The council met on Monday. It heard the engineer.\n\nShe asked for a new bridge. The old one is closed. Two "
    "members were against it.\n\nThe vote is in June. No money is set aside. The mayor will decide."
)
MENTIONS = {
    FEW: [["Ana Ode", "She", "her"], ["the mill", "it", "The mill"]],
    MANY: [["The ferry", "It"], ["Captain Rasmus Holt", "He", "Holt", "Rasmus Holt"], ["the fjord", "it"]],
}
SAID = {
    FEW: ["Ana Ode sold the mill.", "The mill burnt in June 1950."],
    MANY: ["Rasmus Holt had crossed the fjord before.", "The ferry carried fifty people.", "The captain saw the buoy."],
    PARTS: ["The council wants a new bridge.", "The vote was in May.", "The mayor is against the bridge."],
}
PERCENTILE = (
    0.0, 0.01, 0.02, 0.03, 0.04, 0.07, 0.13, 0.37, 0.90, 0.91, 0.92, 0.93, 0.94, 0.95, 0.955, 0.96, 0.965, 0.97,
    0.975, 0.98, 0.985, 0.99, 0.995, 1.0,
)  # fmt: skip

BASELINE = "LAYER,P,R,F\n0,0.1,0.2,0.3\n1,0.31,0.35,0.33\n2,0.42,0.44,0.43\n"


WORDS = {
    "people": "engineer mayor farmer captain teacher widow miller clerk doctor sailor painter judge baker nurse pilot",
    "things": "bridge harbour ledger orchard railway letter engine garden kitchen winter river tower bakery market "
    "school lantern contract map village factory island meeting storm coat violin barn council newspaper station",
    "verbs": "repaired described crossed inspected ignored painted visited counted remembered examined abandoned "
    "studied measured protected photographed opened praised followed finished carried",
    "qualities": "old narrow quiet expensive broken famous wooden bright distant crowded empty modern heavy small",
    "places": "behind near above beside beyond opposite inside outside across under along",
}
PEOPLE, THINGS, VERBS, QUALITIES, PLACES = (some.split() for some in WORDS.values())


def sentence(draw: random.Random, words: int) -> str:
    """Return a sentence of about the given number of words that no splitter splits."""

    def thing() -> str:
        return f"the {draw.choice(QUALITIES)} {draw.choice(THINGS)}"

    made = f"The {draw.choice(QUALITIES)} {draw.choice(PEOPLE)} {draw.choice(VERBS)} {thing()}"
    while len(made.split()) < words:
        made += f" {draw.choice(PLACES)} {thing()}"
    return f"{made} {draw.choice(('in', 'before', 'after'))} {draw.randint(1801, 1999)}."


def length(draw: random.Random, middle: float) -> int:
    """Return a random sentence length around `middle`, with a long tail."""
    return max(5, min(60, round(draw.lognormvariate(0.0, 0.45) * middle)))


def claim(draw: random.Random, sentences: list[str]) -> str:
    """Return a sentence of the document, shortened or with words replaced."""
    words = draw.choice([one for one in sentences if len(one.split()) > 9]).rstrip(".").split()
    words = words[: max(9, round(len(words) * draw.uniform(0.5, 1.0)))]
    for _ in range(draw.randint(0, 3)):
        words[draw.randrange(4, len(words))] = draw.choice(THINGS + PLACES)
    return " ".join(words) + "."


def mentions(text: str) -> list[list[tuple[int, int]]]:
    """Return clusters: the first occurrence of each name after the previous one."""
    found = []
    for names in MENTIONS.get(text, []):
        start, cluster = 0, []
        for name in names:
            start = text.find(name, start)
            if start >= 0:
                cluster.append((start, start + len(name)))
                start += len(name)
        found.append(cluster)
    return found


def task(told: dict[str, list[list[str]]]) -> dict[str, Any]:
    """Return documents with sentences and mentions, and summaries as lists of claims."""
    documents, summaries = [], []
    for text, some in told.items():
        documents.append({"text": text, "sentences": split(text), "clusters": mentions(text)})
        summaries += [
            {"document": len(documents) - 1, "text": " ".join(claims), "claims": claims} for claims in some
        ]  # fmt: skip
    return {"documents": documents, "summaries": summaries}


def tasks() -> dict[str, Any]:
    """Return short and long documents: of 13 sentences, and of 130 with some of at most ten characters."""
    draw = random.Random(3)
    short = {text: [some[:1], some] for text, some in SAID.items()}
    middle = [sentence(draw, length(draw, 14)) for _ in range(13)]
    story = [sentence(draw, length(draw, 9)) if one % 9 else "He slept." for one in range(130)]
    long = {" ".join(some): [[claim(draw, some) for _ in range(3)] for _ in range(2)] for some in (middle, story)}
    twelve = [claim(draw, middle) for _ in range(12)]
    return {"short": task(short), "long": task({**long, " ".join(middle[:9]): [twelve]})}


def cases() -> dict[str, Any]:
    """Return the cases: package, task, options of the package, and the equivalent settings of summeter."""
    found: dict[str, Any] = {}
    for name in ("short", "long"):
        found[f"fenice {name}"] = {"package": "fenice", "task": name, "options": {}, "settings": {}}
    found["fenice coreference"] = {
        "package": "fenice", "task": "short", "options": {"use_coref": True}, "settings": {"coref": True},
    }  # fmt: skip
    found["fenice stride"] = {
        "package": "fenice", "task": "long", "options": {"sliding_stride": 5}, "settings": {"stride": 5},
    }  # fmt: skip
    for one in found.values():
        one["settings"]["variant"], one["model"] = "legacy", ""
    said = {"least": 10, "most": 100}
    for name in ("short", "long"):
        found[f"summac zs {name}"] = zs(name, "sentence", {"labels": "ec", **said})
    found["summac zs entailment only"] = zs("long", "sentence", {**said}, use_con=False)
    for grain in ("paragraph", "2sents", "mixed", "document"):
        found[f"summac zs {grain}"] = zs("short", f"{grain}-sentence", {"labels": "ec", **said})
    draw = np.random.RandomState(5)
    weights = {
        "mlp.weight": draw.randn(1, 23).round(3).tolist(), "mlp.bias": [0.1],
        "layer_final.weight": draw.randn(2, 3).round(3).tolist(), "layer_final.bias": [0.2, -0.1],
    }  # fmt: skip
    found["summac conv"] = {
        "package": "summac", "task": "long", "model": "[max_tokens=500]", "conv": weights, "bins": PERCENTILE,
        "options": {"bins": "percentile", "granularity": "sentence", "nli_labels": "e"},
        "settings": {"method": "conv", **said},
    }  # fmt: skip
    for name, layer, more in (
        ("short", 2, ()), ("short", 1, ()), ("short", 2, ("idf",)), ("long", 2, ()), ("long", 1, ("idf",)),
        ("short", 1, ("baseline",)), ("long", 2, ("idf", "baseline")), ("short", 2, ("several",)),
    ):  # fmt: skip
        found[" ".join(("bertscore", name, f"layer {layer}", *more))] = bertscore(name, layer, more)
    return found


def bertscore(name: str, layer: int, more: tuple[str, ...]) -> dict[str, Any]:
    """Return a case of BERTScore.

    Variants: token counts over the references (`idf`), rescaling with a file of baselines (`baseline`), and all
    documents as references of each summary (`several`).
    """
    return {
        "package": "bert-score", "task": name, "model": "",
        "options": {"num_layers": layer, "rescale_with_baseline": "baseline" in more, "idf": "idf" in more},
        "settings": {"layer": layer, **({"weighted": True} if "idf" in more else {})},
        **({"baseline": BASELINE} if "baseline" in more else {}), **({"several": True} if "several" in more else {}),
    }  # fmt: skip


def zs(name: str, grain: str, settings: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Return a case of SummaC-ZS; the package truncates pairs at 500 tokens."""
    return {
        "package": "summac", "task": name, "model": "[max_tokens=500]",
        "options": {"granularity": grain, **options}, "settings": {"granularity": grain, **settings},
    }  # fmt: skip


def question(case: dict[str, Any], told: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the input of peer.py."""
    more = {name: case[name] for name in ("conv", "baseline", "several") if name in case}
    if case["options"].get("idf"):
        more["counted"] = [one["text"] for one in told["documents"]]
    return {**told, "folder": str(folder), "options": case["options"], "pronouns": sorted(PRONOUNS), **more}


def main() -> None:
    """Run the comparison; see the module docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, required=True, help="folder of the released code")
    parser.add_argument("--install", action="store_true", help="install missing packages")
    parser.add_argument("--write", action="store_true", help="write the fixture")
    given = parser.parse_args()
    # As they are read again: lists where there were tuples.
    told, before = json.loads(json.dumps(tasks())), parity.fixture()
    kept: dict[str, Any] = {}
    versions: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = parity.network(Path(place) / "net", parity.texts(told))
        (Path(place) / "old").mkdir()
        for file in folder.iterdir():
            if file.name != "tokenizer.json":  # the packages make their tokenizer from vocab.txt themselves
                (Path(place) / "old" / file.name).symlink_to(file)
        for package in PACKAGES:
            python = interpreter(given.peers, package, install=given.install)
            if python is None:
                print(f"{PACKAGES[package].name} is not there: left out", flush=True)
                if before["tasks"] == told and package in before["versions"]:
                    kept |= {name: case for name, case in before["cases"].items() if case["package"] == package}
                    versions[package] = before["versions"][package]
                continue
            some = {name: case for name, case in cases().items() if case["package"] == package}
            asked = [question(case, told[case["task"]], Path(place) / "old") for case in some.values()]
            for (name, case), theirs in zip(some.items(), peer(python, package, asked), strict=True):
                made = parity.ours(case, told[case["task"]], folder, Path(place))
                gap = max(
                    abs(one - two) for one, two in zip(parity.flat(made), parity.flat(theirs["scores"]), strict=True)
                )
                print(f"{name:28}  {len(parity.flat(made)):3} scores  largest difference {gap:.1e}", flush=True)
                kept[name] = {**case, "scores": rounded(theirs["scores"])}
                versions[package] = theirs["version"]
    if given.write:
        value = {"versions": versions, "tasks": told, "cases": kept}
        parity.FIXTURE.write_text(json.dumps(value, ensure_ascii=False) + "\n", "utf-8")


def rounded(found: Any) -> Any:
    """Return the same value with eight digits."""
    if isinstance(found, dict):
        return {name: rounded(one) for name, one in found.items()}
    return [rounded(one) for one in found] if isinstance(found, list) else round(found, 8)


if __name__ == "__main__":
    main()
