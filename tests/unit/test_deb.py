"""The Debian package: what is in it and where, its scripts, and that it is the same each time. It is made for one
Python and without native parts; tests/end_to_end/test_deb_install.py installs one."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import io
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path
from types import ModuleType

import pytest
from toolkit.tree import ROOT
from toolkit.waiting import patient, until
from toolkit.wheel import environment, made

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="there is no dpkg-deb (Debian's package dpkg)")
MB = 1_000_000
SCRIPTS = ROOT / "scripts" / "deb"
PYTHON, NEXT = f"3.{sys.version_info[1]}", f"3.{sys.version_info[1] + 1}"
TREE = "usr/lib/jitc/package"
SITE, PACKAGES = f"{TREE}/lib/python3/site-packages", f"{TREE}/packages"
MAINTAINER_SCRIPTS = ("postinst", "prerm", "postrm")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("dist"))


def package(wheel: Path, out: Path, *options: str) -> Path:
    """Makes the package in a folder."""
    command = [sys.executable, str(SCRIPTS / "make.py"), "--wheel", str(wheel), "--pythons", PYTHON, "--level", "0"]
    done = subprocess.run(
        [*command, "--out", str(out), *options], capture_output=True, text=True, timeout=patient(200), check=False,
        env=environment(),
    )  # fmt: skip
    if "pip does not get the wheels" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = out.glob("*.deb")
    return found


@pytest.fixture(scope="module")
def deb(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return package(wheel, tmp_path_factory.mktemp("deb"))


def part(deb: Path, option: str) -> tarfile.TarFile:
    """Returns an archive in the package: its files (--fsys-tarfile), or its scripts (--ctrl-tarfile)."""
    done = subprocess.run(["dpkg-deb", option, str(deb)], stdout=subprocess.PIPE, check=True)
    return tarfile.open(fileobj=io.BytesIO(done.stdout))


@pytest.fixture(scope="module")
def files(deb: Path) -> dict[str, tarfile.TarInfo]:
    return {one.name.removeprefix("./"): one for one in part(deb, "--fsys-tarfile").getmembers()}


@pytest.fixture(scope="module")
def contents(deb: Path) -> dict[str, bytes]:
    with part(deb, "--fsys-tarfile") as archive:
        plain = [one for one in archive.getmembers() if one.isfile()]
        return {one.name.removeprefix("./"): archive.extractfile(one).read() for one in plain}  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def control(deb: Path) -> dict[str, str]:
    with part(deb, "--ctrl-tarfile") as archive:
        plain = [one for one in archive.getmembers() if one.isfile()]
        return {one.name.removeprefix("./"): archive.extractfile(one).read().decode() for one in plain}  # type: ignore[union-attr]


def fields(control: dict[str, str]) -> Message:
    return Parser().parsestr(control["control"])


def script(name: str) -> ModuleType:
    """Returns a module of scripts/deb."""
    spec = importlib.util.spec_from_file_location(f"deb_{name}", SCRIPTS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_its_name_and_what_it_says(deb: Path, wheel: Path, control: dict[str, str]) -> None:
    version = wheel.name.split("-")[1]
    assert deb.name == f"jitc_{version}_amd64.deb"
    said = fields(control)
    assert (said["Package"], said["Version"], said["Architecture"]) == ("jitc", version, "amd64")
    assert f"python3 (>= {PYTHON}), python3 (<< {NEXT}~)" in said["Depends"] and "libc6 (>= 2.34)" in said["Depends"]
    assert "g++" in said["Suggests"] and all(len(line) <= 80 for line in control["control"].splitlines()[9:])


def test_the_wheel_is_in_it(wheel: Path, contents: dict[str, bytes]) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for one in archive.namelist():
            if ".data/" not in one:
                assert contents[f"{PACKAGES}/{one}"] == archive.read(one)
            elif one.endswith(".1"):
                assert gzip.decompress(contents[f"usr/share/man/man1/{Path(one).name}.gz"]) == archive.read(one)


def test_its_dependencies_are_in_it(wheel: Path, contents: dict[str, bytes]) -> None:
    """All that the wheel and they require, in versions that it allows; nothing of another Python."""
    from packaging.requirements import Requirement

    infos = [one for one in contents if one.endswith(".dist-info/METADATA")]
    metadata = {one: Parser().parsestr(contents[one].decode()) for one in infos}
    there = {re.sub(r"[-_.]+", "-", one["Name"]).lower(): one["Version"] for one in metadata.values()}
    wanted = [Requirement(one) for info in metadata.values() for one in info.get_all("Requires-Dist", [])]
    needed = [
        one for one in wanted if one.marker is None or one.marker.evaluate({"python_version": "3.10", "extra": ""})
    ]
    assert {"grpcio", "protobuf", "rich", "shtab", "tomli"} <= {one.name for one in needed}
    for one in needed:
        assert one.specifier.contains(there[one.name.lower()]), one
    assert there["nvidia-ml-py"], "the service counts GPUs by it"
    compiled = {one.rpartition("/")[2] for one in contents if ".cpython-" in one}
    assert compiled == {f"cygrpc.cpython-3{sys.version_info[1]}-x86_64-linux-gnu.so"}
    assert f"{SITE}/example.py" not in contents


def test_programs_get_package_jitc_and_no_other(files: dict[str, tarfile.TarInfo]) -> None:
    names = {one.removeprefix(f"{PACKAGES}/").partition("/")[0] for one in files if one.startswith(f"{PACKAGES}/")}
    assert {one.partition("-")[0] for one in names - {""}} == {"jitc"}
    assert any(re.fullmatch(rf"{PACKAGES}/jitc-[^/]*\.dist-info/INSTALLER", one) for one in files)
    site = {one.removeprefix(f"{SITE}/").partition("/")[0] for one in files if one.startswith(f"{SITE}/")}
    assert "grpc" in site and "jitc" not in site and "jitc.pth" in site
    assert not [one for one in files if "dist-packages" in one or "__pycache__" in one]


def test_it_is_small(deb: Path, files: dict[str, tarfile.TarInfo], control: dict[str, str]) -> None:
    assert sum(one.size for one in files.values()) <= 40 * MB
    size = int(fields(control)["Installed-Size"]) * 1024
    assert abs(size - sum(one.size for one in files.values())) <= 2 * MB


def test_owners_modes_and_times(files: dict[str, tarfile.TarInfo]) -> None:
    programs = {"usr/bin/jitc", "usr/bin/jitc-proxyd", "usr/lib/jitc/trees"}
    for name, one in files.items():
        assert (one.uid, one.gid, one.uname) == (0, 0, "root"), name
        if not one.issym():
            assert one.mode == (0o755 if one.isdir() or name in programs else 0o644), name
    assert len({one.mtime for one in files.values()}) == 1
    links = {name: one.linkname for name, one in files.items() if one.issym()}
    assert links == {
        f"{TREE}/bin/python3": "../../../../bin/python3",
        f"{TREE}/lib/python{PYTHON}": "python3",
        "usr/share/bash-completion/completions/jitc-proxyd": "jitc",
    }


def test_the_unit_and_the_options(contents: dict[str, bytes], control: dict[str, str]) -> None:
    assert control["conffiles"] == "/etc/jitc/jitc.toml\n"
    given, options = (ROOT / "docker/jitc.toml").read_text(), contents["etc/jitc/jitc.toml"].decode()
    assert tomllib.loads(options) == tomllib.loads(given)
    unit = contents["usr/lib/systemd/system/jitc-proxyd.service"].decode()
    examples = "usr/share/doc/jitc/examples"
    drop_in, of_a_user = (
        contents[f"{examples}/jitc-proxyd-{name}"].decode() for name in ("software.conf", "user.service")
    )
    assert "ExecStart=/usr/lib/jitc/trees serve --device cuda" in unit
    assert "ExecStart=/usr/lib/jitc/trees serve --device software" in drop_in
    assert "ExecStart=/usr/lib/jitc/trees serve --device software" in of_a_user
    users = contents[f"{examples}/jitc-proxyd-users.conf"].decode()
    assert users == (ROOT / "docker/jitc-proxyd-users.conf").read_text()
    listens = contents["usr/lib/systemd/system/jitc-proxyd.socket"].decode()
    assert listens == (ROOT / "docker/jitc-proxyd.socket").read_text()
    assert "/opt/jitc" not in unit + drop_in + of_a_user + options + users + listens
    assert "docker/" not in options + drop_in + users + listens
    #: An upgrade kills the service alone, and systemd must start the next one.
    assert "\nKillMode=process\n" in unit and "\nRestart=on-failure\n" in unit
    assert not [one for one in contents if ".target.wants" in one]


def test_completion(contents: dict[str, bytes]) -> None:
    bash = contents["usr/share/bash-completion/completions/jitc"].decode()
    assert {
        "complete -o bashdefault -F _shtab_jitc jitc",
        "complete -o bashdefault -F _shtab_jitc_proxyd jitc-proxyd",
    } <= set(bash.splitlines())
    for command in ("jitc", "jitc-proxyd"):
        text = contents[f"usr/share/zsh/vendor-completions/_{command}"].decode()
        assert re.findall(r"(?m)^#compdef (.*)$", text) == [command]


def test_documents(contents: dict[str, bytes], control: dict[str, str]) -> None:
    copyright = contents["usr/share/doc/jitc/copyright"].decode()
    for one in {name.split("/")[-2] for name in contents if name.startswith(f"{SITE}/") and name.endswith("/METADATA")}:
        assert f"{SITE}/{one}/*" in copyright, "each package that comes along has its licence"
    for one in ("nghttp2", "xxhash", "nlohmann-json", "gcc-runtime"):
        assert f"License: of-{one}" in copyright
    changelog = gzip.decompress(contents["usr/share/doc/jitc/changelog.gz"]).decode()
    assert changelog.startswith(f"jitc ({fields(control)['Version']}) ")
    assert all(len(line) <= 80 for line in contents["usr/share/doc/jitc/README.Debian"].decode().splitlines())


def test_the_sums_are_right(contents: dict[str, bytes], control: dict[str, str]) -> None:
    lines = [line.split("  ", 1) for line in control["md5sums"].splitlines()]
    said = {name: number for number, name in lines}
    assert set(said) == {one for one in contents if not one.startswith("etc/")}
    assert all(hashlib.md5(contents[name]).hexdigest() == number for name, number in said.items())


def test_the_same_wheel_gives_the_same_bytes(deb: Path, wheel: Path, tmp_path: Path) -> None:
    mask = os.umask(0o077)
    try:
        again = package(wheel, tmp_path)
    finally:
        os.umask(mask)
    assert again.read_bytes() == deb.read_bytes()


def test_another_version_has_another_folder(wheel: Path, contents: dict[str, bytes], tmp_path: Path) -> None:
    name = contents[f"{TREE}/name"].decode().strip()
    assert re.fullmatch(re.escape(wheel.name.split("-")[1]) + r"-[0-9a-f]{8}", name)
    with part(package(wheel, tmp_path, "--version", "9.1~rc1"), "--fsys-tarfile") as archive:
        other = archive.extractfile(f"./{TREE}/name")
        assert other is not None and other.read().decode().startswith("9.1~rc1-")


@pytest.mark.parametrize(
    ("number", "debian"), [("0.1.0", "0.1.0"), ("1.0rc1", "1.0~rc1"), ("1.0.dev3", "1.0~dev3"), ("2.0a1", "2.0~a1")]
)
def test_versions_are_in_order(number: str, debian: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    assert script("make").debian_version(number) == debian
    release = re.split(r"\.?(?:dev|a|rc)", number)[0]
    order = "eq" if number == release else "lt"
    subprocess.run(["dpkg", "--compare-versions", debian, order, release], check=True)


@pytest.mark.parametrize("name", [*MAINTAINER_SCRIPTS, "launch.sh"])
def test_scripts_are_good_shell(name: str) -> None:
    subprocess.run(["sh", "-n", str(SCRIPTS / name)], check=True)
    if (check := shutil.which("shellcheck")) is None:
        pytest.skip("there is no shellcheck; the syntax is right")
    done = subprocess.run([check, str(SCRIPTS / name)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_scripts_are_in_it(control: dict[str, str]) -> None:
    assert set(control) == {"control", "md5sums", "conffiles", *MAINTAINER_SCRIPTS}
    for name in MAINTAINER_SCRIPTS:
        assert control[name] == (SCRIPTS / name).read_text()


def test_lintian_finds_no_error(deb: Path) -> None:
    if (lintian := shutil.which("lintian")) is None:
        pytest.skip("there is no lintian")
    done = subprocess.run(
        [lintian, "--fail-on", "error", str(deb)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=patient(100), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


class Versions:
    """A folder with versions, in place of /usr/lib/jitc."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.trees = root / "jitc", script("trees")
        monkeypatch.setattr(self.trees, "ROOT", self.root)
        monkeypatch.setattr(self.trees, "PACKAGE", self.root / "package")
        monkeypatch.setattr(self.trees, "CURRENT", self.root / "current")

    def unpack(self, name: str, versions: str = "1") -> None:
        """Replaces the package's files as dpkg does: with new ones."""
        programs = self.root / "package" / "bin"
        programs.mkdir(parents=True, exist_ok=True)
        for path, text in (("name", f"{name}\n"), ("versions", versions), ("bin/tool", name)):
            new = self.root / "package" / f"{path}.dpkg-new"
            new.write_text(text)
            new.replace(self.root / "package" / path)
        (programs / "python3").unlink(missing_ok=True)
        (programs / "python3").symlink_to(sys.executable)

    def install(self, name: str, versions: str = "1") -> Path:
        self.unpack(name, versions)
        assert self.trees.main(["add"]) == 0
        return self.root / name


@pytest.fixture
def versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Versions:
    return Versions(tmp_path, monkeypatch)


def test_versions_lie_beside_each_other_without_copies(versions: Versions) -> None:
    first = versions.install("1-a")
    second = versions.install("2-b")
    assert (first / "bin/tool").read_text() == "1-a" and (second / "bin/tool").read_text() == "2-b"
    assert (second / "bin/tool").samefile(versions.root / "package/bin/tool")
    assert os.readlink(versions.root / "current") == "2-b"
    assert not [one for one in versions.root.rglob("*") if one.name.endswith(".new")]


def test_a_folder_is_mended_by_another_installation(versions: Versions) -> None:
    tree = versions.install("1-a")
    (tree / "bin/tool").unlink()
    versions.install("1-a")
    assert (tree / "bin/tool").read_text() == "1-a"
    assert not [one for one in versions.root.rglob("*") if one.name.endswith(".new")]


def test_a_version_in_use_stays(versions: Versions) -> None:
    first = versions.install("1-a")
    child = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    with subprocess.Popen(
        child,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "LD_PRELOAD_OF_A_TEST": str(first / "x.so")},
    ) as user:
        assert user.stdin is not None and user.stdout is not None
        user.stdout.readline()
        second = versions.install("2-b")
        assert versions.trees.main(["tidy"]) == 0 and first.exists()
        user.stdin.close()
        user.wait(patient(20))
    assert versions.trees.main(["tidy"]) == 0
    assert not first.exists() and second.exists() and (versions.root / "package").exists()


@pytest.mark.parametrize(("later", "serving"), [("1", "2-b"), ("other", "1-a")])
def test_the_unit_runs_what_a_living_keeper_accepts(
    versions: Versions, tmp_path: Path, later: str, serving: str
) -> None:
    versions.install("1-a")
    versions.install("2-b", later)
    path = tmp_path / "s"
    Path(f"{path}.versions").write_text("1")
    Path(f"{path}.d").mkdir()
    note = Path(f"{path}.versions")
    assert versions.trees._for_keeper(str(path), note, versions.root / "2-b").name == "2-b", "there is no keeper"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as keeper:
        keeper.bind(f"{path}.d/keeper")
        keeper.listen(4)
        assert versions.trees._for_keeper(str(path), note, versions.root / "2-b").name == serving
    assert versions.trees._for_keeper(str(path), note, versions.root / "2-b").name == "2-b", "it has ended"


def test_a_package_that_was_never_configured_can_be_removed(versions: Versions) -> None:
    versions.unpack("1-a")
    assert versions.trees.main(["users"]) == 0


@pytest.fixture
def serving(versions: Versions, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[str]]:
    """A service that runs from a version's folder, in which this Python finds the packages that it has here. systemd
    names its process."""
    tree = versions.install("1-a")
    if (note := Path(sys.prefix, "pyvenv.cfg")).exists():
        shutil.copy(note, tree)
    (tree / "lib").symlink_to(Path(sys.prefix, "lib"))
    for name, module in (("jitc", "jitc"), ("jitc-proxyd", "jitc_proxyd")):
        start = f"import sys\nfrom jitc.proxy.commands.entry import {module}\nsys.exit({module}())\n"
        (tree / "bin" / name).write_text(start)
    socket_path = str(versions.root.parent / "s")
    monkeypatch.setattr(versions.trees, "SOCKET", socket_path)
    words = [str(tree / "bin" / one) for one in ("python3", "jitc-proxyd")]
    options = ["--device", "software", "--gpus", "1", "--spares", "0", "--socket", socket_path]
    with subprocess.Popen([*words, *options], stdout=subprocess.PIPE, text=True) as one:
        assert one.stdout is not None
        try:
            assert one.stdout.readline().startswith("jitc-proxyd ready")
            monkeypatch.setattr(versions.trees, "_main_pid", lambda: one.pid if one.poll() is None else 0)
            yield one
        finally:
            keepers = [process.pid for process in versions.trees._processes() if process.is_keeper()]
            for pid in (*keepers, *([one.pid] if one.poll() is None else [])):
                os.kill(pid, signal.SIGCONT)
            one.terminate()
            one.wait(patient(60))
            until(lambda: not list(versions.trees._processes()), 60, "its keeper and its workers have ended")


def test_a_service_that_does_not_answer_is_in_use(
    versions: Versions, serving: subprocess.Popen[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its jobs, of which nothing is known, would end with it."""
    assert versions.trees.main(["users"]) == 0, "it is idle"
    os.kill(serving.pid, signal.SIGSTOP)
    assert versions.trees.main(["users"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert f"in use by the service of process {serving.pid}, which does not answer" in line
    os.kill(serving.pid, signal.SIGCONT)
    assert versions.trees.main(["users"]) == 0


def test_a_keeper_whose_service_has_ended_is_in_use(
    versions: Versions, serving: subprocess.Popen[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A keeper holds what a job needs to go on; this one is stopped, or it would end without a job."""
    (keeper,) = (one.pid for one in versions.trees._processes() if one.is_keeper())
    os.kill(keeper, signal.SIGSTOP)
    serving.kill()
    serving.wait(patient(60))
    assert versions.trees.main(["users"]) == 1
    assert f"in use by a jitc-keeper of process {keeper}, whose service has ended" in capsys.readouterr().err


def test_a_wrong_word_is_one_line(versions: Versions, capsys: pytest.CaptureFixture[str]) -> None:
    assert versions.trees.main(["strange"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("jitc: use add, ")
