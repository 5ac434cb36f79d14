"""An installation of the checkout itself: a wheel with a finder of modules and the metadata, nothing else.

Called by: backend.py, for `pip install -e`. Promises: modules have the paths of the sources; what lies on the import
path before it, such as a copy of jitc in PYTHONPATH, comes first, which scikit-build-core's own finder does not allow.
"""

from __future__ import annotations

import base64
import hashlib
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from scikit_build_core import build as _build

try:
    import tomllib
except ImportError:  # before Python 3.11; scikit-build-core needs it too
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
_FINDER = '''"""Finds jitc's packages in a checkout. Written by its scripts/wheel/editable.py."""

import sys
from importlib.util import spec_from_file_location

PACKAGES = {packages!r}


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        place = PACKAGES.get(name)
        if place is None:
            return None
        return spec_from_file_location(name, place + "/__init__.py", submodule_search_locations=[place])


sys.meta_path.append(Finder)
'''


def metadata(folder: str, config_settings: Any) -> str:
    """Writes the metadata; returns the name of its folder. CMake is not asked for: it may not be there yet."""
    return _build.prepare_metadata_for_build_editable(folder, {**(config_settings or {}), "wheel.cmake": "false"})


def build(wheel_directory: str, config_settings: Any) -> str:
    """Returns the wheel's name."""
    with tempfile.TemporaryDirectory() as place:
        info = metadata(place, config_settings)
        files = {f"{info}/{path.relative_to(Path(place, info))}": path.read_bytes()
                 for path in sorted(Path(place, info).rglob("*")) if path.is_file()}  # fmt: skip
    files["_jitc_editable.py"] = _FINDER.format(packages=_packages()).encode()
    files["_jitc_editable.pth"] = b"import _jitc_editable\n"
    tag = "py3-none-any"
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: jitc\nRoot-Is-Purelib: true\nTag: {tag}\n".encode()
    files[f"{info}/RECORD"] = "".join(_record(name, contents) for name, contents in files.items()).encode() + (
        f"{info}/RECORD,,\n".encode()
    )
    name = f"{info.removesuffix('.dist-info')}-{tag}.whl"
    with zipfile.ZipFile(Path(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for one, contents in files.items():
            wheel.writestr(one, contents)
    return name


def _packages() -> dict[str, str]:
    """Returns the places of the packages that pyproject.toml maps, and of the folder above them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    mapped: dict[str, str] = project["tool"]["scikit-build"]["wheel"]["packages"]
    places = {name.replace("/", "."): ROOT / place for name, place in mapped.items()}
    return {name: str(place) for name, place in places.items() if (place / "__init__.py").exists()}


def _record(name: str, contents: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(contents)}\n"
