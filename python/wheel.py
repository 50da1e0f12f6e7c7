#!/usr/bin/env python3
"""Makes a wheel of an installation: python3 wheel.py PREFIX OUTDIR

PREFIX is what `cmake --install` has installed of a build with -DSCR_MPI=found. All of it is packed:

    scr/            the module
    scr_rs/         the installation: bin, include, lib, share. Its commands become commands of the environment
    share/man ...   manual pages and completions, in the environment's own share

The wheel is for each Linux that has the symbol versions which the files need. Its tag is read from the files.
The same installation makes the same wheel, byte for byte.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import re
import struct
import sys
import zipfile
from pathlib import Path, PurePosixPath
from typing import Dict, List, NamedTuple, Optional, Tuple

from elf import Elf, read_elf

#: The installation in the wheel.
PACKAGE = "scr_rs"

#: Below share, what programs look for in the share of the environment.
ENVIRONMENT = ("man", "bash-completion", "zsh", "fish")

#: What each Linux with glibc has.
SYSTEM = re.compile(r"(ld-linux[^/]*|lib(c|m|dl|rt|pthread|util|resolv|gcc_s)\.so\.[0-9]+|ld64\.so\.[0-9]+)")

#: The oldest glibc that the tag names. Nothing older has a Python 3.8.
OLDEST = (2, 17)


class Refused(Exception):
    """There can be no wheel of this installation."""


class File(NamedTuple):
    """A file of the wheel."""

    content: bytes
    executable: bool = False


class Installation:
    """What is in PREFIX: files by their paths in it, and the names that are links to the command."""

    def __init__(self, prefix: Path) -> None:
        self.prefix = prefix
        self.files: Dict[str, File] = {}
        self.commands: List[str] = ["scr"]
        self.libraries: Dict[str, Elf] = {}
        for directory, names, files in os.walk(prefix):
            for name in sorted(names + files):
                path = Path(directory, name)
                if path.is_symlink():
                    self._link(path)
                elif path.is_file():
                    self._file(path)
        if "bin/scr" not in self.files:
            raise Refused(f"{prefix} is no installation of scr-rs: there is no bin/scr in it")

    def _name(self, path: Path) -> str:
        return path.relative_to(self.prefix).as_posix()

    def _file(self, path: Path) -> None:
        name, content = self._name(path), path.read_bytes()
        elf = read_elf(content, name)
        if elf is not None:
            self.libraries[name] = elf
            # A wheel has no links: the library gets the name that the loader looks for.
            name = str(PurePosixPath(name).with_name(elf.soname)) if elf.soname else name
        self.files[name] = File(content, os.access(path, os.X_OK))

    def _link(self, path: Path) -> None:
        name, target = self._name(path), path.resolve()
        if not target.is_file() or self.prefix not in target.parents:
            raise Refused(f"{name} is a link to {os.readlink(path)}, which is no file of the installation")
        if target == self.prefix / "bin" / "scr":
            self.commands.append(path.name)
            return
        content = target.read_bytes()
        elf = read_elf(content, name)
        if elf is None or not elf.soname:
            self.files[name] = File(content, os.access(target, os.X_OK))
        elif path.name.endswith(".so"):
            # For the linker. A copy would be another library to the loader.
            script = f"/* GNU ld script, in place of a link */\nINPUT({elf.soname})\n"
            self.files[name] = File(script.encode())

    def renamed(self) -> Dict[str, str]:
        """Names of libraries that are not in the wheel, and what they are there."""
        names = ((PurePosixPath(name).name, elf.soname) for name, elf in self.libraries.items())
        return {name: soname for name, soname in names if soname and name != soname}

    def find(self, end: str) -> str:
        """The one file with this end of its path."""
        found = [name for name in self.files if f"/{name}".endswith(f"/{end}")]
        if len(found) != 1:
            raise Refused(f"{self.prefix} has {len(found)} files named {end}, and not one")
        return found[0]

    def text(self, name: str) -> str:
        return self.files[name].content.decode("utf-8")


def platform_tag(installation: Installation) -> Tuple[str, str]:
    """The tag of the platform, and the file that asks for it."""
    own = {elf.soname for elf in installation.libraries.values()}
    least, because, machines = OLDEST, "", set()
    for name, elf in sorted(installation.libraries.items()):
        machines.add(elf.machine)
        for library in elf.needed:
            if library not in own and not SYSTEM.fullmatch(library):
                raise Refused(
                    f"{name} needs {library}, which is not on each Linux. A wheel is made of a build with "
                    "-DSCR_MPI=found, without compiled Fortran"
                )
        for version in elf.versions:
            needed = glibc_of(version, name)
            if needed > least:
                least, because = needed, f"{name} needs {version}"
    if len(machines) != 1:
        raise Refused(f"the files are for several machines, {', '.join(sorted(machines))}")
    tag = f"manylinux_{least[0]}_{least[1]}_{machines.pop()}"
    return tag, because or "no file needs a newer glibc"


def glibc_of(version: str, name: str) -> Tuple[int, int]:
    """The glibc that has a symbol version."""
    numbers = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version)
    if numbers:
        return int(numbers.group(1)), int(numbers.group(2))
    if version == "GLIBC_ABI_DT_RELR":
        return 2, 36
    # libgcc_s of GCC 4.8, the oldest that is beside such a glibc.
    if re.fullmatch(r"GCC_(3\.\d|4\.[0-8])(\.\d+)*", version):
        return OLDEST
    raise Refused(f"{name} needs {version}, which is not on each Linux")


def python_version(version: str) -> str:
    """The version as Python writes it: 0.2.0-rc.1 is 0.2.0rc1."""
    short = {"alpha": "a", "beta": "b", "rc": "rc"}
    parts = re.fullmatch(r"(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.?(\d+))?", version)
    if not parts:
        raise Refused(f"{version} is no version that Python knows")
    return parts.group(1) + (short[parts.group(2)] + parts.group(3) if parts.group(2) else "")


def module_files(installation: Installation) -> Dict[str, File]:
    """The module, as a copy that finds the libscr of the wheel."""
    installed = PurePosixPath(installation.find("scr/_installed.py"))
    files = {}
    for name, file in installation.files.items():
        path = PurePosixPath(name)
        if path.parent == installed.parent and path.suffix in (".py", ".typed"):
            files[f"scr/{path.name}"] = file
    text = installation.text(str(installed))
    named = re.search(r'^LIBRARY = "([^"]+)"', text, re.M)
    library = os.path.normpath(str(installed.parent / named.group(1))) if named else ""
    if library not in installation.files:
        raise Refused(f"{installed} names {library or 'no library'}, which is not in the installation")
    text = re.sub(r'^LIBRARY = "[^"]+"', f'LIBRARY = "../{PACKAGE}/{library}"', text, flags=re.M)
    files["scr/_installed.py"] = File(text.encode())
    return files


def metadata(installation: Installation, version: str) -> str:
    project = installation.text(installation.find("python/pyproject.toml"))

    def told(pattern: str) -> str:
        found = re.search(pattern, project, re.M)
        if not found:
            raise Refused(f"pyproject.toml of the module has no line {pattern}")
        return found.group(1)

    readme = installation.text(installation.find("python/scr/README.md"))
    head = [
        "Metadata-Version: 2.1",
        "Name: " + told(r'^name = "(.+)"$'),
        f"Version: {version}",
        "Summary: " + told(r'^description = "(.+)"$'),
        "License: " + told(r'^license = \{ text = "(.+)" \}$'),
        "Requires-Python: " + told(r'^requires-python = "(.+)"$'),
        "Classifier: Operating System :: POSIX :: Linux",
        "Provides-Extra: mpi",
        "Requires-Dist: " + told(r'^mpi = \["(.+)"\]$') + ' ; extra == "mpi"',
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(head) + "\n\n" + readme


def contents(installation: Installation, version: str, tag: str) -> Dict[str, File]:
    """All files of the wheel but the record."""
    own = Path(__file__).resolve().parent / PACKAGE / "__init__.py"
    info, data = f"{PACKAGE}-{version}.dist-info", f"{PACKAGE}-{version}.data/data"
    files = module_files(installation)
    files[f"{PACKAGE}/__init__.py"] = File(own.read_bytes())
    renamed = installation.renamed()
    for name, file in installation.files.items():
        parts = PurePosixPath(name).parts
        if name.endswith(".cmake"):
            text = file.content.decode("utf-8")
            for old, new in renamed.items():
                text = text.replace(old, new)
            file = File(text.encode(), file.executable)
        in_environment = len(parts) > 2 and parts[0] == "share" and parts[1] in ENVIRONMENT
        files[f"{data if in_environment else PACKAGE}/{name}"] = file
        if parts[-1].startswith("LICENSE-") or parts[-1] == "THIRD-PARTY-NOTICES.md":
            files[f"{info}/licenses/{parts[-1]}"] = file
    commands = "".join(f"{name} = {PACKAGE}:main\n" for name in sorted(installation.commands))
    wheel = f"Wheel-Version: 1.0\nGenerator: scr-rs {version}\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files[f"{info}/METADATA"] = File(metadata(installation, version).encode())
    files[f"{info}/WHEEL"] = File(wheel.encode())
    files[f"{info}/entry_points.txt"] = File(f"[console_scripts]\n{commands}".encode())
    return files


def write(path: Path, record: str, files: Dict[str, File]) -> None:
    """Writes the wheel, with a record of its files."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    for name in sorted(files):
        content = files[name].content
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        writer.writerow([name, f"sha256={digest}", len(content)])
    writer.writerow([record, "", ""])
    partial = path.with_name(path.name + ".partial")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            add(archive, name, files[name])
        add(archive, record, File(lines.getvalue().encode()))
    os.replace(partial, path)


def add(archive: zipfile.ZipFile, name: str, file: File) -> None:
    entry = zipfile.ZipInfo(name)  # of 1980, whenever it is made
    entry.create_system = 3
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o100755 if file.executable else 0o100644) << 16
    archive.writestr(entry, file.content)


def main(arguments: List[str]) -> Optional[str]:
    if arguments in (["-h"], ["--help"]):
        print(__doc__)
        return None
    if len(arguments) != 2:
        return "usage: wheel.py PREFIX OUTDIR"
    prefix, out = Path(arguments[0]).resolve(), Path(arguments[1])
    try:
        installation = Installation(prefix)
        told = re.search(r'^VERSION = "([^"]+)"', installation.text(installation.find("scr/_installed.py")), re.M)
        version = python_version(told.group(1) if told else "none")
        platform, because = platform_tag(installation)
        tag = f"py3-none-{platform}"
        files = contents(installation, version, tag)
        out.mkdir(parents=True, exist_ok=True)
        wheel = out / f"{PACKAGE}-{version}-{tag}.whl"
        write(wheel, f"{PACKAGE}-{version}.dist-info/RECORD", files)
    except (Refused, OSError, ValueError, struct.error) as error:
        return f"wheel.py: {error}"
    print(f"{wheel}: {wheel.stat().st_size} bytes, {len(files) + 1} files; {because}")
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
