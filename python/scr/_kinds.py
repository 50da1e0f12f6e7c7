"""The types of elements, and the memory of a field, as all modules know them."""

from __future__ import annotations

from typing import NamedTuple, Tuple

INTEGER, UNSIGNED, REAL, COMPLEX, LOGICAL, CHARACTER, BYTES, EXTENDED, EXTENDED_COMPLEX = range(1, 10)


class Memory(NamedTuple):
    """The elements of a field. ``keeps`` keeps them alive."""

    kind: int
    shape: Tuple[int, ...]
    #: In bytes. Empty for a scalar's memory, which has no gaps.
    strides: Tuple[int, ...]
    in_c_order: bool
    in_fortran_order: bool
    address: int
    readonly: bool
    keeps: object
    #: Its library says that it is on a device.
    on_device: bool = False


def kind_of(of_class: int, size: int) -> int:
    """A type as SCR_Type has it: the class times 2^24, and the bytes of an element."""
    if size >= 1 << 24:
        raise TypeError(f"an element of {size} bytes is too large for a field")
    return of_class << 24 | size


def dense_strides(shape: Tuple[int, ...], size: int) -> Tuple[int, ...]:
    """The strides, in bytes, of an array in C's order without gaps."""
    strides = []
    for extent in reversed(shape):
        strides.append(size)
        size *= extent
    return tuple(reversed(strides))
