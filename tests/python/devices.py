"""State on a device: arrays with __cuda_array_interface__ and DLPack are written and restored in place, and a new one is
made for one that cannot be filled. The device is that of a library which answers as CUDA's driver. Usage: devices.py
LIBRARY, which is that library, under the name libcuda.so.1."""

import ctypes
import gc
import sys

import numpy

import scr

CUDA = ctypes.CDLL(sys.argv[1])


def cuda(name, *arguments):
    assert getattr(CUDA, name)(*arguments) == 0, name


def check(holds, what):
    if not holds:
        raise AssertionError(what)


def thrown_by(action, *arguments, **options):
    try:
        action(*arguments, **options)
    except Exception as error:
        return error
    raise AssertionError(f"{action.__name__} raised nothing")


class Memory:
    """An array of numpy on the device, with room around it and between its elements."""

    def __init__(self, array, managed=False):
        self.array = numpy.ascontiguousarray(array)
        place = ctypes.c_uint64(0)
        if managed:
            cuda("cuMemAllocManaged", ctypes.byref(place), ctypes.c_size_t(self.array.nbytes), 1)
        else:
            cuda("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(self.array.nbytes))
        self.place = place.value
        self.put(self.array)

    def put(self, array):
        array = numpy.ascontiguousarray(array)
        cuda("cuMemcpyHtoD_v2", ctypes.c_uint64(self.place), ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))
        cuda("cuCtxSynchronize")

    def get(self):
        array = numpy.empty_like(self.array)
        size = ctypes.c_size_t(array.nbytes)
        cuda("cuMemcpyDtoH_v2", ctypes.c_void_p(array.ctypes.data), ctypes.c_uint64(self.place), size)
        return array


class Interface:
    """A view of an array on the device, as CuPy and Numba have it."""

    def __init__(self, memory, view=None, readonly=False, **others):
        view = memory.array if view is None else view
        self.dtype, self.shape = view.dtype, view.shape
        self.memory = memory
        self.__cuda_array_interface__ = {
            "shape": view.shape,
            "typestr": view.dtype.str,
            "data": (memory.place + view.ctypes.data - memory.array.ctypes.data, readonly),
            "strides": None if view.flags.c_contiguous else view.strides,
            "version": 3,
            "stream": 1,
            **others,
        }


class Tensor(ctypes.Structure):
    """DLManagedTensor, with DLTensor first."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("dims", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned, up to its tensor."""

    _fields_ = [
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


class DLPack:
    """A view of an array, as PyTorch has it."""

    def __init__(self, memory, view=None, device=2, version=None, readonly=False, code=None, offset=0):
        view = memory.array if view is None else view
        self.view, self.memory, self.type, self.version = view, memory, device, version
        self.asked = []
        place = memory.place + view.ctypes.data - memory.array.ctypes.data if device in (2, 13) else view.ctypes.data
        self.shape = (ctypes.c_int64 * view.ndim)(*view.shape)
        strides = [stride // view.itemsize for stride in view.strides]
        self.strides = (ctypes.c_int64 * view.ndim)(*strides)
        codes = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
        self.tensor = Tensor(
            data=place - offset,
            device=(device, 0),
            dims=view.ndim,
            code=codes[view.dtype.kind] if code is None else code,
            bits=8 * view.itemsize,
            lanes=1,
            shape=ctypes.addressof(self.shape),
            strides=None if view.flags.c_contiguous else ctypes.addressof(self.strides),
            byte_offset=offset,
        )
        self.versioned = Versioned(version=(version or 0, 0), flags=int(readonly), tensor=self.tensor)

    def __dlpack_device__(self):
        return (self.type, 0)

    def __dlpack__(self, stream=None, **options):
        if self.version is None:
            if options:
                raise TypeError("an old library has no max_version")
            self.asked.append(stream)
            return new_capsule(ctypes.addressof(self.tensor), b"dltensor", None)
        return new_capsule(ctypes.addressof(self.versioned), b"dltensor_versioned", None)


class Frozen(Interface):
    """An array that cannot be filled, as JAX has it."""

    device = "the device"

    def __init__(self, memory):
        super().__init__(memory, readonly=True)

    @staticmethod
    def __array_namespace__():
        return Frozen

    @classmethod
    def asarray(cls, array, device):
        check(device == "the device", device)
        return cls(Memory(array))


def arrays(rank):
    """All arrays of the state, by their names: first on the device, then views of them."""
    grid = numpy.arange(rank, rank + 60, dtype="f8").reshape(5, 12)
    memory = {
        "grid": Memory(grid),
        "turned": Memory(grid + 100),
        "kinds": Memory(grid.astype("c8")),
        "torch": Memory(grid * 2),
        "sliced": Memory(grid.astype("i4")),
        "half": Memory(grid.astype("i2")),
        "managed": Memory(grid - 7, managed=True),
        "many": Memory(numpy.arange(1 << 20, dtype="u4") * 3 + rank),
        "part": Memory(numpy.arange(8.0) + 8 * rank),
    }
    of = {name: one.array for name, one in memory.items()}
    state = {
        "grid": Interface(memory["grid"]),
        "turned": Interface(memory["turned"], of["turned"][1:4, ::2].T),
        "kinds": Interface(memory["kinds"], of["kinds"][::-1]),
        "torch": DLPack(memory["torch"]),
        "sliced": DLPack(memory["sliced"], of["sliced"][::2, 3:9], version=1, offset=64),
        "half": DLPack(memory["half"], code=4),
        "managed": DLPack(memory["managed"], device=13),
        "many": Interface(memory["many"]),
        "part": scr.part(Interface(memory["part"]), whole=8 * scr.ranks(), at=8 * rank),
    }
    return memory, state


def in_place():
    memory, state = arrays(scr.rank())
    before = {name: one.get() for name, one in memory.items()}
    scr.checkpoint(state, name="in place")
    check(all(numpy.array_equal(one.get(), before[name]) for name, one in memory.items()), "nothing has changed")
    check(state["torch"].asked == [-1], "no stream is asked for")
    for name, one in memory.items():
        one.put(numpy.full_like(one.array, 77))
    check(scr.restore(state), "there is a checkpoint")
    for name, one in memory.items():
        expected = before[name]
        if name in ("turned", "sliced"):
            expected = numpy.full_like(expected, 77)
            view = numpy.s_[1:4, ::2] if name == "turned" else numpy.s_[::2, 3:9]
            expected[view] = before[name][view]
        check(numpy.array_equal(one.get(), expected), name)

    # A program in which they are arrays of numpy has the same fields.
    host = {
        name: numpy.zeros_like(value.view) if isinstance(value, DLPack) else numpy.zeros(value.shape, value.dtype)
        for name, value in state.items()
        if name != "part"
    }
    host["half"] = numpy.zeros((5, 12), "V2")
    host["part"] = scr.part(numpy.zeros(8), whole=8 * scr.ranks(), at=8 * scr.rank())
    check(scr.restore(host), "by numpy")
    check(numpy.array_equal(host["turned"], before["turned"][1:4, ::2].T), "strides")
    check(numpy.array_equal(host["kinds"], before["kinds"][::-1]), "backwards")
    check(numpy.array_equal(host["half"].view("i2"), before["half"]), "elements that numpy does not know")


def replaced():
    frozen = Frozen(Memory(numpy.arange(12.0).reshape(3, 4) + scr.rank()))
    state = {"frozen": frozen, "missing": 1}
    scr.checkpoint(state, name="replaced")
    frozen.memory.put(numpy.zeros((3, 4)))
    check(scr.restore(state), "it can be read")
    new = state["frozen"]
    check(new is not frozen and isinstance(new, Frozen), "a new array")
    check(numpy.array_equal(new.memory.get(), numpy.arange(12.0).reshape(3, 4) + scr.rank()), "with what was stored")
    check(not frozen.memory.get().any(), "the old one is as it was")

    def listed(s):
        s.same("missing", 1)
        s.gone("frozen")
        s.order("F")
        got.append(s.field("new", frozen, missing="keep"))

    got = []
    scr.checkpoint(lambda s: s.order("F") or s.field("frozen", frozen), name="by columns")
    frozen.memory.put(numpy.ones((3, 4)))
    scr.restore(lambda s: s.order("F") or got.append(s.field("frozen", frozen)))
    check(not got[-1].memory.get().any(), "what was stored")
    scr.current("replaced")
    scr.restore(listed)
    check(got[-1] is frozen, "what is not stored stays")


def streams():
    memory = Memory(numpy.arange(10.0))
    stream = ctypes.c_uint64(0)
    cuda("cuStreamCreate", ctypes.byref(stream), 1)

    class OfCuPy:
        ptr = stream.value

    class OfTorch:
        cuda_stream = stream.value

    class ByProtocol:
        def __cuda_stream__(self):
            return (0, stream.value)

    def listed(s):
        for given in (stream.value, OfCuPy(), OfTorch(), ByProtocol(), 1, 2, 0, None):
            s.stream(given)
        s.stream(OfCuPy()).field("x", Interface(memory))

    scr.checkpoint(listed, name="streams")
    memory.put(numpy.zeros(10))
    check(scr.restore(listed) and numpy.array_equal(memory.get(), numpy.arange(10.0)), "by a stream")
    check("the stream is a str" in str(thrown_by(scr.checkpoint, lambda s: s.stream("one"))), "no stream")


class Far:
    """An array of a device that SCR does not know, as the one of SYCL, and what copies it. Its addresses lead nowhere."""

    def __init__(self, array, place=0x1000):
        self.bytes = bytearray(array.tobytes())
        self.array, self.place, self.calls = array, place, []
        self.seen = DLPack(None, array, device=14)
        # Fields of ctypes, which DLPack takes from the array itself.
        self.seen.tensor.data = place
        self.fails = None

    def __dlpack_device__(self):
        return (14, 0)

    def __dlpack__(self, **options):
        check("stream" not in options, "a stream is a matter of CUDA and ROCm")
        return self.seen.__dlpack__(**options)

    def copy(self, to, source, size, out):
        # What C calls must be alive.
        gc.collect()
        self.calls.append((to, source, size, out))
        if self.fails:
            raise self.fails
        first = (source if out else to) - self.place
        check(0 <= first and first + size <= len(self.bytes), "inside of the array")
        own = ctypes.addressof(ctypes.c_char.from_buffer(self.bytes, first))
        ctypes.memmove(to if out else own, own if out else source, size)

    def get(self):
        return numpy.frombuffer(bytes(self.bytes), self.array.dtype).reshape(self.array.shape)


def copied():
    rank = scr.rank()
    grid = numpy.arange(60.0).reshape(5, 12) + rank
    place = [12 * rank]
    ids = list(range(rank, 4 * scr.ranks(), scr.ranks()))
    far = {"whole": Far(grid), "rows": Far(grid * 2), "part": Far(grid[0] * 3), "same": Far(grid - rank), "by index": Far(grid[:4] + 5)}
    far["rows"].seen = DLPack(None, far["rows"].array[:, 2:7], device=14)
    far["rows"].seen.tensor.data = 0x1000 + 16

    def listed(s):
        copies = {name: one.copy for name, one in far.items()}
        s.field("whole", far["whole"], copy=copies["whole"])
        s.put("rows", scr.own(far["rows"], copy=copies["rows"]))
        s.put("part", scr.part(far["part"], whole=12 * scr.ranks(), at=place[0], copy=copies["part"]))
        s.put("same", scr.same(far["same"], copy=copies["same"]))
        s.index("ids", ids, whole=4 * scr.ranks())
        s.put("by index", scr.by_index(far["by index"], "ids", copy=copies["by index"]))
        s.same("beside", 7)

    scr.checkpoint(listed, name="copied")
    before = {name: one.get() for name, one in far.items()}
    check(all(one.calls and all(call[3] is True for call in one.calls) for one in far.values()), "all come out of the fields")
    for one in far.values():
        one.bytes[:] = bytes(len(one.bytes))
        one.calls.clear()
    check(scr.restore(listed), "there is a checkpoint")
    for name, one in far.items():
        expected = before[name].copy()
        if name == "rows":
            expected[:, :2] = expected[:, 7:] = 0
        check(numpy.array_equal(one.get(), expected), name)
        check(one.calls and all(call[3] is False for call in one.calls), "all go to the fields")

    # What a function raises is the error of its process, and costs no other checkpoint, also where the parts are others.
    def turned(s):
        place[0] = 12 * (scr.ranks() - 1 - rank)
        listed(s)

    for call in (lambda: scr.checkpoint(listed, name="refused"), lambda: scr.restore(listed), lambda: scr.restore(turned)):
        if rank == 0:
            far["part"].fails = ZeroDivisionError("the device is lost")
        error = thrown_by(call)
        check(isinstance(error, ZeroDivisionError if rank == 0 else scr.Error), error)
        far["part"].fails = None
        # No other checkpoint is offered in that run.
        scr.finalize()
        scr.init()
    place[0] = 12 * rank
    for one in far.values():
        one.bytes[:] = bytes(len(one.bytes))
    check(scr.restore(listed) and numpy.array_equal(far["part"].get(), before["part"]), "the one before")
    check("copy is a function" in str(thrown_by(scr.checkpoint, {"x": scr.own(1, copy=far["part"].copy)})), "a number")
    check("copy is a function" in str(thrown_by(scr.checkpoint, {"x": scr.own(far["part"], copy=3)})), "no function")


def what_is_wrong():
    memory = Memory(numpy.arange(10.0))
    array = Interface(memory)
    freed = Interface(Memory(numpy.arange(10.0)))
    cuda("cuMemFree_v2", ctypes.c_uint64(freed.memory.place))
    host = Interface(memory)
    host.__cuda_array_interface__["data"] = (memory.array.ctypes.data, False)
    past = Interface(memory)
    past.__cuda_array_interface__["shape"] = (1 << 22,)
    two = DLPack(memory)
    two.tensor.lanes = 2
    refuses = type("Refuses", (), {"__cuda_array_interface__": property(lambda self: 1 / 0)})()
    wrong = {
        "no driver that the program has loaded knows its memory": {"x": host},
        "neither a device nor the processor has memory there": {"x": freed},
        "the allocation that the pointer": {"x": past},
        "has a mask": {"x": Interface(memory, mask=array)},
        "which cannot be those of a field": {"x": Interface(memory, typestr="<M8")},
        "in the order of another machine": {"x": Interface(memory, typestr=">f8")},
        "of the type 14 of DLPack": {"x": DLPack(memory, device=14)},
        "version 2 of DLPack": {"x": DLPack(memory, version=2)},
        "2 lanes": {"x": two},
        "does not share its memory: division by zero": {"x": refuses},
        "which the processor does not reach": {"x": scr.own(array, where="host")},
        "give a copy of them": {"i": scr.index(array, 10)},
        'can be "device" or "host"': {"x": scr.own(array, where="moon")},
    }
    for words, state in wrong.items():
        error = thrown_by(scr.checkpoint, state, name="wrong")
        check(words in str(error) and '"x"' in str(error) or '"i"' in str(error), (words, error))
    scr.checkpoint({"x": Interface(memory, readonly=True)}, name="read-only")
    error = thrown_by(scr.restore, {"x": Interface(memory, readonly=True)})
    check("it is read-only, and cannot be restored" in str(error), error)


def main():
    scr.config("SCR_CACHE_SIZE=8")
    scr.init()
    context = ctypes.c_void_p()
    cuda("cuInit", 0)
    cuda("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    cuda("cuCtxSetCurrent", context)
    in_place()
    replaced()
    streams()
    copied()
    what_is_wrong()
    scr.finalize()
    if scr.rank() == 0:
        print("all checks passed")


main()
