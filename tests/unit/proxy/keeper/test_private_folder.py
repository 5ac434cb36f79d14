"""The folder beside the socket: touched only if a jitc-proxyd of this user made it, and in it only what is ours."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from standin_client import PROXYD, config

from jitc.proxy.common import rpc
from jitc.proxy.common.paths import PROTOCOL_VERSION
from jitc.proxy.keeper.claim.socket_lock import SocketInUse, SocketLock
from jitc.proxy.service import Service
from jitc.v1 import control_pb2

MARKER = ".jitc-proxyd"
IMAGE = "0123456789abcdef" * 2
NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


def socket_lock(folder: Path) -> SocketLock:
    return SocketLock(str(folder / "s"), folder / "s.d")


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    """Everything below, with what would tell of a change."""
    found = {}
    for path in folder.rglob("*"):
        status = path.lstat()
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_ino)
    return found


def dead_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def refused(folder: Path, words: str) -> None:
    """The claim is refused, and everything is as it was."""
    before = tree(folder)
    with pytest.raises(SocketInUse, match=words):
        socket_lock(folder).claim()
    assert tree(folder) == before


def leave_behind(folder: Path) -> Path:
    """What a service that was killed leaves: marker, socket of a worker, images whole and in part."""
    killed = socket_lock(folder)
    killed.claim()
    images = folder / "s.d" / "images"
    (images / "held" / "3").mkdir(parents=True)
    for name in (IMAGE, f"held/3/{IMAGE}", f"held/3/{IMAGE}-4096.part", f"held/3/{IMAGE}.same"):
        (images / name).touch()
    dead_socket(folder / "s.d" / "w12")
    dead_socket(folder / "s")
    os.close(killed._folder)  # the lock goes with the process
    os.close(killed._parent)
    return folder / "s.d"


# -- what is not ours ---------------------------------------------------------------------------


def test_a_users_folder_is_left_alone(tmp_path: Path) -> None:
    """`jitc-proxyd --socket app.conf` beside app.conf.d, as a user may well write it."""
    (tmp_path / "app.conf.d" / "more").mkdir(parents=True)
    (tmp_path / "app.conf.d" / "more" / "10-settings").write_text("precious")
    before = tree(tmp_path)
    words = [*PROXYD, "--socket", str(tmp_path / "app.conf")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (1, "")
    assert "app.conf.d was not made by a jitc-proxyd" in line
    assert "--socket" in line
    assert tree(tmp_path) == before


def test_a_users_file_is_left_alone_and_the_folder_beside_it_too(tmp_path: Path) -> None:
    leave_behind(tmp_path)
    (tmp_path / "s").unlink()
    (tmp_path / "s").write_text("mine")
    refused(tmp_path, "is no socket")
    (tmp_path / "s").unlink()
    (tmp_path / "s").symlink_to("s.d/w12")
    refused(tmp_path, "is no socket")


def test_an_empty_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "s.d").mkdir(mode=0o700)
    refused(tmp_path, "was not made by a jitc-proxyd")


@pytest.mark.parametrize("text", ["", "private folder", "private folder of a jitc-proxyd, made and removed by it\n+"])
def test_a_file_with_the_markers_name_is_no_marker(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.d").mkdir(mode=0o700)
    (tmp_path / "s.d" / MARKER).write_text(text)
    refused(tmp_path, "was not made by a jitc-proxyd")


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o750, 0o701])
def test_a_folder_that_is_open_to_others(tmp_path: Path, mode: int) -> None:
    leave_behind(tmp_path).chmod(mode)
    refused(tmp_path, f"is open to other users .mode {mode:04o}")


def test_a_link(tmp_path: Path) -> None:
    leave_behind(tmp_path).rename(tmp_path / "real")
    (tmp_path / "s.d").symlink_to("real")
    refused(tmp_path, "is a symbolic link")


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "s.d").write_text("mine")
    refused(tmp_path, "is no folder")


@as_root
def test_a_folder_that_another_user_made_beforehand(tmp_path: Path) -> None:
    """With mode 0777 and a marker, and with a link to what he would like to have deleted."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / IMAGE).write_text("precious")
    tmp_path.chmod(0o1777)
    program = (
        "import os, sys\n"
        "os.setgid(65534); os.setuid(65534); os.umask(0)\n"
        "os.mkdir(sys.argv[1]); os.chmod(sys.argv[1], 0o777)\n"
        f"open(sys.argv[1] + '/{MARKER}', 'w').write('private folder of a jitc-proxyd, made and removed by it\\n')\n"
        "os.symlink(sys.argv[2], sys.argv[1] + '/images')\n"
    )
    for parent in tmp_path.parents:
        if parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "s.d"), str(victim)], check=True, cwd="/")
    refused(tmp_path, "belongs to another user .uid 65534")
    (tmp_path / "s.d").chmod(0o700)
    refused(tmp_path, "belongs to another user")
    assert (victim / IMAGE).read_text() == "precious"


@as_root
def test_a_socket_of_another_user(tmp_path: Path) -> None:
    dead_socket(tmp_path / "s")
    os.chown(tmp_path / "s", NOBODY, NOBODY)
    refused(tmp_path, "belongs to another user")


def test_a_listener_of_another_kind(tmp_path: Path) -> None:
    """Only a refused connection shows that nobody has a socket open."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(str(tmp_path / "s"))
        refused(tmp_path, "something else listens")
        other_place = tmp_path / "left"
        other_place.mkdir()
        leave_behind(other_place).rename(tmp_path / "s.d")
        refused(tmp_path, "something else listens")


@pytest.mark.parametrize(
    "name", ["notes.txt", "w1x", "w٣", "images/holiday.jpg", f"images/held/3/{IMAGE}.txt", ".hidden"]
)
def test_a_file_of_somebody_in_our_folder(tmp_path: Path, name: str) -> None:
    """It stops the service, which says where it is, before anything is removed."""
    stranger = leave_behind(tmp_path) / name
    stranger.write_text("precious")
    refused(tmp_path, f"holds '{name}', which no jitc-proxyd made")
    stranger.unlink()
    one = socket_lock(tmp_path)
    one.claim()
    one.release()
    assert not list(tmp_path.iterdir())


def test_our_names_mean_what_we_make(tmp_path: Path) -> None:
    """A file is no worker's socket, and a link is no folder of images."""
    folder = leave_behind(tmp_path)
    (folder / "w1").write_text("precious")
    refused(tmp_path, "holds 'w1'")
    (folder / "w1").unlink()
    (folder / "images").rename(tmp_path / "elsewhere")
    (folder / "images").symlink_to(tmp_path / "elsewhere")
    refused(tmp_path, "holds 'images'")


# -- the socket's folder ------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "good"), [(0o777, False), (0o1777, True), (0o755, True), (0o702, False)])
def test_the_sockets_folder_is_ours_alone_or_sticky(tmp_path: Path, mode: int, good: bool) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    folder.chmod(mode)
    if not good:
        refused(folder, "others can write to")
        return
    one = socket_lock(folder)
    one.claim()
    one.release()


@as_root
def test_the_sockets_folder_and_groups(tmp_path: Path) -> None:
    """A group may write where it is the user's own and nobody else is in it."""
    tmp_path.chmod(0o775)
    os.chown(tmp_path, -1, 0)
    one = socket_lock(tmp_path)
    one.claim()
    one.release()
    os.chown(tmp_path, -1, NOBODY)
    refused(tmp_path, "others can write to")
    os.chown(tmp_path, NOBODY, 0)
    tmp_path.chmod(0o700)
    refused(tmp_path, "others can write to")


def test_a_folder_on_the_way_that_everybody_can_write_to(tmp_path: Path) -> None:
    below = tmp_path / "open" / "below"
    below.mkdir(parents=True, mode=0o700)
    below.parent.chmod(0o777)
    refused(below, f"everybody can write to {below.parent}")
    below.parent.chmod(0o1777)
    one = socket_lock(below)
    one.claim()
    one.release()


def test_links_on_the_way(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("sub/../real")
    (tmp_path / "sub").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "deep").mkdir()
    (tmp_path / "back").symlink_to("real/deep/..")
    for link in ("link", "back"):
        one = socket_lock(tmp_path / link)
        one.claim()
        assert (tmp_path / "real" / "s.d" / MARKER).exists()
        one.release()
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(SocketInUse, match=r"cannot use|is no folder"):
        socket_lock(tmp_path / "round").claim()


@as_root
def test_a_link_of_another_user_on_the_way(tmp_path: Path) -> None:
    """He could make it lead elsewhere at any time."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    os.chown(tmp_path / "link", NOBODY, NOBODY, follow_symlinks=False)
    with pytest.raises(SocketInUse, match=f"another user made the link {tmp_path}/link"):
        socket_lock(tmp_path / "link").claim()


# -- what is ours -------------------------------------------------------------------------------


def test_what_a_killed_service_left_is_taken_over(tmp_path: Path) -> None:
    folder = leave_behind(tmp_path)
    inode = folder.stat().st_ino
    one = socket_lock(tmp_path)
    one.claim()
    assert [path.name for path in folder.iterdir()] == [MARKER]
    assert folder.stat().st_ino == inode
    assert not (tmp_path / "s").exists()
    one.release()
    assert not list(tmp_path.iterdir())


def test_a_killed_command_is_followed_by_the_next(tmp_path: Path) -> None:
    words = [*PROXYD, "--gpus", "1", "--socket", str(tmp_path / "s")]
    for number in (signal.SIGKILL, signal.SIGTERM):
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline().startswith("jitc-proxyd ready")
                assert (tmp_path / "s.d" / MARKER).exists()
            except BaseException:
                process.kill()
                raise
            process.send_signal(number)
    assert not list(tmp_path.iterdir())


def test_what_somebody_put_there_meanwhile_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With its folder, which is still known as ours."""
    one = socket_lock(tmp_path)
    one.claim()
    (tmp_path / "s.d" / "notes.txt").write_text("precious")
    (tmp_path / "s.d" / "images").mkdir()
    (tmp_path / "s.d" / "images" / IMAGE).touch()
    one.release()
    assert capsys.readouterr().err == f"jitc-proxyd: {tmp_path}/s.d stays: 'notes.txt' in it is not ours\n"
    assert sorted(path.name for path in (tmp_path / "s.d").iterdir()) == [MARKER, "notes.txt"]
    (tmp_path / "s.d" / "notes.txt").unlink()
    one.claim()
    one.release()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_somebody_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = socket_lock(tmp_path)
    one.claim()
    shutil.rmtree(tmp_path / "s.d")
    one.release()
    assert capsys.readouterr().err == ""
    assert not list(tmp_path.iterdir())


def test_what_has_been_put_in_its_place_is_not_touched(tmp_path: Path) -> None:
    one = socket_lock(tmp_path)
    one.claim()
    (tmp_path / "s.d").rename(tmp_path / "moved")
    (tmp_path / "victim").mkdir()
    dead_socket(tmp_path / "victim" / "w1")
    (tmp_path / "s.d").symlink_to("victim")
    (tmp_path / "s").write_text("mine")
    one.release()
    assert (tmp_path / "victim" / "w1").exists()
    assert (tmp_path / "s.d").is_symlink()
    assert (tmp_path / "s").read_text() == "mine"
    assert not list((tmp_path / "moved").iterdir())


def test_of_many_that_start_at_once_one_serves(tmp_path: Path) -> None:
    many = 8
    for _ in range(20):
        start, won, lost = threading.Barrier(many), list[SocketLock](), list[str]()

        def claim() -> None:
            mine = socket_lock(tmp_path)
            start.wait(20)  # noqa: B023 - joined below
            try:
                mine.claim()
                won.append(mine)  # noqa: B023
            except SocketInUse as error:
                lost.append(str(error))  # noqa: B023

        threads = [threading.Thread(target=claim) for _ in range(many)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert len(won) == 1
        assert len(lost) == many - 1
        assert all("already serves" in one for one in lost), lost
        assert [path.name for path in tmp_path.iterdir()] == ["s.d"]
        won[0].release()
        assert not list(tmp_path.iterdir())


def test_signs_of_a_path(tmp_path: Path) -> None:
    """gRPC reads the address as a URI: %2e%2e%2f would lead out of the folder."""
    folder = tmp_path / "f"
    folder.mkdir()
    one = Service(config(folder, socket=str(folder / "%2e%2e%2fs#1?x"), gpus=1))
    try:
        one.start()
        assert [path.name for path in tmp_path.iterdir()] == ["f"]
        assert (folder / "%2e%2e%2fs#1?x").is_socket()
        with rpc.channel(one.config.socket) as link:
            assert (
                rpc.node(link).Describe(control_pb2.DescribeRequest(protocol_version=PROTOCOL_VERSION), timeout=10).gpus
            )
    finally:
        one.stop()
    assert not list(folder.iterdir())
