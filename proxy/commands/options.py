"""The commands' options: how they are parsed, and the one-line message about a wrong value.

Called by: proxyd.py, jitc.py, run.py, demo/command.py. Promises: a service can be started with any value that is
accepted here; a mistake is one line on standard error that says what is allowed, with exit status 2; nothing heavy is
imported before it is needed.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NoReturn

from ..backends import KINDS
from ..common import config, paths
from ..keeper.socket_lock import PATH_LIMIT

FAILED, USAGE, NO_SERVICE, RACES, NOT_PROVEN = 1, 2, 3, 4, 5

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)(?:([KMGT])i?)?B?", re.IGNORECASE | re.ASCII)
_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
_PAGE = 4096
#: Characters of a wrong value that a message repeats.
_SHOWN = 60

#: Each option's default is that of the configuration.
DEFAULTS = config.Config
#: Options of --device cuda alone, and what they name.
LIBRARIES = {
    "driver": "libcuda.so.1", "nccl": "libnccl.so.2", "cublas": "libcublas", "cublaslt": "libcublasLt",
    "nvrtc": "libnvrtc", "cudnn": "libcudnn.so.9",
}  # fmt: skip


class CommandError(Exception):
    """Reported in one line; code is the exit status."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


class Parser(argparse.ArgumentParser):
    """Accepts whole option names only; a mistake is one line, without the usage."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        sys.exit(complain(self.prog, f"{message} (see {self.prog} --help)", USAGE))


def complain(command: str, message: str, code: int = FAILED) -> int:
    """Prints the message as one line, whatever characters it has. Returns the exit status."""
    line = "".join(one if one.isprintable() else repr(one)[1:-1] for one in " ".join(message.split("\n")))
    print(f"{command}: {line}", file=sys.stderr, flush=True)
    return code


def shown(text: str) -> str:
    """A wrong value as messages quote it."""
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}..."


# -- values ---------------------------------------------------------------------------------------


def number(least: int, most: int) -> Callable[[str], int]:
    """Parser of whole numbers in ASCII digits."""

    def parse(text: str) -> int:
        value = int(text) if re.fullmatch("[0-9]{1,19}", text) else -1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{shown(text)} is not a whole number from {least} to {most}")
        return value

    return parse


def seconds(least: float, most: float, zero: str) -> Callable[[str], float]:
    """zero: what 0 means."""

    def parse(text: str) -> float:
        value = float(text) if _SECONDS.fullmatch(text) else -1.0
        if value and not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"{shown(text)} is not a number of seconds from {least:g} to {most:.0f}, or 0: {zero}"
            )
        return value

    return parse


def percent(zero: str) -> Callable[[str], float]:
    """A share of 100. zero: what 0 means."""

    def parse(text: str) -> float:
        value = float(text) if _SECONDS.fullmatch(text) else -1.0
        if not 0 <= value <= config.BUDGET_MOST:
            raise argparse.ArgumentTypeError(
                f"{shown(text)} is not a percentage from 0 ({zero}) to {config.BUDGET_MOST:g}"
            )
        return value

    return parse


def size(least: int, most: int, zero: str = "") -> Callable[[str], int]:
    """Bytes from "4GiB", "512M", "1073741824". zero: what 0 means, if it is allowed."""
    allowed = f"from {_written(least)} to {_written(most)}" + (f", or 0: {zero}" if zero else "")

    def parse(text: str) -> int:
        match = _SIZE.fullmatch(text)
        value = Fraction(match[1]) * _UNITS[(match[2] or "").upper()] if match else Fraction(-1)
        if not least <= value <= most and not (zero and value == 0):
            raise argparse.ArgumentTypeError(f"{shown(text)} is not a size like 1.5GiB, {allowed}")
        return int(value)

    return parse


def pinned_size(text: str) -> int:
    """A size in whole pages that fits a session's address range, or 0."""
    return size(config.PINNED_LEAST, config.PINNED_MOST, "none")(text) // _PAGE * _PAGE


def socket_path(text: str) -> str:
    """An absolute path that a socket can have."""
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


def chosen_socket(named: str | None) -> str:
    """The path that --socket names, else the default. Raises CommandError for a default that no socket can have."""
    if named is not None:
        return named
    try:
        return socket_path(paths.default_socket())
    except argparse.ArgumentTypeError as error:
        raise CommandError(f"the socket of JITC_SOCKET or XDG_RUNTIME_DIR: {error}", USAGE) from None


def writable_folder(text: str) -> str:
    """A folder in which a file can be made. It is tried: only the kernel knows what may be written where."""
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
    """A path that can be written to; nothing is written yet."""
    path = os.path.abspath(text)
    target = path if os.path.exists(path) else os.path.dirname(path)
    if not text or os.path.isdir(path) or not os.access(target, os.W_OK):
        raise argparse.ArgumentTypeError(f"{shown(text)} cannot be written to; name a file in a folder that can")
    return path


def output_file(text: str) -> str:
    """A path that can be written to, or - for standard output; nothing is written yet."""
    return text if text == "-" else new_file(text)


def library_file(text: str) -> str:
    if not os.path.isfile(text):
        raise argparse.ArgumentTypeError(f"{shown(text)}: there is no such file")
    return os.path.abspath(text)


def _written(value: int) -> str:
    unit = next((one for one in "TGMK" if value % _UNITS[one] == 0), "")
    return f"{value // _UNITS[unit]}{unit}iB" if unit else f"{value}B"


# -- options of a service ---------------------------------------------------------------------------


def add_device_options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """The options that jitc-proxyd and `jitc run` share."""
    add = parser.add_argument
    return [
        add("--device", choices=tuple(KINDS), default=DEFAULTS.device, help="kind of device (%(default)s)"),
        add("--gpus", type=number(1, config.GPUS_MOST), default=0, metavar="N",
            help="how many GPUs (software: 1; cuda: all that are visible)"),
        add("--spare-gpus", type=number(0, config.GPUS_MOST - 1), default=DEFAULTS.spare_gpus, metavar="N",
            help="of the GPUs, the last N, which programs do not see: they take the place of lost ones (%(default)s)"),
        add("--workers-per-gpu", type=number(1, config.GPUS_MOST), default=DEFAULTS.workers_per_gpu, metavar="K",
            help="cuda: serve each physical GPU as K GPUs, a worker and a share of the memory each (%(default)s)"),
        add("--memory-limit", type=size(*config.MEMORY_LIMITS), default=0, metavar="SIZE",
            help="per GPU (software: 4GiB, or a share of half of what a container may have; cuda: all, divided by K)"),
        add("--hang-seconds", type=seconds(*config.HANG_LIMITS, "never"), default=DEFAULTS.hang_seconds, metavar="S",
            help="a worker that says nothing or work that makes no progress for so long is a fault; "
            "0: never (%(default)s)"),
        *(add(f"--{name}", type=library_file, metavar="PATH",
              help=f"cuda: {library} to use (wheels on the import path, then the system's)")
          for name, library in LIBRARIES.items()),
        add("--threads", type=number(1, config.THREADS_MOST), default=0, metavar="N",
            help="threads of one operator; the same number gives the same results (cores divided by GPUs)"),
        add("--journal-limit", type=size(*config.JOURNAL_LIMITS), default=_written(DEFAULTS.journal_bytes),
            metavar="SIZE",
            help="per session, then it spills (%(default)s)"),
        add("--copies-limit", type=size(*config.COPIES_LIMITS), default=DEFAULTS.snapshot_bytes, metavar="SIZE",
            help="for all sessions together, host memory for copies of live device memory, taken as needed "
            "(half of what is available at the start)"),
        add("--images-limit", type=size(*config.IMAGES_LIMITS), default=_written(DEFAULTS.images_limit), metavar="SIZE",
            help="for all sessions, disk space for images of kernels beside the socket (%(default)s)"),
        add("--boundary-budget", type=percent("all"), metavar="PERCENT",
            help="of a job's time, for boundaries: those that would take more are skipped, and a fault goes back "
            "further; 0: all are made (0)"),
        add("--reserve-budget", type=percent("never"), default=100 * DEFAULTS.reserve_share, metavar="PERCENT",
            help="of a job's time, for copies of what only peers hold, made now and then in case that all of them "
            "are lost at once; 0: never (%(default)g)"),
        add("--validate-every", type=number(0, (1 << 31) - 1), default=DEFAULTS.validate_every, metavar="N",
            help="optimizer steps between validations at least: a minibatch is run twice and compared; 0: never "
            "(%(default)s)"),
        add("--validate-budget", type=percent("any"), default=100 * DEFAULTS.validate_share, metavar="PERCENT",
            help="of a job's time, for validations after the first one; 0: any (%(default)g)"),
        add("--heal-replicas", action="store_true",
            help="a rank that holds other bytes than most ranks that held the same before takes theirs"),
        add("--replay-mismatch", choices=config.MISMATCHES, default=DEFAULTS.replay_mismatch,
            help="numbers that a program has read and that a replay gives otherwise end the replay (strict), or are "
            "tolerated within a bound (tolerant); by what validations showed of the job (auto)"),
        add("--noise", type=number(0, (1 << 63) - 1), default=0, metavar="SEED",
            help="software: sum in another order each time, as GPUs do; 0: never (%(default)s)"),
        add("--check-order", action="store_true",
            help="software: report ops of a program that touch the same memory, one of them writing, with no order "
            "between them (docs/finding-races.md)"),
        add("--pinned-limit", type=pinned_size, default=_written(DEFAULTS.pinned_bytes), metavar="SIZE",
            help="per session, pinned memory shared by program and worker, taken as needed; 0: none (%(default)s)"),
        add("--spill-dir", type=writable_folder, default=DEFAULTS.spill_dir, metavar="DIR",
            help="for spilled journals (%(default)s)"),
        add("--spares", type=number(0, config.GPUS_MOST), default=DEFAULTS.spares, metavar="N",
            help="warm spare workers (%(default)s)"),
        add("--core-limit", type=size(*config.CORE_LIMITS, "none"), default=DEFAULTS.core_limit, metavar="SIZE",
            help="of the core dump of a worker that crashes; 0: none (%(default)s)"),
        add("--shuffle", type=number(0, (1 << 63) - 1), default=0, metavar="SEED",
            help="software: delay streams, reports and answers at random, to find what depends on luck; 0: never "
            "(%(default)s)"),
    ]  # fmt: skip


def check_device_options(arguments: argparse.Namespace) -> None:
    """Checks combinations of options. Raises CommandError."""
    kind = KINDS[arguments.device]
    if not kind.runs_kernels:
        cuda = [name for name in LIBRARIES if getattr(arguments, name)]
        cuda += ["workers-per-gpu"] if arguments.workers_per_gpu > 1 else []
        if cuda:
            raise CommandError(f"--{cuda[0]} goes with --device cuda", USAGE)
    if arguments.noise and not kind.deterministic:
        raise CommandError("--noise goes with --device software: a GPU needs none", USAGE)
    if arguments.shuffle and kind.runs_kernels:
        raise CommandError("--shuffle goes with --device software", USAGE)
    if arguments.check_order and kind.runs_kernels:
        raise CommandError("--check-order goes with --device software: what a kernel touches nobody knows", USAGE)
    if arguments.spare_gpus and arguments.workers_per_gpu > 1:
        raise CommandError("--spare-gpus does not go with --workers-per-gpu: a spare GPU is a whole one", USAGE)
    if arguments.spare_gpus >= (arguments.gpus or (config.GPUS_MOST if kind.runs_kernels else 1)):
        raise CommandError("--spare-gpus is less than --gpus: at least one GPU is for programs", USAGE)
    if arguments.gpus * arguments.workers_per_gpu > config.GPUS_MOST:
        raise CommandError(f"--gpus times --workers-per-gpu is at most {config.GPUS_MOST}", USAGE)


def device_words(arguments: argparse.Namespace) -> list[str]:
    """The options of add_device_options again, for a service that is to be started with them."""
    words = []
    for option in add_device_options(argparse.ArgumentParser(add_help=False)):
        value = getattr(arguments, option.dest)
        if value != option.default:
            words += [option.option_strings[0], *([] if value is True else [str(value)])]
    return words
