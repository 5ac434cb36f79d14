"""Certificates of nodes: how they are made, what of them is refused, and that nothing is lost when they are renewed."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from peer_rig import DAY, Town
from toolkit.tree import ROOT

from jitc.proxy.cluster.peers import der, names
from jitc.proxy.cluster.peers.certificates import Authority, CannotMake
from jitc.proxy.cluster.peers.credentials import Credentials
from jitc.proxy.cluster.peers.identity import CredentialsError, read_identity

MINUTE = 60.0


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    one = Authority(tmp_path / "cluster")
    one.create()
    return one


def files(folder: Path) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def why(place: Path, now: Callable[[], float] = time.time) -> str:
    with pytest.raises(CredentialsError) as refused:
        read_identity(place, now)
    return str(refused.value)


def test_what_is_made(authority: Authority) -> None:
    place = authority.add("n0")
    assert sorted(one.name for one in place.iterdir()) == ["ca.pem", "node.key", "node.pem"]
    assert mode(authority.folder / "ca.key") == mode(place / "node.key") == 0o600
    assert mode(authority.folder) == mode(place) == 0o700
    found = read_identity(place)
    data = ssl.PEM_cert_to_DER_cert((place / "node.pem").read_text())
    assert (found.node, found.hash) == ("n0", hashlib.sha256(data).hexdigest())
    assert abs(found.ends - time.time() - 90 * DAY) < MINUTE
    ca = der.from_pem((authority.folder / "ca.pem").read_bytes())
    assert abs(ca.ends - time.time() - 3650 * DAY) < MINUTE
    checked = subprocess.run(
        ["openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", "n0.jitc", "-CAfile",
         str(place / "ca.pem"), str(place / "node.pem")],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stderr


def test_nothing_that_is_there_is_replaced(authority: Authority) -> None:
    authority.add("n0")
    before = files(authority.folder)
    with pytest.raises(CannotMake, match=r"has a CA already.*--folder"):
        authority.create()
    with pytest.raises(CannotMake, match=r"n0 is there already.*rotate n0"):
        authority.add("n0")
    (authority.folder / "ca.pem").unlink()
    with pytest.raises(CannotMake, match="has a CA already"):
        authority.create()
    assert files(authority.folder) == {name: data for name, data in before.items() if name != "ca.pem"}


def test_of_two_that_make_a_ca_at_once_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one has found no CA either."""
    one, other = Authority(tmp_path / "c"), Authority(tmp_path / "c")
    monkeypatch.setattr(other, "_there", lambda: False)
    one.create()
    before = files(tmp_path)
    with pytest.raises(CannotMake, match="has a CA already"):
        other.create()
    assert files(tmp_path) == before


def test_of_two_that_add_a_node_at_once_one_does(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    authority.add("n0")
    before = files(authority.folder)
    monkeypatch.setattr(Path, "exists", lambda _: False)
    with pytest.raises(OSError):
        authority.add("n0")
    assert files(authority.folder) == before


def test_renewed(authority: Authority) -> None:
    place = authority.add("n0")
    before = read_identity(place)
    assert authority.renew("n0") == place
    after = read_identity(place)
    assert after.node == "n0" and after.hash != before.hash and after.key != before.key
    assert sorted(one.name for one in place.iterdir()) == ["ca.pem", "node.key", "node.pem"]
    with pytest.raises(CannotMake, match=r"no node 'n1'.*nodes: n0"):
        authority.renew("n1")


@pytest.mark.parametrize("words", [["init"], ["add", "n1"], ["rotate"]])
def test_where_nothing_can_be_written_all_stays(authority: Authority, words: list[str], tmp_path: Path) -> None:
    """The kernel lets the process write no byte, as on a full disk."""
    authority.add("n0")
    folder = tmp_path / "other" if words == ["init"] else authority.folder
    before = files(tmp_path)
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); "
        "from jitc.proxy.commands.jitc import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, "cluster", *words, "--folder", str(folder)],
        check=False, capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("jitc: ") and "File too large; nothing was changed" in line
    assert files(tmp_path) == before


def test_a_ca_that_cannot_sign(authority: Authority, tmp_path: Path) -> None:
    with pytest.raises(CannotMake, match="has no CA; `jitc cluster init`"):
        Authority(tmp_path / "none").add("n0")
    late = Authority(authority.folder, lambda: time.time() + 3651 * DAY)
    with pytest.raises(CannotMake, match=r"expired on 20\d\d-.*init --folder"):
        late.add("n0")
    (authority.folder / "ca.key").chmod(0o640)
    with pytest.raises(CannotMake, match="can be read by other users: `chmod 600"):
        authority.add("n0")
    other = Authority(tmp_path / "other")
    other.create()
    shutil.copy2(other.folder / "ca.key", authority.folder / "ca.key")
    with pytest.raises(CannotMake, match="is not the key of"):
        authority.add("n0")
    (authority.folder / "ca.key").write_text("nothing")
    with pytest.raises(CannotMake, match="cannot be read"):
        authority.add("n0")
    assert authority.nodes() == []


def test_no_certificate_outlives_its_ca(authority: Authority) -> None:
    late = Authority(authority.folder, lambda: time.time() + 3600 * DAY)
    place = late.add("n0")
    ca, own = (der.from_pem((place / name).read_bytes()) for name in ("ca.pem", "node.pem"))
    assert own.ends == ca.ends


def test_a_name_that_is_none(authority: Authority) -> None:
    for name in ("", ".", "..", "-n", ".n", "n.", "a..b", "a/b", "a b", "nö", "n" * 64, "../n0", "n\n"):
        assert not names.is_name(name)
        with pytest.raises(CannotMake, match="is no name of a node: letters, digits"):
            authority.add(name)
    for name in ("n", "0", "_n", "gpu-7.rack_2", "10.0.0.1", "N0", "n" * 63, "a-.b"):
        assert read_identity(authority.add(name)).node == name
    assert authority.nodes() == sorted(["n", "0", "_n", "gpu-7.rack_2", "10.0.0.1", "N0", "n" * 63, "a-.b"])


# -- what a node refuses of its own ---------------------------------------------------------------


@pytest.fixture
def place(authority: Authority) -> Path:
    return authority.add("n0")


def other_ca(place: Path) -> Path:
    made = Authority(place.parent.parent / "other")
    made.create()
    return made.add("n0")


def test_missing(place: Path) -> None:
    assert "is missing" in why(place / "x") and "jitc cluster add" in why(place / "x")
    for name in ("ca.pem", "node.pem", "node.key"):
        kept = (place / name).rename(place / "kept")
        assert f"{place / name} is missing" in why(place)
        kept.rename(place / name)
    read_identity(place)


def test_a_key_that_others_can_read(place: Path) -> None:
    (place / "node.key").chmod(0o644)
    assert "can be read by other users (mode 0644): `chmod 600 " in why(place)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_of_another_user(place: Path) -> None:
    (place / "node.key").chmod(0o000)
    assert "cannot be read: Permission denied" in why(place)


def test_a_key_that_does_not_fit(place: Path, authority: Authority) -> None:
    shutil.copy2(authority.add("n1") / "node.key", place / "node.key")
    assert f"node.key does not fit {place / 'node.pem'}" in why(place)


def test_a_key_that_is_none(place: Path) -> None:
    key = place / "node.key"
    encrypted = serialization.load_pem_private_key(key.read_bytes(), None).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"secret")
    )
    for data in (encrypted, b"", b"nothing", key.read_bytes()[:100]):
        key.write_bytes(data)
        assert "is no key for" in why(place)


def test_expired_and_not_valid_yet(place: Path) -> None:
    assert read_identity(place, lambda: time.time() + 89 * DAY).node == "n0"
    late = why(place, lambda: time.time() + 91 * DAY)
    assert f"of node n0 ({place / 'node.pem'}) expired on 20" in late and "`jitc cluster rotate n0`" in late
    early = why(place, lambda: time.time() - DAY)
    assert "is valid from 20" in early and "clocks" in early and "may differ" in early
    shutil.rmtree(place)
    long_ago = Authority(place.parent.parent, lambda: time.time() - 200 * DAY)
    assert "expired on" in why(long_ago.add("n0"))


def test_an_expired_ca(tmp_path: Path) -> None:
    old = Authority(tmp_path / "old", lambda: time.time() - 3640 * DAY)
    old.create()
    now = Authority(tmp_path / "old")
    place = now.add("n0")
    assert "the CA" in why(place, lambda: time.time() + 11 * DAY)


def test_another_ca(place: Path) -> None:
    shutil.copy2(other_ca(place) / "ca.pem", place / "ca.pem")
    assert f"is of another CA than {place / 'ca.pem'}" in why(place)


def test_a_certificate_of_something_else(place: Path, authority: Authority) -> None:
    for name in ("pem", "key"):
        shutil.copy2(authority.folder / f"ca.{name}", place / f"node.{name}")
    assert "is no certificate of a node; `jitc cluster add`" in why(place)


def test_a_certificate_that_is_valid_for_another_name(town: Town) -> None:
    assert "is no certificate of a node" in why(town.misnamed("n1", "n2"))


def test_files_that_are_something_else(place: Path) -> None:
    for name in ("ca.pem", "node.pem"):
        kept = (place / name).read_bytes()
        for data in (b"", b"\0" * 100, kept[:200], kept.replace(b"M", b"-"), os.urandom(500)):
            (place / name).write_bytes(data)
            assert f"{place / name} is no certificate" in why(place)
        (place / name).write_bytes(b"x" * (1 << 17))
        assert "is no file of at most 65536 bytes" in why(place)
        (place / name).write_bytes(kept)
    (place / "node.key").unlink()
    os.mkfifo(place / "node.key", 0o600)
    assert "is no file of at most" in why(place)
    (place / "node.key").unlink()
    (place / "node.key").mkdir()
    assert "node.key" in why(place)


def test_the_certificate_of_another_node(place: Path) -> None:
    with pytest.raises(CredentialsError, match=r"is of node n0, and this is node n7; .*add n7"):
        Credentials(place, "n7")


def test_damaged_bytes_are_no_certificate(place: Path) -> None:
    """Each error is one that the reader names."""
    data = ssl.PEM_cert_to_DER_cert((place / "node.pem").read_text())
    chance = random.Random(7)
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 1 << chance.randrange(8)
        for one in (bytes(changed), data[:at]):
            try:
                der.from_der(one)
            except ValueError:
                continue
            assert len(one) == len(data)
    assert der.from_der(data).name == "n0"


# -- files that change under a service ------------------------------------------------------------


def test_files_are_read_when_they_change(town: Town, capsys: pytest.CaptureFixture[str]) -> None:
    place = town.certificate("n0")
    one = Credentials(place, "n0")
    first = one.identity
    assert not one.look() and one.identity is first
    made = town.authority.renew("n0")
    shutil.copy2(made / "node.pem", place / "node.pem")
    assert not one.look() and one.identity is first, "the certificate alone does not do"
    assert "does not fit" in one.trouble
    assert not one.look()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("jitc-proxyd: goes on with the certificate that it has: ")
    shutil.copy2(made / "node.key", place / "node.key")
    assert one.look() and one.identity.hash != first.hash and one.trouble == ""
    shutil.rmtree(place)
    assert not one.look() and "is missing" in one.trouble


def test_files_that_change_while_they_are_read(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read may be half of each; the next look takes the whole."""
    place = town.certificate("n0")
    one = Credentials(place, "n0")
    first = one.identity
    town.renew("n0")
    read = one._read

    def slowly() -> object:
        found = read()
        town.renew("n0")
        return found

    monkeypatch.setattr(one, "_read", slowly)
    assert not one.look() and one.identity is first
    monkeypatch.undo()
    assert one.look() and one.identity == read_identity(place)


def test_the_end_comes_near(town: Town) -> None:
    now = [time.time()]
    one = Credentials(town.certificate("n0"), "n0", lambda: now[0])
    assert one.warning == one.expired == one.trouble == ""
    now[0] += 70 * DAY
    assert "expires in 19 days, on 20" in one.warning and one.trouble == ""
    now[0] += 20 * DAY + MINUTE
    assert one.warning == "" and "expired on 20" in one.trouble and "`jitc cluster rotate n0`" in one.expired
