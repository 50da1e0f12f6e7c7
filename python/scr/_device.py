"""Arrays of other libraries than numpy, whose memory may be that of a device: CuPy, PyTorch, Numba, JAX.

They say where their elements are by one of two protocols: ``__cuda_array_interface__``, also of libraries for ROCm, or
DLPack. Both name a stream, which is not asked for: SCR waits for all work of the device, unless State.stream() says
otherwise.
"""

from __future__ import annotations

import ctypes
import operator
import sys
from typing import Any, Optional, Tuple

from ._kinds import BYTES, CHARACTER, COMPLEX, INTEGER, LOGICAL, REAL, UNSIGNED, Memory, dense_strides, kind_of

#: The classes by the letters of ``__cuda_array_interface__``, which are those of numpy.
_LETTERS = {"b": LOGICAL, "i": INTEGER, "u": UNSIGNED, "f": REAL, "c": COMPLEX, "S": CHARACTER, "V": BYTES}

#: The classes by the numbers of DLPack. The others, as bfloat16, are bytes, of which nothing is lost.
_CODES = {0: INTEGER, 1: UNSIGNED, 2: REAL, 5: COMPLEX, 6: LOGICAL}

#: Types of devices of DLPack whose memory the processor reads: its own, and pinned memory of CUDA and ROCm.
_NEAR = (1, 3, 11)

#: Those whose drivers SCR knows: CUDA, ROCm, and managed memory of CUDA.
_KNOWN = (2, 10, 13)

#: A flag of DLPack.
_READ_ONLY = 1

#: What an array is asked for at most: a newer form has another layout.
_NEWEST = (1, 0)


class _Tensor(ctypes.Structure):
    """DLTensor of DLPack."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("dims", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned of DLPack 1."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


def is_on_device(value: Any) -> bool:
    """True for an array that says by ``__cuda_array_interface__`` where it is."""
    return _interface(value) is not None


def memory_by_interface(value: Any) -> Optional[Memory]:
    """The memory of an array with ``__cuda_array_interface__``; None for others."""
    interface = _interface(value)
    if interface is None:
        return None
    if interface.get("mask") is not None:
        raise TypeError("it has a mask, which a field cannot have; list the array and the mask")
    shape = tuple(operator.index(extent) for extent in interface["shape"])
    address, readonly = interface["data"]
    order, letter, size = interface["typestr"][0], interface["typestr"][1], int(interface["typestr"][2:])
    if size > 1 and order == (">" if sys.byteorder == "little" else "<"):
        raise TypeError("its elements have their bytes in the order of another machine")
    of_class = BYTES if "bfloat16" in str(getattr(value, "dtype", "")) else _LETTERS.get(letter, 0)
    if of_class == 0:
        raise TypeError(f"its elements are of type {interface['typestr']!r}, which cannot be those of a field")
    strides = interface.get("strides")
    bytes_of_strides = dense_strides(shape, size) if strides is None else tuple(operator.index(stride) for stride in strides)
    return _memory(kind_of(of_class, size), shape, bytes_of_strides, size, address or 0, bool(readonly), (value, True))


def memory_by_dlpack(value: Any, is_copied: bool) -> Optional[Memory]:
    """The memory of an array with the methods of DLPack; None for others. Of any device if the program copies it."""
    try:
        ask, export = value.__dlpack_device__, value.__dlpack__
    except AttributeError:
        return None
    device = int(ask()[0])
    if device not in _NEAR and device not in _KNOWN and not is_copied:
        raise TypeError(
            f"its memory is that of a device of the type {device} of DLPack, whose driver SCR does not know; give a "
            "function that copies it (copy=), or list a copy of it in memory of the processor"
        )
    # The array need not wait for its stream: SCR does.
    arguments = {} if device not in _KNOWN else {"stream": -1}
    try:
        try:
            capsule = export(max_version=_NEWEST, **arguments)
        except TypeError:
            capsule = export(**arguments)
    except (BufferError, RuntimeError, ValueError) as error:
        raise TypeError(f"its library does not share its memory: {error}") from error
    tensor, readonly = _tensor_of(capsule)
    if tensor.lanes != 1 or tensor.bits % 8:
        raise TypeError(f"its elements have {tensor.bits} bits and {tensor.lanes} lanes, which a field cannot have")
    size = tensor.bits // 8
    shape = tuple(tensor.shape[dim] for dim in range(tensor.dims))
    strides = dense_strides(shape, size)
    if tensor.strides:
        strides = tuple(tensor.strides[dim] * size for dim in range(tensor.dims))
    address = (tensor.data or 0) + tensor.byte_offset
    kind = kind_of(_CODES.get(tensor.code, BYTES), size)
    # The capsule keeps the memory, and gives it back when nobody has it any more.
    return _memory(kind, shape, strides, size, address, readonly, (capsule, device in _KNOWN))


def handle_of(stream: Any) -> int:
    """The handle of a stream: a number, or an object of CuPy, PyTorch, or another library; 0 for None."""
    if stream is None:
        return 0
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return operator.index((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr"):
        handle = getattr(stream, name, None)
        if handle is not None:
            return operator.index(handle)
    try:
        return operator.index(stream)
    except TypeError:
        raise TypeError(
            f"the stream is a {type(stream).__name__}; give its handle as an int, or a stream of CuPy or PyTorch"
        ) from None


def _interface(value: Any) -> Any:
    try:
        return value.__cuda_array_interface__
    except AttributeError:
        return None
    except Exception as error:
        # PyTorch has its own words for a tensor that has gradients.
        raise TypeError(f"its library does not share its memory: {error}") from error


def _tensor_of(capsule: object) -> Tuple[_Tensor, bool]:
    """The tensor in a capsule of DLPack, and whether it is read-only."""
    # Functions of their own, as other modules may say otherwise how those of ctypes.pythonapi are called.
    has_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    if has_name(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(pointer(capsule, b"dltensor_versioned"))
        if versioned.major != _NEWEST[0]:
            raise TypeError(f"its library shares its memory by version {versioned.major} of DLPack, which SCR does not know")
        return versioned.tensor, bool(versioned.flags & _READ_ONLY)
    if not has_name(capsule, b"dltensor"):
        raise TypeError("its library does not share its memory as DLPack describes")
    return _Tensor.from_address(pointer(capsule, b"dltensor")), False


def _memory(
    kind: int,
    shape: Tuple[int, ...],
    strides: Tuple[int, ...],
    size: int,
    address: int,
    readonly: bool,
    kept: Tuple[object, bool],
) -> Memory:
    keeps, on_device = kept
    in_c_order = _is_dense(shape, strides, dense_strides(shape, size))
    in_fortran_order = _is_dense(shape, strides, dense_strides(shape[::-1], size)[::-1])
    return Memory(kind, shape, strides, in_c_order, in_fortran_order, address, readonly, keeps, on_device)


def _is_dense(shape: Tuple[int, ...], strides: Tuple[int, ...], dense: Tuple[int, ...]) -> bool:
    """True if the strides lead to the same places as the dense ones."""
    if 0 in shape:
        return True
    return all(extent == 1 or stride == other for extent, stride, other in zip(shape, strides, dense))
