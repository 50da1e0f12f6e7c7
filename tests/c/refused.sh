#!/usr/bin/env bash
# Usage: refused.sh INCLUDE COMPILER
# What cannot be a field does not compile, and the compiler tells why. Run through tests/in_empty_directory.sh.
set -euo pipefail

include=$1 compiler=$2

# Compiled once, where the compiler is GCC: it takes the result for the header.
printf '#include <%s>\n' list map scr.hpp >headers.hpp
"$compiler" -std=c++17 -I"$include" -x c++-header headers.hpp -o headers.hpp.gch || rm -f headers.hpp.gch

# refused MESSAGE STATEMENT: of a routine that lists the state `s`; with no message it compiles.
refused() {
    cat >program.cpp <<END
struct Plain { int number; double value; };
struct Owner { std::vector<int> numbers; };
void list(scr::State& s);
void list(scr::State& s)
{
    $2;
    scr::checkpoint([](scr::State&) {});
}
END
    local status=0
    "$compiler" -std=c++17 -fsyntax-only -I"$include" -include headers.hpp program.cpp >log 2>&1 || status=$?
    if [[ -z $1 && $status -ne 0 ]] || { [[ -n $1 ]] && ! grep -qF "$1" log; }; then
        cat log
        echo "FAILED: \"$1\" is not said of: $2"
        exit 1
    fi
}

refused "" 'Plain plain; s.field("x", scr::bytes(plain))'
refused "this type cannot be a field" 'Plain plain; s.field("x", plain)'
refused "this type cannot be a field" 'std::vector<Owner> all; s.field("x", all)'
refused "this type cannot be a field" 'std::map<int, int> map; s.same("x", map)'
refused "a pointer leads nowhere after a restart" 'double* data = nullptr; s.field("x", data)'
refused "a pointer leads nowhere after a restart" 'std::vector<int*> all; s.field("x", all)'
refused "a pointer leads nowhere after a restart" 'int* data = nullptr; s.field("x", scr::bytes(data))'
refused "scr::bytes takes trivially copyable types" 'Owner owner; s.field("x", scr::bytes(owner))'
refused "scr::bytes takes trivially copyable types" 'std::vector<Owner> all; s.field("x", scr::bytes(all))'
refused "it cannot be const" 'const double number = 1; s.field("x", number)'
refused "it cannot be const" 'const std::vector<int> all; s.field("x", all)'
refused "it cannot be const" 'const double* data = nullptr; s.field("x", scr::view(data, { 3 }))'
refused "a field is a variable" 's.field("x", 5.0)'
refused "a field is a variable" 's.field("x", std::vector<int>(5))'
refused "std::vector<bool> has no array of bool" 'std::vector<bool> all; s.field("x", all)'
refused "has a member void list(scr::State&)" 'Plain plain; s.list("x", plain)'
refused "the numbers of elements are integers" 'std::vector<double> ids; s.index("x", ids, 3)'
refused "the numbers of elements are integers" 'std::array<bool, 3> ids; s.index("x", ids, 3)'
refused "it cannot be const" 'const std::vector<int> all; s.field("x", all, scr::by("y"))'
refused "" 's.index("x", std::vector<int>(5), 5)'
