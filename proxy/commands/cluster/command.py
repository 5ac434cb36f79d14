"""`jitc cluster`: the CA of a cluster, certificates of its nodes, and what is seen of its store.

Called by: ../jitc.py, which adds it to its parser. Promises: nothing that exists is replaced but by `rotate`; each
command says what to do next, as commands that can be typed; without the package that makes certificates one line says
how to get it, and `show` needs none.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...cluster.peers import names
from ..options import FAILED, CommandError, node_name, shown
from ..parser import examples
from ..questions.command import with_json
from ..settings.cluster import TITLE as SEVERAL_NODES
from ..settings.cluster import add_cluster_options

if TYPE_CHECKING:
    from ...cluster.peers.certificates import Authority

_TEXT = """\
The services of several nodes speak to each other with certificates:
each shows its own, and trusts those that the cluster's own CA has
signed. The CA is a folder on one machine, such as the one that you
work at; it needs no service.

  jitc cluster init     makes the CA
  jitc cluster add n0   makes a certificate for node n0, and says how
                        to bring it there
  jitc cluster rotate   renews all certificates; they hold for 90 days

Whoever has the file ca.key can make nodes of this cluster."""


# -- parsers --------------------------------------------------------------------------------------


def add_cluster(commands: Any) -> None:
    """Adds `cluster`."""
    cluster = commands.add_parser(
        "cluster", help="certificates of the nodes of a cluster", description=_TEXT,
        epilog=examples("jitc cluster init", "jitc cluster add n0", "jitc cluster show"),
    )  # fmt: skip
    below = cluster.add_subparsers(metavar="WHAT", required=True)
    _one(below, "init", "make the CA of a cluster, in a folder that has none", _init, "jitc cluster init")
    text = "make a certificate for a node, and say how to bring it there"
    add = _one(below, "add", text, _add, "jitc cluster add n0", "jitc cluster add gpu-7.rack2 --folder ./cluster")
    add.add_argument("node", type=node_name, metavar="NODE", help="its name, as in `jitc-proxyd --node`")
    text = "list the CA and the certificates, with the days that are left; also the store and its nodes"
    show = _one(
        below, "show", text, _show,
        "jitc cluster show", "jitc cluster show --json", "jitc cluster show --folder /etc/jitc/peer    on a node",
        "jitc cluster show --cluster etcd://store:2379    also the store",
    )  # fmt: skip
    show.description = (
        f"Lists{text[4:]} if --cluster names one. Exit status: 1 if a certificate has expired or cannot be used, or if "
        "the store or a node in it does not answer."
    )
    with_json(show)
    add_cluster_options(show.add_argument_group(SEVERAL_NODES))
    text = "renew certificates, of all nodes or of those that are named, and say what to copy"
    rotate = _one(below, "rotate", text, _rotate, "jitc cluster rotate", "jitc cluster rotate n0 n1")
    rotate.add_argument("nodes", type=node_name, nargs="*", metavar="NODE", help="a node (all of them)")


def _one(below: Any, name: str, text: str, act: Any, *lines: str) -> argparse.ArgumentParser:
    """lines: examples."""
    parser: argparse.ArgumentParser = below.add_parser(
        name, help=text, description=text[0].upper() + text[1:] + ".", epilog=examples(*lines)
    )
    parser.add_argument(
        "--folder", type=_folder, metavar="DIR",
        help="of the CA (root: /etc/jitc/cluster; else $XDG_CONFIG_HOME/jitc/cluster)",
    )  # fmt: skip
    parser.set_defaults(act=act)
    return parser


def _folder(text: str) -> Path:
    path = Path(text).absolute()
    if not text or not str(path).isprintable():
        raise argparse.ArgumentTypeError(f"{shown(text)} is no folder; name one in characters that can be printed")
    return path


# -- what they do ---------------------------------------------------------------------------------


def _init(arguments: argparse.Namespace) -> int:
    authority = _authority(arguments)
    from . import text  # which needs that package as well

    print(text.made_authority(authority.folder, _tried(authority.create)))
    return 0


def _add(arguments: argparse.Namespace) -> int:
    authority = _authority(arguments)
    from . import text  # which needs that package as well

    place = _tried(partial(authority.add, arguments.node))
    print(text.made_node(arguments.node, place))
    return 0


def _rotate(arguments: argparse.Namespace) -> int:
    authority = _authority(arguments)
    from . import text  # which needs that package as well

    there = _tried(authority.nodes)
    wanted: list[str] = list(dict.fromkeys(arguments.nodes)) or there
    if missing := [one for one in wanted if one not in there]:
        known = ", ".join(there) or "none"
        raise CommandError(f"there is no node {missing[0]} in {authority.folder} (nodes: {known}); nothing was renewed")
    if not wanted:
        raise CommandError(f"{authority.folder} has no nodes; `jitc cluster add NODE` makes one")
    for node in wanted:
        print(text.renewed_node(node, _tried(partial(authority.renew, node))))
    print(text.AFTER_RENEWAL)
    return 0


def _show(arguments: argparse.Namespace) -> int:
    from ...status.documents import document

    try:
        from . import seen, text
        from .asked import asked, words_of
        from .certificates import BAD, cluster_in
    except ImportError as error:
        raise _without_package(error) from None
    one = asked(words_of(arguments))
    store = None if one is None else seen.store(one)
    found = cluster_in(arguments.folder or _shown_folder(one.certificates if one else names.peer_folder()), store)
    print(json.dumps(document(found), indent=2) if arguments.json else text.cluster(found))
    expired = any(one.state in BAD for one in (found.authority, *found.nodes))
    return FAILED if expired or (found.store is not None and text.has_trouble(found.store)) else 0


def _shown_folder(own: Path) -> Path:
    """Returns the folder of the CA, or the node's own where there is no CA."""
    folder = names.authority_folder()
    return own if own.is_dir() and not folder.is_dir() else folder


def _authority(arguments: argparse.Namespace) -> Authority:
    try:
        from ...cluster.peers.certificates import Authority
    except ImportError as error:
        raise _without_package(error) from None
    return Authority(arguments.folder or names.authority_folder())


def _without_package(error: ImportError) -> CommandError:
    return CommandError(f"certificates need the package cryptography ({error}); run `pip install 'jitc[cluster]'`")


def _tried(work: Any) -> Any:
    """Does what makes files; an error is one line that names the folder."""
    from ...cluster.peers.certificates import CannotMake

    try:
        return work()
    except CannotMake as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise CommandError(
            f"{where}{error.strerror or error}; nothing was changed, use --folder for another folder"
        ) from None
