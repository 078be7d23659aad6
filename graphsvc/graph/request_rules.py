"""What a request must be like: pure checks that name the field and the limit."""

from collections.abc import Sized

from graphsvc.model.edges import EARLIEST_TIME_US
from graphsvc.model.errors import InvalidArgument, Reason

MAX_TARGETS = 1_000
"""Targets of a check, pairs of a batch, users of GetCounts."""
MAX_IMPORT_EDGES = 10_000
DEFAULT_PAGE_SIZE = 50
MAX_PAGE_SIZE = 1_000
CLOCK_TOLERANCE_US = 1_000_000
"""How far ahead of this server's clock an imported time may be: clocks differ a little."""


def check_count(items: Sized, limit: int, field: str) -> None:
    """Refuse no items, and more than the limit.

    Raises:
        InvalidArgument: names the field and the limit.
    """
    if not len(items):
        raise InvalidArgument(field, Reason.LIST_EMPTY, f"is empty; give 1 to {limit:,}")
    if len(items) > limit:
        raise InvalidArgument(
            field, Reason.LIST_TOO_LONG, f"has {len(items):,} items; at most {limit:,} a call"
        )


def check_lengths(first: Sized, first_field: str, second: Sized, second_field: str) -> None:
    """Refuse columns of differing lengths.

    Raises:
        InvalidArgument: names the second column.
    """
    if len(first) != len(second):
        raise InvalidArgument(
            second_field,
            Reason.LENGTHS_DIFFER,
            f"has {len(second):,} items, but {first_field} has {len(first):,}; columns must be of one length",
        )


def check_pair(follower_id: int, followee_id: int, field: str) -> None:
    """Refuse a user who follows herself.

    Raises:
        InvalidArgument: names the followee's field.
    """
    if follower_id == followee_id:
        raise InvalidArgument(
            field, Reason.SELF_FOLLOW, f"{followee_id} is the follower; nobody follows herself"
        )


def page_size_of(asked: int) -> int:
    """The page size: the default for 0.

    Raises:
        InvalidArgument: negative, or above the limit.
    """
    if not 0 <= asked <= MAX_PAGE_SIZE:
        raise InvalidArgument(
            "page_size",
            Reason.PAGE_SIZE_OUT_OF_RANGE,
            f"{asked} is not between 0 and {MAX_PAGE_SIZE:,} (0 means {DEFAULT_PAGE_SIZE})",
        )
    return asked or DEFAULT_PAGE_SIZE


def check_time(time_us: int, now_us: int, field: str) -> None:
    """Refuse a time before 2000 or ahead of the clock; 0 stands for now.

    Raises:
        InvalidArgument: names the limit.
    """
    if time_us and not EARLIEST_TIME_US <= time_us <= now_us + CLOCK_TOLERANCE_US:
        problem = "is before 2000-01-01" if time_us < EARLIEST_TIME_US else "is ahead of the server's clock"
        raise InvalidArgument(
            field,
            Reason.TIME_OUT_OF_RANGE,
            f"{time_us} {problem}; times are microseconds, {EARLIEST_TIME_US} to now ({now_us}), 0 means now",
        )


def check_freshness_token(token: bytes) -> None:
    """Refuse any freshness token: this version gives none out.

    Raises:
        InvalidArgument: the token is not empty.
    """
    if token:
        raise InvalidArgument(
            "freshness_token", Reason.FRESHNESS_TOKEN_INVALID, "not a token of this service; leave it empty"
        )
