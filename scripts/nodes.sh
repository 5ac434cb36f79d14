#!/usr/bin/env bash
# Nodes of namespaces on this machine, for a shell: scripts/nodes.sh --help. What they are: tests/toolkit/nodes.
set -euo pipefail
tests=$(cd "$(dirname "$0")/../tests" && pwd)
# Not by PYTHONPATH, which what runs in a node would have too.
exec python3 -c 'import sys; sys.path.insert(0, sys.argv.pop(1)); from toolkit.nodes.command import main; sys.exit(main(sys.argv[1:]))' "$tests" "$@"
