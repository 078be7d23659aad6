"""Where the command line begins: until all is loaded, Ctrl-C ends it as quietly as it does later."""

import sys


def main() -> None:
    """Load and run the command line, and exit."""
    try:
        from graphsvc.cli.main import main as run  # noqa: PLC0415 (loading takes a while, and can be stopped)

        run()
    except KeyboardInterrupt:
        sys.exit(130)
