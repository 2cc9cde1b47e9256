"""What can go wrong, as the program's exit codes tell it apart."""

from __future__ import annotations


class Error(Exception):
    """The program could not do what was asked; its words say why, and what would do."""

    #: Exit code of the program for the same.
    code = 4


class BadUsage(Error, ValueError):
    """What was asked means nothing, or cannot be had here. Nothing was started."""

    code = 2


class Refused(Error, PermissionError):
    """Refused to protect data. Nothing was touched."""

    code = 3


class Broke(Error, OSError):
    """It broke on the way. The words say what is left."""

    code = 4


def of_code(code: int, words: str) -> Error:
    """The error for an exit code of the program."""
    kinds = {kind.code: kind for kind in (BadUsage, Refused, Broke)}
    return kinds.get(code, Broke)(words)
