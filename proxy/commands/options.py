"""Values on the command line: how they are parsed, and the one-line message about a wrong one.

Called by: all commands, `settings/`. Promises: a service can be started with any value that is accepted here; a mistake
is one line on standard error that names the allowed values, with exit status 2; nothing heavy is imported before it is
needed.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable
from fractions import Fraction

from jitc.ops.options.values import Number, Percent, Seconds, Size, size_text

from ..common import paths
from ..keeper.claim.socket_lock import PATH_LIMIT

FAILED, USAGE, NO_SERVICE, RACES, NOT_PROVEN = 1, 2, 3, 4, 5

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)(?:([KMGT])i?)?B?", re.IGNORECASE | re.ASCII)
_DECIMAL = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
_PAGE = 4096
#: Characters of a wrong value that a message repeats.
_SHOWN = 60


class CommandError(Exception):
    """An error that is reported in one line; code is the exit status."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


def complain(command: str, message: str, code: int = FAILED) -> int:
    """Prints the message as one line, whatever characters it has. Returns the exit status."""
    line = "".join(one if one.isprintable() else repr(one)[1:-1] for one in " ".join(message.split("\n")))
    print(f"{command}: {line}", file=sys.stderr, flush=True)
    return code


def shown(text: str) -> str:
    """Returns a wrong value as messages quote it."""
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}..."


def program_words(arguments: argparse.Namespace) -> list[str]:
    """Returns the program that stands at the end of a command line, without the -- before it."""
    words: list[str] = arguments.program
    return words[1:] if words[:1] == ["--"] else words


# -- values ---------------------------------------------------------------------------------------


def number(allowed: Number) -> Callable[[str], int]:
    """Parses whole numbers in ASCII digits."""

    def parse(text: str) -> int:
        value = int(text) if re.fullmatch("[0-9]{1,19}", text) else -1
        if not allowed.least <= value <= allowed.most:
            raise argparse.ArgumentTypeError(
                f"{shown(text)} is not a whole number from {allowed.least} to {allowed.most}"
            )
        return value

    return parse


def seconds(allowed: Seconds) -> Callable[[str], float]:
    """Parses seconds, with and without a fraction."""

    def parse(text: str) -> float:
        value = _decimal(text)
        if value and not allowed.least <= value <= allowed.most:
            raise argparse.ArgumentTypeError(
                f"{shown(text)} is not a number of seconds from {allowed.least:g} to {allowed.most:.0f}, "
                f"or 0: {allowed.zero}"
            )
        return value

    return parse


def percent(allowed: Percent) -> Callable[[str], float]:
    """Parses a percentage."""
    zero = f" ({allowed.zero})" if allowed.zero else ""

    def parse(text: str) -> float:
        value = _decimal(text)
        if not allowed.least <= value <= allowed.most:
            raise argparse.ArgumentTypeError(
                f"{shown(text)} is not a percentage from {allowed.least:g}{zero} to {allowed.most:g}"
            )
        return value

    return parse


def size(allowed: Size) -> Callable[[str], int]:
    """Parses bytes from "4GiB", "512M", "1073741824"."""
    words = f"from {size_text(allowed.least)} to {size_text(allowed.most)}"
    words += f", or 0: {allowed.zero}" if allowed.zero else ""

    def parse(text: str) -> int:
        match = _SIZE.fullmatch(text)
        value = Fraction(match[1]) * _UNITS[(match[2] or "").upper()] if match else Fraction(-1)
        if not allowed.least <= value <= allowed.most and not (allowed.zero and value == 0):
            wrong = f"is {text} bytes, and sizes are" if match and not match[2] else "is not a size like 1.5GiB,"
            raise argparse.ArgumentTypeError(f"{shown(text)} {wrong} {words}")
        return int(value) // allowed.unit * allowed.unit

    return parse


def _decimal(text: str) -> float:
    return float(text) if _DECIMAL.fullmatch(text) else -1.0


def socket_path(text: str) -> str:
    """Parses an absolute path that a socket can have."""
    try:
        path = os.path.abspath(text)
    except OSError:
        raise argparse.ArgumentTypeError("the current folder is gone; give an absolute path") from None
    if not text or text.endswith("/"):
        raise argparse.ArgumentTypeError(f"{shown(text)} is no path of a socket; give one like /run/jitc/proxyd.sock")
    if not path.isprintable():
        raise argparse.ArgumentTypeError(f"{shown(text)} has characters that cannot be printed; choose another path")
    if len(os.fsencode(path)) > PATH_LIMIT:
        raise argparse.ArgumentTypeError(f"{shown(path)} is longer than {PATH_LIMIT} bytes; choose a shorter path")
    return path


def chosen_socket(named: str | None, default: Callable[[], str] = paths.client_socket) -> str:
    """Returns the path of --socket, otherwise the default, which is a client's or a service's. Raises CommandError for
    a default that no socket can have."""
    if named is not None:
        return named
    try:
        return socket_path(default())
    except argparse.ArgumentTypeError as error:
        raise CommandError(f"the socket of JITC_SOCKET or XDG_RUNTIME_DIR: {error}", USAGE) from None


def writable_folder(text: str) -> str:
    """Parses a folder in which a file can be created, by trying it: only the kernel knows the permissions."""
    from ..common.shared_memory import NoSpace, spill_file

    if not os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"{shown(text)} is no folder; name one that exists")
    path = os.path.abspath(text)
    try:
        spill_file(path, _PAGE).close()
    except NoSpace as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return path


def new_file(text: str) -> str:
    """Parses a path that can be written to; nothing is written yet."""
    path = os.path.abspath(text)
    target = path if os.path.exists(path) else os.path.dirname(path)
    if not text or os.path.isdir(path) or not os.access(target, os.W_OK):
        raise argparse.ArgumentTypeError(f"{shown(text)} cannot be written to; name a file in a folder that can")
    return path


def output_file(text: str) -> str:
    """Parses a path that can be written to, or - for standard output; nothing is written yet."""
    return text if text == "-" else new_file(text)


def people(text: str) -> str:
    """Parses a list of users and groups, which exist."""
    from ..keeper.admission import Admission, UnknownUser

    try:
        return Admission.of(text).text if text else ""
    except UnknownUser as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def cluster_store(text: str) -> str:
    """Parses the location of a cluster's store. Returns it, or an empty text for one that is no cluster's."""
    from ..cluster.store.locations import parse_location

    try:
        return text if parse_location(text) else ""
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def node_name(text: str) -> str:
    from ..cluster.peers.names import RULE, is_name

    if not is_name(text):
        raise argparse.ArgumentTypeError(f"{shown(text)} is no name of a node ({RULE})")
    return text


def host_and_port(text: str) -> str:
    from ..cluster.peers.names import address

    try:
        return str(address(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def user_name(text: str) -> str:
    if not text or not text.isprintable() or len(text) > _SHOWN:
        raise argparse.ArgumentTypeError(f"{shown(text)} is no name: printable text of at most {_SHOWN} characters")
    return text


def readable_folder(text: str) -> str:
    if not os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"{shown(text)}: there is no such folder")
    return os.path.abspath(text)


def readable_file(text: str) -> str:
    if not os.path.isfile(text) or not os.access(text, os.R_OK):
        raise argparse.ArgumentTypeError(f"{shown(text)}: there is no such file, or it cannot be read")
    return os.path.abspath(text)


def library_file(text: str) -> str:
    if not os.path.isfile(text):
        raise argparse.ArgumentTypeError(f"{shown(text)}: there is no such file")
    return os.path.abspath(text)
