"""Running commands in tests."""

from __future__ import annotations

import pytest

from summeter.cli.main import main


def ends(*arguments: object) -> int:
    """Run a command and return its exit code. Unexpected errors are raised."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)
