"""The `jitc` command.

Called by: users, scripts, `make demo`. Promises: it answers fast (nothing heavy is imported before it is needed); an
error is one line that names the remedy; --json documents and exit codes keep their form (docs/cli.md). Exit codes: 0
done, 1 failed, 2 wrong use, 3 no service; `jitc run` returns the program's own, or 4 if `--check-order` found a race
and the program succeeded.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from typing import Any

from jitc.ops.options.values import Number

from ..common import paths
from .cluster.command import add_cluster
from .doctor.command import add_doctor
from .installed.completion import SHELLS
from .options import FAILED, CommandError, complain, new_file, number
from .parser import Parser, examples, without_a_command
from .questions.command import add_gpu, add_inject, add_questions, with_json
from .settings.service import add_device_options
from .store import add_store
from .support.command import add_support_bundle


def main(argv: list[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    try:
        result: int = arguments.act(arguments)
        print(end="", flush=True)  # here, where a failure to write can still be reported
        return result
    except CommandError as error:
        return complain("jitc", str(error), error.code)
    except paths.MissingLibrary as error:
        return complain("jitc", str(error))
    except OSError as error:
        _give_up_output()
        return FAILED if isinstance(error, BrokenPipeError) else complain("jitc", str(error))
    except KeyboardInterrupt:
        return 130


def _give_up_output() -> None:
    """Discards the remaining buffer of standard output; Python would complain about it at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# -- commands -------------------------------------------------------------------------------------


def _run(arguments: argparse.Namespace) -> int:
    from .run import run

    return run(arguments)


def _preload_path(_: argparse.Namespace) -> int:
    print(paths.preload_library())
    return 0


def _version(arguments: argparse.Namespace) -> int:
    from .installed import version

    print(json.dumps(version.document(), indent=2) if arguments.json else version.line())
    return 0


def _completion(arguments: argparse.Namespace) -> int:
    from .installed.completion import script

    print(script(arguments.shell), end="")
    return 0


def _build_torch(arguments: argparse.Namespace) -> int:
    from .installed.build_torch import run

    return run(arguments)


def _demo(arguments: argparse.Namespace) -> int:
    from .demo.command import run

    return run(arguments)


# -- parsers --------------------------------------------------------------------------------------


#: The first command below each heading of the help.
HEADINGS = {
    "run": "programs", "status": "the service", "doctor": "the installation", "inject": "tests of a recovery",
}  # fmt: skip


def parser() -> Parser:
    """Returns the parser of `jitc`, with all commands."""
    made = Parser(
        prog="jitc",
        description="A transparent CUDA/NCCL proxy: training survives faults without noticing.",
        epilog=examples(
            "jitc demo                    see a fault and its recovery",
            "jitc run -- python train.py  train on a software GPU",
            "jitc status                  see what a jitc-proxyd serves",
            "jitc COMMAND --help          every command explains itself",
        ),
    )
    made.set_defaults(act=lambda _: without_a_command(made))
    commands = made.add_subparsers(metavar="COMMAND", title="commands")
    commands.headings = HEADINGS  # type: ignore[attr-defined]  # see parser.py
    for add in (
        _add_run,
        _add_demo,
        add_store,
        add_questions,
        add_gpu,
        add_cluster,
        add_doctor,
        _add_version,
        _add_preload_path,
        _add_build_torch,
        _add_completion,
        add_support_bundle,
        add_inject,
    ):
        add(commands)
    return made


def _add_version(commands: Any) -> None:
    text = "print the version"
    version = commands.add_parser(
        "version", help=text, description=text, epilog=examples("jitc version --json    also of its parts")
    )  # fmt: skip
    with_json(version).set_defaults(act=_version)


def _add_preload_path(commands: Any) -> None:
    text = "print the path for LD_PRELOAD"
    preload = commands.add_parser(
        "preload-path", help=text, description=text,
        epilog=examples("LD_PRELOAD=$(jitc preload-path) torchrun --nproc-per-node 2 train.py"),
    )  # fmt: skip
    preload.set_defaults(act=_preload_path)


def _add_run(commands: Any) -> None:
    run = commands.add_parser(
        "run", help="run a program on a private service",
        description="Starts a service of its own, runs the program with the interposer preloaded, and cleans up. "
        "Output and exit status are the program's.",
        usage="jitc run [options] -- PROGRAM [ARGUMENT ...]",
        epilog=examples(
            "jitc run -- python train.py",
            "jitc run --gpus 2 -- torchrun --nproc-per-node 2 train.py",
            "jitc run --device cuda --spare-gpus 1 -- bash train.sh",
            "jitc run --check-order -- python train.py    exit status 4: a race",
        ),
    )  # fmt: skip
    add_device_options(run)
    run.add_argument(
        "--known-fixes", action="store_true",
        help="apply remedies for known defects of PyTorch in the program (docs/cli.md lists them)",
    )  # fmt: skip
    run.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM ...", help="what to run, after --")
    run.set_defaults(act=_run)


def _add_completion(commands: Any) -> None:
    completion = commands.add_parser(
        "completion", help="print a script that completes the commands' words in a shell",
        description="Prints a script with which a shell completes the words of jitc and jitc-proxyd.",
        epilog=examples(
            'eval "$(jitc completion bash)"                in ~/.bashrc',
            "jitc completion zsh > ~/.zfunc/_jitc         a folder of fpath",
            "jitc completion tcsh > ~/.jitc.tcsh          source it in ~/.tcshrc",
        ),
    )  # fmt: skip
    completion.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    completion.set_defaults(act=_completion)


def _add_build_torch(commands: Any) -> None:
    build = commands.add_parser(
        "build-torch", help="build jitc's part for the PyTorch that is installed",
        description="Builds the native part of jitc for the PyTorch that is installed here, unless there is one, and "
        "prints its folder. It is built at its first use otherwise, which takes minutes and a C++ compiler.",
        epilog=examples("RUN pip install torch jitc && jitc build-torch   in an image"),
    )  # fmt: skip
    build.add_argument("--user", action="store_true", help="for this user alone, also where jitc could keep it for all")
    build.set_defaults(act=_build_torch)


def _add_demo(commands: Any) -> None:
    demo = commands.add_parser(
        "demo", help="train a small GPT, kill its GPU, compare",
        description="Trains examples/train_gpt.py three times on two software GPUs: without a fault, with the worker "
        "of GPU 1 killed in a backward pass, and in an optimizer step. Compares the three bit by bit.",
        epilog=examples("jitc demo", "jitc demo --steps 5 --json demo.json"),
    )  # fmt: skip
    demo.add_argument("--json", type=new_file, metavar="FILE", help="also write the result to FILE as JSON")
    demo.add_argument(
        "--steps", type=number(Number(3, 10_000)), default=20, metavar="N", help="of each run (%(default)s)"
    )
    demo.set_defaults(act=_demo)


if __name__ == "__main__":
    sys.exit(main())
