"""Page tokens: right ones come back, all others are refused."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsvc.graph.page_tokens import decode_page_token, encode_page_token
from graphsvc.model.edges import EARLIEST_TIME_US, LATEST_TIME_US, Cursor, ListKind, ListRef, Order
from graphsvc.model.errors import InvalidArgument, Reason
from graphsvc.model.ids import MAX_ID

LIST = ListRef(7, ListKind.FOLLOWERS, 7 << 46 | 3 << 36 | 1)
CURSOR = Cursor(1_700_000_000_000_001, MAX_ID)
TOKEN = encode_page_token(CURSOR, LIST, Order.NEWEST_FIRST)


@given(
    st.integers(EARLIEST_TIME_US, LATEST_TIME_US),
    st.integers(1, MAX_ID),
    st.sampled_from(ListKind),
    st.sampled_from(Order),
)
def test_a_token_comes_back(time_us: int, edge_id: int, kind: ListKind, order: Order) -> None:
    ref = LIST._replace(kind=kind)
    token = encode_page_token(Cursor(time_us, edge_id), ref, order)
    assert decode_page_token(token, ref, order) == Cursor(time_us, edge_id)


@pytest.mark.parametrize(
    "cursor",
    [Cursor(0, 5), Cursor(LATEST_TIME_US + 1, 5), Cursor(2**56, 5), Cursor(CURSOR.time_us, 0)],
    ids=str,
)
def test_a_forged_token_of_no_edge_is_refused(cursor: Cursor) -> None:
    assert "no edge" in refused(encode_page_token(cursor, LIST, Order.NEWEST_FIRST))


def test_the_empty_token_is_the_beginning() -> None:
    assert decode_page_token("", LIST, Order.NEWEST_FIRST) is None


def refused(token: str, ref: ListRef = LIST, order: Order = Order.NEWEST_FIRST) -> str:
    with pytest.raises(InvalidArgument) as caught:
        decode_page_token(token, ref, order)
    assert caught.value.field == "page_token"
    assert caught.value.reason is Reason.PAGE_TOKEN_INVALID
    return caught.value.message


def test_a_token_of_another_list_or_order_is_refused() -> None:
    refused(TOKEN, LIST._replace(kind=ListKind.FOLLOWING))
    refused(TOKEN, LIST._replace(user_id=LIST.user_id + 1))
    refused(TOKEN, LIST, Order.OLDEST_FIRST)


@pytest.mark.parametrize(
    "token", ["x", "====", "ünïcode", "A" * 31, "A" * 10_000, TOKEN + "=", TOKEN + "\n", " " + TOKEN]
)
def test_garbage_is_refused(token: str) -> None:
    refused(token)


def test_every_altered_letter_is_refused() -> None:
    for i, letter in enumerate(TOKEN):
        refused(TOKEN[:i] + ("B" if letter == "A" else "A") + TOKEN[i + 1 :])


def test_another_version_is_refused_as_such() -> None:
    data = bytearray(base64.urlsafe_b64decode(TOKEN + "=" * (-len(TOKEN) % 4)))
    data[0] = 9
    assert "version 9" in refused(base64.urlsafe_b64encode(data).rstrip(b"=").decode())
