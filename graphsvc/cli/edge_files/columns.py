"""Which columns hold followers, followees and times: told by options, by names, or by their place. Pure."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from graphsvc.cli.edge_files.layout import FileUnusable, LayoutOptions, printable

# Letters and digits only, so that follower_id, followerId and "Follower ID" are one name.
_FOLLOWER_NAMES = (
    *("followerid", "follower", "fromid", "from", "fromnodeid"),
    *("sourceid", "source", "srcid", "src", "id1"),
)
_FOLLOWEE_NAMES = (
    *("followeeid", "followee", "followedid", "followed", "followingid", "following"),
    *("toid", "to", "tonodeid", "targetid", "target", "destinationid", "destination", "dstid", "dst", "id2"),
)
_TIME_NAMES = ("followedatus", "followedatms", "followedat", "timestamp", "time")
_KNOWN_NAMES = frozenset((*_FOLLOWER_NAMES, *_FOLLOWEE_NAMES, *_TIME_NAMES))

NO_TIMES = "none"
"""Given as the column of times: the file has none, whatever its header says."""

_SHOWN_NAMES = 200
_LONGEST_NUMBER = 9


class Columns(NamedTuple):
    """Positions from 0."""

    follower: int
    followee: int
    time: int | None


def is_known_name(name: str) -> bool:
    """Whether a name tells by itself what its column holds."""
    return _bare(name) in _KNOWN_NAMES


def is_name(given: str | None) -> bool:
    """Whether an option gives a column by its name."""
    return given is not None and not _is_number(given) and given.lower() != NO_TIMES


def choose_columns(options: LayoutOptions, names: Sequence[str], width: int) -> Columns:
    """Each role goes to the column that is given, or else to one with its name, or else by place.

    A column whose name tells another role is never taken by place.

    Args:
        options: what the caller says.
        names: of the header; empty where there is none.
        width: columns of the first row.

    Raises:
        FileUnusable: an option names no column, or a role can't be told.
    """
    follower = _given("--follower-column", options.follower, names, width)
    followee = _given("--followee-column", options.followee, names, width)
    no_times = (options.time or "").lower() == NO_TIMES and _position(NO_TIMES, names) is None
    time = None if no_times else _given("--time-column", options.time, names, width)
    given = [column for column in (follower, followee, time) if column is not None]
    if len(set(given)) != len(given):
        raise FileUnusable("--follower-column, --followee-column and --time-column must be different columns")
    bare = [_bare(name) for name in names]
    follower = _named(_FOLLOWER_NAMES, bare, given) if follower is None else follower
    followee = _named(_FOLLOWEE_NAMES, bare, given) if followee is None else followee
    if time is None and not no_times:
        time = _named(_TIME_NAMES, bare, given)
    return Columns(
        *_by_place(follower, followee, _free(names, width, {follower, followee, time}), names), time
    )


def _free(names: Sequence[str], width: int, taken: AbstractSet[int | None]) -> list[int]:
    """The columns that may hold anything. One without a name in a header is the number of a row."""
    if width < 2:
        raise FileUnusable(
            f"the first row has {width} column(s), and two are needed; --delimiter tells what separates them"
        )
    named = [not names or (bool(names[index]) and not is_known_name(names[index])) for index in range(width)]
    return [index for index in range(width) if named[index] and index not in taken]


def _by_place(
    follower: int | None, followee: int | None, free: list[int], names: Sequence[str]
) -> tuple[int, int]:
    """Both sides; one that is missing is the only free column, or without names the first one."""
    if follower is not None and followee is not None:
        return follower, followee
    if follower is None and followee is None and len(free) >= 2:
        return free[0], free[1]
    if follower is not None and free and (len(free) == 1 or not names):
        return follower, free[0]
    if followee is not None and free and (len(free) == 1 or not names):
        return free[0], followee
    sides = (("followers", follower, "--follower-column"), ("followees", followee, "--followee-column"))
    missing = [(side, option) for side, column, option in sides if column is None]
    raise FileUnusable(
        f"which column holds the {' and the '.join(side for side, _ in missing)} can't be told "
        f"({_listed(names)}); {' and '.join(option for _, option in missing)} must say it"
    )


def _given(option: str, given: str | None, names: Sequence[str], width: int) -> int | None:
    if given is None:
        return None
    found = _position(given, names)
    if found is not None:
        return found
    if not _is_number(given):
        raise FileUnusable(f"{option}: no column {printable(given)!r}; {_listed(names)}")
    if len(given) > _LONGEST_NUMBER or not 1 <= int(given) <= width:
        raise FileUnusable(
            f"{option}: {printable(given)} is not between 1 and {width}, the columns of the first row"
        )
    return int(given) - 1


def _position(given: str, names: Sequence[str]) -> int | None:
    return next((index for index, name in enumerate(names) if name.lower() == given.lower()), None)


def _listed(names: Sequence[str]) -> str:
    return (
        f"the first line has {printable(', '.join(names), _SHOWN_NAMES)}" if names else "there is no header"
    )


def _named(candidates: Sequence[str], bare: list[str], taken: Sequence[int]) -> int | None:
    found = (bare.index(name) for name in candidates if name in bare)
    return next((index for index in found if index not in taken), None)


def _bare(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def _is_number(given: str) -> bool:
    # str.isdigit alone would take superscripts, which int() refuses.
    return given.isascii() and given.isdigit()
