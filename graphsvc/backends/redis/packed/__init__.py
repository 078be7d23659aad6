"""Packed edge lists: the format, in Python. lua/ has the same in Lua, as what writes it."""
