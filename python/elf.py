"""What a program or shared library asks of the system that runs it, as its dynamic section says."""

from __future__ import annotations

import struct
from typing import Dict, List, NamedTuple, Optional, Set, Tuple

#: Numbers of machines, and their names in tags of wheels.
MACHINES = {62: "x86_64", 183: "aarch64", 21: "ppc64le", 22: "s390x", 243: "riscv64"}

_LOAD, _DYNAMIC = 1, 2
_NEEDED, _STRINGS, _SONAME, _VERSIONS, _VERSION_FILES = 1, 5, 14, 0x6FFFFFFE, 0x6FFFFFFF


class Elf(NamedTuple):
    """The machine, the own name of a library, the libraries and the symbol versions that are needed."""

    machine: str
    soname: str
    needed: List[str]
    versions: Set[str]


def read_elf(content: bytes, name: str) -> Optional[Elf]:
    """Reads a file; None if it is no program and no shared library."""
    if not content.startswith(b"\x7fELF"):
        return None
    if content[4] != 2:
        raise ValueError(f"{name} is not for a machine of 64 bits")
    order = "<" if content[5] == 1 else ">"
    kind, machine = struct.unpack_from(order + "HH", content, 16)
    if kind not in (2, 3):
        return None
    return _Reader(content, order).read(MACHINES.get(machine, f"machine{machine}"))


class _Reader:
    def __init__(self, content: bytes, order: str) -> None:
        self.content, self.order = content, order
        self.loads: List[Tuple[int, int, int]] = []
        self.entries: Dict[int, List[int]] = {}

    def _at(self, form: str, offset: int) -> Tuple[int, ...]:
        return struct.unpack_from(self.order + form, self.content, offset)

    def read(self, machine: str) -> Elf:
        (start,) = self._at("Q", 32)
        size, count = self._at("HH", 54)
        dynamic = None
        for number in range(count):
            kind, _, offset, address, _, length = self._at("IIQQQQ", start + number * size)
            if kind == _LOAD:
                self.loads.append((address, length, offset))
            elif kind == _DYNAMIC:
                dynamic = offset, length
        if dynamic is not None:
            self._read_dynamic(*dynamic)
        names = self.entries.get(_SONAME, [])
        needed = [self._text(offset) for offset in self.entries.get(_NEEDED, [])]
        return Elf(machine, self._text(names[0]) if names else "", needed, self._versions())

    def _read_dynamic(self, offset: int, length: int) -> None:
        for entry in range(offset, offset + length, 16):
            kind, value = self._at("QQ", entry)
            if kind == 0:
                break
            self.entries.setdefault(kind, []).append(value)

    def _offset(self, address: int) -> int:
        for start, length, offset in self.loads:
            if start <= address < start + length:
                return offset + address - start
        raise ValueError(f"address {address:#x} is not in the file")

    def _text(self, offset: int) -> str:
        start = self._offset(self.entries[_STRINGS][0]) + offset
        return self.content[start : self.content.index(b"\0", start)].decode()

    def _versions(self) -> Set[str]:
        found: Set[str] = set()
        if _VERSIONS not in self.entries:
            return found
        file = self._offset(self.entries[_VERSIONS][0])
        for _ in range(self.entries[_VERSION_FILES][0]):
            _, count, _, first, next_file = self._at("HHIII", file)
            version = file + first
            for _ in range(count):
                *_, name, next_version = self._at("IHHII", version)
                found.add(self._text(name))
                version += next_version
            file += next_file
        return found
