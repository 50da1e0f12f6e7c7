"""The list of a program's state: what it says of each field, and the calls of C that take it."""

from __future__ import annotations

import ctypes
import operator
from collections import abc
from contextlib import contextmanager
from typing import Any, Callable, Generic, Iterable, Iterator, List, NamedTuple, Optional, Sequence, TypeVar, Union, cast

from ._device import handle_of
from ._library import Error, TextOut, call, function, text_in
from ._kinds import Memory
from ._memory import Stored, dtype_of, memory_of, memory_of_ids, replacement_of, scalar_of

T = TypeVar("T")

#: Extents, or an index, of an array; a number for one of one dimension.
Numbers = Union[int, Sequence[int]]

#: SCR_Option of scr.h.
_KEEP_IF_MISSING, _CONVERT, _SHARED, _PASS_WRITE, _PASS_READ = 1, 2, 4, 32, 34
_PLACES = {"device": 8, "host": 64}
_ORDERS = {"C": 16, "F": 17}

#: The most dimensions of a field.
_DIMENSIONS = 7


#: Gives the rank of each key.
Owner = Callable[[memoryview], Iterable[int]]

#: SCR_Owner_fn of scr.h.
_OWNER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


#: Copies bytes of a field: the address to copy to, the one to copy from, their number, and whether they come out of the
#: field.
Copy = Callable[[int, int, int, bool], object]

#: SCR_Copy_fn of scr.h.
_COPY = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
)

#: SCR_COPY_OUT of scr.h.
_COPY_OUT = 80


class Copies:
    """The functions of the program that copy fields in one call of SCR, which may call them after the list has ended."""

    def __init__(self) -> None:
        self._kept: List[object] = []
        self._codes: List[object] = []
        #: What they have raised.
        self.errors: List[BaseException] = []

    def of_c(self, copy: Copy) -> object:
        """The function of C that makes the same copies."""

        def run(_context: Optional[int], to: Optional[int], source: Optional[int], size: int, direction: int) -> int:
            try:
                copy(to or 0, source or 0, size, direction == _COPY_OUT)
                return 0
            except BaseException as error:
                # It must not pass through C.
                self.errors.append(error)
                return 1

        made = _COPY(run)
        self._kept.append(made)
        self._codes.append(run.__code__)
        return made

    def is_lost(self, code: object) -> bool:
        """True for the code of a function in which an exception was lost, so that it has returned anything."""
        return code in self._codes

    def check(self) -> None:
        """Raises what a function has raised."""
        if self.errors:
            raise self.errors[0]


class Field(Generic[T]):
    """A value with what a dict cannot say of it; made by part(), by_index(), same() and own()."""

    def __init__(
        self,
        value: T,
        is_same: Optional[bool] = None,
        whole: Optional[Numbers] = None,
        at: Optional[Numbers] = None,
        missing: str = "error",
        convert: bool = False,
        index: Optional[str] = None,
        where: Optional[str] = None,
        copy: Optional[Copy] = None,
    ) -> None:
        #: The array; or the int, float, str and so on, which restore() replaces.
        self.value = value
        #: None: a scalar is the same on all processes, and an array is not.
        self.is_same = is_same
        self.whole = whole
        self.at = at
        self.missing = missing
        self.convert = convert
        #: The name of the index list of the elements.
        self.index = index
        #: "device" or "host", if the program says where the memory is; the driver is asked in any case.
        self.where = where
        #: Copies the memory, if neither the processor reaches it nor a driver that SCR knows.
        self.copy = copy


class Index(NamedTuple):
    """An index list of a dict; made by index()."""

    ids: Iterable[int]
    whole: int
    first: int
    shared: bool


def index(ids: Iterable[int], whole: int, first: int = 0, shared: bool = False) -> Index:
    """Which elements of a whole this process has, for arrays that come after it in the dict, as by_index().

    Element i of such an array is element ``ids[i]`` of the whole, which has ``whole`` elements, numbered from
    ``first`` on. ``ids`` are integers, in any order: an array of numpy, or what else has numbers. When the state is
    written, all processes together have each number once. With ``shared=True`` several processes may have a number, as
    of a halo, and the checkpoint fails if their elements differ. When it is read, the numbers are those of the elements
    that this process has now; several processes may have the same.
    """
    return Index(ids, whole, first, shared)


def by_index(
    array: T,
    name: str,
    missing: str = "error",
    convert: bool = False,
    where: Optional[str] = None,
    copy: Optional[Copy] = None,
) -> Field[T]:
    """An array whose elements, along its first axis, are those of the index list ``name`` (see index()).

    Any number of processes restores it, with any index lists.
    """
    return Field(array, False, None, None, missing, convert, name, where, copy)


def part(
    array: T,
    whole: Numbers,
    at: Numbers,
    missing: str = "error",
    convert: bool = False,
    where: Optional[str] = None,
    copy: Optional[Copy] = None,
) -> Field[T]:
    """This process's part of an array of all processes, which any number of processes restores.

    ``whole`` is the shape of that array, and ``at`` the index in it of the first element of ``array``. The
    parts of all processes must make up the whole, each element once.
    """
    return Field(array, False, whole, at, missing, convert, None, where, copy)


def same(
    value: T,
    missing: str = "error",
    convert: bool = False,
    where: Optional[str] = None,
    copy: Optional[Copy] = None,
) -> Field[T]:
    """What is the same on all processes: a checkpoint fails if it is not. Any number of processes restores it."""
    return Field(value, True, None, None, missing, convert, None, where, copy)


def own(
    value: T,
    missing: str = "error",
    convert: bool = False,
    where: Optional[str] = None,
    copy: Optional[Copy] = None,
) -> Field[T]:
    """What is this process's own: the same number of processes restores it."""
    return Field(value, False, None, None, missing, convert, None, where, copy)


class State:
    """The list of a program's state, while its function runs. All methods are local.

    All processes list the same names and types in the same order. Once a method has raised Error, all later
    ones do, and so does the checkpoint, or the restart.
    """

    def __init__(self, handle: int, copies: Copies) -> None:
        self._handle: Optional[ctypes.c_void_p] = ctypes.c_void_p(handle)
        self._copies = copies
        self._order = "C"
        self._lists: List[str] = []

    def field(
        self,
        name: str,
        value: T,
        whole: Optional[Numbers] = None,
        at: Optional[Numbers] = None,
        missing: str = "error",
        convert: bool = False,
        index: Optional[str] = None,
        where: Optional[str] = None,
        copy: Optional[Copy] = None,
    ) -> T:
        """Lists what is this process's own, or with ``whole`` and ``at`` its part of a whole (see part()), or with
        ``index`` the elements that the index list of this name has (see by_index()).

        Returns ``value``: an array, which is filled when the state is read; or what was stored for an int,
        float, bool, complex, str, bytes, or scalar of numpy, which cannot be filled. An array may be on a device (CuPy,
        PyTorch, Numba). In the place of one that cannot be filled, as of JAX, a new one is returned.

        With ``missing="keep"`` a checkpoint without this field can be restored, too: the value stays. With
        ``convert=True`` it may have another type, if nothing is lost, as from float32 to float64. With
        ``where="device"`` it is an error if no driver knows the memory as that of a device, and with ``where="host"`` if
        the processor does not reach it.

        ``copy`` is for memory that neither the processor reaches nor a driver of CUDA or HIP knows. It is a function
        ``copy(to, source, size, out)``, which copies ``size`` bytes between two addresses, all of them ints: with ``out``
        from the field to memory of the processor, and else back. It returns when the copy has ended, and raises if that
        has failed. SCR counts addresses from that which the array gives, by DLPack or otherwise, and reads nothing there.
        """
        return self.put(name, Field(value, False, whole, at, missing, convert, index, where, copy))

    def index(self, name: str, ids: Iterable[int], whole: int, first: int = 0, shared: bool = False) -> None:
        """Lists which elements of a whole this process has, for the fields with ``index=name`` that follow.

        The arguments are those of index().
        """
        with self._naming("index list", name):
            encoded, memory = _name(name), memory_of_ids(ids)
            numbers = _int64("first", first), _int64("whole", whole)
            count = ctypes.c_int64(memory.shape[0])
            pointer, kind = ctypes.c_void_p(memory.address), ctypes.c_int(memory.kind)
            if shared:
                self._call("SCR_Next_field", ctypes.c_int(_SHARED), about=self._full(name))
            self._call("SCR_Index", encoded, pointer, kind, count, *numbers, about=self._full(name))

    def same(
        self,
        name: str,
        value: T,
        missing: str = "error",
        convert: bool = False,
        where: Optional[str] = None,
        copy: Optional[Copy] = None,
    ) -> T:
        """Lists what is the same on all processes. Returns ``value`` as field() does."""
        return self.put(name, Field(value, True, None, None, missing, convert, None, where, copy))

    def stream(self, stream: object) -> State:
        """Names the stream that has the program's last work on the following fields, if they are on a device.

        ``stream`` is one of CuPy or PyTorch, or the handle of one. Only that stream is waited for, before their memory is
        copied. None, as at the beginning, waits for all work of the device, and so does 0.
        """
        self._call("SCR_Stream", ctypes.c_void_p(handle_of(stream)))
        return self

    def count(self, name: str, number: int, missing: str = "error") -> int:
        """Lists a number on which the rest of the list depends: how many fields follow, or an extent.

        Returns it; when the state is read, what was written, in both calls of the function.
        """
        self._next(name, missing, False, None)
        count = _int64(f'count "{self._full(name)}"', number)
        self._call("SCR_Count", _name(name), ctypes.byref(count), about=self._full(name))
        return count.value

    def bag(self, name: str, number: int, key: Optional[str] = None, owner: Optional[Owner] = None) -> int:
        """Lists elements without an index, such as particles: ``number`` of them on this process, for the fields with
        ``index=name`` that follow.

        Returns it; when the state is read, how many this process gets, in both calls of the function, so that it can
        allocate arrays for them: on the same number of processes those that it wrote, on another an equal share.

        With ``key``, the name of a field of the bag that has a number for each element, another number of processes
        gets equal shares in the order of the key. With ``owner`` as well, it gets the elements that this function
        tells: it is called with some of the keys, integers in a memoryview of int64, and gives the rank of each. If it
        raises, so does restore().
        """
        count = _int64(f'bag "{self._full(name)}"', number)
        if key is None:
            if owner is not None:
                raise TypeError(f'bag "{self._full(name)}": an owner needs a key')
            self._call("SCR_Bag", _name(name), ctypes.byref(count), about=self._full(name))
            return count.value
        errors: List[BaseException] = []

        def ask(keys: int, length: int, ranks: int, _context: Optional[int]) -> int:
            try:
                _tell_owners(cast(Owner, owner), keys, length, ranks)
                return 0
            except BaseException as error:
                # It must not pass through C.
                errors.append(error)
                return 1

        function_of_c = _OWNER(0) if owner is None else _OWNER(ask)
        try:
            arguments = _name(name), ctypes.byref(count), _name(key), function_of_c, None
            self._call("SCR_Bag_by_key", *arguments, about=self._full(name))
        except Error:
            if errors:
                raise errors[0]
            raise
        return count.value

    def gone(self, name: str) -> None:
        """Says that the program no longer has a field or count, so that a checkpoint with it can be restored."""
        self._call("SCR_Gone", _name(name), about=self._full(name))

    @contextmanager
    def list(self, name: str) -> Iterator[State]:
        """A list in the list: inside of the block, names get ``name`` and a slash before them."""
        self._call("SCR_Begin_list", _name(name), about=self._full(name))
        self._lists.append(name)
        try:
            yield self
        except BaseException:
            # The program may go on with the list outside; if it has failed already, this changes nothing.
            if self._handle is not None:
                function("SCR_End_list")(self._handle)
            raise
        finally:
            self._lists.pop()
        self._call("SCR_End_list", about=self._full(name))

    def order(self, order: str) -> None:
        """Sets how the following fields name their dimensions: "C", as at the beginning, or "F".

        The array a(3,2) of Fortran has the shape (2, 3) with "C", and (3, 2) with "F". Any array can be listed
        in either order. One that lies in memory as the order says is written without a copy.
        """
        if order not in _ORDERS:
            raise ValueError(f'the order is {order!r}; it can be "C" or "F"')
        self._call("SCR_Order", ctypes.c_int(_ORDERS[order]))
        self._order = order

    def stored(self, name: str) -> Optional[Stored]:
        """What the checkpoint that is read has of a field, so that the program can allocate it.

        None if it has no such field, or if the state is written.
        """
        kind, dims = ctypes.c_int(0), ctypes.c_int(-1)
        shape, whole, at = ((ctypes.c_int64 * _DIMENSIONS)() for _ in range(3))
        answers = ctypes.byref(kind), ctypes.byref(dims), shape, whole, at
        self._call("SCR_Stored", _name(name), *answers, about=self._full(name))
        if dims.value < 0:
            return None
        shapes = [tuple(numbers[: dims.value]) for numbers in (shape, whole, at)]
        is_part = any(shapes[1])
        return Stored(
            kind.value,
            dtype_of(kind.value),
            shapes[0],
            shapes[1] if is_part else None,
            shapes[2] if is_part else None,
        )

    def stored_ranks(self) -> int:
        """How many processes wrote the checkpoint that is read; 0 if the state is written."""
        ranks = ctypes.c_int64(0)
        self._call("SCR_Stored_ranks", ctypes.byref(ranks))
        return ranks.value

    def from_rank(self, rank: int) -> State:
        """Makes the next field, count or file, and stored(), that of an old process::

            s.from_rank(r).field("buffer", buffer)

        Only when the state is read. Each old process's field may be listed once.
        """
        self._call("SCR_From_rank", _int64("the rank", rank), about=f"rank {rank}")
        return self

    @property
    def writing(self) -> bool:
        """True if the state is written."""
        return self._pass() == _PASS_WRITE

    @property
    def reading(self) -> bool:
        """True if the state is read. Before that the function is called once in which nothing changes."""
        return self._pass() == _PASS_READ

    def file(self, name: str) -> str:
        """The path of a file of this process in the same dataset, which the program writes or reads itself."""
        path = TextOut()
        self._call("SCR_State_file", _name(name), path.buffer, about=name)
        return str(path)

    def close(self) -> None:
        """Ends the list: SCR has no place for it after the function has returned."""
        self._handle = None

    def _pass(self) -> int:
        now = ctypes.c_int(0)
        self._call("SCR_Pass", ctypes.byref(now))
        return now.value

    def put(self, name: str, field: Field[T]) -> T:
        """Lists a field. Returns its value, or the one that takes its place."""
        with self._naming("field", name):
            return self._try_list(name, field)

    @contextmanager
    def _naming(self, what: str, name: str) -> Iterator[None]:
        """Says in the exceptions of a value that is wrong for which name it is."""
        try:
            yield
        except (TypeError, ValueError) as error:
            sort = TypeError if isinstance(error, TypeError) else ValueError
            raise sort(f'{what} "{self._full(name)}": {error}') from error

    def _try_list(self, name: str, field: Field[T]) -> T:
        encoded, value = _name(name), field.value
        stored = self.stored(name) if isinstance(value, (str, bytes)) else None
        scalar = scalar_of(value, stored)
        copy = field.copy
        if copy is not None and (scalar is not None or not callable(copy)):
            raise TypeError("copy is a function that copies the memory of an array")
        memory = memory_of(value, copy is not None) if scalar is None else scalar.memory
        made = scalar.value if scalar is not None else None
        where = "device" if memory.on_device and field.where is None else field.where
        if memory.readonly and not self.writing:
            fresh, where, copy = replacement_of(value, memory), None, None
            memory = fresh.memory
            # Without a stored field the value stays.
            made = fresh.value if self.stored(name) is not None else None
        dims = len(memory.shape)
        if dims > _DIMENSIONS:
            raise ValueError(f"it has {dims} dimensions; at most {_DIMENSIONS} are possible")
        self._next(name, field.missing, field.convert, where)
        if copy is not None:
            self._call("SCR_Copy", self._copies.of_c(copy), None, about=self._full(name))
        arguments = (
            encoded,
            ctypes.c_void_p(memory.address),
            ctypes.c_int(memory.kind),
            ctypes.c_int(dims),
            _int64s("its shape", memory.shape, dims),
            self._strides(memory),
        )
        if field.index is not None:
            if field.whole is not None or field.at is not None:
                raise ValueError("it has an index list, and so no whole and no place in it")
            self._call("SCR_Field_by_index", encoded, _name(field.index), *arguments[1:], about=self._full(name))
        elif field.is_same or (field.is_same is None and scalar is not None):
            self._call("SCR_Same", *arguments, about=self._full(name))
        else:
            place = (_int64s(what, n, dims) for what, n in (("whole", field.whole), ("at", field.at)))
            self._call("SCR_Field", *arguments, *place, about=self._full(name))
        if made is not None and self.reading:
            return cast(T, made())
        return value

    def _strides(self, memory: Memory) -> Optional[ctypes.Array[ctypes.c_int64]]:
        contiguous = memory.in_c_order if self._order == "C" else memory.in_fortran_order
        return None if contiguous else _int64s("its strides", memory.strides, len(memory.shape))

    def _next(self, name: str, missing: str, convert: bool, where: Optional[str]) -> None:
        if missing not in ("error", "keep"):
            raise ValueError(f'missing is {missing!r}; it can be "error" or "keep"')
        if where is not None and where not in _PLACES:
            raise ValueError(f'where is {where!r}; it can be "device" or "host"')
        options = _PLACES.get(where or "", 0)
        options |= (_KEEP_IF_MISSING if missing == "keep" else 0) | (_CONVERT if convert else 0)
        if options:
            self._call("SCR_Next_field", ctypes.c_int(options), about=self._full(name))

    def _full(self, name: str) -> str:
        return "/".join((*self._lists, str(name)))

    def _call(self, name: str, *arguments: Any, about: str = "") -> None:
        if self._handle is None:
            raise Error(name, reason="the function that lists the state has returned; its State is over")
        try:
            call(name, self._handle, *arguments, about=about)
        finally:
            self._copies.check()


def _tell_owners(owner: Owner, keys: int, length: int, ranks: int) -> None:
    """Asks for the ranks of keys, which lie at an address of C as 64 bits each; the ranks are ints of C."""
    given = (ctypes.c_int64 * length).from_address(keys)
    told = [operator.index(rank) for rank in owner(memoryview(given).cast("B").cast("q"))]
    if len(told) != length:
        raise ValueError(f"the owner gives {len(told)} ranks for {length} keys")
    place = (ctypes.c_int * length).from_address(ranks)
    place[:] = [rank if 0 <= rank < 2**31 else -1 for rank in told]


def _name(name: str) -> ctypes.c_char_p:
    if not isinstance(name, str):
        raise TypeError(f"a name of a field must be a str, and is a {type(name).__name__}: {name!r}")
    return text_in(name.encode())


def _int64(what: str, number: int) -> ctypes.c_int64:
    number = operator.index(number)
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{what} is {number}, which does not fit into 64 bits")
    return ctypes.c_int64(number)


def _int64s(what: str, numbers: Optional[Numbers], dims: int) -> Optional[ctypes.Array[ctypes.c_int64]]:
    """An array of C of so many numbers as there are dimensions; None for None."""
    if numbers is None:
        return None
    given = tuple(numbers) if isinstance(numbers, abc.Iterable) else (numbers,)
    if len(given) != dims:
        raise ValueError(f"{what} is {given}, and the array has {dims} dimensions")
    return (ctypes.c_int64 * dims)(*(_int64(what, number) for number in given))
