"""What a hand can do to the keys of a list, but for bytes changed within a row, which only a check finds."""

from collections.abc import Awaitable, Callable, Iterator
from typing import NamedTuple

from graphsvc.backends.redis.packed.block import OLDEST, Separator
from graphsvc.backends.redis.packed.ids import SENTINEL
from tests.edge_shapes import T0
from tests.shaped_lists import FREE, ROW, Shape, Target, edges_like, store_list
from tests.stored_lists import keys_of

KINDS = ("string", "list", "hash", "set", "zset")

Do = Callable[[Target], Awaitable[None]]
Part = Callable[[Target], bytes]
"""The key of a part."""


class Damage(NamedTuple):
    """Something a hand can do."""

    name: str
    do: Do
    to_sealed: bool = True
    """Only where there are sealed blocks."""
    to_index: bool | None = None
    """Only where there is an index, or where there is none."""

    def fits(self, shape: Shape) -> bool:
        """Whether a list has what is to be damaged."""
        if self.to_sealed and not shape.sealed_rows:
            return False
        return self.to_index is None or self.to_index == shape.indexed


def head(target: Target) -> bytes:
    """The head."""
    return target.head_key


def oldest(target: Target) -> bytes:
    """The oldest block."""
    return target.block_key(0)


def second(target: Target) -> bytes:
    """The second oldest block."""
    return target.block_key(1)


def newest(target: Target) -> bytes:
    """The newest sealed block."""
    return target.block_key(-1)


def directory(target: Target) -> bytes:
    """The directory."""
    return target.directory_key


def index(target: Target) -> bytes:
    """The index."""
    return target.index_key


def delete(*parts: Part) -> Do:
    """Remove keys."""

    async def do(target: Target) -> None:
        await target.client.delete(*(part(target) for part in parts))

    return do


def retype(part: Part, kind: str) -> Do:
    """Put another thing where a part was."""

    async def do(target: Target) -> None:
        client, key = target.client, part(target)
        await client.delete(key)
        match kind:
            case "string":
                await client.set(key, "x")
            case "list":
                await client.rpush(key, "x")
            case "hash":
                await client.hset(key, "x", "x")
            case "set":
                await client.sadd(key, 1, 2)
            case "zset":
                await client.zadd(key, {"x": 0})

    return do


def edit(part: Part, change: Callable[[bytes], bytes]) -> Do:
    """Change the string of a part."""

    async def do(target: Target) -> None:
        await target.client.set(part(target), change(await read(target, part(target))))

    return do


def copy(source: Part, destination: Part) -> Do:
    """Put one part where another belongs."""

    async def do(target: Target) -> None:
        await target.client.set(destination(target), await read(target, source(target)))

    return do


def copy_from_another_list(part: Part) -> Do:
    """Put the same part of a list of the same shape, but of another owner, where a part belongs."""

    async def do(target: Target) -> None:
        client, ref = target.client, target.ref
        other = target._replace(ref=ref._replace(user_id=ref.user_id + 1))
        await store_list(client, other.ref, other.shape, edges_like(other.shape), other.ids)
        data = await read(other, part(other))
        await client.delete(*await keys_of(client, other.ref))
        await client.set(part(target), data)

    return do


def swap(one: Part, other: Part) -> Do:
    """Exchange two parts."""

    async def do(target: Target) -> None:
        first, then = await read(target, one(target)), await read(target, other(target))
        await target.client.mset({one(target): then, other(target): first})

    return do


async def read(target: Target, key: bytes) -> bytes:
    """The string of a key."""
    data: bytes | None = await target.client.get(key)  # type: ignore[assignment]
    assert data is not None
    return data


def flip(bit: int) -> Callable[[bytes], bytes]:
    """Change one bit."""
    return lambda data: (int.from_bytes(data, "little") ^ 1 << bit).to_bytes(len(data), "little")


def add_to(byte: int, more: int) -> Callable[[bytes], bytes]:
    """Change one byte, as a number."""
    return lambda data: data[:byte] + bytes([(data[byte] + more) % 256]) + data[byte + 1 :]


def edit_entry(at: int, change: Callable[[bytes], list[bytes]], score: float = 0) -> Do:
    """Put others in the place of an entry of the directory."""

    async def do(target: Target) -> None:
        client, key = target.client, target.directory_key
        entries: list[bytes] = await client.zrange(key, 0, -1)  # type: ignore[assignment]
        await client.zrem(key, entries[at])
        if changed := change(entries[at]):
            await client.zadd(key, dict.fromkeys(changed, score))

    return do


def renumber(number: int) -> Callable[[bytes], list[bytes]]:
    """Let an entry name another block."""
    return lambda entry: [entry[: len(OLDEST)] + number.to_bytes(4, "big")]


async def swap_numbers(target: Target) -> None:
    """Let two entries name each other's blocks."""
    await edit_entry(0, renumber(77))(target)
    await edit_entry(1, renumber(0))(target)
    await edit_entry(0, renumber(1))(target)


def without_names(*numbers: int) -> Do:
    """Take names of edges out of the index."""

    async def do(target: Target) -> None:
        edges = edges_like(target.shape)
        names = [target.ids.index_name(edges[number].id) for number in numbers]
        assert await target.client.srem(target.index_key, *names) == len(names)

    return do


def with_name(name: int | str) -> Do:
    """Put something into the index."""

    async def do(target: Target) -> None:
        assert await target.client.sadd(target.index_key, name) == 1

    return do


async def without_sentinel(target: Target) -> None:
    """Take the sentinel out of the index."""
    assert await target.client.srem(target.index_key, SENTINEL) == 1


def to_a_block(part: Part, header: int, *, to_sealed: bool) -> Iterator[Damage]:
    """What can be done to a block, whose header is so long."""
    edits: dict[str, Callable[[bytes], bytes]] = {
        "cut by a byte": lambda data: data[:-1],
        "cut by its free part": lambda data: data[:-FREE],
        "cut by its free part and a row": lambda data: data[: -FREE - ROW],
        "cut to its header": lambda data: data[:header],
        "cut to its header and two rows": lambda data: data[: header + 2 * ROW],
        "cut to 11 bytes": lambda data: data[:11],
        "cut to nothing": lambda _: b"",
        "longer by a zero": lambda data: data + b"\0",
        "longer by a row": lambda data: data + b"\xff" * ROW,
        "without rows": lambda data: data[:header].ljust(len(data), b"\0"),
        "overwritten": lambda _: b"damaged by hand, as a test does it",
        **{f"with bit {bit} flipped": flip(bit) for bit in range(0, 8 * header, 13)},
    }
    name = (part.__doc__ or "").rstrip(".").lower()
    for what, change in edits.items():
        yield Damage(f"{name} {what}", edit(part, change), to_sealed=to_sealed)
    for kind in KINDS[1:]:
        yield Damage(f"{name} turned into a {kind}", retype(part, kind), to_sealed=to_sealed)


DAMAGES: tuple[Damage, ...] = (
    *to_a_block(head, 12, to_sealed=False),
    *to_a_block(oldest, 12, to_sealed=True),
    *to_a_block(second, 12, to_sealed=True),
    *to_a_block(newest, 12, to_sealed=True),
    Damage("the head deleted", delete(head)),
    Damage("the oldest block deleted", delete(oldest)),
    Damage("a block in the middle deleted", delete(second)),
    Damage("the newest block deleted", delete(newest)),
    Damage("most blocks deleted", delete(oldest, second, newest)),
    Damage("the head counts an edge more", edit(head, add_to(15, 1))),
    Damage("the head counts an edge less", edit(head, add_to(15, -1))),
    Damage("the head counts 65,536 edges more", edit(head, add_to(13, 1))),
    Damage("the head counts a block more", edit(head, add_to(19, 1))),
    Damage("the head counts a block less", edit(head, add_to(19, -1))),
    Damage("the head gives the next block a number that is taken", edit(head, add_to(23, -1))),
    Damage("the head where a block belongs", copy(head, second)),
    Damage("a block where the head belongs", copy(second, head)),
    Damage("the directory deleted", delete(directory)),
    *(Damage(f"the directory turned into a {kind}", retype(directory, kind)) for kind in KINDS),
    *(
        Damage(f"the directory without {name} entry", edit_entry(at, lambda _: []))
        for name, at in (("the oldest", 0), ("a middle", 1), ("the newest", -1))
    ),
    Damage(
        "the directory with an entry more",
        edit_entry(1, lambda entry: [entry, Separator(T0 + 1, 1, 9).packed()]),
    ),
    Damage("the directory names a block that is not there", edit_entry(1, renumber(99))),
    Damage("the directory with an entry cut short", edit_entry(1, lambda entry: [entry[:-1]])),
    Damage("the directory with an entry too long", edit_entry(1, lambda entry: [entry + b"\0"])),
    Damage("the directory names one block twice", edit_entry(1, renumber(0))),
    Damage("the directory with two numbers swapped", swap_numbers),
    Damage("the directory without a zero separator", edit_entry(0, lambda entry: [b"\1" + entry[1:]])),
    Damage("the directory with a score above 0", edit_entry(0, lambda entry: [entry], score=1)),
    Damage("the directory with a score below 0", edit_entry(-1, lambda entry: [entry], score=-1)),
    *(
        Damage(f"a {kind} where no index belongs", retype(index, kind), to_sealed=False, to_index=False)
        for kind in KINDS
    ),
    Damage("the index deleted", delete(index), to_index=True),
    *(Damage(f"the index turned into a {kind}", retype(index, kind), to_index=True) for kind in KINDS),
    Damage("the index without one id", without_names(3), to_index=True),
    Damage("the index without ten ids", without_names(*range(10)), to_index=True),
    Damage("the index without the sentinel", without_sentinel, to_index=True),
    Damage("the index with an id more", with_name(12_345), to_index=True),
    Damage("the index with text", with_name("damaged"), to_index=True),
    Damage("two blocks swapped", swap(oldest, newest)),
    Damage("a block copied over the next", copy(oldest, second)),
    Damage("the head of another list copied over", copy_from_another_list(head), to_sealed=False),
    Damage("a block of another list copied over", copy_from_another_list(second)),
)
"""What lists must notice wherever it matters."""
