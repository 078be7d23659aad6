"""Branded ids: the text form of an id for people and logs, under hash placement.

Three letters A-Z that name the type and 11 base62 digits (0-9A-Za-z, most significant first); vector:
`USR0KHTOWnGLuC` is 274557032793636864.
"""

from graphsvc.model.errors import InvalidArgument, Reason
from graphsvc.model.ids import check_id

USER = "USR"
BOARD = "BRD"
PIN = "PIN"

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
WIDTH = 11
LETTERS = 3
_VALUE = {digit: value for value, digit in enumerate(DIGITS)}


def to_branded(object_id: int, brand: str) -> str:
    """Write an id with its brand.

    Raises:
        InvalidArgument: not an id, or the brand is not three letters A-Z.
    """
    check_id(object_id, "id")
    _check_brand(brand)
    digits = []
    for _ in range(WIDTH):
        object_id, digit = divmod(object_id, len(DIGITS))
        digits.append(DIGITS[digit])
    return brand + "".join(reversed(digits))


def from_branded(text: str) -> tuple[str, int]:
    """Read brand and id.

    Raises:
        InvalidArgument: not three letters and 11 base62 digits, or beyond 2^62-1.
    """
    if len(text) != LETTERS + WIDTH or any(digit not in _VALUE for digit in text[LETTERS:]):
        raise InvalidArgument(
            "id", Reason.ID_OUT_OF_RANGE, f"{text!r} is not three letters A-Z and {WIDTH} base62 digits"
        )
    _check_brand(text[:LETTERS])
    value = 0
    for digit in text[LETTERS:]:
        value = value * len(DIGITS) + _VALUE[digit]
    return text[:LETTERS], check_id(value, "id")


def _check_brand(brand: str) -> None:
    if len(brand) != LETTERS or not all("A" <= letter <= "Z" for letter in brand):
        raise InvalidArgument("id", Reason.ID_WRONG_TYPE, f"{brand!r} is not three letters A-Z")
