"""Ids as people write and read them: decimal, branded, or small integers that stand for ids. Pure."""

from dataclasses import dataclass

from graphsvc.model import branded
from graphsvc.model.errors import InvalidArgument, Reason
from graphsvc.model.ids import MAX_LOCAL, check_id, spread, unspread


@dataclass(frozen=True, slots=True)
class IdText:
    """How one command reads and writes ids.

    `map_code`: small integers stand for ids of this type code; None: they stand for themselves.
    """

    map_code: int | None = None

    def read(self, text: str, field: str) -> int:
        """The id that a text means. Integers too large to be mapped are taken as ids.

        Raises:
            InvalidArgument: it is none; names `field`.
        """
        if text.isascii() and text.isdigit():
            number = int(text)
            if self.map_code is not None and number <= MAX_LOCAL:
                return spread(number, self.map_code)
            return check_id(number, field)
        if text[:1].isalpha():
            try:
                return branded.from_branded(text)[1]
            except InvalidArgument as error:
                raise InvalidArgument(field, error.reason, error.problem) from error
        raise InvalidArgument(
            field, Reason.ID_OUT_OF_RANGE, f"{text!r} is neither a decimal nor a branded id"
        )

    def write(self, object_id: int) -> str:
        """The text of an id: the integer that stands for it where there is one."""
        number = None if self.map_code is None else unspread(object_id, self.map_code)
        return str(object_id if number is None else number)


def branded_user(user_id: int) -> str:
    """The branded form of a user's id."""
    return branded.to_branded(user_id, branded.USER)
