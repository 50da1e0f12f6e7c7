"""Reads files of fields as docs/formats/fields.md describes them, with numpy alone: the program fields_kinds.F90 has written
them. Compares the values of all fields. Usage: fields_reader.py FILE..."""

import struct
import sys
import zlib

import numpy

DTYPES = {
    0x01000001: "i1", 0x01000002: "<i2", 0x01000004: "<i4", 0x01000008: "<i8",
    0x03000004: "<f4", 0x03000008: "<f8", 0x04000008: "<c8", 0x04000010: "<c16",
    0x05000001: "i1", 0x05000002: "<i2", 0x05000004: "<i4", 0x05000008: "<i8",
    0x06000005: "S5",
}  # fmt: skip
if numpy.longdouble(1).nbytes == 16:
    DTYPES |= {0x08000010: "<f16", 0x09000020: "<c32"}


def fields(path):
    """The fields of a file by their names: each as its type and an array, in the order of Fortran."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"SCRFIELD" and data[-64:-56] == b"SCRTABLE", path
    table, size = struct.unpack_from("<QQ", data, len(data) - 48)
    found = {}
    at = table
    while at < table + size:
        length, whose, order, dims, _, kind, name_size, elements, _, crc, blocks = struct.unpack_from(
            "<IBBBBIIQQII", data, at
        )
        extents = struct.unpack_from(f"<{dims}Q", data, at + 40)
        after = at + 40 + 8 * dims * (3 if whose == 1 else 1) + 4 * blocks
        name = data[after : after + name_size].decode()
        count = numpy.prod(extents, dtype=int)
        assert zlib.crc32(data[elements : elements + count * (kind & 0xFFFFFF)]) == crc, name
        dtype = DTYPES.get(kind, f"V{kind & 0xFFFFFF}")
        array = numpy.frombuffer(data, dtype, count, elements).reshape(extents)
        found[name] = kind, array.T if order == 1 else array
        at += length
    return found


def value(kind, i):
    """What fields_kinds.F90 has as VALUE(i). None if numpy has no such type."""
    of_class, size = kind >> 24, kind & 0xFFFFFF
    if of_class == 1:
        factor = {1: 1, 2: 300, 4: 70000, 8: 5000000000}.get(size)
        return factor and factor * i
    if of_class == 3 and size <= 8 or of_class == 8:
        real = numpy.dtype(DTYPES[kind]).type
        return real(i) / real(7)
    if of_class == 4 and size <= 16 or of_class == 9:
        return i - 1j * i
    if of_class == 5 and size <= 8:
        return i % 4 == 3
    return b"text" + bytes([32 + i % 90]) if of_class == 6 else None


def expected(kind, name):
    """The array of the name, as fields_kinds.F90 lists it."""

    def array(first, extents):
        numbers = range(first, first + int(numpy.prod(extents)))
        return numpy.array([value(kind, i) for i in numbers]).reshape(extents, order="F")

    shapes = {"x1": (24,), "x3": (4, 3, 2), "x7": (3, 2, 1, 2, 1, 2, 1)}
    base, _, section = name.partition(" ")
    if base in shapes:
        all_of_it = array({"": 1, "gaps": 25, "back": 49, "none": 73}[section], shapes[base])
        return {
            "": all_of_it,
            "x1 gaps": lambda a: a[1:23:3],
            "x1 back": lambda a: a[::-1],
            "x1 none": lambda a: a[:0],
            "x3 gaps": lambda a: a[::2, 1:3, :1],
            "x3 back": lambda a: a[:0:-1, ::-2],
            "x3 none": lambda a: a[:, :0],
            "x7 gaps": lambda a: a[::2, :, :, 1:2, :, :1],
            "x7 back": lambda a: a[::-1, ::-1, :, :, :, ::-1],
            "x7 none": lambda a: a[:, :, :0],
        }.get(name, lambda a: a)(all_of_it)
    return {
        "x0": lambda: numpy.array(value(kind, 7)),
        "part": lambda: array(1, (2, 3, 2))[:, ::-1],
        "grown1": lambda: array(1, (5,)),
        "grown3": lambda: array(1, (4, 3, 2)),
        "grown7": lambda: array(1, (3, 2, 1, 2, 1, 2, 1)),
        "never": lambda: array(1, (0, 0)),
    }[name]()


for path in sys.argv[1:]:
    compared = set()
    for full_name, (kind, array) in fields(path).items():
        kind_name, _, name = full_name.partition("/")
        if value(kind, 1) is None:
            continue
        wanted = expected(kind, name)
        if kind >> 24 == 5:
            array = array != 0
        assert array.shape == wanted.shape, (full_name, array.shape, wanted.shape)
        assert array.tolist() == wanted.tolist(), (full_name, array, wanted)
        compared.add(kind_name)
    assert len(compared) >= 13, compared
    print(f"{path}: numpy has read {', '.join(sorted(compared))}")
