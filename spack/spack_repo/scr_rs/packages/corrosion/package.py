# SPDX-License-Identifier: MIT OR Apache-2.0

try:
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:
    pass  # Spack before 1.0 has it in spack.package.

from spack.package import *


class Corrosion(CMakePackage):
    """Builds Rust packages as targets of CMake. Only for scr-rs +corrosion: Spack's own repository had no
    recipe for it."""

    homepage = "https://corrosion-rs.github.io/corrosion"
    git = "https://github.com/corrosion-rs/corrosion.git"

    license("MIT")

    version("0.6.1", tag="v0.6.1")
    version("0.5.2", tag="v0.5.2")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type=("build", "run"))
    depends_on("rust", type=("build", "run"))

    def cmake_args(self):
        return [self.define("CORROSION_BUILD_TESTS", False)]
