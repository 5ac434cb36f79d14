"""The Python packages that the Debian package contains, as wheels of PyPI, and their licences.

Called by: make.py. Promises: versions and hashes are those of wheels/*.txt; a wheel that is here is not downloaded
again; packages of several Pythons differ only in their compiled modules, whose names say for which Python they are.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMMON, EACH_PYTHON = HERE / "wheels/common.txt", HERE / "wheels/each-python.txt"
PLATFORMS = ("manylinux_2_34_x86_64", "manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
#: An example beside nvidia-ml-py's module, under a name that is anybody's.
_LEFT_OUT = ("example.py",)
#: Licences as their wheels name them, and by Debian's names.
_NAMES = {
    "3-Clause BSD License": "BSD-3-clause", "BSD": "BSD-3-clause", "BSD-2-Clause": "BSD-2-clause", "MIT": "Expat",
    "MIT License": "Expat", "PSF-2.0": "Python-2.0",
}  # fmt: skip
#: The full text, which every Debian has.
_APACHE = re.compile(r"\s*Apache License\n\s+Version 2\.0, January 2004.*?limitations under the License\.", re.DOTALL)
_COMMON_APACHE = "The Apache License 2.0, which is in /usr/share/common-licenses/Apache-2.0 on Debian systems."


class CannotDownload(Exception):
    """A wheel is not here, and pip does not get it."""


def downloaded(folder: Path, pythons: list[str]) -> list[Path]:
    """Returns the wheels for these Pythons. Raises CannotDownload."""
    found = _of(COMMON, folder, pythons[0])
    for python in pythons:
        found += _of(EACH_PYTHON, folder, python)
    return found


def _of(requirements: Path, folder: Path, python: str) -> list[Path]:
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]
    place = folder / f"{requirements.stem}-{python}-{digest}"
    if not (place / "complete").exists():
        words = ["download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"]
        platforms = [word for one in PLATFORMS for word in ("--platform", one)]
        words += ["--require-hashes", "--python-version", python, *platforms, "-d", str(place), "-r", str(requirements)]
        done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise CannotDownload(f"pip does not get the wheels of {requirements.name}:\n{done.stderr[-2000:]}")
        (place / "complete").touch()
    return sorted(place.glob("*.whl"))


def unpack(wheels: list[Path], site: Path) -> None:
    """Unpacks wheels to a folder of packages. Raises ValueError if two of them have different files of one name."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for one in archive.infolist():
                if one.is_dir() or one.filename in _LEFT_OUT:
                    continue
                place, contents = site / one.filename, archive.read(one)
                # Records and tags differ between Pythons; those of the first one stay.
                if place.exists() and place.read_bytes() != contents and ".dist-info/" not in one.filename:
                    raise ValueError(f"{wheel.name} has another {one.filename} than another wheel")
                if not place.exists():
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(contents)


def licences(site: Path, place: str) -> list[str]:
    """Returns a paragraph of debian/copyright for each package in a folder, which is installed at `place`."""
    found = []
    for info in sorted(site.glob("*.dist-info")):
        metadata = Parser().parsestr((info / "METADATA").read_text())
        texts = sorted(one for one in info.rglob("*") if one.name.startswith(("LICENSE", "LICENCE")))
        text = "\n\n".join(one.read_text().strip() for one in texts) or _comment_of(site / "pynvml.py")
        text = _APACHE.sub(_COMMON_APACHE, text)
        files = sorted({line.split("/")[0].split(",")[0] for line in (info / "RECORD").read_text().splitlines()})
        owned = [one for one in files if (site / one).exists() and one not in _LEFT_OUT]
        holders = [line.strip() for line in text.splitlines() if line.strip().lower().startswith("copyright ")]
        author = metadata["Author-email"] or metadata["Author"] or metadata["Name"]
        found.append(
            f"Files: {' '.join(f'{place}/{one}' + ('/*' if (site / one).is_dir() else '') for one in owned)}\n"
            f"Copyright: {_holders(holders) or author}\n"
            f"License: {_licence(metadata)}-of-{metadata['Name']}\n{indented(text)}"
        )
    return found


def _licence(metadata: Message) -> str:
    classifiers = [
        one.rpartition(" :: ")[2] for one in metadata.get_all("Classifier", []) if one.startswith("License ::")
    ]
    named = metadata["License-Expression"] or metadata["License"] or (classifiers or ["MIT"])[0]
    return _NAMES.get(named, named)


def _holders(lines: list[str]) -> str:
    plain = [one for one in lines if any(letter.isdecimal() for letter in one) and "[yyyy]" not in one]
    return "\n           ".join(dict.fromkeys(one[len("copyright ") :].lstrip("(c)© ") for one in plain))


def _comment_of(module: Path) -> str:
    """Returns the comment at the top of a module, which is the only text of its licence."""
    lines = []
    for line in module.read_text().splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    return "\n".join(lines).strip(" -\n")


def indented(text: str) -> str:
    """Returns a text as the body of a field."""
    return "".join(f" {line.rstrip() or '.'}\n" for line in text.splitlines())
