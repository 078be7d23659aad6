"""Answers about many lists: where one could not be had, its error stands in its place."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import TypeVar

from graphsvc.model.errors import GraphError

T = TypeVar("T")


def or_raise(answer: T | GraphError) -> T:
    """The answer.

    Raises:
        GraphError: the one that stands in its place.
    """
    if isinstance(answer, GraphError):
        raise answer
    return answer


def by_position(
    groups: Iterable[Sequence[int]], answers: Iterable[Sequence[T] | GraphError]
) -> Iterator[tuple[int, T | GraphError]]:
    """The answer at each position, from those of groups of positions; an error of a group is each one's."""
    for positions, answer in zip(groups, answers, strict=True):
        each = repeat(answer, len(positions)) if isinstance(answer, GraphError) else answer
        yield from zip(positions, each, strict=True)
