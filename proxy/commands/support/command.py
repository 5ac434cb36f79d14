"""`jitc support-bundle`: one archive with what an issue report needs.

Called by: ../jitc.py, which adds it to its parser. Promises: the archive is written as a whole or not at all, and only
its user can read it; a part that cannot be had is a text in its place, so the command fails only if the archive cannot
be written. It has nothing of a program but the numbers and names of its processes, and arguments if they are asked for.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sys
import time
from typing import TYPE_CHECKING, Any

from ..options import USAGE, CommandError, chosen_socket, output_file
from ..parser import examples
from ..questions.command import with_json, with_socket

if TYPE_CHECKING:
    from .part import Part

_TEXT = """\
Writes one archive with what an issue report needs. Nothing is sent:
look into the archive, then attach it to the report.

The archive has the documents of status, report, doctor and version;
the environment variables that begin with JITC_, and no others;
versions of packages; facts about this machine; this user's processes
of the service, with their states and limits, and the numbers and
names of the programs that they serve; the end of the service's log,
where it can be found; and contents.json, with the size and SHA-256 of
each file, and why one is missing.

It has no arguments of programs (--with-arguments adds them), no
output of programs and no source code. But the report and the log name
the lines of a program where a race was found (`place`: file, line and
function), and repeat messages of the device and its libraries
(`message`).
"""


def add_support_bundle(commands: Any) -> None:
    """Adds `support-bundle`."""
    text = "write an archive with what an issue report needs"
    parser = commands.add_parser(
        "support-bundle", help=text, description=_TEXT,
        epilog=examples("jitc support-bundle", "jitc support-bundle --output bundle.tar.gz --with-arguments"),
    )  # fmt: skip
    parser.add_argument(
        "--output", type=output_file, metavar="FILE",
        help="where to (jitc-support-HOST-DATE-TIME.tar.gz in this folder); a file that is there is replaced; "
        "- is standard output",
    )  # fmt: skip
    with_socket(parser)
    parser.add_argument(
        "--with-arguments", action="store_true",
        help="also the command lines of these processes and programs, which may hold secrets",
    )  # fmt: skip
    with_json(parser).set_defaults(act=_make)


def _make(arguments: argparse.Namespace) -> int:
    to_output = arguments.output == "-"
    if to_output and arguments.json:
        raise CommandError("only one of --json and --output - can go to standard output", USAGE)
    if to_output and (sys.stdout is None or sys.stdout.isatty()):
        raise CommandError("standard output is closed, or a terminal that cannot show an archive; name a file", USAGE)
    now = time.time()
    folder = f"jitc-support-{_host()}-{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}"
    path = arguments.output or _in_this_folder(f"{folder}.tar.gz")

    from . import archive

    parts = _parts(arguments)
    parts.append(archive.contents(parts, now))
    data = archive.packed(folder, parts, int(now))
    archive.write(path, data, replace=arguments.output is not None)
    if not to_output:
        print(_document(path, len(data), parts) if arguments.json else path)
    return 0


def _parts(arguments: argparse.Namespace) -> list[Part]:
    """Collects the parts, and reports each."""
    from .collect import Wanted, collect

    _tell("jitc: collects the parts of the archive")
    parts = []
    for one in collect(Wanted(*_socket(arguments.socket), with_arguments=arguments.with_arguments)):
        parts.append(one)
        _tell(f"  {one.name}: {len(one.data)} bytes{f'; missing: {one.missing}' if one.missing else ''}")
    _tell(f"left out: {_left_out(arguments.with_arguments)}")
    return parts


def _document(path: str, size: int, parts: list[Part]) -> str:
    from ...status.documents import document
    from ...status.support import BundleFile, SupportBundle

    files = [BundleFile(name=one.name, bytes=len(one.data), missing=one.missing) for one in parts]
    return json.dumps(document(SupportBundle(path=path, bytes=size, files=files)), indent=2)


def _socket(named: str | None) -> tuple[str | None, str]:
    """Returns the path of the service's socket, and why there is none."""
    try:
        return chosen_socket(named), ""
    except CommandError as error:
        return None, str(error)


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", os.uname().nodename)[:64] or "host"


def _in_this_folder(name: str) -> str:
    """Returns the path of a new file. Raises CommandError before anything is collected for nothing."""
    try:
        folder = os.getcwd()
    except OSError:
        raise CommandError("the current folder is gone; name a file with --output", USAGE) from None
    path = os.path.join(folder, name)
    if not os.access(folder, os.W_OK):
        raise CommandError(f"{folder} cannot be written to; name a file in another folder with --output", USAGE)
    return path


def _left_out(with_arguments: bool) -> str:
    arguments = [] if with_arguments else ["arguments of programs (--with-arguments adds them)"]
    return ", ".join([*arguments, "environment variables but JITC_*", "output and source code of programs"])


def _tell(line: str) -> None:
    """Prints a line on standard error, if there is one: it may be closed."""
    from ...common.printable import LINE, printable

    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(printable(line, LINE), file=sys.stderr, flush=True)
