"""Count the references that contain each token, for `bertscore[idf=FILE]`.

    python scripts/bertscore_idf.py DATA -m hf/FacebookAI/roberta-large -o idf.json
    summeter score DATA -e "bertscore[idf=idf.json]" -m encoder=hf/FacebookAI/roberta-large -o RUN

DATA is a dataset in any format that `summeter score` reads. Every reference counts once; tokens are those of the
encoder.
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
    """Return the counts over all references; raises UsageError if there are no references."""
    texts = [text.strip() for document in data.documents.values() for text in document.references if text.strip()]
    if not texts:
        raise UsageError("the data have no references")
    return Frequencies.of(await encoder.ask([Encode(text, 0) for text in texts]))


def network(text: str) -> Network:
    """Return the encoder with the given model string."""
    from summeter.models.local.load import build, identify

    return build([identify("encoder", text, "encoder")])["encoder"]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="dataset with references")
    parser.add_argument("-m", "--model", required=True, help="encoder: hf/ORG/NAME@REVISION, local/FOLDER or a path")
    parser.add_argument("-o", "--out", type=Path, required=True, help="output file")
    options = parser.parse_args(arguments)
    data, encoder = load(options.data), network(options.model)
    frequencies = asyncio.run(count(data, encoder))
    frequencies.save(options.out, {"encoder": encoder.id, "data": data.card.name, "data_hash": data.hash})
    print(f"{options.out}: {len(frequencies.holding)} tokens of {frequencies.references} references")


if __name__ == "__main__":
    main()
