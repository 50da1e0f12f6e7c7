"""A stand-in for the parts of Spack that our recipes use. It takes what Spack's documentation lists, and
refuses anything else. It is no Spack: it does not concretize, fetch or build."""

import contextlib
import os
import re
import subprocess
import sys
import types

DEPENDENCY_TYPES = {"build", "link", "run", "test"}
DIRECTIVES = {
    "version": {"branch", "tag", "commit", "sha256", "preferred", "deprecated"},
    "variant": {"default", "description", "values", "multi", "when"},
    "depends_on": {"when", "type"},
    "conflicts": {"when", "msg"},
    "extends": {"when", "type"},
    "maintainers": set(),
    "license": {"when", "checked_by"},
}


class SkipTest(Exception):
    """Raised by tests of a recipe that cannot run."""


class Prefix(str):
    """A directory; an attribute is a path below it."""

    def __getattr__(self, name):
        return Prefix(os.path.join(self, name))


class Executable:
    def __init__(self, path):
        self.path = str(path)

    def __call__(self, *words, output=None, error=None, extra_env=None):
        done = subprocess.run(
            [self.path, *map(str, words)],
            stdout=subprocess.PIPE if output else None,
            stderr=subprocess.STDOUT if error and output else None,
            env=dict(os.environ, **(extra_env or {})),
            universal_newlines=True,
        )
        if done.returncode != 0:
            raise RuntimeError("%s %s ended with %d: %s" % (self.path, words, done.returncode, done.stdout))
        return done.stdout


@contextlib.contextmanager
def working_dir(path):
    before = os.getcwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


class Spec:
    """A concrete spec: its version, its variants, and other specs for its dependencies."""

    def __init__(self, version, variants, prefix, dependencies=None, **attributes):
        self.version, self.variants, self.prefix = version, variants, prefix
        self.dependencies = dependencies or {}
        self.__dict__.update(attributes)

    def __getitem__(self, name):
        return self.dependencies[name]

    def satisfies(self, text):
        if text.startswith("@"):
            return text[1:] == self.version
        if not text[1:] in self.variants or text[0] not in "+~":
            raise AssertionError("no such variant: %s" % text)
        return self.variants[text[1:]] == (text[0] == "+")


class CMakePackage:
    """Base of the recipes: keeps what the directives say, in the order of the file."""

    run_tests = False

    def __init__(self, spec):
        self.spec, self.prefix = spec, spec.prefix
        self.stage = types.SimpleNamespace(path=os.path.join(os.getcwd(), "stage"))

    @staticmethod
    def define(name, value):
        if isinstance(value, bool):
            return "-D%s:BOOL=%s" % (name, "ON" if value else "OFF")
        return "-D%s:STRING=%s" % (name, value)

    def define_from_variant(self, name, variant):
        return self.define(name, self.spec.variants[variant])


def load(file, in_spack_package):
    """The classes of a recipe, and its directives as (name, positional, named). CMakePackage is in
    spack.package before Spack 1.0, and in a module of its own since."""
    told = []

    def directive(name):
        def take(*values, **named):
            unknown = set(named) - DIRECTIVES[name]
            assert len(values) == 1 and not unknown, "%s: %s(%s, %s)" % (file, name, values, named)
            told.append((name, values[0], named))

        return take

    package = types.ModuleType("spack.package")
    public = {name: directive(name) for name in DIRECTIVES}
    public.update(
        Executable=Executable, SkipTest=SkipTest, working_dir=working_dir, join_path=os.path.join
    )
    package.__dict__.update(public)
    modules = {"spack": types.ModuleType("spack"), "spack.package": package}
    if in_spack_package:
        package.CMakePackage = CMakePackage
        # Not found, whatever this machine has.
        modules["spack_repo"] = None
    else:
        for name in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
            modules[name] = types.ModuleType(name)
        cmake = types.ModuleType("spack_repo.builtin.build_systems.cmake")
        cmake.CMakePackage = CMakePackage
        modules[cmake.__name__] = cmake
    before = dict(sys.modules)
    sys.modules.update(modules)
    try:
        scope = {"__name__": "recipe"}
        with open(file, encoding="utf-8") as text:
            exec(compile(text.read(), file, "exec"), scope)
    finally:
        for name in modules:
            sys.modules.pop(name, None)
        sys.modules.update({name: module for name, module in before.items() if name in modules})
    classes = [
        value
        for value in scope.values()
        if isinstance(value, type) and issubclass(value, CMakePackage) and value is not CMakePackage
    ]
    return classes, told


def check(file, told):
    """The directives are well formed: conditions name variants that there are, types of dependencies are
    those of Spack."""
    variants = {name: named for kind, name, named in told if kind == "variant"}
    for kind, value, named in told:
        words = [named.get("when", "")]
        if kind == "conflicts":
            words.append(value)
        for name in re.findall(r"[+~]([a-z_]+)", " ".join(words)):
            assert name in variants, "%s: no variant %s" % (file, name)
        if kind == "depends_on":
            types_of = named.get("type", ("build", "link"))
            types_of = {types_of} if isinstance(types_of, str) else set(types_of)
            assert types_of <= DEPENDENCY_TYPES, "%s: %s has types %s" % (file, value, types_of)
            assert re.match(r"^[a-z][a-z0-9-]*(@[0-9.:]+)?([+~][a-z]+)*$", value), value
        if kind == "variant":
            assert named.get("description") and "default" in named, "%s: variant %s" % (file, value)
    return {name: named["default"] for name, named in variants.items()}
