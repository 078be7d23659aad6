"""What replies about a list mean: decisions only, no I/O.

Each raises `Damage` where what a reply shows is no good part of a list, and where replies do not fit
together, which may only mean that the list changed between them.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from graphsvc.backends.redis.connection import Command, Reply, ReplyError
from graphsvc.backends.redis.packed.block import Block, Damage
from graphsvc.backends.redis.packed.ids import SENTINEL, ShortIds
from graphsvc.backends.redis.packed.keys import Place, directory_key, index_key, list_key
from graphsvc.model.edges import ListRef

_SCRIPT_PLACE = re.compile(r" script: [0-9a-f]{40}.*$")


class Asked(NamedTuple):
    """A question about one list."""

    commands: list[Command]
    """Their replies tell, unless they leave a doubt."""
    transaction: list[Command]
    """Its last reply is a list: those of `commands`, and how many of directory and index there are."""


def damage_of(reply: Reply) -> str | None:
    """What an error reply says is damaged; None of any other reply."""
    if not isinstance(reply, ReplyError):
        return None
    if reply.code == "WRONGTYPE":
        return "one of its keys is of a wrong type"
    return _SCRIPT_PLACE.sub("", str(reply)).removeprefix("DAMAGED ")


def size_commands(list_ref: ListRef) -> Asked:
    """Ask how many edges a list has."""
    return _asked(list_ref, [("GET", list_key(list_ref))])


def size_answer(list_ref: ListRef, replies: Sequence[Reply]) -> int:
    """What the replies to `size_commands` say."""
    head = _head_of(list_ref, replies, commands=1)
    return head.size if head else 0


def contains_commands(list_ref: ListRef, wanted: Sequence[int], ids: ShortIds) -> Asked:
    """Ask which of some ids a list holds. Whether the head or the index tells is known only afterwards."""
    head = list_key(list_ref)
    index = index_key(head)
    names = (ids.index_name(each) for each in wanted)
    return _asked(list_ref, [("GET", head), ("SMISMEMBER", index, SENTINEL, *names), ("SCARD", index)])


def contains_answer(
    list_ref: ListRef, wanted: Sequence[int], replies: Sequence[Reply], ids: ShortIds
) -> list[bool] | None:
    """What the replies to `contains_commands` say; None: a long list without index, to be searched."""
    head = _head_of(list_ref, replies, commands=3)
    if head is None:
        return [False] * len(wanted)
    if not head.long:
        return [head.find(each, ids) >= 0 for each in wanted]
    if not head.indexed:
        return None
    _, marks, names = replies[:3]
    if isinstance(marks, ReplyError) or isinstance(names, ReplyError):
        raise Damage("the index is of a wrong type")
    if not marks[0]:
        raise Damage("the index is missing")
    if names != head.size + 1:
        raise Damage(f"the index holds {names} names instead of {head.size + 1}")
    return [mark == 1 for mark in marks[1:]]


def time_answer(list_ref: ListRef, edge_id: int, replies: Sequence[Reply], ids: ShortIds) -> int | None:
    """The time of an edge (0: there is none) as far as the replies to `contains_commands` tell it.

    None where it has to be searched for: the edge stands in a long list, or that has no index.
    """
    held = contains_answer(list_ref, [edge_id], replies, ids)
    if held == [False]:
        return 0
    head = _head_of(list_ref, replies, commands=3)
    row = head.find(edge_id, ids) if head else -1
    return head.time_of(row) if head and row >= 0 else None


def _asked(list_ref: ListRef, words: Sequence[tuple[str | bytes | int, ...]]) -> Asked:
    commands = [Command(list_ref.shard, each) for each in words]
    head_key = list_key(list_ref)
    beside = ("EXISTS", directory_key(head_key), index_key(head_key))
    all_words = [("MULTI",), *words, beside, ("EXEC",)]
    return Asked(commands, [Command(list_ref.shard, each) for each in all_words])


def _head_of(list_ref: ListRef, replies: Sequence[Reply], commands: int) -> Block | None:
    """The head; None where there is no list, which only the transaction's replies can tell."""
    head_data = replies[0]
    damage = damage_of(head_data)
    if damage is not None:
        raise Damage("the head is of a wrong type")
    if head_data is not None:
        return Block(head_data, Place(list_key(list_ref)))
    if len(replies) == commands:
        raise Damage("there may be no list, or no head of it")
    if replies[commands]:
        raise Damage("the head is missing")
    return None
