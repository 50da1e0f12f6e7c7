"""What lies in memory for a field: where its elements are, of which type, in which shape."""

from __future__ import annotations

import array
import ctypes
import re
import struct
import sys
from functools import lru_cache
from typing import Any, Callable, Iterator, NamedTuple, Optional, Tuple

from ._device import is_on_device, memory_by_dlpack, memory_by_interface
from ._kinds import (
    BYTES,
    CHARACTER,
    COMPLEX,
    EXTENDED,
    EXTENDED_COMPLEX,
    INTEGER,
    LOGICAL,
    REAL,
    UNSIGNED,
    Memory,
    dense_strides,
    kind_of,
)

#: The letters of the module struct, and w for the text of numpy.
_CLASSES = {
    **dict.fromkeys("bhilqn", INTEGER),
    **dict.fromkeys("BHILQN", UNSIGNED),
    **dict.fromkeys("efd", REAL),
    **dict.fromkeys(("Zf", "Zd"), COMPLEX),
    "?": LOGICAL,
    **dict.fromkeys("cs", CHARACTER),
    **dict.fromkeys("uwx", BYTES),
}

#: What numpy calls the classes.
_LETTERS = {INTEGER: "i", UNSIGNED: "u", REAL: "f", COMPLEX: "c", CHARACTER: "S", BYTES: "V"}

#: PyBUF_RECORDS_RO: with strides and format, not necessarily writable.
_RECORDS_RO = 0x1C


class Scalar(NamedTuple):
    """The memory in which a value is that has none which could change, and how it is had from there."""

    memory: Memory
    value: Callable[[], Any]


class Stored(NamedTuple):
    """What a checkpoint has of a field, as State.stored() tells it."""

    #: SCR_Type of scr.h.
    kind: int
    #: The type in numpy's words, like "f8"; "V16" if numpy has none.
    dtype: str
    #: Of this process's array; of a part that another number of processes wrote, that of the whole.
    shape: Tuple[int, ...]
    #: None if the field has no whole.
    whole: Optional[Tuple[int, ...]]
    #: The place of the first element; -1 in the dimension of the indices if the field goes by index.
    at: Optional[Tuple[int, ...]]


def dtype_of(kind: int) -> str:
    """What numpy calls a type."""
    of_class, size = kind >> 24, kind & 0xFFFFFF
    if of_class == LOGICAL and size == 1:
        return "?"
    if of_class == _LONG_DOUBLE and size == ctypes.sizeof(ctypes.c_longdouble):
        return f"f{size}"
    if of_class == _LONG_COMPLEX and size == 2 * ctypes.sizeof(ctypes.c_longdouble):
        return f"c{size}"
    has_such = of_class in (CHARACTER, BYTES) or size <= (16 if of_class == COMPLEX else 8)
    return f"{_LETTERS.get(of_class, 'V') if has_such else 'V'}{size}"


def _classes_of_long_double() -> Tuple[int, int]:
    """The classes of long double and its complex numbers. They are those of x87, or 16 bytes of IEEE 754."""
    one = bytes(ctypes.c_longdouble(1))
    if one[8:10] == b"\xff\x3f":
        return EXTENDED, EXTENDED_COMPLEX
    return (REAL, COMPLEX) if one[14:16] == b"\xff\x3f" else (0, 0)


_LONG_DOUBLE, _LONG_COMPLEX = _classes_of_long_double()
_CLASSES.update({"g": _LONG_DOUBLE, "Zg": _LONG_COMPLEX})


@lru_cache(maxsize=None)
def _class_of(code: str, size: int) -> int:
    """The class of elements of a format of the buffer protocol."""
    # Without the names of members, and what else has a letter of its own.
    letters = re.sub(":[^:]*:|Z[fdg]", "", code)
    if re.search("[OPXZz&]", letters):
        raise TypeError(f"its elements ({code}) are or have pointers or objects, which lead nowhere after a restart")
    if size > 1 and re.search("[>!]" if sys.byteorder == "little" else "<", letters):
        raise TypeError(f"its elements ({code}) have their bytes in the order of another machine")
    code = code.lstrip("@=<>!^|")
    if code.startswith("T{"):
        return BYTES
    of_class = _CLASSES.get(re.sub(r"^\d+(?=[swx]$)", "", code), 0)
    if of_class == 0:
        raise TypeError(f"its elements are of format {code!r}, which cannot be those of a field")
    return of_class


def memory_of(value: Any, is_copied: bool = False) -> Memory:
    """The memory of an array: of numpy, of anything else with the buffer protocol, or of a library for devices.

    It may be that of any device if the program copies it.
    """
    shared = memory_by_interface(value)
    if shared is not None:
        return shared
    try:
        view = memoryview(value)
        address = _address(view)
    except (TypeError, ValueError, BufferError) as error:
        shared = memory_by_dlpack(value, is_copied)
        if shared is not None:
            return shared
        raise TypeError(
            f"a {type(value).__name__} cannot be a field ({error}); give an array of numpy or another object "
            "with the buffer protocol, __cuda_array_interface__ or DLPack, a dict, an int, float, bool, complex, str or bytes"
        ) from None
    kind = kind_of(_class_of(view.format, view.itemsize), view.itemsize)
    strides = view.strides or ()
    orders = view.c_contiguous, view.f_contiguous
    return Memory(kind, view.shape or (), strides, *orders, address, view.readonly, view)


def memory_of_ids(ids: Any) -> Memory:
    """The memory of the numbers of elements, of 4 or 8 bytes each; of other integers, or with gaps, that of a copy."""
    if is_on_device(ids):
        raise TypeError("the numbers of elements are in memory of a device; give a copy of them, as array.get() or tensor.cpu()")
    if getattr(getattr(ids, "dtype", None), "kind", "") in tuple("iu") and hasattr(ids, "astype"):
        # numpy, which has its own words for what it can do at once.
        is_fit = ids.dtype.kind == "i" and ids.dtype.itemsize in (4, 8) and ids.dtype.isnative
        return _of_line(memory_of(ids if is_fit and ids.flags.c_contiguous else ids.astype("=i8", order="C")))
    try:
        view = memoryview(ids)
    except TypeError:
        return _of_line(memory_of(_int64_array(iter(ids))))
    memory = _of_line(memory_of(view))
    if memory.kind in (kind_of(INTEGER, 4), kind_of(INTEGER, 8)) and memory.in_c_order:
        return memory
    if memory.kind >> 24 not in (INTEGER, UNSIGNED):
        raise TypeError(f"the numbers of elements are integers, and these have the format {view.format!r}")
    return memory_of(_int64_array(iter(view.tolist())))


def _of_line(memory: Memory) -> Memory:
    if len(memory.shape) != 1:
        raise ValueError(f"the numbers of elements have one dimension, and these have {len(memory.shape)}")
    return memory


def _int64_array(numbers: Iterator[int]) -> array.array[int]:
    try:
        return array.array("q", numbers)
    except OverflowError:
        raise ValueError("a number of an element does not fit into 64 bits") from None


class _Buffer(ctypes.Structure):
    """Py_buffer of Python's C interface, of which we need the first member. It has 80 bytes."""

    _fields_ = [("first", ctypes.c_void_p), ("others", ctypes.c_void_p * 15)]


def _address(view: memoryview) -> int:
    """Where the first element is. The view keeps it there."""
    buffer = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(view), ctypes.byref(buffer), _RECORDS_RO)
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
    return int(buffer.first or 0)


def scalar_of(value: Any, stored: Optional[Stored]) -> Optional[Scalar]:
    """The memory of a value that cannot change, like an int; None for others.

    A text, or bytes, takes the length that is ``stored``.
    """
    if isinstance(value, str):
        return _text(value.encode("utf-8", "surrogateescape"), stored)
    if isinstance(value, bytes):
        shape = (len(value),) if stored is None else stored.shape
        data = _filled(value, shape, 1)
        return Scalar(_of_bytes(kind_of(UNSIGNED, 1), shape, data), lambda: bytes(data))
    is_array = hasattr(value, "__dlpack__")
    if hasattr(value, "__array__") and hasattr(value, "dtype") and not hasattr(value, "__setitem__") and not is_array:
        # A scalar of numpy: the array is a copy.
        array = value.__array__()
        return Scalar(memory_of(array), lambda: array[()])
    if isinstance(value, bool):
        return _number(kind_of(LOGICAL, 1), "?", (value,), lambda numbers: bool(numbers[0]))
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise ValueError(f"{value} does not fit into 64 bits; give it as str or bytes")
        return _number(kind_of(INTEGER, 8), "=q", (value,), lambda numbers: int(numbers[0]))
    if isinstance(value, float):
        return _number(kind_of(REAL, 8), "=d", (value,), lambda numbers: float(numbers[0]))
    if isinstance(value, complex):
        parts = value.real, value.imag
        return _number(kind_of(COMPLEX, 16), "=dd", parts, lambda numbers: complex(*numbers))
    return None


def replacement_of(value: Any, memory: Memory) -> Scalar:
    """Memory of the processor to read into, for an array that cannot be filled, and how a new array is had from there."""
    namespace = getattr(value, "__array_namespace__", None)
    arrays: Any = None if namespace is None else namespace()
    if arrays is None or getattr(arrays, "__name__", "") == "numpy":
        raise TypeError("it is read-only, and cannot be restored; list an array that can be filled")
    data = bytearray(memory.kind & 0xFFFFFF)
    for extent in memory.shape:
        data *= extent

    def made() -> Any:
        # Libraries whose arrays cannot change, as JAX, need numpy.
        import numpy

        filled = numpy.frombuffer(data, dtype=value.dtype).reshape(memory.shape)
        device = getattr(value, "device", None)
        return arrays.asarray(filled) if device is None else arrays.asarray(filled, device=device)

    strides = dense_strides(memory.shape, memory.kind & 0xFFFFFF)
    in_fortran_order = len(memory.shape) < 2
    address = _address(memoryview(data))
    return Scalar(Memory(memory.kind, memory.shape, strides, True, in_fortran_order, address, False, data), made)


def _number(kind: int, code: str, numbers: Tuple[Any, ...], made: Callable[[Tuple[Any, ...]], Any]) -> Scalar:
    data = bytearray(struct.pack(code, *numbers))
    return Scalar(_of_bytes(kind, (), data), lambda: made(struct.unpack(code, data)))


def _text(encoded: bytes, stored: Optional[Stored]) -> Scalar:
    """A text is an array of its bytes, as its length may differ from process to process, and types may not.

    Other programs may have stored texts of a fixed length.
    """
    kind = kind_of(CHARACTER, 1)
    shape: Tuple[int, ...] = (len(encoded),)
    if stored is not None and stored.kind >> 24 == CHARACTER:
        kind, shape = stored.kind, stored.shape
    data = _filled(encoded, shape, kind & 0xFFFFFF)
    return Scalar(_of_bytes(kind, shape, data), lambda: data.decode("utf-8", "surrogateescape"))


def _filled(value: bytes, shape: Tuple[int, ...], size: int) -> bytearray:
    """The bytes of so many elements, with as much of the value as there is space for."""
    for extent in shape:
        size *= extent
    return bytearray(value[:size].ljust(size, b"\0"))


def _of_bytes(kind: int, shape: Tuple[int, ...], data: bytearray) -> Memory:
    return Memory(kind, shape, (), True, True, _address(memoryview(data)), False, data)
