"""The `iobound` program: finding it, driving it, and what it says when it fails."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, List, Optional, Sequence, TextIO

from .errors import Error

if TYPE_CHECKING:
    from .record import Run

#: Names the program to use, before all other places.
PROGRAM_VARIABLE = "IOBOUND_PROGRAM"
_NAME = "iobound"


class IoboundError(Error, RuntimeError):
    """The program could not do what was asked.

    Attributes: `message` (its own words), `exit_code` (2 bad usage, 3 refused to protect data,
    4 the run broke or was interrupted, negative for the signal that ended it, None where it could
    not be started at all), and `run`: what was measured until then, where there is any.
    """

    def __init__(
        self, message: str, exit_code: Optional[int] = None, run: Optional[Run] = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code
        self.run = run

    def __reduce__(self) -> Any:
        return (type(self), (self.message, self.exit_code, self.run))


class ProgramNotFound(IoboundError):
    """There is no `iobound` program."""


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a run. `run` is what it measured until then; None where that is nothing."""

    def __init__(self, run: Optional[Run]) -> None:
        super().__init__("the run was interrupted")
        self.run = run


def find_program() -> Path:
    """The program: what IOBOUND_PROGRAM names, else the one installed beside this interpreter,
    else the one on PATH.

    Raises ProgramNotFound with what to do.
    """
    named = os.environ.get(PROGRAM_VARIABLE)
    if named:
        # Whoever names a program means that one, and no other that happens to be there.
        if _is_program(Path(named)):
            return Path(named).absolute()
        raise ProgramNotFound(
            f"{PROGRAM_VARIABLE} is {named!r}, which is no program; "
            "set it to the path of the iobound program, or unset it"
        )
    beside = Path(sysconfig.get_path("scripts")) / _NAME
    if _is_program(beside):
        return beside
    on_path = shutil.which(_NAME)
    if on_path:
        return Path(on_path).absolute()
    raise ProgramNotFound(
        f"the program '{_NAME}' is neither in {beside.parent} nor on PATH; "
        f"install it with 'pip install iobound', or set {PROGRAM_VARIABLE} to its path"
    )


def _is_program(path: Path) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


@dataclass(frozen=True)
class Answer:
    """What the program said, and how it ended."""

    exit_code: int
    output: str
    errors: str
    #: Whether Ctrl-C was pressed meanwhile.
    interrupted: bool

    @property
    def message(self) -> str:
        """Why it failed, in its own words."""
        if self.exit_code < 0:
            try:
                name = signal.Signals(-self.exit_code).name
            except ValueError:
                name = f"signal {-self.exit_code}"
            ended = f"the program was ended by {name}"
            return f"{ended}: {_own_words(self.errors)}" if self.errors.strip() else ended
        return _own_words(self.errors) or f"the program ended with exit code {self.exit_code}"


def _own_words(errors: str) -> str:
    """The last message, without the program's name and the hint at --help."""
    text = errors.split("\n\nFor more information, try '--help'.")[0]
    _, told, last = ("\n" + text).rpartition("\niobound: ")
    _, refused, usage = ("\n" + text).rpartition("\nerror: ")
    words = last if told else usage if refused else text
    return words.strip()


def ask(arguments: Sequence[str], show: bool = False) -> Answer:
    """Runs the program and waits for its end.

    Ctrl-C goes to the program, once each time it is pressed, and the program ends the run as it
    would on a terminal; whoever calls finds `Answer.interrupted`. With `show` all that it says
    goes to sys.stdout and sys.stderr as well, as it comes.
    """
    program = find_program()
    try:
        process = subprocess.Popen(
            [os.fspath(program), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            # Away from the terminal's process group, which gets each Ctrl-C as well: two of them
            # mean "leave at once".
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise IoboundError(f"{program} cannot be started: {error}") from error
    output, errors = _Listener(process.stdout), _Listener(process.stderr)
    if show:
        output.also, errors.also = sys.stdout, sys.stderr
    interrupted = False
    try:
        output.start()
        errors.start()
        while True:
            try:
                exit_code = process.wait()
                break
            except KeyboardInterrupt:
                interrupted = True
                process.send_signal(signal.SIGINT)
    except BaseException:
        # Somebody ends this interpreter: the program shall save, clean up and end as well.
        process.send_signal(signal.SIGTERM)
        process.wait()
        raise
    finally:
        output.finish()
        errors.finish()
    return Answer(exit_code, output.text, errors.text, interrupted)


class _Listener:
    """Takes in what comes through a pipe, so that it never fills."""

    def __init__(self, pipe: Any) -> None:
        self.also: Optional[TextIO] = None
        self._pipe = pipe
        self._lines: List[str] = []
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _listen(self) -> None:
        for line in self._pipe:
            self._lines.append(line)
            if self.also is not None:
                self.also.write(line)
                self.also.flush()

    def finish(self) -> None:
        if self._thread.is_alive():
            # Whoever inherited the pipe may hold it open longer than the program lives.
            self._thread.join(timeout=5)
        if not self._thread.is_alive():
            self._pipe.close()

    @property
    def text(self) -> str:
        return "".join(self._lines)
