# The version is that of Cargo.toml beside this directory; in a source archive of the module, where there
# is no Cargo.toml, it is that of the archive.
import re
from pathlib import Path

from setuptools import setup

here = Path(__file__).resolve().parent


def version():
    for file, pattern in (
        (here.parent / "Cargo.toml", r'^version = "([^"]+)"'),
        (here / "PKG-INFO", r"^Version: (\S+)"),
    ):
        found = file.exists() and re.search(pattern, file.read_text(encoding="utf-8"), re.M)
        if found:
            return found.group(1)
    raise SystemExit(f"setup.py: neither {here.parent}/Cargo.toml nor {here}/PKG-INFO tells the version")


setup(version=version())
