"""The engine for etcd, where etcd wants certificates, users and passwords."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from certificates_rig import Authority
from engine_rig import LIMIT, Seen, come_back, etcd_engine, put, texts, threads
from toolkit.etcd import Etcd, Tls, etcd, why_not
from toolkit.waiting import until

from jitc.proxy.cluster.store.engine import Change, Held, Lost, Refused, State, StoreError, Swapped, Taken, Unreachable
from jitc.proxy.cluster.store.engines.etcd.engine import EtcdEngine
from jitc.proxy.cluster.store.locations import Options

USER = Options(user="jitc", password="right")
Open = Callable[..., EtcdEngine]


@pytest.fixture
def open_engine() -> Iterator[Open]:
    made: list[EtcdEngine] = []

    def make(cluster: Etcd, options: Options | None = None) -> EtcdEngine:
        made.append(etcd_engine(cluster.endpoints, options))
        return made[-1]

    yield make
    for one in made:
        one.close()
    until(lambda: not threads(), LIMIT, f"their threads have ended: {threads()}")


@pytest.fixture(autouse=True)
def _there_is_etcd() -> None:
    if reason := why_not():
        pytest.skip(reason)


# ---- users --------------------------------------------------------------------------------------
def add_users(cluster: Etcd) -> None:
    """Adds a user for the keys of jitc, and one without any permission; from then on etcd wants one."""

    def call(path: str, **body: object) -> None:
        cluster.members[0].call(f"/v3/auth/{path}", body)

    end = base64.b64encode(b"jitc0").decode()
    call("role/add", name="jitc")
    permission = {"permType": "READWRITE", "key": base64.b64encode(b"jitc/").decode(), "range_end": end}
    call("role/grant", name="jitc", perm=permission)
    for name, roles in (("root", ["root"]), ("jitc", ["jitc"]), ("nobody", [])):
        call("user/add", name=name, password="right")
        for role in roles:
            call("user/grant", user=name, role=role)
    call("enable")


@pytest.fixture(scope="module")
def with_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    if reason := why_not():
        pytest.skip(reason)
    with etcd(tmp_path_factory.mktemp("users"), options={"bcrypt-cost": "4"}) as cluster:
        add_users(cluster)
        yield cluster


def test_a_user_reads_writes_and_registers(with_users: Etcd, open_engine: Open) -> None:
    engine, seen, states = open_engine(with_users, USER), Seen[Held | Lost | Taken](), Seen[State]()
    put(engine, "jobs/1", "mine")
    engine.watch("", states)
    engine.register("nodes/n0", b"here", seen)
    seen.next(Held)
    states.until(lambda state: texts(state) == {"jobs/1": "mine", "nodes/n0": "here"})
    assert engine.members()[0].trouble == ""


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (Options(user="jitc", password="wrong"), r"does not accept the user and the password.*--cluster-user"),
        (Options(user="stranger", password="right"), r"does not accept the user and the password.*--cluster-user"),
        (Options(), r"wants a user: give --cluster-user"),
        (Options(user="nobody", password="right"), r"no permission.*etcdctl role grant-permission.*jitc/"),
    ],
    ids=["wrong password", "unknown user", "no user", "no permission"],
)
def test_who_may_not_is_told_what_to_do(
    with_users: Etcd, open_engine: Open, options: Options, text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    engine, states = open_engine(with_users, options), Seen[State]()
    for call in (
        lambda: engine.get("jobs/2"),
        lambda: engine.list("jobs/"),
        lambda: engine.compare_and_swap([Change("jobs/2", 0, b"")]),
    ):
        with pytest.raises(Refused, match=text):
            call()
    engine.watch("jobs/", states)
    said = Seen[str]()

    def has_been_said() -> bool:
        said(capfd.readouterr().err)
        return "the watch of jobs/ goes on after Refused" in "".join(said.all)

    until(has_been_said, LIMIT, "the watch says so, too")
    assert states.all == []


def test_a_token_that_is_not_valid_any_more_is_fetched_again(tmp_path: Path, open_engine: Open) -> None:
    """etcd's tokens do not survive its restart."""
    with etcd(tmp_path, options={"bcrypt-cost": "4"}) as cluster:
        add_users(cluster)
        engine, states, [member] = open_engine(cluster, USER), Seen[State](), cluster.members
        put(engine, "jobs/1", "before")
        engine.watch("", states)
        states.until(lambda state: texts(state) == {"jobs/1": "before"})
        cluster.kill(member)
        with pytest.raises(Unreachable):
            engine.get("jobs/1")
        cluster.start(member)
        entry = come_back(lambda: engine.get("jobs/1"))
        assert entry and entry.value == b"before"
        assert isinstance(engine.compare_and_swap([Change("jobs/1", entry.revision, b"after")]), Swapped)
        states.until(lambda state: texts(state) == {"jobs/1": "after"})


def test_a_write_with_a_token_that_has_expired_is_made_once_it_has_another(with_users: Etcd, open_engine: Open) -> None:
    engine = open_engine(with_users, USER)
    put(engine, "jobs/3", "before")
    [link] = engine._calls.links
    link.token = "expired"
    assert isinstance(engine.compare_and_swap([Change("jobs/4", 0, b"")]), Swapped)
    states = Seen[State]()
    link.token = "expired again"
    engine.watch("jobs/3", states)
    states.until(lambda state: texts(state) == {"jobs/3": "before"})


def test_a_user_that_etcd_does_not_need_is_no_mistake(tmp_path: Path, open_engine: Open) -> None:
    with etcd(tmp_path) as cluster:
        assert open_engine(cluster, USER).get("jobs/1") is None


# ---- TLS ----------------------------------------------------------------------------------------
def options(files: Tls, own: bool = False) -> Options:
    one = Options(ca=str(files.ca))
    return replace(one, certificate=str(files.certificate), key=str(files.key)) if own else one


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def test_tls_and_what_does_not_fit_it(tmp_path: Path, authority: Authority, open_engine: Open) -> None:
    member, stranger = authority.sign("member"), Authority(tmp_path, "other")
    with etcd(tmp_path / "etcd", tls=member) as cluster:
        engine, states = open_engine(cluster, options(member)), Seen[State]()
        engine.watch("", states)
        put(engine, "jobs/1", "secret")
        states.until(lambda state: texts(state) == {"jobs/1": "secret"})
        with pytest.raises(Unreachable, match=r"its certificate is not one of --cluster-ca's"):
            open_engine(cluster, Options(ca=str(stranger.ca))).get("jobs/1")
        with pytest.raises(Unreachable, match=r"TLS"):
            open_engine(cluster).get("jobs/1")


def test_mutual_tls(tmp_path: Path, authority: Authority, open_engine: Open) -> None:
    member, client = authority.sign("member", mutual=True), authority.sign("client")
    stranger = Authority(tmp_path, "other").sign("stranger")
    with etcd(tmp_path / "etcd", tls=member) as cluster:
        put(open_engine(cluster, options(client, own=True)), "jobs/1", "secret")
        for wrong in (options(member), replace(options(stranger, own=True), ca=str(member.ca))):
            with pytest.raises(Unreachable, match=r"--cluster-cert"):
                open_engine(cluster, wrong).get("jobs/1")


@pytest.mark.parametrize("kind", ["of another host", "expired"])
def test_a_certificate_that_is_not_right(tmp_path: Path, authority: Authority, open_engine: Open, kind: str) -> None:
    """etcd reads its files anew for each connection."""
    right = authority.sign("right")
    with etcd(tmp_path / "etcd", tls=right) as cluster:
        wrong = authority.sign("wrong", days=-1) if kind == "expired" else authority.sign("wrong", ["127.0.0.99"])
        right.certificate.write_bytes(wrong.certificate.read_bytes())
        right.key.write_bytes(wrong.key.read_bytes())
        with pytest.raises(Unreachable, match=f"its certificate is .*{kind}"):
            open_engine(cluster, options(right)).get("jobs/1")


def moved(files: Tls, folder: Path) -> Tls:
    """Brings the files to where an engine, or a member, has its own."""
    folder.mkdir(exist_ok=True)
    own = Tls(folder / "ca.pem", folder / "own.pem", folder / "own.key", files.mutual)
    for source, place in zip(files[:3], own[:3], strict=True):
        replaced(place, source.read_bytes())
    return own


def replaced(path: Path, content: bytes) -> None:
    """Replaces a file as a whole, as programs do that renew certificates."""
    new = path.with_name(f".{path.name}")
    new.write_bytes(content)
    new.rename(path)


def test_files_that_are_replaced_are_used_from_then_on(
    tmp_path: Path, authority: Authority, open_engine: Open, capfd: pytest.CaptureFixture[str]
) -> None:
    """The authority of both ends is another one after a while."""
    other = Authority(tmp_path, "other")
    member = moved(authority.sign("member", mutual=True), tmp_path / "member")
    client = moved(authority.sign("client"), tmp_path / "client")
    with etcd(tmp_path / "etcd", tls=member) as cluster:
        engine, states = open_engine(cluster, options(client, own=True)), Seen[State]()
        put(engine, "jobs/1", "before")
        engine.watch("", states)
        states.until(lambda state: texts(state) == {"jobs/1": "before"})
        cluster.kill(cluster.members[0])
        moved(other.sign("member2", mutual=True), tmp_path / "member")
        cluster.start()
        with pytest.raises(Unreachable, match="not one of --cluster-ca's"):
            until(lambda: engine.get("jobs/1") is None, LIMIT, "it is refused")
        renewed = other.sign("client2")
        replaced(client.certificate, renewed.certificate.read_bytes())
        with pytest.raises(Unreachable):
            engine.get("jobs/1")
        assert f"goes on with the certificates for the store that it has: {client.key} is not" in capfd.readouterr().out
        replaced(client.key, renewed.key.read_bytes())
        replaced(client.ca, renewed.ca.read_bytes())
        assert come_back(lambda: engine.get("jobs/1"))
        put(engine, "jobs/1", "after")
        states.until(lambda state: texts(state) == {"jobs/1": "after"})


def test_a_watch_follows_to_connections_with_other_files(
    tmp_path: Path, authority: Authority, open_engine: Open
) -> None:
    """Nothing is lost while both are good."""
    member, client = authority.sign("member", mutual=True), moved(authority.sign("client"), tmp_path / "client")
    with etcd(tmp_path / "etcd", tls=member) as cluster:
        engine, states, seen = (
            open_engine(cluster, options(client, own=True)),
            Seen[State](),
            Seen[Held | Lost | Taken](),
        )
        engine.watch("jobs/", states)
        engine.register("nodes/n0", b"here", seen)
        seen.next(Held)
        for number in range(3):
            moved(authority.sign(f"client{number}"), tmp_path / "client")
            put(engine, "jobs/1", str(number))
            states.until(lambda state, number=number: texts(state) == {"jobs/1": str(number)})  # type: ignore[misc]
        assert len(seen.all) == 1 and len({id(one) for one in engine._calls.links + engine._calls._left}) == 2


def test_tls_where_there_is_none(tmp_path: Path, authority: Authority, open_engine: Open) -> None:
    with etcd(tmp_path / "etcd") as cluster, pytest.raises(StoreError, match=r"does not speak TLS: leave out"):
        open_engine(cluster, options(authority.sign("client"))).get("jobs/1")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{tmp_path}/none: No such file or directory"):
        etcd_engine("127.0.0.1:1", Options(ca=str(tmp_path / "none")))


def test_files_that_cannot_be_used_are_named_until_they_can(
    tmp_path: Path, authority: Authority, open_engine: Open
) -> None:
    """A service that is started again has jobs, which need no store: it must not end because of them."""
    member, two = authority.sign("member"), authority.sign("two")
    with etcd(tmp_path / "etcd", tls=member) as cluster:
        for name, content, message in (
            ("ca", b"nothing", "ca.pem has no certificate in PEM.*--cluster-ca"),
            ("key", two.key.read_bytes(), "own.key is not the key of .*own.pem.*--cluster-cert"),
            ("certificate", b"nothing", "own.key is not the key of .*own.pem, or one of them is not in PEM"),
        ):
            own = moved(member, tmp_path / name)
            right = getattr(own, name).read_bytes()
            replaced(getattr(own, name), content)
            engine = open_engine(cluster, options(own, own=True))
            with pytest.raises(Unreachable, match=message):
                engine.get("jobs/1")
            assert re.search(message, engine.members()[0].trouble)
            replaced(getattr(own, name), right)
            assert engine.get("jobs/1") is None
