"""Page tokens: where a page ended, as opaque text that belongs to one list and one order.

Format 1, big-endian, then URL-safe base64 without padding:

    1 byte   version, 1
    8 bytes  time of the last edge seen, microseconds
    8 bytes  id of the last edge seen
    6 bytes  BLAKE2b of the above, the list's kind and user id, and the order

A token names an edge, not an offset, so that pages stay right while the list changes. The checksum guards
against damage and mix-ups, not against forgery: a forged token shows nothing that the list does not.
"""

import base64
import binascii
import struct
from hashlib import blake2b

from graphsvc.model.edges import EARLIEST_TIME_US, LATEST_TIME_US, Cursor, ListRef, Order
from graphsvc.model.errors import InvalidArgument, Reason
from graphsvc.model.ids import MAX_ID

VERSION = 1
_CURSOR = struct.Struct(">BQQ")
_SUM_BYTES = 6


def encode_page_token(cursor: Cursor, list_ref: ListRef, order: Order) -> str:
    """The token of a page that ended with this edge."""
    head = _CURSOR.pack(VERSION, cursor.time_us, cursor.id)
    return base64.urlsafe_b64encode(head + _checksum(head, list_ref, order)).rstrip(b"=").decode()


def decode_page_token(token: str, list_ref: ListRef, order: Order) -> Cursor | None:
    """The cursor of a token; None for the empty token, which is the beginning.

    Raises:
        InvalidArgument: not a token, altered, of another version, list or order.
    """
    if not token:
        return None
    try:
        data = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        data = b""
    # Text that decodes alike but is written otherwise is no token either: one edge, one token.
    if (
        len(data) != _CURSOR.size + _SUM_BYTES
        or token != base64.urlsafe_b64encode(data).rstrip(b"=").decode()
    ):
        raise _invalid("not a page token")
    head = data[: _CURSOR.size]
    version, time_us, edge_id = _CURSOR.unpack(head)
    if version != VERSION:
        raise _invalid(f"a page token of version {version}; this service writes {VERSION}")
    if data[_CURSOR.size :] != _checksum(head, list_ref, order):
        raise _invalid("altered, or a token of another list or order")
    if not EARLIEST_TIME_US <= time_us <= LATEST_TIME_US or not 0 < edge_id <= MAX_ID:
        raise _invalid("a page token of no edge")
    return Cursor(time_us, edge_id)


def _checksum(head: bytes, list_ref: ListRef, order: Order) -> bytes:
    owner = f"{list_ref.kind}:{list_ref.user_id}:{order.name}".encode()
    return blake2b(head + owner, digest_size=_SUM_BYTES, person=b"graphsvc.page").digest()


def _invalid(problem: str) -> InvalidArgument:
    advice = "use next_page_token of the page before as it is, or begin anew without one"
    return InvalidArgument("page_token", Reason.PAGE_TOKEN_INVALID, f"{problem}; {advice}")
