"""The command line as a process of its own, as a user has it."""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed as one JSON document."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """The lines that it printed, without blanks at their ends."""
        return [line.rstrip() for line in self.out.splitlines()]


@dataclass(frozen=True)
class CommandLine:
    """Runs commands against one service; what they keep is kept below `folder`."""

    target: str
    folder: Path

    async def start(self, *arguments: object) -> asyncio.subprocess.Process:
        """Start `graphsvc` with these arguments."""
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "graphsvc",
            *map(str, arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=os.environ | {"GRAPHSVC_TARGET": self.target, "XDG_STATE_HOME": str(self.folder)},
        )

    async def end(self, process: asyncio.subprocess.Process, stdin: bytes = b"") -> Done:
        """Wait until a command ends."""
        out, err = await process.communicate(stdin)
        assert process.returncode is not None
        assert b"Traceback" not in err, err.decode()
        return Done(process.returncode, out.decode(), err.decode())

    async def run(self, *arguments: object, stdin: bytes = b"") -> Done:
        """Run a command to its end."""
        return await self.end(await self.start(*arguments), stdin)

    async def run_until(self, condition: Callable[[], bool], signal: int, *arguments: object) -> Done:
        """Run a command, and send it a signal once the condition holds."""
        process = await self.start(*arguments)
        while not condition() and process.returncode is None:
            await asyncio.sleep(0.005)
        assert process.returncode is None, (await self.end(process)).err
        process.send_signal(signal)
        return await self.end(process)
