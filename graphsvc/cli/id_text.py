"""Ids as people write and read them: decimal, branded, or small integers that stand for ids. Pure."""

from dataclasses import dataclass

from graphsvc.model import branded
from graphsvc.model.errors import InvalidArgument, Reason
from graphsvc.model.ids import MAX_LOCAL, check_id, spread, unspread

_MOST_DIGITS = 100
"""More than any number here has; Python itself refuses to read thousands."""


@dataclass(frozen=True, slots=True)
class IdText:
    """How one command reads and writes ids.

    `map_code`: small integers stand for ids of this type code; None: they stand for themselves.
    """

    map_code: int | None = None
    brand: str | None = None
    """The only brand that is taken; None: any."""

    def read(self, text: str, field: str) -> int:
        """The id that a text means. Integers too large to be mapped are taken as ids.

        Raises:
            InvalidArgument: it is none; names `field`.
        """
        number = decimal(text)
        if number is not None:
            if self.map_code is not None and number <= MAX_LOCAL:
                return spread(number, self.map_code)
            return check_id(number, field)
        if text[:1].isalpha():
            return self._read_branded(text, field)
        raise InvalidArgument(
            field, Reason.ID_OUT_OF_RANGE, f"{text!r} is neither a decimal nor a branded id"
        )

    def _read_branded(self, text: str, field: str) -> int:
        try:
            brand, object_id = branded.from_branded(text)
        except InvalidArgument as error:
            raise InvalidArgument(field, error.reason, error.problem) from error
        if self.brand is not None and brand != self.brand:
            raise InvalidArgument(
                field,
                Reason.ID_WRONG_TYPE,
                f"{text} is branded {brand}; ids of users are branded {self.brand}",
            )
        return object_id

    def write(self, object_id: int) -> str:
        """The text of an id: the integer that stands for it where there is one."""
        number = None if self.map_code is None else unspread(object_id, self.map_code)
        return str(object_id if number is None else number)


def decimal(text: str) -> int | None:
    """The number that ASCII digits mean; None where they are something else, or far too many."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


def branded_user(user_id: int) -> str:
    """The branded form of a user's id."""
    return branded.to_branded(user_id, branded.USER)
