"""Makes the Debian package of the wheel: jitc_VERSION_amd64.deb.

    make.py [--wheel FILE] [--pythons "3.10 3.11 ..."] [--version VERSION] [--level N] [--out FOLDER]

Called by: `make deb`. Without --wheel it takes the one in build/dist that is of this commit, and makes it if there is
none. Promises: no root and nothing but dpkg-deb and PyPI is needed; the same wheel and options give the same bytes; one
at a time works in a checkout.
"""

from __future__ import annotations

import argparse
import calendar
import fcntl
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from email.utils import formatdate
from pathlib import Path

import vendored
from vendored import CannotDownload, indented

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WORK = ROOT / "build" / "deb"
DIST = ROOT / "build" / "dist"
#: Python of Ubuntu 22.04, Debian 12, Ubuntu 24.04, Debian 13 and what comes next.
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
MAINTAINER = "jitc maintainers <maintainers@jitc.invalid>"
#: Places in the package.
LIB, DOC = "usr/lib/jitc", "usr/share/doc/jitc"
TREE = f"{LIB}/package"
SITE, PACKAGES = f"{TREE}/lib/python3/site-packages", f"{TREE}/packages"
#: The import path's folders beside site-packages. The last line puts its own before those of PYTHONPATH, which
#: may be of another Python.
PATHS = """../../../packages
/etc/jitc/packages
import sys; sys.path.sort(key=lambda one: not one.startswith(sys.prefix + "/"))
"""
_RUNS = "import json; from jitc.proxy.service import VERSIONS; print(json.dumps(VERSIONS, sort_keys=True))"
_CHECKOUT_COMMAND = "/opt/jitc/.venv/bin/jitc-proxyd"


class CannotMake(Exception):
    """The package cannot be made; the text says why."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--wheel", type=Path, help="the wheel (that of this commit in build/dist)")
    options.add_argument("--pythons", default=" ".join(PYTHONS), help="the versions of Python (%(default)s)")
    options.add_argument("--version", help="version of the package (the wheel's)")
    options.add_argument("--level", type=int, default=6, help="of compression: 0 (fast) to 9 (%(default)s)")
    options.add_argument("--out", type=Path, default=DIST, help="where it goes (build/dist)")
    arguments = options.parse_args()
    if shutil.which("dpkg-deb") is None:
        raise CannotMake("there is no dpkg-deb (Debian's package dpkg)")
    WORK.mkdir(parents=True, exist_ok=True)
    with (WORK / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wheel = (arguments.wheel or _wheel_of_this_commit()).resolve()
        pythons = sorted(arguments.pythons.split(), key=_number)
        version = arguments.version or debian_version(wheel.name.split("-")[1])
        made = _make(wheel, pythons, version, arguments.level, arguments.out.resolve())
    print(f"   {made.stat().st_size / 1e6:6.2f} MB  {made.relative_to(ROOT) if made.is_relative_to(ROOT) else made}")
    return 0


def debian_version(number: str) -> str:
    """Returns a version as Debian orders them: 1.0rc1 comes before 1.0."""
    return re.sub(r"\.?(dev|a|b|rc)", r"~\1", number)


def _number(python: str) -> tuple[int, ...]:
    return tuple(int(one) for one in python.split("."))


def _wheel_of_this_commit() -> Path:
    """Returns the wheel in build/dist whose files have the time of this commit; makes it where there is none."""
    commit = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True, text=True)
    wheels = [one for one in DIST.glob("*.whl") if _epoch(one) == int(commit.stdout) // 2 * 2]
    if not wheels:
        subprocess.run([sys.executable, str(ROOT / "scripts/wheel/make.py")], check=True)
        wheels = list(DIST.glob("*.whl"))
    (wheel,) = wheels
    return wheel


def _epoch(wheel: Path) -> int:
    """Returns the time of a wheel's files, which is that of its commit to two seconds."""
    with zipfile.ZipFile(wheel) as archive:
        newest = max(one.date_time for one in archive.infolist())
    return calendar.timegm((*newest, 0, 0, 0))


def _make(wheel: Path, pythons: list[str], version: str, level: int, out: Path) -> Path:
    print(f"== package for Python {', '.join(pythons)}", flush=True)
    root = WORK / "root"
    shutil.rmtree(root, ignore_errors=True)
    _python(root, wheel, vendored.downloaded(WORK / "wheels", pythons), pythons)
    _name(root / TREE, version)
    _system(root, wheel)
    _documents(root, version, _epoch(wheel))
    _control(root, version, pythons)
    _settle(root, _epoch(wheel))
    out.mkdir(parents=True, exist_ok=True)
    made = out / f"jitc_{version}_amd64.deb"
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "-Zxz", f"-z{level}", "--build", str(root), str(made)], check=True,
        stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": str(_epoch(wheel))},
    )  # fmt: skip
    _sum(made)
    return made


def _python(root: Path, wheel: Path, wheels: list[Path], pythons: list[str]) -> None:
    """Makes a virtual environment of any Python: its own packages, and jitc in a folder without others."""
    site, packages = root / SITE, root / PACKAGES
    site.mkdir(parents=True)
    vendored.unpack(wheels, site)
    packages.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages, [one for one in archive.namelist() if ".data/" not in one])
    for info in packages.glob("jitc-*.dist-info"):
        (info / "INSTALLER").write_text("debian\n")  # client_shim/native_parts/installation.py asks for it
    (site / "jitc.pth").write_text(PATHS)
    for python in pythons:
        (site.parents[1] / f"python{python}").symlink_to("python3")
    tree, programs = root / TREE, root / TREE / "bin"
    (tree / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
    programs.mkdir()
    (programs / "python3").symlink_to("../../../../bin/python3")
    for name, source in (("jitc", "start_jitc.py"), ("jitc-proxyd", "start_proxyd.py")):
        shutil.copy(HERE / source, programs / name)
    (tree / "versions").write_text(_said(root, "-c", _RUNS))


def _said(root: Path, *words: str) -> str:
    """Returns what the package's own code prints, run by this Python."""
    place = os.pathsep.join(str(root / one) for one in (PACKAGES, SITE))
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, cwd=root,
        env={**os.environ, "PYTHONPATH": place, "PYTHONDONTWRITEBYTECODE": "1"}, check=False,
    )  # fmt: skip
    if done.returncode:
        raise CannotMake(f"the package's code does not run: {done.stderr[-2000:]}")
    return done.stdout


def _name(tree: Path, version: str) -> None:
    """Writes the name of this version's folder. It has a hash, since two builds may have one version."""
    digest = hashlib.sha256()
    for one in sorted(tree.rglob("*")):
        text = os.readlink(one).encode() if one.is_symlink() else one.read_bytes() if one.is_file() else b""
        digest.update(f"{one.relative_to(tree)} {len(text)} ".encode() + text)
    (tree / "name").write_text(f"{version}-{digest.hexdigest()[:8]}\n")


def _system(root: Path, wheel: Path) -> None:
    """Adds what lies outside of the package's folder: commands, units, options, manuals and completion."""
    shutil.copy(HERE / "trees.py", root / LIB / "trees")
    launcher = (HERE / "launch.sh").read_text()
    _write(root / "usr/bin/jitc", launcher.replace("@COMMAND@", "jitc"))
    _write(root / "usr/bin/jitc-proxyd", launcher.replace("@COMMAND@", "jitc-proxyd"))
    units = root / "usr/lib/systemd/system"
    _write(units / "jitc-proxyd.service", _unit((ROOT / "docker/jitc-proxyd.service").read_text()))
    _write(units / "jitc-proxyd.socket", (ROOT / "docker/jitc-proxyd.socket").read_text())
    options = (ROOT / "docker/jitc.toml").read_text().replace("docker/jitc-proxyd.service", "jitc-proxyd.service")
    _write(root / "etc/jitc/jitc.toml", options.replace("docs/cli.md", "jitc-proxyd(1)"))
    with zipfile.ZipFile(wheel) as archive:
        for one in archive.namelist():
            if one.endswith(".1") and "/share/man/man1/" in one:
                _zipped(root / "usr/share/man/man1" / Path(one).name, archive.read(one))
    completions = root / "usr/share/bash-completion/completions"
    _write(completions / "jitc", _said(root, "-m", "jitc", "completion", "bash"))
    (completions / "jitc-proxyd").symlink_to("jitc")
    for part in re.split(r"(?m)^(?=#compdef )", _said(root, "-m", "jitc", "completion", "zsh")):
        if name := re.match(r"#compdef (\S+)", part):
            _write(root / f"usr/share/zsh/vendor-completions/_{name[1]}", part.rstrip() + "\n")


def _unit(text: str) -> str:
    """Returns a unit of docker/ with the places of the package."""
    if _CHECKOUT_COMMAND not in text:
        raise CannotMake(f"a unit in docker/ does not start {_CHECKOUT_COMMAND}")
    text = text.replace(_CHECKOUT_COMMAND, f"/{LIB}/trees serve").replace(
        "Type=notify\n", "Type=notify\nSyslogIdentifier=jitc-proxyd\n"
    )
    text = text.replace("file:/opt/jitc/README.md", f"man:jitc-proxyd(1) file:/{DOC}/README.Debian")
    text = re.sub(r"Adjust the\s(# )?path /opt/jitc; options", r"\1Options", text)
    return text.replace("docker/jitc.toml is an example", "the package's /etc/jitc/jitc.toml is an example")


def _documents(root: Path, version: str, epoch: int) -> None:
    date = formatdate(epoch)
    changes = f"jitc ({version}) unstable; urgency=medium\n\n  * Made from jitc's wheel.\n\n -- {MAINTAINER}  {date}\n"
    _zipped(root / DOC / "changelog.gz", changes.encode())
    _write(root / DOC / "README.Debian", (HERE / "README.Debian").read_text())
    for name in ("jitc-proxyd-software.conf", "jitc-proxyd-user.service"):
        _write(root / DOC / "examples" / name, _unit((ROOT / "docker" / name).read_text()))
    users = "jitc-proxyd-users.conf"  # starts nothing
    _write(root / DOC / "examples" / users, (ROOT / "docker" / users).read_text())
    _write(root / DOC / "copyright", _copyright(root))
    _write(root / "usr/share/lintian/overrides/jitc", (HERE / "lintian-overrides").read_text())


def _copyright(root: Path) -> str:
    licences = sorted((root / PACKAGES).glob("jitc-*.dist-info/licenses/scripts/wheel/licenses/*.txt"))
    named = ", ".join(one.stem for one in licences)
    linked = [f"Files: {PACKAGES}/jitc/*/lib/*\nCopyright: 2026 the authors of jitc, and those of {named}\n"
              f"License: Apache-2.0 and {' and '.join(f'of-{one.stem}' for one in licences)}\n"]  # fmt: skip
    linked += [f"License: of-{one.stem}\n{indented(one.read_text().strip())}" for one in licences]
    return "\n".join([(HERE / "copyright").read_text(), *vendored.licences(root / SITE, SITE), *linked])


def _control(root: Path, version: str, pythons: list[str]) -> None:
    control = root / "DEBIAN"
    control.mkdir()
    files = sorted(one for one in root.rglob("*") if control not in one.parents and one != control)
    plain = [one for one in files if one.is_file() and not one.is_symlink()]
    following = ".".join(map(str, (*_number(pythons[-1])[:1], _number(pythons[-1])[1] + 1)))
    fields = {
        "VERSION": version, "MAINTAINER": MAINTAINER, "SIZE": str(_installed_kib(files)), "PYTHON": pythons[0],
        "NEXT_PYTHON": f"{following}~",
    }  # fmt: skip
    text = (HERE / "control").read_text()
    for name, value in fields.items():
        text = text.replace(f"@{name}@", value)
    _write(control / "control", text)
    sums = [(hashlib.md5(one.read_bytes()).hexdigest(), one.relative_to(root)) for one in plain]
    _write(
        control / "md5sums", "".join(f"{number}  {name}\n" for number, name in sums if not str(name).startswith("etc/"))
    )
    _write(control / "conffiles", "/etc/jitc/jitc.toml\n")
    for name in ("postinst", "prerm", "postrm"):
        shutil.copy(HERE / name, control / name)


def _installed_kib(files: list[Path]) -> int:
    """Returns the size as Debian counts it: files in units of a KiB, and one for anything else."""
    return sum(-(-one.stat().st_size // 1024) if one.is_file() and not one.is_symlink() else 1 for one in files)


def _settle(root: Path, epoch: int) -> None:
    """Sets modes and times of all files, whatever this process's umask is."""
    programs = {root / LIB / "trees", *(root / "DEBIAN" / one for one in ("postinst", "prerm", "postrm"))}
    for one in (root, *sorted(root.rglob("*"))):
        if not one.is_symlink():
            executable = one.is_dir() or one in programs or one.parent == root / "usr/bin"
            one.chmod(0o755 if executable else 0o644)
        os.utime(one, (epoch, epoch), follow_symlinks=False)


def _sum(made: Path) -> None:
    """Adds the package to the folder's SHA256SUMS, if it has one."""
    sums = made.parent / "SHA256SUMS"
    if sums.exists():
        lines = [line for line in sums.read_text().splitlines() if not line.endswith(".deb")]
        lines.append(f"{hashlib.sha256(made.read_bytes()).hexdigest()}  {made.name}")
        sums.write_text("".join(f"{line}\n" for line in sorted(lines, key=lambda line: line.split("  ")[1])))


def _write(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def _zipped(place: Path, contents: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    name = place if place.suffix == ".gz" else place.with_name(f"{place.name}.gz")
    name.write_bytes(gzip.compress(contents, 9, mtime=0))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (CannotMake, CannotDownload, OSError, ValueError, subprocess.CalledProcessError) as error:
        sys.exit(f"make deb: {error}")
