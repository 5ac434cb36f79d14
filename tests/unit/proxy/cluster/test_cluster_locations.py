"""The locations of stores on the command line, and the options with which one is reached."""

from __future__ import annotations

import pytest

from jitc.proxy.cluster.store.engine import Change, Swapped
from jitc.proxy.cluster.store.engines.etcd.engine import EtcdEngine
from jitc.proxy.cluster.store.engines.local import LocalEngine
from jitc.proxy.cluster.store.locations import MEMBERS_MOST, Address, Options, check_options, parse_location
from jitc.proxy.cluster.store.opening import open_engine


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("local", ()),
        ("etcd://h", (Address("h", 2379),)),
        ("etcd://h:1", (Address("h", 1),)),
        ("etcd://a.b-c_d:65535,10.0.0.1", (Address("a.b-c_d", 65535), Address("10.0.0.1", 2379))),
        ("etcd://[::1]:2380,[fe80::1%eth0]", (Address("::1", 2380), Address("fe80::1%eth0", 2379))),
        ("etcd://h,h:1", (Address("h", 2379), Address("h", 1))),
    ],
)
def test_a_location_is_read(text: str, addresses: tuple[Address, ...]) -> None:
    assert parse_location(text) == addresses


def test_an_address_is_written_as_it_is_read() -> None:
    for text in ("h:1", "[::1]:2379"):
        assert str(parse_location(f"etcd://{text}")[0]) == text


@pytest.mark.parametrize(
    "text",
    [
        "", "Local", "etcd", "etcd:h", "http://h:1", "etcd://", "etcd://h:", "etcd://h:0", "etcd://h:65536", "etcd://h:x",
        "etcd://h:-1", "etcd://h,", "etcd://h,,g", "etcd://h h", "etcd://::1", "etcd://[::1", "etcd://h/jobs", "etcd://h\n",
        "etcd://u@h", "etcd://h:1,h:1", "etcd://h,h:2379", "etcd://[]",
        "etcd://" + ",".join(f"h{number}" for number in range(MEMBERS_MOST + 1)),
    ],
)  # fmt: skip
def test_what_is_no_location_is_refused_with_one_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"store|HOST:PORT|twice") as error:
        parse_location(text)
    assert "\n" not in str(error.value)


def test_as_many_members_as_there_may_be() -> None:
    text = "etcd://" + ",".join(f"h{number}" for number in range(MEMBERS_MOST))
    assert len(parse_location(text)) == MEMBERS_MOST


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (Options(certificate="c"), "needs its key"),
        (Options(key="k"), "a key its certificate"),
        (Options(user="u"), "user u needs a password"),
        (Options(password="p"), "needs its user"),
    ],
)
def test_options_that_do_not_belong_together(options: Options, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        check_options(options)
    with pytest.raises(ValueError, match=text):
        open_engine("local", options)


def test_an_engine_of_each_kind() -> None:
    local = open_engine("local")
    assert isinstance(local, LocalEngine) and isinstance(local.compare_and_swap([Change("a", 0, b"")]), Swapped)
    assert local.members() == ()
    local.close()
    etcd = open_engine("etcd://127.0.0.1:1")
    assert isinstance(etcd, EtcdEngine)
    etcd.close()
