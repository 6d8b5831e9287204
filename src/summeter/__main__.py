"""Run the command line with `python -m summeter`."""

from summeter.cli.main import main

main()
