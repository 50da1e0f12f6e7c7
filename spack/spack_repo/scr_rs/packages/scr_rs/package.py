# SPDX-License-Identifier: MIT OR Apache-2.0

import os

try:
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:
    pass  # Spack before 1.0 has it in spack.package.

from spack.package import *


class ScrRs(CMakePackage):
    """Scalable Checkpoint / Restart for MPI codes in Fortran, C, C++ and Python: a drop-in for the SCR 3.1
    library, written in Rust."""

    homepage = "https://github.com/scr-rs/scr-rs"
    url = "https://github.com/scr-rs/scr-rs/releases/download/v0.1.0/scr-rs-0.1.0.tar.gz"
    git = "https://github.com/scr-rs/scr-rs.git"

    maintainers("scr-rs")

    license("MIT OR Apache-2.0")

    # From the checkout or archive that this recipe lies in nothing is fetched: spack dev-build, or spack
    # develop. Cargo downloads the crates for these versions, and for a checkout. A copy of this recipe outside
    # of the sources names the release archive instead, which has them: version("0.1.0", sha256="..."), as
    # scripts/release prints it.
    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("shared", default=True, description="Build shared libraries beside the static ones")
    variant("fortran", default=True, description="Build the Fortran module and subroutines")
    variant("python", default=False, description="Install the Python module")
    variant("examples", default=False, description="Build the examples; their sources are installed anyway")
    variant("corrosion", default=False, description="Run Cargo through Corrosion")
    variant("mysql", default=False, description="Write the event log to a MySQL or MariaDB database, too")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.18:", type=("build", "test"))
    depends_on("rust@1.89:", type="build")
    depends_on("mpi@3:")
    depends_on("corrosion@0.5:", type="build", when="+corrosion")
    # The module is where Python looks for it in a view, and `spack load` finds it.
    extends("python", when="+python")
    depends_on("python@3.8:", type=("build", "run"), when="+python")
    depends_on("py-numpy", type="test", when="+python")

    conflicts("+python", when="~shared", msg="the Python module needs the shared library")
    conflicts("platform=darwin", msg="SCR is for Linux")
    conflicts("platform=windows", msg="SCR is for Linux")

    MPI_FAMILIES = {
        "mpich": "MPICH",
        "mvapich": "MPICH",
        "mvapich-plus": "MPICH",
        "mvapich2": "MPICH",
        "mvapich2-gdr": "MPICH",
        "mvapich2x": "MPICH",
        "cray-mpich": "MPICH",
        "cray-mvapich2": "MPICH",
        "intel-mpi": "MPICH",
        "intel-oneapi-mpi": "MPICH",
        "openmpi": "OPENMPI",
        "fujitsu-mpi": "OPENMPI",
        "hpcx-mpi": "OPENMPI",
        "nvhpc": "OPENMPI",
        "spectrum-mpi": "OPENMPI",
    }

    def setup_build_environment(self, env):
        # Nothing of the user's Cargo is used or changed.
        env.set("CARGO_HOME", join_path(self.stage.path, "cargo-home"))

    def cmake_args(self):
        mpi = self.spec["mpi"]
        args = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("SCR_ENABLE_FORTRAN", "fortran"),
            self.define_from_variant("SCR_ENABLE_PYTHON", "python"),
            self.define_from_variant("SCR_ENABLE_EXAMPLES", "examples"),
            self.define("SCR_ENABLE_TESTS", self.run_tests),
            self.define_from_variant("SCR_USE_CORROSION", "corrosion"),
            self.define_from_variant("SCR_ENABLE_MYSQL", "mysql"),
            self.define("MPI_C_COMPILER", mpi.mpicc),
            self.define("MPI_CXX_COMPILER", mpi.mpicxx),
        ]
        # An external MPI may be another one than its name says.
        if mpi.name in self.MPI_FAMILIES:
            args.append(self.define("SCR_EXPECTED_MPI", self.MPI_FAMILIES[mpi.name]))
        if self.spec.satisfies("+fortran"):
            args.append(self.define("MPI_Fortran_COMPILER", mpi.mpifc))
        if self.spec.satisfies("+python"):
            args.append(self.define("SCR_PYTHON_DIR", self._modules()))
        return args

    def _modules(self):
        """The directory of Python's modules, below the prefix."""
        return self.spec["python"].package.purelib

    @staticmethod
    def _library_directories(prefix):
        return [os.path.join(prefix, name) for name in ("lib", "lib64")]

    # Tests of an installation, which `spack test run scr-rs` runs: programs in each language are built against
    # it as users do, run, and go on from their last checkpoint.

    def test_command(self):
        """run the scr command"""
        scr = Executable(join_path(self.prefix.bin, "scr"))
        told = scr("--version", output=str.split, error=str.split)
        if self.spec.satisfies("@main"):
            assert "SCR interface" in told, told
        else:
            assert str(self.spec.version) in told, told

    def test_c(self):
        """build the example in C, and restart it"""
        self._compile_and_restart(self.spec["mpi"].mpicc, "heat2d.c", "-lscr")

    def test_cxx(self):
        """build the example in C++, and restart it"""
        self._compile_and_restart(self.spec["mpi"].mpicxx, "heat2d.cpp", "-lscr", "-std=c++17")

    def test_fortran(self):
        """build the example in Fortran, and restart it"""
        if self.spec.satisfies("~fortran"):
            raise SkipTest("the Fortran interface is not installed")
        self._compile_and_restart(self.spec["mpi"].mpifc, "heat2d.f90", "-lscrf", "-lscr")

    def test_cmake(self):
        """build the example in C by CMake, and restart it"""
        with open("CMakeLists.txt", "w") as file:
            file.write(
                "cmake_minimum_required(VERSION 3.18)\n"
                "project(consumer LANGUAGES C)\n"
                "find_package(MPI REQUIRED COMPONENTS C)\n"
                "find_package(scr REQUIRED)\n"
                "add_executable(consumer %s)\n"
                "target_link_libraries(consumer PRIVATE scr::scr%s MPI::MPI_C)\n"
                % (self._example("heat2d.c"), self._static("-static"))
            )
        cmake = Executable(self.spec["cmake"].prefix.bin.cmake)
        cmake(
            "-S",
            ".",
            "-B",
            "consumer-build",
            "-DCMAKE_PREFIX_PATH=%s" % self.prefix,
            "-DMPI_C_COMPILER=%s" % self.spec["mpi"].mpicc,
        )
        cmake("--build", "consumer-build")
        self._restart("cmake", os.path.abspath("consumer-build/consumer"))

    def test_python(self):
        """restart the example in Python"""
        if self.spec.satisfies("~python"):
            raise SkipTest("the Python module is not installed")
        self._restart("python", self.spec["python"].command.path, self._example("heat_numpy.py"))

    def _example(self, name):
        return join_path(self.prefix, "share", "scr", "examples", name)

    def _static(self, text):
        return "" if self.spec.satisfies("+shared") else text

    def _compile_and_restart(self, compiler, source, *words):
        program = os.path.abspath(source.replace(".", "_"))
        places = [place for place in self._library_directories(self.prefix) if os.path.isdir(place)]
        line = ["-I%s" % self.prefix.include, self._example(source), "-o", program]
        for place in places:
            line += ["-L%s" % place, "-Wl,-rpath,%s" % place]
        line += words
        if self.spec.satisfies("~shared"):
            line += ["-lpthread", "-ldl", "-lm"]
        Executable(compiler)(*line)
        self._restart(source, program)

    def _restart(self, name, *program):
        """Runs a program in two parts, the second of which begins with a checkpoint of the first."""
        launcher = join_path(self.spec["mpi"].prefix.bin, "mpiexec")
        if not os.path.exists(launcher):
            raise SkipTest("there is no %s to start programs with" % launcher)
        prefix = os.path.abspath("prefix-of-" + name)
        os.makedirs(prefix)
        environment = {
            "SCR_PREFIX": prefix,
            "SCR_CACHE_BASE": prefix,
            "SCR_CNTL_BASE": prefix,
            "SCR_JOB_ID": "spack-test",
        }
        if self.spec.satisfies("+python"):
            environment["PYTHONPATH"] = join_path(self.prefix, self._modules())

        def run(steps):
            words = list(program) + ["size", "64", "every", "10", "steps", steps, "output", ""]
            with working_dir(prefix):
                return Executable(launcher)(
                    "-n", "2", *words, output=str.split, error=str.split, extra_env=environment
                )

        told = run("15")
        assert "checkpoint heat2d.10" in told, told
        told = run("30")
        assert "restarted from heat2d.10" in told, told
        assert "finished step 30" in told, told
