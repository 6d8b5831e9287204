"""`python -m summeter`."""

from summeter.cli.main import main

main()
