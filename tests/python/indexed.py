"""Fields by index with numpy: the fields of tests/c/indexed.c, in a dict and in a function; and each sort of integers that
can be an index. Usage: indexed.py write|read|write_bags|read_bags, on any number of ranks."""

import sys
import warnings

import numpy

warnings.simplefilter("error")

import scr  # noqa: E402

NODES, CELLS, LEVELS = 23, 5, 3


class Mesh:
    """What a rank has: each number once; of a reader on other ranks, and with the next number."""

    def __init__(self, is_reader, is_filled):
        rank, ranks = scr.rank(), scr.ranks()
        ids = numpy.arange(NODES, 0, -1, "i4")
        ids = ids[(ids * ranks // (NODES + 1) if is_reader else ids % ranks) == rank]
        if is_reader:
            ids = numpy.stack([ids, ids % NODES + 1], 1).ravel()
        self.node_ids = ids
        self.cell_ids = numpy.arange(CELLS if rank == (ranks - 1 if is_reader else 0) else 0)
        nodes = numpy.zeros(len(ids), [("heat", "f8"), ("mark", "i4")])
        levels = numpy.zeros((len(ids), LEVELS), "f4")
        sizes = numpy.zeros(len(self.cell_ids), "i8")
        if is_filled:
            nodes["heat"], nodes["mark"] = ids * 1.5, -ids
            levels[...] = ids[:, None] + numpy.arange(LEVELS) / 4
            sizes[...] = 10 * self.cell_ids
        # The second has the nodes last in its memory.
        self.arrays = nodes["heat"], nodes["mark"], levels, numpy.asfortranarray(levels), sizes

    def as_dict(self):
        heat, mark, levels, turned, sizes = self.arrays
        return {
            "nodes": scr.index(self.node_ids, NODES, 1),
            "cells": scr.index(self.cell_ids, CELLS),
            "heat": scr.by_index(heat, "nodes"),
            "mark": scr.by_index(mark, "nodes"),
            "deep": {"inside": {"levels": scr.by_index(levels, "nodes")}},
            "turned": scr.by_index(turned, "nodes"),
            "sizes": scr.by_index(sizes, "cells"),
        }

    def list(self, s):
        heat, mark, levels, turned, sizes = self.arrays
        s.index("nodes", self.node_ids, NODES, first=1)
        s.index("cells", self.cell_ids, CELLS)
        assert s.field("heat", heat, index="nodes") is heat
        s.field("mark", mark, index="nodes")
        with s.list("deep"), s.list("inside"):
            s.field("levels", levels, index="nodes")
        s.order("F")
        s.field("turned", turned.T, index="nodes")
        s.order("C")
        s.field("sizes", sizes, index="cells")


def sorts_of_integers():
    """Two elements of each rank, whose numbers are these, in any type and layout."""
    rank, ranks = scr.rank(), scr.ranks()
    numbers = [ranks + rank, rank]
    sorts = [numpy.array(numbers, dtype) for dtype in "bhilqBHILQ"]
    sorts += [numpy.array(numbers, dtype) for dtype in (">i4", ">i8", "<u2")]
    sorts += [numpy.array([numbers, numbers], dtype)[:, ::-1].T[::-1, 0] for dtype in "iq"]
    sorts += [numpy.repeat(numpy.array(numbers, "i4"), 3)[::3], numpy.array(numbers[::-1])[::-1]]
    readonly = numpy.array(numbers)
    readonly.flags.writeable = False
    sorts += [readonly, numbers, tuple(numbers), [numpy.int32(n) for n in numbers], memoryview(numpy.array(numbers))]
    for ids in sorts:
        scr.checkpoint({"ids": scr.index(ids, 2 * ranks), "x": scr.by_index(numpy.array([1.5, rank]), "ids")}, "sorts")
        read = numpy.zeros((2,))
        assert scr.restore({"ids": scr.index(numbers[::-1], 2 * ranks), "x": scr.by_index(read, "ids")})
        assert list(read) == [rank, 1.5], (ids, read)
    for ids, words in [
        (numpy.array([1.0, 2]), "are integers"),
        (numpy.array([True, False]), "are integers"),
        (numpy.array([[0, 1]]), "have one dimension, and these have 2"),
        (numpy.array([[0, 1]], "i2"), "have one dimension, and these have 2"),
        (numpy.array([1, None]), "or objects"),
        (numpy.int64(1), "have one dimension, and these have 0"),
    ]:
        try:
            scr.checkpoint({"ids": scr.index(ids, 2)})
        except (TypeError, ValueError) as error:
            assert 'index list "ids": ' in str(error) and words in str(error), error
        else:
            raise AssertionError(f"{ids!r} cannot be indices")


def copies():
    """Each rank has two elements, and copies of those of the next rank."""
    rank, ranks = scr.rank(), scr.ranks()
    ids = (2 * rank + numpy.arange(4 if ranks > 1 else 2)) % (2 * ranks)
    heat = 1.5 * ids

    def state(s):
        s.index("halo", ids, 2 * ranks, shared=True)
        s.field("heat", heat, index="halo")

    def wrong(s):
        s.index("halo", ids, 2 * ranks, shared=True)
        s.field("heat", heat + 1e-9 * (rank == 0), index="halo")

    scr.checkpoint({"halo": scr.index(ids, 2 * ranks, shared=True), "heat": scr.by_index(heat, "halo")}, "halo")
    if ranks > 1:
        try:
            scr.checkpoint(wrong, "bad")
        except scr.Error as error:
            assert 'both have the element of index 0 of "halo", and their copies differ' in str(error), error
        else:
            raise AssertionError("copies that differ")
    heat = numpy.zeros_like(heat)
    assert scr.restore(state)
    assert (heat == 1.5 * ids).all(), heat
    scr.delete("halo")


PARTICLES = 40


class Bags:
    """The bags of tests/c/indexed.c."""

    def __init__(self, ids=()):
        ids = numpy.array(ids, "i4")
        self.cell, self.height = 7 * ids, ids * 17 % PARTICLES / 2.0
        self.writers, self.wrong = 0, None

    def owner(self, keys):
        numbers = numpy.asarray(keys)
        assert numbers.dtype == "i8"
        if self.wrong == "raises" and 7 in numbers:
            raise KeyError("no owner")
        if self.wrong == "large" and 7 in numbers:
            return [2**40] * len(keys)
        if self.wrong == "short":
            return []
        return [key % scr.ranks() for key in keys] if scr.rank() % 2 else numbers % scr.ranks()

    def list(self, s):
        self.writers = s.stored_ranks() or self.writers
        owned = s.bag("owned", len(self.cell), key="cell", owner=self.owner)
        sort = s.bag("sorted", len(self.height), key="height")
        cell, height = self.cell, self.height
        if not s.writing:
            cell, height = numpy.empty(owned, "i4"), numpy.empty(sort, "f8")
        s.field("cell", cell, index="owned")
        s.field("height", height, index="sorted")
        if s.reading:
            self.cell, self.height = cell, height


def read_bags():
    rank, ranks = scr.rank(), scr.ranks()
    bags = Bags()
    assert scr.restore(bags.list)
    written = [list(range(writer, PARTICLES, bags.writers)) for writer in range(bags.writers)]
    if bags.writers == ranks:
        right = Bags(written[rank])
    else:
        right = Bags([id for ids in written for id in ids if 7 * id % ranks == rank])
        right.height = numpy.arange(PARTICLES * rank // ranks, PARTICLES * (rank + 1) // ranks) / 2.0
        for wrong, words in [("raises", "no owner"), ("large", "is said to be rank -1"), ("short", "0 ranks for ")]:
            bags.wrong = wrong
            try:
                scr.restore(bags.list)
            except (KeyError, ValueError, scr.Error) as error:
                assert words in str(error) or isinstance(error, scr.Error), error
            else:
                raise AssertionError(wrong)
            scr.current("bags")
    assert list(bags.cell) == list(right.cell), (bags.cell, right.cell)
    assert list(bags.height) == list(right.height), (bags.height, right.height)


def main():
    with scr.session():
        if sys.argv[1] == "write":
            sorts_of_integers()
            copies()
            scr.checkpoint(Mesh(False, True).as_dict(), "nodes")
        elif sys.argv[1] == "write_bags":
            scr.checkpoint(Bags(range(scr.rank(), PARTICLES, scr.ranks())).list, "bags")
        elif sys.argv[1] == "read_bags":
            read_bags()
        else:
            for is_reader in False, True:
                for way in Mesh.as_dict, lambda mesh: mesh.list:
                    mesh, right = Mesh(is_reader, False), Mesh(is_reader, True)
                    assert scr.restore(way(mesh))
                    for found, wanted in zip(mesh.arrays, right.arrays):
                        assert (found == wanted).all(), (found, wanted)
    if scr.rank() == 0:
        print(sys.argv[1], "on", scr.ranks(), "ranks: as expected")


if __name__ == "__main__":
    main()
