"""`python -m model` (in tests/): explores one shape, and prints what is found. See docs/model.md."""

from __future__ import annotations

import argparse
import sys

from .explore import Exploration
from .network import Network
from .nodes.network import NodesNetwork
from .nodes.state import Troubles
from .state import Shape


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m model", description=__doc__, allow_abbrev=False)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--boundaries", type=int, default=2)
    parser.add_argument("--faults", type=int, default=1)
    parser.add_argument("--restarts", type=int, default=0, help="of the service")
    parser.add_argument("--peer-mode", action="store_true", help="copies of what ranks share are left out")
    parser.add_argument("--damages", type=int, default=0, help="of kept copies")
    parser.add_argument("--steady", action="store_true", help="begin at a boundary that is kept")
    parser.add_argument("--extra", type=int, default=0, help="boundaries of rank 0 alone in each minibatch")
    parser.add_argument("--prompt", action="store_true", help="programs and replies never lag")
    parser.add_argument("--nodes", type=int, default=1)
    for name in Troubles._fields:
        parser.add_argument(f"--{name}", type=int, default=0, help="over nodes")
    parser.add_argument(
        "--without", action="append", default=[], metavar="RULE", help="leave this rule out (mutants.py)"
    )
    parser.add_argument("--most", type=int, default=5_000_000, help="worlds")
    said = parser.parse_args()
    shape = Shape(
        said.ranks,
        said.boundaries,
        said.faults,
        said.peer_mode,
        said.restarts,
        said.damages,
        said.steady,
        said.prompt,
        said.extra,
        said.nodes,
        Troubles(*(getattr(said, name) for name in Troubles._fields)),
    )
    network = NodesNetwork if shape.nodes > 1 else Network
    found = Exploration(network(shape, frozenset(said.without)), said.most).run()
    print(found.text())
    return 1 if found.problem else 0


if __name__ == "__main__":
    sys.exit(main())
