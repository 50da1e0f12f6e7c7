"""Reads files of fields with numpy, as docs/formats/fields.md describes them, and checks all that the page promises."""

import struct
import zlib
from typing import NamedTuple, Optional, Tuple

import numpy

LETTERS = {1: "i", 2: "u", 3: "f", 4: "c", 5: "i", 6: "S", 7: "V", 8: "f", 9: "c"}
BLOCK = 256 * 1024


class Field(NamedTuple):
    kind: int
    #: own, part, same or count
    whose: str
    #: In the order of C, whatever the program names first.
    array: numpy.ndarray
    whole: Optional[Tuple[int, ...]]
    at: Optional[Tuple[int, ...]]
    in_fortran_order: bool


def dtype_of(kind):
    """The type of numpy for a type of the file; bytes if it has none."""
    of_class, size = kind >> 24, kind & 0xFFFFFF
    if of_class == 5 and size == 1:
        return numpy.dtype("?")
    long_double = numpy.dtype("g").itemsize * (2 if of_class == 9 else 1)
    no_extended = of_class in (8, 9) and size != long_double
    if no_extended or size == 16 and of_class in (1, 2, 3, 5) or size == 32 and of_class == 4:
        return numpy.dtype(f"V{size}")
    return numpy.dtype(f"<{LETTERS[of_class]}{size}")


def fields(path):
    """The rank, how many ranks there were, and the fields by their names, in the order of the program."""
    with open(path, "rb") as file:
        data = file.read()
    magic, version, header, rank, ranks, zeros, crc = struct.unpack_from("<8sIIQQ28sI", data)
    assert (magic, version, header, zeros) == (b"SCRFIELD", 1, 64, bytes(28)), path
    assert crc == zlib.crc32(data[:60]), path
    trailer = len(data) - 64
    magic, version, size, table, length, _, total, count, table_crc, _, crc = struct.unpack_from(
        "<8sIIQQQQIIII", data, trailer
    )
    assert (magic, version, size, total) == (b"SCRTABLE", 1, 64, len(data)), path
    assert crc == zlib.crc32(data[trailer:-4]) and table_crc == zlib.crc32(data[table : table + length]), path
    assert table % 64 == 0 and table + length <= trailer, path
    found = {}
    place = table
    for _ in range(count):
        place, name, field = record(data, place)
        assert name not in found, name
        found[name] = field
    assert place == table + length, path
    return rank, ranks, found


def record(data, start):
    """The field of a record; where the next record begins, and the name of the field."""
    size, whose, order, dims, zero, kind, name_bytes, elements, block, crc, blocks = struct.unpack_from(
        "<IBBBBIIQQII", data, start
    )
    assert size % 8 == 0 and zero == 0 and dims <= 7 and order <= 1
    place = start + 40
    shapes = []
    for _ in range(3 if whose == 1 else 1):
        shapes.append(struct.unpack_from(f"<{dims}Q", data, place))
        place += 8 * dims
    crcs = struct.unpack_from(f"<{blocks}I", data, place)
    place += 4 * blocks
    name = data[place : place + name_bytes].decode()
    assert data[place + name_bytes : start + size].strip(b"\0") == b"" and start + size - place - name_bytes < 8, name

    dtype = dtype_of(kind)
    assert dtype.itemsize == kind & 0xFFFFFF, name
    array = numpy.ndarray(shapes[0], dtype, data, elements)
    content = data[elements : elements + array.nbytes]
    assert elements % (4096 if array.nbytes >= 65536 else 64) == 0, name
    assert zlib.crc32(content) == crc, name
    if content:
        assert block == BLOCK // dtype.itemsize * dtype.itemsize, name
        assert crcs == tuple(zlib.crc32(content[at : at + block]) for at in range(0, len(content), block)), name
    whole, at = shapes[1:] or (None, None)
    field = Field(kind, ("own", "part", "same", "count")[whose], array, whole, at, order == 1)
    return start + size, name, field
