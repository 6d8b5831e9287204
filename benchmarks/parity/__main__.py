"""Compare summeter with released code on the same small networks and texts, and write the fixtures of tests/neural.

    python benchmarks/parity packages|classified|questions|sentences|seq2seq --peers FOLDER [--write]

`python benchmarks/parity NAME --help` describes FOLDER and `--write`.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

NAMES = ("packages", "classified", "questions", "sentences", "seq2seq")

if len(sys.argv) < 2 or sys.argv[1] not in NAMES:
    raise SystemExit(__doc__)
runpy.run_path(str(Path(__file__).with_name(f"{sys.argv.pop(1)}.py")), run_name="__main__")
