"""Count in how many references each token stands: the weights of `bertscore[idf=FILE]`.

    python scripts/bertscore_idf.py DATA -m hf/FacebookAI/roberta-large -o idf.json
    summeter score DATA -e "bertscore[idf=idf.json]" -m encoder=hf/FacebookAI/roberta-large -o RUN

DATA is anything `summeter score` reads. Every reference of every document counts once; tokens are those of the encoder.
"""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from summeter.data.dataset import Dataset, load
from summeter.evaluators.overlap.greedy import Frequencies
from summeter.models.networks import Encode, Network
from summeter.records import UsageError


async def count(data: Dataset, encoder: Network) -> Frequencies:
    """The counts over all references. UsageError where there are none."""
    texts = [text.strip() for document in data.documents.values() for text in document.references if text.strip()]
    if not texts:
        raise UsageError("the data hold no reference")
    return Frequencies.of(await encoder.ask([Encode(text, 0) for text in texts]))


def network(text: str) -> Network:
    """The encoder that `-m` names."""
    from summeter.models.local.load import build, identify

    return build([identify("encoder", text, "encoder")])["encoder"]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument(
        "-m", "--model", required=True, help="the encoder: hf/ORG/NAME@REVISION, local/FOLDER or a path"
    )
    parser.add_argument("-o", "--out", type=Path, required=True)
    given = parser.parse_args(arguments)
    data, encoder = load(given.data), network(given.model)
    found = asyncio.run(count(data, encoder))
    found.save(given.out, {"encoder": encoder.id, "data": data.card.name, "data_hash": data.hash})
    print(f"{given.out}: {len(found.holding)} tokens of {found.references} references")


if __name__ == "__main__":
    main()
