"""The systemd units of docker/: what systemd-analyze says of their sandboxes, and whether jitc takes their options.

tests/end_to_end/test_systemd.py runs them.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from toolkit.tree import ROOT

from jitc.proxy.commands import jitc, proxyd
from jitc.proxy.commands.options import CommandError
from jitc.proxy.commands.settings.cluster import PASSWORD, cluster_options
from jitc.proxy.commands.settings.file import read
from jitc.proxy.commands.settings.service import resolve_device_options
from jitc.proxy.commands.settings.setting import CLUSTER_SETTINGS, SERVICE_SETTINGS
from jitc.proxy.commands.variables import VARIABLES

DOCKER = ROOT / "docker"
SYSTEM, SOFTWARE, USER = "jitc-proxyd.service", "jitc-proxyd-software.conf", "jitc-proxyd-user.service"
USERS, SOCKET = "jitc-proxyd-users.conf", "jitc-proxyd.socket"
CLUSTER, CLUSTER_FILE, STORE = "jitc-proxyd-cluster.conf", "jitc-cluster.env", "jitc-store.service"
INSTALLED = "/opt/jitc"
FILE = DOCKER / "jitc.toml"
#: Values of %t, %C and %E in the manager of the system, and in that of a user.
FOLDERS = {
    SYSTEM: {"%t": "/run", "%C": "/var/cache", "%E": "/etc"},
    USER: {"%t": "/run/user/1000", "%C": "/home/ann/.cache", "%E": "/home/ann/.config"},
}
analyzed = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze (Debian's package systemd)"
)


def text(name: str) -> str:
    return (DOCKER / name).read_text()


def offered(unit: str) -> str:
    """Returns the service's unit with the directives that it offers in comments."""
    return re.sub(r"^#(?=(?!User)[A-Z]\w+=)", "", unit, flags=re.MULTILINE)


def values(unit: str, name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)", unit, re.MULTILINE)


def commands(unit: str) -> list[list[str]]:
    return [shlex.split(one) for one in values(unit, "ExecStart") if one]


def expanded(unit: str, words: str) -> str:
    for specifier, folder in FOLDERS[unit].items():
        words = words.replace(specifier, folder)
    return words


def installed(folder: Path, unit: str, *dropins: str, name: str = "jitc-proxyd.service") -> Path:
    """Writes a unit as it is installed, for the checkout's own jitc-proxyd."""
    place = folder / name
    place.write_text(unit.replace(INSTALLED, str(ROOT)))
    for number, one in enumerate(dropins):
        dropin = folder / f"{name}.d" / f"{number}.conf"
        dropin.parent.mkdir(exist_ok=True)
        dropin.write_text(one.replace(INSTALLED, str(ROOT)))
    return place


def analyze(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder), "SYSTEMD_COLORS": "0", "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        ["systemd-analyze", "--no-pager", *words], env=environment, capture_output=True, text=True, check=False,
        timeout=60,
    )  # fmt: skip


@analyzed
@pytest.mark.parametrize(
    ("unit", "dropins", "most"),
    [
        pytest.param(text(SYSTEM), (), 2.5, id="cuda"),
        pytest.param(text(SYSTEM), (text(SOFTWARE),), 1.5, id="software"),
        pytest.param(text(SYSTEM), (text(USERS),), 3.0, id="cuda for several users"),  # 2.8
        pytest.param(text(SYSTEM), (text(SOFTWARE), text(USERS)), 1.8, id="software for several users"),  # 1.6
        pytest.param(text(SYSTEM), (text(CLUSTER),), 2.5, id="cuda in a cluster"),  # as without
        pytest.param(text(SYSTEM), (text(SOFTWARE), text(CLUSTER)), 2.0, id="software in a cluster"),
        pytest.param(text(SYSTEM), (text(SOFTWARE), offered(text(CLUSTER))), 1.5, id="software among few machines"),
        pytest.param(text(USER), (), 6.5, id="user"),
        pytest.param(offered(text(USER)), (), 3.5, id="user with namespaces"),
        pytest.param(text(STORE), (), 1.5, id="store"),
    ],
)
def test_exposure(unit: str, dropins: tuple[str, ...], most: float, tmp_path: Path) -> None:
    """0 is best, 10 is no sandbox at all."""
    place = installed(tmp_path, unit, *dropins)
    threshold = f"--threshold={round(10 * most)}"
    done = analyze("security", "--offline=true", threshold, str(place), folder=tmp_path)
    assert "Overall exposure level" in done.stdout, done.stderr
    assert done.returncode == 0, done.stdout


@analyzed
def test_an_exposure_that_is_too_high_is_noticed(tmp_path: Path) -> None:
    unit = re.sub(r"^(?:Protect|Restrict|Capability|SystemCall)\w+=.*\n", "", text(SYSTEM), flags=re.MULTILINE)
    place = installed(tmp_path, unit)
    assert analyze("security", "--offline=true", "--threshold=25", str(place), folder=tmp_path).returncode == 1


@analyzed
@pytest.mark.parametrize(
    ("manager", "unit", "dropins"),
    [
        pytest.param("--system", text(SYSTEM), (), id="cuda"),
        pytest.param("--system", text(SYSTEM), (text(SOFTWARE),), id="software"),
        pytest.param("--system", text(SYSTEM), (text(SOFTWARE), text(USERS)), id="software for several users"),
        pytest.param("--system", text(SYSTEM), (text(SOFTWARE), offered(text(CLUSTER))), id="software in a cluster"),
        pytest.param("--system", offered(text(STORE)), (), id="store"),
        pytest.param("--user", text(USER), (), id="user"),
        pytest.param("--user", text(USER), (text(CLUSTER),), id="user in a cluster"),
        pytest.param("--user", offered(text(USER)), (), id="user with namespaces"),
    ],
)
def test_systemd_understands_each_line(manager: str, unit: str, dropins: tuple[str, ...], tmp_path: Path) -> None:
    place = installed(tmp_path, unit, *dropins)
    words = ("verify", manager, "--man=no", "--recursive-errors=no", str(place))
    done = analyze(*words, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    place.write_text(place.read_text().replace("[Install]", "ProtectMachine=yes\n[Install]"))
    assert "ProtectMachine" in analyze(*words, folder=tmp_path).stderr


@analyzed
@pytest.mark.parametrize(("manager", "service"), [("--system", SYSTEM), ("--user", USER)])
def test_systemd_understands_each_line_of_the_socket(manager: str, service: str, tmp_path: Path) -> None:
    """Also those that are comments."""
    installed(tmp_path, text(service))
    place = tmp_path / SOCKET
    words = ("verify", manager, "--man=no", "--recursive-errors=no", str(place))
    unit = re.sub(r"^#(?=[A-Z]\w+=)", "", text(SOCKET), flags=re.MULTILINE)
    assert len(values(unit, "SocketMode")) == len(values(text(SOCKET), "SocketMode")) + 1
    for each in (text(SOCKET), unit):
        place.write_text(each)
        done = analyze(*words, folder=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
    place.write_text(text(SOCKET).replace("[Install]", "SocketMood=0600\n[Install]"))
    assert "SocketMood" in analyze(*words, folder=tmp_path).stderr


@pytest.mark.parametrize("service", [SYSTEM, USER])
def test_the_socket_is_the_service_s(service: str) -> None:
    """Its path and name are those of the service, and the folder is as open as the service makes it."""
    ((_, *words),) = commands(text(service))
    assert values(text(SOCKET), "ListenStream") == [words[words.index("--socket") + 1]]
    assert values(text(SOCKET), "PropagatesStopTo") == ["jitc-proxyd.service"]
    assert values(text(SOCKET), "DirectoryMode") == values(text(service), "RuntimeDirectoryMode") == ["0700"]
    assert not values(text(service), "Sockets"), "it works without this unit, too"


def test_the_socket_of_several_users() -> None:
    _, lines = text(SOCKET).split(f"# With {USERS}:\n")
    offers = dict(one.split("=") for one in re.findall(r"\A(?:#\w+=.*\n)+", lines)[0].replace("#", "").split())
    assert offers == {"SocketMode": "0666", "DirectoryMode": values(text(USERS), "RuntimeDirectoryMode")[0]}
    written = "".join(f"{name}={value}\\n" for name, value in offers.items())
    for page in (DOCKER / "README.md", ROOT / "scripts/deb/README.Debian"):
        assert f"'[Socket]\\n{written}'" in page.read_text(), page


@pytest.mark.parametrize(
    ("unit", "name", "device"), [(SYSTEM, SYSTEM, "cuda"), (SYSTEM, SOFTWARE, "software"), (USER, USER, "software")]
)
def test_the_service_takes_its_command(unit: str, name: str, device: str) -> None:
    ((program, *words),) = commands(text(name))
    assert program == f"{INSTALLED}/.venv/bin/jitc-proxyd" and (ROOT / ".venv/bin/jitc-proxyd").exists()
    arguments = proxyd.parser().parse_args([expanded(unit, one) for one in words])
    (folder,) = values(text(unit), "RuntimeDirectory")
    assert arguments.socket == f"{expanded(unit, '%t')}/{folder}/proxyd.sock"
    assert arguments.device == device and arguments.gpus is None
    (folder,) = values(text(unit), "ConfigurationDirectory")
    assert arguments.config == f"{expanded(unit, '%E')}/{folder}/{FILE.name}"
    arguments.config = str(FILE)
    resolve_device_options(arguments, SERVICE_SETTINGS)


@pytest.mark.parametrize("unit", [SYSTEM, USER])
def test_variables_and_folders(unit: str) -> None:
    """jitc reads each of its variables, and each folder that one names is made by systemd."""
    known = {name for one in VARIABLES for name in one.names} | {one.variable for one in SERVICE_SETTINGS}
    known |= {"TMPDIR", "CUDA_CACHE_PATH"}
    folders = [f"%C/{one}" for line in values(text(unit), "CacheDirectory") for one in line.split()]
    given = dict(one.split("=") for line in values(text(unit), "Environment") for one in line.split())
    assert given.keys() <= known
    assert {given["JITC_CACHE"], given["JITC_SPILL_DIR"], given["TMPDIR"]} == set(folders)
    for words in values(text(unit), "Documentation"):
        assert (ROOT / words.removeprefix(f"file:{INSTALLED}/")).exists()
    (reload,) = values(text(unit), "ExecReload")
    assert reload == "/bin/kill -HUP $MAINPID" and os.access("/bin/kill", os.X_OK)


def test_several_users_need_no_more_than_this() -> None:
    """The drop-in of several users leaves all else as it is, and whom the service serves to its file."""
    changed = dict(re.findall(r"^(\w+)=(.*)", text(USERS), re.MULTILINE))
    assert changed == {
        "RuntimeDirectoryMode": "0755",
        "CapabilityBoundingSet": "CAP_CHOWN CAP_DAC_OVERRIDE CAP_KILL CAP_SETGID CAP_SETUID",
        "SystemCallFilter": "@chown @setuid capset",
        "PrivateUsers": "no",
    }
    assert values(text(SYSTEM), "CapabilityBoundingSet") == [""], "to which the drop-in adds"
    assert values(text(SYSTEM), "SystemCallFilter")[0] == "@system-service", "so that what follows may allow more"


def test_a_cluster_needs_no_more_than_this() -> None:
    """Its drop-in opens the network to the service as far as that of the unit for GPUs is; read last, it wins."""
    assert dict(re.findall(r"^(\w+)=(.*)", text(CLUSTER), re.MULTILINE)) == {
        "Wants": "network-online.target",
        "After": "network-online.target",
        "EnvironmentFile": f"%E/jitc/{CLUSTER_FILE.removeprefix('jitc-')}",
        "Environment": "JITC_PEER_CERTIFICATES=%E/jitc/peer",
        "PrivateNetwork": "no",
        "IPAddressDeny": "",
        "RestrictAddressFamilies": values(text(SYSTEM), "RestrictAddressFamilies")[-1],
    }
    place = "jitc-proxyd.service.d/z-cluster.conf"
    for page in (text(CLUSTER), text("README.md")):
        assert place in page and sorted(["z-cluster.conf", "software.conf", "users.conf"])[-1] == "z-cluster.conf"


def test_the_example_of_a_node(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every line is right, also those that are comments; each option of a cluster is there, or in the drop-in."""
    lines = re.findall(r"^#?(JITC_\w+)=(.*)", text(CLUSTER_FILE), re.MULTILINE)
    given = dict(lines) | {"JITC_PEER_CERTIFICATES": str(tmp_path), PASSWORD: "secret"}
    for name in ("JITC_CLUSTER_CA", "JITC_CLUSTER_CERT", "JITC_CLUSTER_KEY"):
        (tmp_path / "file").touch()
        given[name] = str(tmp_path / "file")
    assert given.keys() == {one.variable for one in CLUSTER_SETTINGS} | {PASSWORD} and len(lines) == len(dict(lines))
    monkeypatch.setattr(os, "environ", {**os.environ, **given})
    arguments = proxyd.parser().parse_args(["--device", "software"])
    resolve_device_options(arguments, SERVICE_SETTINGS)
    found = cluster_options(arguments)
    assert found is not None and (found.node, found.peer_address) == ("n0", "10.0.0.1:7431")
    active = dict(re.findall(r"^(JITC_\w+)=(.*)", text(CLUSTER_FILE), re.MULTILINE))
    assert active.keys() == {"JITC_CLUSTER", "JITC_PEER_ADDRESS"}, "without which there is no node"


def test_the_store_takes_its_command() -> None:
    ((program, *words),) = commands(text(STORE))
    assert program == f"{INSTALLED}/.venv/bin/jitc" and words[-1] == "${LISTEN}"
    assert not values(text(STORE), "Environment"), "a machine that is not named is not guessed"
    (listen,) = re.findall(r"Environment=LISTEN=([^\\]+)", text(STORE))
    assert jitc.parser().parse_args([*words[:-1], listen]).listen == listen


def test_both_services_live_alike() -> None:
    names = (
        "Type", "NotifyAccess", "ExecReload", "KillMode", "TimeoutStopSec", "TimeoutStartSec", "Restart", "RestartSec",
        "RestartPreventExitStatus", "RuntimeDirectoryMode", "RuntimeDirectoryPreserve", "WatchdogSec", "WatchdogSignal",
        "OOMPolicy", "StartLimitIntervalSec", "StartLimitBurst", "NoNewPrivileges", "UMask",
    )  # fmt: skip
    for name in names:
        assert len(values(text(SYSTEM), name)) == 1, name
        assert values(text(SYSTEM), name) == values(text(USER), name), name
    assert not any(values(text(SOFTWARE), name) for name in names)


def test_the_example_of_a_file(tmp_path: Path) -> None:
    """Every line is right, also those that are comments."""
    file = tmp_path / FILE.name
    lines = re.sub(r"^# (?=[a-z-]+ = )", "", FILE.read_text(), flags=re.MULTILINE)
    file.write_text(lines.replace('"@training"', '"@0"').replace('"ann"', '"1000"'))  # users of this machine
    names = read(str(file)).keys()
    assert names > read(str(FILE)).keys() and not names & {"device", "socket", "spill-dir"}
    arguments = proxyd.parser().parse_args(["--device", "cuda", "--config", str(file)])
    resolve_device_options(arguments, SERVICE_SETTINGS)
    file.write_text(file.read_text().replace("spares = 1", "spares = 65"))
    with pytest.raises(CommandError, match="spares"):
        resolve_device_options(proxyd.parser().parse_args(["--config", str(file)]), SERVICE_SETTINGS)
