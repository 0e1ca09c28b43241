"""Where a request may go: URLs as they are written, and addresses as names resolve to them."""

import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from core.doors.addresses import check_address
from core.doors.connections import BlockedAddress, CheckedResolver, checked_socket
from core.doors.outbound import NameNotFound, OutboundPolicy, Refused, check_url

PUBLIC = OutboundPolicy()
PRIVATE = OutboundPolicy(allow_private=True)


def reason(url: str, policy: OutboundPolicy = PUBLIC) -> str:
    with pytest.raises(Refused) as caught:
        check_url(url, policy)
    return caught.value.reason


@pytest.mark.case("T29")
@pytest.mark.case("SEC-10")
@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "10.0.0.5", "172.16.0.1", "192.168.1.1", "100.64.0.1", "[::1]", "[fc00::1]"),
        *("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::10.0.0.1]", "[2002:7f00:1::]"),
        *("localhost", "localhost.", "LOCALHOST", "desk.localhost"),
    ],
)
def test_loopback_and_private_hosts_need_the_callers_word(host: str) -> None:
    assert reason(f"http://{host}/") == "private_address"
    assert check_url(f"http://{host}/", PRIVATE)


@pytest.mark.case("T29")
@pytest.mark.parametrize("policy", [PUBLIC, PRIVATE], ids=["public", "private allowed"])
@pytest.mark.parametrize(
    "host",
    [
        *("127.1", "2130706433", "0x7f.0.0.1", "0x7f000001", "0177.0.0.1", "127.0.0.1.", "1.2.3", "0", "a.0x7f", "0x"),
        *("256.1.1.1", "[1::2::3]", "1.1.1.1.", "[:::]"),
    ],
)
def test_an_address_written_oddly_is_refused_always(host: str, policy: OutboundPolicy) -> None:
    assert reason(f"http://{host}/", policy) == "odd_address"


@pytest.mark.case("T29")
@pytest.mark.case("A2A-22")
@pytest.mark.parametrize("policy", [PUBLIC, PRIVATE], ids=["public", "private allowed"])
@pytest.mark.parametrize(
    ("host", "word"),
    [
        ("169.254.169.254", "metadata_address"),
        ("[fd00:ec2::254]", "metadata_address"),
        ("100.100.100.200", "metadata_address"),
        ("[::ffff:169.254.169.254]", "metadata_address"),
        ("[64:ff9b::a9fe:a9fe]", "metadata_address"),
        ("169.254.1.1", "link_local_address"),
        ("[fe80::1]", "link_local_address"),
        ("0.0.0.0", "special_address"),
        ("[::]", "special_address"),
        ("224.0.0.1", "special_address"),
        ("255.255.255.255", "special_address"),
        ("[ff02::1]", "special_address"),
        ("192.0.2.1", "special_address"),
        ("[2001:db8::1]", "special_address"),
        ("[::127.0.0.1]", "special_address"),
        ("[2001:0:4136:e378:8000:63bf:3fff:fdd2]", "special_address"),
        ("[64:ff9b:1::1]", "special_address"),
    ],
)
def test_metadata_link_local_and_special_addresses_are_refused_always(
    host: str, word: str, policy: OutboundPolicy
) -> None:
    assert reason(f"http://{host}/", policy) == word


@pytest.mark.case("T29")
@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("http://good.test@127.0.0.1/", "userinfo"),
        ("http://user:password@good.test/", "userinfo"),
        ("http://@good.test/", "userinfo"),
        ("http://127.0.0.1\\@good.test/", "odd_characters"),
        ("http://good.test\\.evil.test/", "odd_characters"),
        ("http://good.test/\r\nHost: evil", "odd_characters"),
        ("http://good .test/", "odd_characters"),
        ("http://good.test/\x00", "odd_characters"),
        ("http://①②⑦.⓪.⓪.①/", "host"),
        ("http://127。0。0。1/", "host"),
        ("http://ⅼocalhost/", "host"),
        ("http://\u212aelvin.test/", "host"),
        ("http://[fe80::1%25eth0]/", "host"),
        ("http://[127.0.0.1]/", "host"),
        ("http:///etc/hosts", "host"),
        ("http://", "host"),
        ("http://a..test/", "host"),
        ("http://.test/", "host"),
        ("http://good%2etest/", "host"),
        ("http://good.test:/", "host"),
        ("http://good.test:80:80/", "host"),
        ("http://good.test:8a/", "host"),
        ("http://" + "a" * 64 + ".test/", "host"),
        ("http://" + "a." * 127 + "test/", "host"),
        ("http://good.test:0/", "port"),
        ("http://good.test:65536/", "port"),
        ("file:///etc/hosts", "scheme"),
        ("gopher://good.test/", "scheme"),
        ("unix:/run/desk.sock", "scheme"),
        ("ftp://good.test/", "scheme"),
        ("javascript:alert(1)", "scheme"),
        ("//good.test/", "scheme"),
        ("http:good.test", "scheme"),
        ("", "scheme"),
        ("http://good.test/" + "a" * 9000, "odd_characters"),
    ],
)
def test_a_url_outside_the_grammar_is_refused(url: str, word: str) -> None:
    assert reason(url, PRIVATE) == word


@pytest.mark.parametrize(
    ("url", "checked"),
    [
        ("HTTPS://Good.Test", "https://good.test/"),
        ("https://good.test:443/a?b=c#d", "https://good.test/a?b=c"),
        ("http://good.test:8080?q", "http://good.test:8080/?q"),
        ("https://xn--mnchen-3ya.test/a@b:c", "https://xn--mnchen-3ya.test/a@b:c"),
        ("http://good_name.test./", "http://good_name.test./"),
        ("http://1.1.1.1/", "http://1.1.1.1/"),
        ("http://[2606:4700::1111]:8080/", "http://[2606:4700::1111]:8080/"),
        ("http://4chan.test/", "http://4chan.test/"),
    ],
)
def test_an_ordinary_url_passes_in_one_spelling(url: str, checked: str) -> None:
    assert check_url(url, PUBLIC) == checked


def test_http_is_refused_where_only_https_will_do() -> None:
    policy = OutboundPolicy(https_only=True)
    assert reason("http://good.test/", policy) == "scheme"
    assert check_url("https://good.test/", policy)


def test_a_refusal_tells_neither_path_nor_query() -> None:
    with pytest.raises(Refused) as caught:
        check_url("http://127.0.0.1/bot123:TOKEN/getMe?key=SECRET", PUBLIC)
    assert str(caught.value) == "http://127.0.0.1: private_address"


@given(st.text(alphabet="ahtp:/@\\.?#[]%01x27;&=_-é①", max_size=40))
def test_the_client_reads_the_very_host_that_was_checked(text: str) -> None:
    try:
        checked = check_url("http://" + text, PRIVATE)
    except Refused:
        return
    host = checked.removeprefix("http://").partition("/")[0].partition(":")[0]
    assert host.startswith("[") or URL(checked).raw_host == host


@given(st.ip_addresses())
def test_no_address_passes_that_is_not_global(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    try:
        check_address("test", str(address), allow_private=False)
    except Refused:
        return
    embedded = isinstance(address, ipaddress.IPv6Address) and (
        address.sixtofour or address in ipaddress.ip_network("64:ff9b::/96")
    )
    assert embedded or (address.is_global and not address.is_multicast)


@given(st.ip_addresses(v=4, network="127.0.0.0/8") | st.ip_addresses(v=4, network="169.254.0.0/16"))
def test_every_form_that_carries_an_inner_address_is_judged_by_it(inner: ipaddress.IPv4Address) -> None:
    value = int(inner)
    carriers = (0xFFFF << 32 | value, 0x64FF9B << 96 | value, 0x2002 << 112 | value << 80)
    for carrier in map(ipaddress.IPv6Address, carriers):
        with pytest.raises(Refused):
            check_address("test", str(carrier), allow_private=False)


class Names:
    """A resolver that answers from a list, one answer a question."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append((host, port))
        return self.answers.pop(0)


@pytest.mark.case("T31")
async def test_a_name_is_resolved_once_and_connected_to_exactly_as_checked() -> None:
    names = Names(["1.1.1.1", "2606:4700::1111"], ["127.0.0.1"])
    found = await CheckedResolver(names, allow_private=False).resolve("good.test", 443)
    assert [(one["hostname"], one["host"], one["port"], one["family"]) for one in found] == [
        ("good.test", "1.1.1.1", 443, socket.AF_INET),
        ("good.test", "2606:4700::1111", 443, socket.AF_INET6),
    ]
    assert all(one["flags"] & socket.AI_NUMERICHOST for one in found)
    assert names.asked == [("good.test", 443)]


@pytest.mark.case("T31")
@pytest.mark.parametrize("inner", ["127.0.0.1", "::1", "::ffff:10.0.0.1", "169.254.169.254", "fe80::1%2", "nonsense"])
@pytest.mark.parametrize("first", [True, False])
async def test_one_forbidden_address_among_good_ones_refuses_the_name(inner: str, first: bool) -> None:
    answer = [inner, "1.1.1.1"] if first else ["1.1.1.1", inner]
    with pytest.raises(Refused):
        await CheckedResolver(Names(answer), allow_private=False).resolve("mixed.test", 80)


async def test_a_name_without_addresses_is_not_found() -> None:
    with pytest.raises(NameNotFound):
        await CheckedResolver(Names([]), allow_private=False).resolve("empty.test", 80)


@pytest.mark.case("T31")
@pytest.mark.parametrize(("address", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
def test_no_socket_is_made_for_a_forbidden_address_whatever_led_to_it(address: str, family: int) -> None:
    info = (family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, 80))
    with pytest.raises(BlockedAddress):
        checked_socket(allow_private=False)(info)
    checked_socket(allow_private=True)(info).close()
