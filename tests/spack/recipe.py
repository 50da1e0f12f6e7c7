"""Usage: recipe.py SOURCES BUILD

Reads the recipes for Spack with a stand-in for Spack, in both layouts, and runs the tests of scr-rs that
`spack test run` would run against an installation of BUILD. Run through tests/in_empty_directory.sh."""

import itertools
import os
import re
import subprocess
import sys

import stand_in
from stand_in import Prefix, SkipTest, Spec


def class_name(package):
    """ScrRs for scr-rs."""
    return "".join(word.capitalize() for word in package.split("-"))


def read_layouts(spack):
    """Every recipe, in the layout before Spack 1.0 and in that since; both are the same files."""
    new = os.path.join(spack, "spack_repo", "scr_rs")
    recipes = {}
    for root, old in ((spack, True), (new, False)):
        with open(os.path.join(root, "repo.yaml"), encoding="utf-8") as file:
            text = file.read()
        assert re.search(r"^  namespace: scr_rs$", text, re.M), text
        assert old or re.search(r"^  api: v2\.\d+$", text, re.M), text
        for directory in sorted(os.listdir(os.path.join(root, "packages"))):
            file = os.path.join(root, "packages", directory, "package.py")
            package = directory.replace("_", "-")
            assert re.match(r"^[a-z0-9-]+$" if old else r"^[a-z0-9_]+$", directory), directory
            classes, told = stand_in.load(file, in_spack_package=old)
            assert [cls.__name__ for cls in classes] == [class_name(package)], (file, classes)
            defaults = stand_in.check(file, told)
            recipes.setdefault(package, []).append((classes[0], told, defaults))
    for package, both in recipes.items():
        assert len(both) == 2 and both[0][1] == both[1][1], "%s differs between the layouts" % package
    return {package: both[1] for package, both in recipes.items()}


def check_options(recipe, variants, sources):
    """Each option that the recipe gives to CMake is one that we, CMake or FindMPI know."""
    known = {"BUILD_SHARED_LIBS"}
    known |= {"MPI_%s_COMPILER" % language for language in ("C", "CXX", "Fortran")}
    ours = set()
    for name in ("ScrOptions.cmake", "ScrPython.cmake"):
        with open(os.path.join(sources, "cmake", name), encoding="utf-8") as file:
            ours |= set(re.findall(r"\b(?:SCR|ENABLE)_[A-Z_]+\b", file.read()))
    mpi = Spec("4", {}, Prefix("/mpi"), name="mpich", mpicc="mpicc", mpicxx="mpicxx", mpifc="mpifort")
    modules = type("Package", (), {"purelib": "lib/python3.11/site-packages"})
    python = Spec("3", {}, Prefix("/usr"), package=modules)
    lines = set()
    for values in itertools.product((True, False), repeat=len(variants)):
        spec = Spec("main", dict(zip(variants, values)), Prefix("/prefix"), {"mpi": mpi, "python": python})
        arguments = recipe(spec).cmake_args()
        names = [re.match(r"^-D([A-Za-z_]+):(?:BOOL|STRING)=", word).group(1) for word in arguments]
        assert len(set(names)) == len(names), names
        assert ("-DSCR_PYTHON_DIR:STRING=" + modules.purelib in arguments) == spec.satisfies("+python")
        unknown = set(names) - known - ours
        assert not unknown, "cmake has no options %s" % unknown
        lines.add(" ".join(arguments))
    assert len(lines) == 2 ** len(variants), "a variant changes nothing"


def run_tests(recipe, build, version):
    """The tests of the recipe, against what `cmake --install` makes."""
    environment = os.environ
    prefix = Prefix(os.path.join(os.getcwd(), "installed"))
    cmake = environment["SCR_TEST_CMAKE"]
    with open("install.log", "w", encoding="utf-8") as log:
        subprocess.run([cmake, "--install", build, "--prefix", prefix], check=True, stdout=log)

    # The stand-in's prefixes have the same names as the real ones: bin/mpiexec, bin/cmake.
    for place, program in (("mpi", environment["SCR_TEST_MPIEXEC"]), ("tool", cmake)):
        os.makedirs(os.path.join(place, "bin"))
        name = "mpiexec" if place == "mpi" else "cmake"
        # No link: mpiexec of MPICH looks for its other programs beside the path of its command.
        with open(os.path.join(place, "bin", name), "w", encoding="utf-8") as script:
            script.write('#!/bin/sh\nexec "%s" "$@"\n' % program)
            os.fchmod(script.fileno(), 0o755)
    mpi = Spec(
        "4",
        {},
        Prefix(os.path.abspath("mpi")),
        name="mpich",
        mpicc=environment["SCR_TEST_MPICC"],
        mpicxx=environment["SCR_TEST_MPICXX"],
        mpifc=environment["SCR_TEST_MPIFC"],
    )
    shared = environment["SCR_TEST_SHARED"] == "1"
    try:
        import numpy

        python = shared and numpy is not None
    except ImportError:
        python = False
    variants = {
        "shared": shared,
        "fortran": bool(mpi.mpifc),
        "python": python,
        "examples": True,
        "corrosion": False,
        "mysql": False,
    }
    command = type("Command", (), {"path": sys.executable})
    modules = type("Package", (), {"purelib": "share/scr/python"})  # of this installation
    dependencies = {
        "mpi": mpi,
        "cmake": Spec("3", {}, Prefix(os.path.abspath("tool"))),
        "python": Spec("3", {}, Prefix("/usr"), command=command, package=modules),
    }
    package = recipe(Spec(version, variants, prefix, dependencies))
    # The tests have directories of their own; these are of the one around them.
    for name in [name for name in os.environ if name.startswith("SCR_")]:
        del os.environ[name]
    tests = [name for name in dir(package) if name.startswith("test_")]
    assert len(tests) >= 6, tests
    for name in tests:
        directory = os.path.abspath("run-" + name)
        os.mkdir(directory)
        if name == "test_cxx" and not mpi.mpicxx:
            print("SKIPPED: %s: there is no C++ compiler of MPI" % name)
            continue
        with stand_in.working_dir(directory):
            try:
                getattr(package, name)()
                print("ok: %s" % name)
            except SkipTest as reason:
                print("SKIPPED: %s: %s" % (name, reason))


def configure_from_here(recipe, defaults, sources):
    """The sources that the recipe lies in, configured as `spack dev-build` does, with an external MPI whose
    name is right and one whose name is wrong."""
    environment = os.environ
    accepted = []
    for name in ("mpich", "openmpi", "another-mpi"):
        mpi = Spec(
            "4",
            {},
            Prefix("/mpi"),
            name=name,
            mpicc=environment["SCR_TEST_MPICC"],
            mpicxx=environment["SCR_TEST_MPICXX"] or "none",
            mpifc=environment["SCR_TEST_MPIFC"],
        )
        variants = dict(defaults, fortran=False)
        package = recipe(Spec("main", variants, Prefix(os.path.abspath("dev")), {"mpi": mpi}))
        line = [environment["SCR_TEST_CMAKE"], "-S", sources, "-B", "dev-build-" + name]
        line += package.cmake_args()
        done = subprocess.run(
            line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, check=False
        )
        if done.returncode == 0:
            accepted.append(name)
        else:
            assert "as SCR_EXPECTED_MPI asks" in done.stdout.replace("\n", " "), done.stdout
    assert len(accepted) == 2 and accepted[1] == "another-mpi", accepted
    print("ok: configured with %s, and not with what only has another name" % accepted[0])


def main():
    sources, build = sys.argv[1:]
    recipes = read_layouts(os.path.join(sources, "spack"))
    recipe, told, defaults = recipes["scr-rs"]
    assert set(defaults) == {"shared", "fortran", "python", "examples", "corrosion", "mysql"}, defaults
    check_options(recipe, sorted(defaults), sources)
    assert ("extends", "python", {"when": "+python"}) in told, "the module is no extension of Python"
    assert any(kind == "maintainers" for kind, _, _ in told), "nobody maintains the recipe"
    assert set(recipe.MPI_FAMILIES.values()) == {"MPICH", "OPENMPI"}, recipe.MPI_FAMILIES
    with open(os.path.join(sources, "Cargo.toml"), encoding="utf-8") as file:
        manifest = file.read()
    minimum = re.search(r'^rust-version = "([0-9.]+)"', manifest, re.M).group(1)
    configure_from_here(recipe, defaults, sources)
    assert ("depends_on", "rust@%s:" % minimum, {"type": "build"}) in told, "the recipe wants another Rust"
    version = re.search(r'^version = "([^"]+)"', manifest, re.M).group(1)
    run_tests(recipe, build, version)


main()
