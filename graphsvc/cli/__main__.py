"""`python -m graphsvc.cli` is `graphsvc`."""

from graphsvc.cli.main import main

main()
