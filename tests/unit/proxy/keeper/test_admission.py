"""Who is on a service's admission list: words, names and numbers, and what the kernel says of a peer."""

from __future__ import annotations

import grp
import json
import os
import pwd
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from jitc.proxy.keeper import admission
from jitc.proxy.keeper.admission import LARGEST, Admission, UnknownUser, overflow, parse
from jitc.proxy.keeper.peer import Peer, peer_of

#: Numbers that no machine has given to anybody.
ONE, OTHER, GROUP, ANOTHER_GROUP = 3_000_000_001, 3_000_000_002, 3_100_000_001, 3_100_000_002


def peer(uid: int, gid: int = ANOTHER_GROUP, *groups: int) -> Peer:
    return Peer(1, uid, gid, groups)


def a_user() -> pwd.struct_passwd:
    """One that the list may name, other than root."""
    return next(one for one in pwd.getpwall() if one.pw_uid not in (0, overflow("uid")))


def a_group() -> grp.struct_group:
    return next(one for one in grp.getgrall() if one.gr_gid not in (0, overflow("gid")))


def test_words() -> None:
    assert parse("alice") == ["alice"]
    assert parse("alice, 1000 ,@train,*") == ["alice", "1000", "@train", "*"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty word"),
        (" ", "empty word"),
        ("alice,", "'alice,' has an empty word"),
        (",alice", "empty word"),
        ("1000,,1001", "empty word"),
        ("@", "empty word"),
        ("1000,@", "empty word"),
        ("1000,1001,1000", "'1000' is there twice"),
        ("*,*", "twice"),
        ("@5,5,@5", "'@5' is there twice"),
        ("no-such-user-here", "no user 'no-such-user-here'.*id -u"),
        ("@no-such-group-here", "no group 'no-such-group-here'.*id -G"),
        ("-1", "no user '-1'"),
        ("1.5", "no user"),
        ("+5", "no user"),
        ("٣", "no user"),
        ("@*", "no group"),
        ("**", "no user"),
        ("a\0b", "no user 'a"),
        ("a\nb", r"no user 'a\\nb'"),
        ("\udcff", "no user"),
        (str(LARGEST + 1), f"'{LARGEST + 1}' is too large a number"),
        ("@" + str(LARGEST + 1), "too large"),
        ("9" * 5000, "too large"),
        ("x" * 5000, "no user"),
    ],
)
def test_a_wrong_word_is_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(UnknownUser, match=said) as refused:
        Admission.of(text)
    assert str(refused.value).isprintable() and len(str(refused.value)) < 300


@pytest.mark.parametrize(("word", "kind"), [("{}", "uid"), ("@{}", "gid")])
def test_the_number_of_those_who_cannot_be_seen_is_refused(word: str, kind: str) -> None:
    with pytest.raises(UnknownUser, match="cannot name"):
        Admission.of(word.format(overflow(kind)))


def test_a_user_is_admitted_by_number_known_or_not() -> None:
    admission = Admission.of(f"{ONE},{LARGEST}")
    assert admission.admits(peer(ONE)) and admission.admits(peer(LARGEST))
    assert not admission.admits(peer(OTHER))
    assert not admission.admits(peer(OTHER, ONE, ONE)), "a group's number is no user's"


def test_a_user_is_admitted_by_name() -> None:
    known = a_user()
    admission = Admission.of(known.pw_name)
    assert admission == Admission(frozenset({known.pw_uid}), frozenset(), False, known.pw_name)
    assert admission.admits(peer(known.pw_uid)) and not admission.admits(peer(ONE))


def test_a_group_is_admitted_by_name_and_number() -> None:
    known = a_group()
    for text in (f"@{known.gr_name}", f"@{known.gr_gid}"):
        admission = Admission.of(text)
        assert admission.admits(peer(ONE, known.gr_gid)), "the primary group"
        assert admission.admits(peer(ONE, GROUP, ANOTHER_GROUP, known.gr_gid)), "one of the others"
        assert not admission.admits(peer(ONE, GROUP, ANOTHER_GROUP))
        assert not admission.admits(peer(known.gr_gid)), "a user's number is no group's"


def test_a_name_of_digits_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pwd, "getpwnam", lambda name: pytest.fail("not looked up"))
    assert Admission.of("007").users == {7}


def test_root_is_always_admitted() -> None:
    for text in (str(ONE), f"@{GROUP}", "*"):
        assert Admission.of(text).admits(peer(0))


def test_everybody_but_those_who_cannot_be_seen() -> None:
    admission = Admission.of("*")
    assert admission.admits(peer(ONE)) and admission.admits(peer(OTHER, 0))
    assert not admission.admits(peer(overflow("uid")))
    assert not admission.admits(peer(2**32 - 1)), "a socket without a peer"


def test_a_group_that_cannot_be_seen_admits_nobody() -> None:
    """However the list came to have it, as of a machine on which it was another's number."""
    unseen = overflow("gid")
    admission = Admission(frozenset({overflow("uid")}), frozenset({unseen, GROUP}), False, "")
    assert not admission.admits(peer(ONE, unseen, unseen))
    assert not admission.admits(peer(overflow("uid"), GROUP))
    assert admission.admits(peer(ONE, unseen, GROUP))


def test_the_overflow_number_is_the_kernel_s(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    overflow.cache_clear()
    try:
        monkeypatch.setattr(admission, "Path", lambda path: tmp_path / Path(path).name)
        assert overflow("uid") == 65534, "where it cannot be read"
        (tmp_path / "overflowgid").write_text("12345\n")
        assert overflow("gid") == 12345
    finally:
        overflow.cache_clear()


@pytest.mark.parametrize("text", [f"{ONE},@{GROUP}", "*", f"{OTHER},{ONE}"])
def test_a_record_gives_the_same_admission(text: str) -> None:
    admission = Admission.of(text)
    assert admission.text == text
    assert Admission.of_record(json.loads(json.dumps(admission.record()))) == admission


@pytest.mark.parametrize(
    "change", [{"users": None}, {"users": ["x"]}, {"groups": 5}, {"groups": [None]}, {"users": [[]]}]
)
def test_a_wrong_record_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"record|invalid literal"):
        Admission.of_record(Admission.of("*").record() | change)
    with pytest.raises(ValueError, match="record"):
        Admission.of_record({})


@pytest.mark.parametrize("said", ["false", 1, "*", [0]])
def test_only_true_is_everybody(said: object) -> None:
    assert not Admission.of_record(Admission.of("*").record() | {"everybody": said}).admits(peer(ONE))


def test_a_peer_here_is_this_process() -> None:
    one, other = socket.socketpair()
    with one, other:
        found = peer_of(one)
    assert (found.pid, found.uid, found.gid) == (os.getpid(), os.geteuid(), os.getegid())
    assert sorted(found.groups) == sorted(os.getgroups())


#: A process with the most groups that one can have, and users and groups up to the largest numbers.
MANY_GROUPS = """
import os, socket, sys
from jitc.proxy.keeper.peer import peer_of
uid, gid, count = map(int, sys.argv[1:])
groups = [1_000_000 + one for one in range(count)]
os.setgroups(groups); os.setresgid(gid, gid, gid); os.setresuid(uid, uid, uid)
one, other = socket.socketpair()
found = peer_of(one)
assert (found.pid, found.uid, found.gid) == (os.getpid(), uid, gid), found
assert sorted(found.groups) == groups, len(found.groups)
"""


@pytest.mark.parametrize("count", [0, 1, 256, 257, 65536])
def test_all_groups_of_a_peer_are_found(count: int) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can have other groups")
    words = [str(LARGEST), str(LARGEST - 1), str(count)]
    done = subprocess.run(
        [sys.executable, "-c", MANY_GROUPS, *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_what_is_no_socket_of_a_peer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = socket.socketpair()
    with one, other:
        monkeypatch.setattr("jitc.proxy.keeper.peer._SO_PEERGROUPS", 9999)  # as for a kernel before Linux 4.13
        assert peer_of(one).groups == ()
    with pytest.raises(OSError, match="descriptor"):
        peer_of(one)
