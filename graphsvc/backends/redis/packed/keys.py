"""The keys of a list. They begin with 12 characters that one can type, and that allocate 16 bytes.

A list's own key, that of its head, is a letter of its kind and the owner's id in base64 (RFC 4648, without
padding), as in `>AAFAMAAAAAE`, whom user 352049879318529 follows, in the database of her shard.
`base64 -d <<< AAFAMAAAAAE= | xxd` shows the id. No time, count or form is in a key: keys are for ever.
"""

import binascii
from typing import NamedTuple

from graphsvc.model.edges import ListKind, ListRef

_LETTERS = {ListKind.FOLLOWING: b">", ListKind.FOLLOWERS: b"<"}
_KINDS = {letter: kind for kind, letter in _LETTERS.items()}
KEY_BYTES = 12
CHECK_PRIME = 65521
"""Checks are remainders of it: the largest prime of two bytes."""
HEAD_NAME = "the head"


def list_key(list_ref: ListRef) -> bytes:
    """The key of a list's head."""
    text = binascii.b2a_base64(list_ref.user_id.to_bytes(8, "big"), newline=False)
    return _LETTERS[list_ref.kind] + text[:11]


def directory_key(head_key: bytes) -> bytes:
    """The key of the list's directory."""
    return head_key + b":d"


def index_key(head_key: bytes) -> bytes:
    """The key of the list's index."""
    return head_key + b":i"


def block_key(head_key: bytes, number: int) -> bytes:
    """The key of a sealed block."""
    return b"%b:%d" % (head_key, number)


def block_name(number: int) -> str:
    """What a sealed block is called."""
    return f"block {number}"


class Place(NamedTuple):
    """Where a block belongs: it is the head of a list, or one of its sealed blocks."""

    head_key: bytes
    number: int | None = None
    """None: the head."""

    @property
    def key(self) -> bytes:
        """The key it is stored at."""
        return self.head_key if self.number is None else block_key(self.head_key, self.number)

    @property
    def name(self) -> str:
        """What errors call it."""
        return HEAD_NAME if self.number is None else block_name(self.number)

    @property
    def seed(self) -> int:
        """What the check of a block that belongs here begins with; see block.py."""
        first, second, third = (int.from_bytes(self.head_key[at : at + 4], "big") for at in (0, 4, 8))
        return (first + 30011 * second + 50021 * third) % CHECK_PRIME + 12289 * (self.number or 0)


class KeyMeaning(NamedTuple):
    """What a key of a shard's database belongs to."""

    list: ListRef
    part: bytes
    """Empty for the head, else what stands behind the colon: d, i or a number."""


def meaning_of(key: bytes, shard: int) -> KeyMeaning | None:
    """Which list a key belongs to, and as what; None where it is no list's."""
    letter, text, rest = key[:1], key[1:KEY_BYTES], key[KEY_BYTES:]
    if letter not in _KINDS or len(text) != KEY_BYTES - 1 or (rest and not rest.startswith(b":")):
        return None
    try:
        user_id = int.from_bytes(binascii.a2b_base64(text + b"=", strict_mode=True), "big")
    except (binascii.Error, ValueError):
        return None
    return KeyMeaning(ListRef(shard, _KINDS[letter], user_id), rest[1:])
