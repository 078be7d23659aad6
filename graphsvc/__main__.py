"""`python -m graphsvc`: the command line."""

from graphsvc.cli.entry import main

main()
