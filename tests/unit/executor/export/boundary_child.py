"""A process that only reads the boundaries of a session.

Started as: python boundary_child.py LIBRARY FILES_JSON (fields of SessionFiles). Writes one JSON document: the
boundaries, the SHA-256 of the bytes of each one's rows, one after the other, and the libraries that are loaded.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import asdict
from pathlib import Path

from jitc.proxy.common.boundaries import BoundaryFiles, SessionFiles


def main() -> None:
    with BoundaryFiles(SessionFiles(**json.loads(sys.argv[2])), Path(sys.argv[1])) as files:
        found = []
        for boundary in files.boundaries():
            hashes = hashlib.sha256()
            for row in files.rows(boundary.number):
                hashes.update(files.read(boundary.number, row))
            found.append({**asdict(boundary), "sha256": hashes.hexdigest()})
    maps = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if ".so" in line}
    json.dump({"boundaries": found, "libraries": sorted(Path(one).name for one in maps)}, sys.stdout)


if __name__ == "__main__":
    main()
