"""How far an import is: kept in a file, so that an interrupted one goes on where it was."""

import glob
import hashlib
import json
import os
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphsvc.cli.edge_files.reader import Place
from graphsvc.cli.edge_files.rows import Reject
from graphsvc.cli.exits import CommandError, ExitCode
from graphsvc.cli.importing.delivery import Delivery

FORMAT = 2

_LONGEST_NAME = 100
"""Bytes of the file's name that the state's name begins with; a file system takes 255 in all."""


class Totals(BaseModel):
    """What an import did so far, interrupted runs included."""

    model_config = ConfigDict(extra="forbid")

    rows: int = 0
    """Lines that were read as data, rejected ones included."""
    edges: int = 0
    """Acknowledged by the service."""
    changed: int = 0
    """Edges added or given an earlier time; at least so many, since a repeated call tells only the rest."""
    inverse_pending: int = 0
    """Edges that the followers' side did not show at first, and that were sent again until it did."""
    rejected: int = 0
    """Lines."""
    seconds: float = 0.0
    reasons: dict[str, int] = Field(default_factory=dict)
    """Rejected lines by reason."""

    def add(self, rows: int, delivery: Delivery, rejects: list[Reject]) -> None:
        """Count a batch; `rejects` are all of it."""
        self.rows += rows
        self.edges += delivery.edges
        self.changed += delivery.changed
        self.inverse_pending += delivery.inverse_pending
        self.rejected += len(rejects)
        for reject in rejects:
            self.reasons[reject.reason] = self.reasons.get(reject.reason, 0) + 1


class RejectsMark(BaseModel):
    """The file of rejects that belongs to a state."""

    model_config = ConfigDict(extra="forbid")

    path: str
    length: int = Field(gt=0)
    """Bytes of it that belong to what is acknowledged."""


class ImportState(BaseModel):
    """What is acknowledged: all before `offset`, which is after `line` lines."""

    model_config = ConfigDict(extra="forbid")

    format: int = FORMAT
    file: str
    offset: int = Field(default=0, ge=0)
    line: int = Field(default=0, ge=0)
    rejects: RejectsMark | None = None
    """None: none is written."""
    totals: Totals = Field(default_factory=Totals)

    @property
    def place(self) -> Place:
        """Where to go on."""
        return Place(self.offset, self.line)


def state_folder() -> Path:
    """$XDG_STATE_HOME/graphsvc/imports, by default under ~/.local/state."""
    base = os.environ.get("XDG_STATE_HOME", "")
    return (Path(base) if base else Path("~/.local/state").expanduser()) / "graphsvc" / "imports"


class StateFile:
    """The file that holds one import's state. Without a path (standard input) nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    @classmethod
    def of(cls, file: Path, identity: dict[str, object]) -> Self:
        """The file for an import of this file with this identity: its options and where it goes."""
        found = file.stat()
        whole = identity | {
            "file": str(file.resolve()),
            "size": found.st_size,
            "mtime_ns": found.st_mtime_ns,
        }
        digest = hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:16]
        name = os.fsencode(file.name)[:_LONGEST_NAME].decode(errors="ignore")
        return cls(state_folder() / f"{name}-{digest}.json")

    def load(self) -> ImportState | None:
        """The state; None where there is none.

        Raises:
            CommandError: it can't be read.
        """
        if self.path is None:
            return None
        try:
            return ImportState.model_validate_json(self.path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unusable(error) from error
        except ValidationError as error:
            raise CommandError(
                ExitCode.FAILED, f"the state {self.path} can't be read: begin anew with --restart"
            ) from error

    def save(self, state: ImportState) -> None:
        """Replace the state, whole or not at all.

        Raises:
            CommandError: it can't be written.
        """
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            written = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
            written.write_bytes(state.model_dump_json().encode())
            written.replace(self.path)
        except OSError as error:
            raise self._unusable(error) from error

    def remove(self) -> None:
        """Forget the state, and what a killed run left of it: the import is complete, or begins anew.

        Raises:
            CommandError: the folder can't be used.
        """
        if self.path is None:
            return
        try:
            self.path.unlink(missing_ok=True)
            for left in self.path.parent.glob(f"{glob.escape(self.path.name)}.*.tmp"):
                left.unlink(missing_ok=True)
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError) -> CommandError:
        return CommandError(
            ExitCode.FAILED,
            f"the state can't be kept in {state_folder()} ({error.strerror}): "
            "name another folder with XDG_STATE_HOME",
        )


def printable(path: Path) -> str:
    """A path as text that JSON takes, whatever bytes its name has."""
    return os.fsencode(path).decode(errors="backslashreplace")
