"""Exit codes, and how every failure becomes one of them and a line on standard error."""

from enum import IntEnum

from graphsvc.cli.edge_files.layout import FileUnusable
from graphsvc.client.errors import CallError
from graphsvc.model.errors import GraphError, InvalidArgument, Reason, TransientError


class ExitCode(IntEnum):
    """What scripts can rely on."""

    DONE = 0
    NO = 1
    USAGE = 2
    UNAVAILABLE = 3
    FAILED = 4
    INTERRUPTED = 130
    TERMINATED = 143


HELP = """\b
Exit codes:
  0  done; of a check: yes
  1  of a check: no; of inspect: a list is damaged; of import: lines were rejected; of import --compare:
     there is a difference, or lines could not be read
  2  wrong usage or bad input
  3  the service can't be reached, or is overloaded: try again later
  4  anything else
  130, 143  stopped by SIGINT, SIGTERM
"""


class CommandError(Exception):
    """A command can't go on: its exit code, and a line that says why and what to do next."""

    def __init__(self, code: ExitCode, message: str) -> None:
        super().__init__(message)
        self.code = code


_BAD_INPUT = frozenset({"INVALID_ARGUMENT", "FAILED_PRECONDITION"})


def exit_of(error: Exception) -> tuple[ExitCode, str]:
    """The exit code of a failure, and its line."""
    match error:
        case CommandError():
            return error.code, str(error)
        case CallError():
            return _of_call(error)
        case InvalidArgument() | FileUnusable():
            return ExitCode.USAGE, str(error)
        case TransientError():
            return ExitCode.UNAVAILABLE, str(error)
        case GraphError():
            return ExitCode.FAILED, str(error)
        case OSError():
            return (
                ExitCode.FAILED,
                f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}",
            )
        case _:
            return ExitCode.FAILED, (
                f"{type(error).__name__}: {error} (a fault of graphsvc; GRAPHSVC_TRACEBACK=1 shows where)"
            )


def _of_call(error: CallError) -> tuple[ExitCode, str]:
    if error.unreachable:
        return ExitCode.UNAVAILABLE, (
            f"no service answers on {error.target}: "
            "start one with `graphsvc dev`, or name another with --target"
        )
    if error.code == "DEADLINE_EXCEEDED":
        return (
            ExitCode.UNAVAILABLE,
            f"no answer from {error.target} in time: try again, or set a longer --timeout",
        )
    if error.transient:
        return ExitCode.UNAVAILABLE, f"{error.message}; try again later"
    if error.reason == Reason.ID_WRONG_TYPE:
        return ExitCode.USAGE, f"{error.message} (with --map-ids user, small integers stand for users)"
    if error.code in _BAD_INPUT:
        return ExitCode.USAGE, error.message
    return ExitCode.FAILED, f"{error.message} ({error.code})"
