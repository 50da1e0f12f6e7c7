"""Checkpoints of fields with numpy: each type in each layout is written and restored, on any number of ranks, and the
files are what docs/formats/fields.md says. Usage: fields_numpy.py write|restore, or check FILE..."""

import sys
import warnings

import numpy

warnings.simplefilter("error")

DTYPES = [*"?bhiqBHIQefdgFDG", "S5", "U3", "V7", "i1,f8,(2,3)c8"]

#: Arrays that lie in memory in all ways that there are.
LAYOUTS = {
    "scalar": lambda new: new(()),
    "line": lambda new: new((6,)),
    "gaps": lambda new: new((13,))[1:12:3],
    "backwards": lambda new: new((5,))[::-1],
    "block": lambda new: new((4, 3, 2)),
    "fortran": lambda new: new((4, 3, 2), "F"),
    "turned": lambda new: new((4, 3, 5)).transpose(2, 0, 1)[::2, ::-1, 1:],
    "seven": lambda new: new((2, 1, 3, 1, 2, 2, 1))[..., ::-1, :],
    "none": lambda new: new((3, 0, 2)),
    "large": lambda new: new((300, 400))[:, ::3],
}

#: Shapes of wholes.
WHOLES = {"1-d": (23,), "2-d": (9, 14), "3-d": (8, 3, 10)}


def values(shape, dtype, first):
    """An array of numbers from ``first`` on, as that type has them."""
    count = int(numpy.prod(shape))
    numbers = (numpy.arange(first, first + count) % 100).reshape(shape)
    if numpy.dtype(dtype).names or numpy.dtype(dtype).kind == "V":
        made = numpy.zeros(shape, dtype)
        bytes_of = numpy.ndarray((made.nbytes,), "u1", made)
        bytes_of[:] = numpy.arange(first, first + made.nbytes) % 251
        if numpy.dtype(dtype).names:
            for name in made.dtype.names:
                made[name] = numbers.reshape(shape + (1,) * (made[name].ndim - len(shape)))
        return made
    if numpy.dtype(dtype).kind in "fc":
        return (numbers / 7 * (1 + 1j if numpy.dtype(dtype).kind == "c" else 1)).astype(dtype)
    return (numbers % 3 == 0 if dtype == "?" else numbers).astype(dtype)


def own_arrays(rank, is_empty=False):
    """A dict of arrays of all types and layouts for each type."""
    state = {}
    for number, dtype in enumerate(DTYPES):

        def new(shape, order="C"):
            array = numpy.zeros(shape, dtype, order)
            if not is_empty:
                array[...] = values(shape, dtype, rank + number)
            return array

        state[dtype] = {name: make(new) for name, make in LAYOUTS.items()}
    return state


def box(whole, rank, ranks, axis):
    """The part of a rank: a slice of one axis. Some are empty if there are many ranks."""
    begin, end = (whole[axis] * r // ranks for r in (rank, rank + 1))
    return tuple(slice(begin, end) if dim == axis else slice(None) for dim in range(len(whole)))


def parts(scr, is_empty=False):
    """Parts of wholes, each in the middle of an array with ghost cells."""
    state = {}
    for name, whole in WHOLES.items():
        # Another axis on another number of ranks.
        mine = box(whole, scr.rank(), scr.ranks(), scr.ranks() % len(whole))
        content = values(whole, "d", 1)[mine]
        order = "F" if scr.rank() % 2 else "C"
        array = numpy.full([extent + 2 for extent in content.shape], -1.0, order=order)
        inner = array[tuple(slice(1, -1) for _ in whole)]
        if not is_empty:
            inner[...] = content
        state[name] = scr.part(inner, whole, [part.start or 0 for part in mine])
    return state


def scalars(is_empty=False):
    """Scalars of numpy, the same on all ranks."""
    return {dtype: values((1,), dtype, 0 if is_empty else 2)[0] for dtype in "?bhiqBHIQefdgFD"}


def assert_same(found, wanted, name):
    assert found.dtype == wanted.dtype and found.shape == wanted.shape, (name, found, wanted)
    if wanted.dtype.char in "gG":
        # The last bytes of these have no meaning.
        assert (found == wanted).all(), (name, found, wanted)
    else:
        assert found.tobytes() == wanted.tobytes(), (name, found, wanted)


def assert_arrays(found, rank):
    for dtype, arrays in own_arrays(rank).items():
        for layout, wanted in arrays.items():
            assert_same(found[dtype][layout], wanted, (rank, dtype, layout))


def write(scr):
    state = {"own": own_arrays(scr.rank()), "parts": parts(scr), "scalars": scalars(), "text": scr.own("r" * scr.rank())}
    scr.checkpoint(state, "all")


def restore_same(scr):
    state = {"own": own_arrays(0, True), "parts": parts(scr, True), "scalars": scalars(True), "text": scr.own("?")}
    assert scr.restore(state)
    assert_arrays(state["own"], scr.rank())
    assert state["text"].value == "r" * scr.rank()
    assert_shared(scr, state)


def assert_shared(scr, state):
    """What each number of ranks restores."""
    for name, field in parts(scr).items():
        assert_same(state["parts"][name].value, field.value, name)
        assert (state["parts"][name].value.base == -1).sum() > 0, "ghost cells stay"
    for dtype, wanted in scalars().items():
        assert type(state["scalars"][dtype]) is type(wanted), dtype
        assert state["scalars"][dtype] == wanted, dtype


def restore_other(scr):
    """On another number of ranks, rank 0 reads what was each old rank's own."""
    shared = {"parts": parts(scr, True), "scalars": scalars(True)}
    arrays, texts = {}, {}

    def state(s):
        if scr.rank() == 0:
            for old in range(s.stored_ranks()):
                arrays[old] = {}
                for dtype, of_type in own_arrays(old, True).items():
                    arrays[old][dtype] = of_type
                    for layout, array in of_type.items():
                        s.from_rank(old).field(f"own/{dtype}/{layout}", array)
                texts[old] = s.from_rank(old).field("text", "?")
        with s.list("parts"):
            for name, part in shared["parts"].items():
                s.field(name, part.value, part.whole, part.at)
        with s.list("scalars"):
            for name in shared["scalars"]:
                shared["scalars"][name] = s.same(name, shared["scalars"][name])

    assert scr.restore(state)
    assert_shared(scr, shared)
    if scr.rank() == 0:
        assert len(arrays) == 3, arrays.keys()
        for old in arrays:
            assert_arrays(arrays[old], old)
            assert texts[old] == "r" * old, texts


def check(files):
    """The files are as their page says, and any program that reads them by it finds what was written."""
    from fields_format import fields

    wholes = {name: numpy.zeros(shape) for name, shape in WHOLES.items()}
    for rank, path in enumerate(files):
        found_rank, ranks, found = fields(path)
        assert (found_rank, ranks) == (rank, len(files)), path
        for dtype, arrays in own_arrays(rank).items():
            for layout, wanted in arrays.items():
                field = found.pop(f"own/{dtype}/{layout}")
                assert field.whose == "own", (dtype, layout)
                if numpy.dtype(dtype).kind in "UV":
                    # The file says of these that they are bytes.
                    wanted = wanted.view(f"V{wanted.dtype.itemsize}")
                assert_same(field.array, wanted, (dtype, layout))
        for name, whole in wholes.items():
            field = found.pop(f"parts/{name}")
            assert field.whose == "part" and field.whole == whole.shape, name
            whole[tuple(slice(at, at + extent) for at, extent in zip(field.at, field.array.shape))] += field.array
        for dtype, wanted in scalars().items():
            field = found.pop(f"scalars/{dtype}")
            assert field.whose == "same" and field.array == wanted, dtype
        assert found.pop("text").array.tobytes().decode() == "r" * rank
        assert not found, found.keys()
    for name, whole in wholes.items():
        assert_same(whole, values(whole.shape, "d", 1), name)
    print(f"{len(files)} files are as their page says")


def main():
    if sys.argv[1] == "check":
        check(sys.argv[2:])
        return
    import scr

    with scr.session():
        if sys.argv[1] == "write":
            write(scr)
        elif scr.ranks() == 3:
            restore_same(scr)
        else:
            restore_other(scr)
    if scr.rank() == 0:
        print(sys.argv[1], "on", scr.ranks(), "ranks: as expected")


if __name__ == "__main__":
    main()
