"""Compares the values of all fields in files that the program fields_kinds.F90 has written. They are read with numpy.
Usage: fields_reader.py FILE..."""

import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
from fields_format import dtype_of, fields  # noqa: E402


def value(kind, i):
    """What fields_kinds.F90 has as VALUE(i). None if numpy has no such type."""
    of_class, size = kind >> 24, kind & 0xFFFFFF
    if of_class == 1:
        factor = {1: 1, 2: 300, 4: 70000, 8: 5000000000}.get(size)
        return factor and factor * i
    if of_class == 3 and size <= 8 or of_class == 8:
        real = dtype_of(kind).type
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
    for full_name, field in fields(path)[2].items():
        kind, array = field.kind, field.array.T if field.in_fortran_order else field.array
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
