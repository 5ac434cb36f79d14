"""`jitc cluster` as a user runs it: what it makes, what it says to do next, and its errors."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from toolkit.documents import refusals

from jitc.proxy.cluster.peers import names
from jitc.proxy.cluster.peers.certificates import Authority
from jitc.proxy.cluster.peers.identity import read_identity
from jitc.proxy.commands import jitc
from jitc.proxy.commands.cluster import text
from jitc.proxy.status.cluster import Cluster
from jitc.proxy.status.documents import mistakes

DAY = 86400.0
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "it's here"


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*words: str, place: Path = folder) -> tuple[int, str, str]:
        try:
            code = jitc.main(["cluster", *words, "--folder", str(place)])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


def aged(folder: Path, days: float) -> Authority:
    """The CA as if the clock were so many days behind."""
    return Authority(folder, lambda: time.time() - days * DAY)


def refused(run: Run, *words: str, place: Path | None = None) -> str:
    code, said, errors = run(*words, place=place) if place else run(*words)
    (line,) = errors.splitlines()
    assert (code, said) == (1, "") and line.startswith("jitc: ")
    return line


# -- what is made ---------------------------------------------------------------------------------


def test_from_the_ca_to_a_node(run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command that is printed is typed, with a shell in the place of ssh."""
    code, said, errors = run("init")
    assert (code, errors) == (0, "") and said.startswith("made the CA (jitc cluster ")
    next_command = shlex.split(said.splitlines()[-1].replace("NODE", "n0"))
    assert next_command == ["jitc", "cluster", "add", "n0", "--folder", str(folder)]
    code, said, errors = run("add", "n0")
    assert (code, errors) == (0, "")
    lines = said.splitlines()
    assert "jitc-proxyd --cluster etcd://STORE:2379 --node n0 --peer-address HOST:7431" in lines[-1]
    (copy,) = [line.strip() for line in lines if "ssh" in line]
    bin = tmp_path / "bin"
    bin.mkdir()
    (bin / "ssh").write_text('#!/bin/sh\nshift\nexec sh -c "$1"\n')
    (bin / "ssh").chmod(0o755)
    there = tmp_path / "etc" / "jitc" / "peer"
    copy = copy.replace("/etc/jitc/peer", str(there))
    variables = {"PATH": f"{bin}:{os.environ['PATH']}", "XDG_CONFIG_HOME": str(tmp_path / "etc")}
    done = subprocess.run(copy, shell=True, check=False, capture_output=True, text=True, env=variables)
    assert done.returncode == 0, done.stderr
    assert read_identity(there).node == "n0" and there.stat().st_mode & 0o777 == 0o700


def test_renewed(run: Run, folder: Path) -> None:
    run("init")
    for node in ("n0", "n1", "n2"):
        run("add", node)
    places = {node: folder / "nodes" / node for node in ("n0", "n1", "n2")}
    before = {node: read_identity(place).hash for node, place in places.items()}
    code, said, errors = run("rotate", "n1", "n1")
    after = {node: read_identity(place).hash for node, place in places.items()}
    assert (code, errors) == (0, "") and said.count("renewed the certificate") == 1
    assert {node for node in before if before[node] != after[node]} == {"n1"}
    code, said, _ = run("rotate")
    last = {node: read_identity(place).hash for node, place in places.items()}
    assert [line.split()[5].strip(",") for line in said.splitlines() if line.startswith("renewed")] == [
        "n0",
        "n1",
        "n2",
    ]
    assert all(last[node] != after[node] for node in after) and said.endswith(f"{text.AFTER_RENEWAL}\n")


def test_the_default_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert (names.authority_folder(), names.peer_folder()) == (Path("/etc/jitc/cluster"), Path("/etc/jitc/peer"))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "x"))
    assert names.authority_folder() == tmp_path / "x" / "jitc" / "cluster"
    monkeypatch.setenv("XDG_CONFIG_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert names.peer_folder() == tmp_path / ".config" / "jitc" / "peer"
    assert "${XDG_CONFIG_HOME:-$HOME/.config}/jitc/peer" in text._copied(tmp_path)


def test_without_a_folder_it_is_the_users(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(names, "_folder", lambda: tmp_path / "jitc")
    assert jitc.main(["cluster", "init"]) == jitc.main(["cluster", "add", "n0"]) == 0
    assert "jitc cluster add NODE\n" in capsys.readouterr().out
    (tmp_path / "jitc" / "cluster" / "nodes" / "n0").rename(tmp_path / "jitc" / "peer")
    assert jitc.main(["cluster", "show"]) == 0
    assert "no nodes yet" in capsys.readouterr().out
    shutil.rmtree(tmp_path / "jitc" / "cluster")
    assert jitc.main(["cluster", "show"]) == 0
    assert re.search(r"^node n0 +20\d\d-", capsys.readouterr().out, re.MULTILINE), "that of a node without a CA"


# -- show -----------------------------------------------------------------------------------------


def test_what_is_shown(run: Run, folder: Path) -> None:
    run("init")
    run("add", "n0")
    run("add", "longer-name.rack_2")
    code, said, errors = run("show")
    assert (code, errors) == (0, "")
    lines = said.splitlines()
    assert re.fullmatch(r"jitc cluster [0-9a-f]{8} in .*it's here", lines[0])
    assert [line.split("  ")[0] for line in lines[2:]] == ["CA", "node longer-name.rack_2", "node n0"]
    assert all(re.search(r"20\d\d-\d\d-\d\d \d\d:\d\d UTC +(?:3649|89)$", line) for line in lines[2:])
    code, said, errors = run("show", "--json")
    document = json.loads(said)
    assert (code, errors) == (0, "") and refusals(document, "cluster") == [] and list(mistakes(document, Cluster)) == []
    assert document["nodes"][1]["sha256"] == read_identity(folder / "nodes" / "n0").hash


def test_what_has_expired_or_will_soon(run: Run, folder: Path) -> None:
    aged(folder, 3630).create()
    aged(folder, 70).add("n0")
    code, said, _ = run("show")
    rows = said.splitlines()[2:]
    assert code == 0
    assert "19  renew it soon: make another CA" in rows[0] and "19  renew it soon: `jitc cluster rotate n0`" in rows[1]
    aged(folder, 100).add("n1")
    aged(folder, -1).add("n2")
    code, said, _ = run("show", "--json")
    found = {one["name"]: one for one in json.loads(said)["nodes"]}
    assert code == 1
    assert {name: one["state"] for name, one in found.items()} == {"n0": "soon", "n1": "expired", "n2": "early"}
    assert found["n1"]["days_left"] == 0 and "clocks may differ" in found["n2"]["reason"]
    code, said, _ = run("show")
    assert code == 1 and "EXPIRED: `jitc cluster rotate n1`" in said


def test_an_expired_ca(run: Run, folder: Path) -> None:
    aged(folder, 3651).create()
    code, said, _ = run("show")
    assert code == 1 and "EXPIRED: make another CA" in said
    assert "expired on 20" in refused(run, "add", "n0")


def test_files_that_cannot_be_used(run: Run, folder: Path) -> None:
    run("init")
    for node in ("n0", "n1", "n2", "n3"):
        run("add", node)
    nodes = folder / "nodes"
    (nodes / "n0" / "node.key").chmod(0o644)
    (nodes / "n1" / "node.pem").write_text("nothing")
    (nodes / "n2" / "node.pem").unlink()
    shutil.rmtree(nodes / "n3")
    shutil.copytree(nodes / "n0", nodes / "n3")
    (nodes / "n3" / "node.key").chmod(0o600)
    (nodes / "a file").touch()
    (nodes / ".left").mkdir()
    code, said, _ = run("show", "--json")
    found = {one["name"]: one for one in json.loads(said)["nodes"]}
    assert code == 1 and list(found) == ["n0", "n1", "n2", "n3"]
    assert {one["state"] for one in found.values()} == {"unusable"}
    assert "can be read by other users" in found["n0"]["reason"]
    assert "is no certificate" in found["n1"]["reason"] and found["n1"]["ends"] is None
    assert "cannot be read: No such file" in found["n2"]["reason"]
    assert "is that of node n0" in found["n3"]["reason"]
    code, said, _ = run("show")
    assert code == 1 and said.count("unusable: ") == 4


# -- errors ---------------------------------------------------------------------------------------


def test_there_already(run: Run) -> None:
    run("init")
    run("add", "n0")
    assert "has a CA already; another one needs another folder (--folder)" in refused(run, "init")
    assert "node n0 is there already" in refused(run, "add", "n0")


def test_not_there(run: Run, folder: Path) -> None:
    for words in (["add", "n0"], ["rotate", "n0"], ["show"], ["rotate"]):
        line = refused(run, *words)
        assert "jitc cluster init" in line or "nodes: none" in line or "has no nodes" in line
    assert not folder.exists()
    run("init")
    run("add", "n0")
    before = read_identity(folder / "nodes" / "n0")
    assert "there is no node n9 in " in refused(run, "rotate", "n0", "n9")
    assert read_identity(folder / "nodes" / "n0") == before, "nothing was renewed"


@pytest.mark.parametrize("name", ["-n0", ".n0", "n0.", "a..b", "a/b", "", "n" * 64, "nö", "../x"])
def test_a_name_that_is_none(run: Run, folder: Path, name: str) -> None:
    run("init")
    code, said, errors = run("add", "--", name)
    assert (code, said) == (2, "") and "is no name of a node (letters, digits" in errors
    assert sorted(one.name for one in folder.iterdir()) == ["ca.key", "ca.pem"]


def test_a_folder_that_is_none(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    line = refused(run, "init", place=tmp_path / "file")
    assert "File exists" in line and "--folder" in line
    assert "Not a directory" in refused(run, "init", place=tmp_path / "file" / "below")
    code, _, errors = run("init", place=Path("a\nb"))
    assert code == 2 and "is no folder" in errors


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="needs a folder in which nobody can write")
def test_a_folder_that_cannot_be_written_to(run: Run) -> None:
    line = refused(run, "init", place=Path("/proc/jitc"))
    assert line.startswith("jitc: /proc/jitc: ") and "nothing was changed, use --folder for another folder" in line


def test_without_the_package_one_line_says_how_to_get_it(
    run: Run, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    run("init")
    run("add", "n0")
    theirs = ("cryptography", "jitc.proxy.cluster.peers", "jitc.proxy.commands.cluster")
    for name in [one for one in sys.modules if one.startswith(theirs) and one != "jitc.proxy.commands.cluster.command"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    for words in (["init"], ["add", "n1"], ["rotate"], ["show"]):
        line = refused(run, *words)
        assert "need the package cryptography" in line and line.endswith("run `pip install 'jitc[cluster]'`")


def test_nothing_heavy_is_imported() -> None:
    """By the parser: each command imports what it needs."""
    code = (
        "import sys; from jitc.proxy.commands import jitc; jitc.parser(); "
        "print([one for one in ('grpc', 'cryptography', 'google.protobuf') if one in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd="/")
    assert done.stdout.strip() == "[]"


def test_words_with_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    for words, meant in ((["cluster", "int"], "init"), (["cluster", "add", "n0", "--fodler", "x"], "--folder")):
        with pytest.raises(SystemExit) as end:
            jitc.main(words)
        assert end.value.code == 2 and f"did you mean {meant}?" in capsys.readouterr().err
