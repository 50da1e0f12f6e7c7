# The version is that of an installation by CMake, if this is in one; else that of Cargo.toml beside this directory; in
# a source archive of the module, where there is no Cargo.toml, it is that of the archive.
import atexit
import re
import shutil
import tempfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

here = Path(__file__).resolve().parent
installed = here / "scr" / "_installed.py"


def find(file, pattern):
    found = file.exists() and re.search(pattern, file.read_text(encoding="utf-8"), re.M)
    return found.group(1) if found else None


def version():
    found = (
        find(installed, r'^VERSION = "([^"]+)"')
        or find(here.parent / "Cargo.toml", r'^version = "([^"]+)"')
        or find(here / "PKG-INFO", r"^Version: (\S+)")
    )
    if not found:
        raise SystemExit(f"setup.py: neither {here.parent}/Cargo.toml nor {here}/PKG-INFO tells the version")
    return found


class BuildModule(build_py):
    """A copy of the module of an installation finds the libscr of that installation."""

    def run(self):
        super().run()
        library = find(installed, r'^LIBRARY = "([^"]+)"')
        copy = Path(self.build_lib) / "scr" / installed.name
        if library and copy.exists():
            path = str((installed.parent / library).resolve())
            copy.write_text(f'"""Where libscr is."""\n\nLIBRARY = {path!r}\n', encoding="utf-8")


options = {"cmdclass": {"build_py": BuildModule}}
if installed.exists():
    # An installation may be read-only, and stays as it is.
    work = tempfile.mkdtemp(prefix="scr-pip-")
    atexit.register(shutil.rmtree, work, ignore_errors=True)
    options["options"] = {"build": {"build_base": work}, "egg_info": {"egg_base": work}}

readme = here / "README.md" if (here / "README.md").exists() else here / "scr" / "README.md"
setup(
    version=version(),
    long_description=readme.read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    **options,
)
