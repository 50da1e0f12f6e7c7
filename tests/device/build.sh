#!/bin/sh
# Builds the libraries without a device: build.sh DIRECTORY [COMPILER] makes DIRECTORY/libcuda.so.1,
# DIRECTORY/libamdhip64.so.6 with DIRECTORY/libhsa-runtime64.so.1, in DIRECTORY/old a libcuda.so.1 without newer functions, and
# in DIRECTORY/gomp a library of OpenACC and OpenMP.
# A program finds them by LD_LIBRARY_PATH.
set -eu
to=$1
cc=${2:-cc}
from=$(dirname "$0")
mkdir -p "$to/gomp" "$to/old"
# library FILE SOURCE...: the name is there only once the file is whole, for builds side by side.
library() {
    name=$1
    shift
    "$cc" -O2 -Wall -Wextra -Wno-unused-function -shared -fPIC -o "$to/$name.$$" "-Wl,-soname,${name##*/}" "$@" -lpthread -ldl
    mv "$to/$name.$$" "$to/$name"
}
library libcuda.so.1 "$from/fakecuda.c"
library old/libcuda.so.1 -DOLD "$from/fakecuda.c"
library libamdhip64.so.6 "$from/fakehip.c"
# shellcheck disable=SC2016 # The loader replaces $ORIGIN.
library libhsa-runtime64.so.1 "$from/empty.c" '-Wl,--no-as-needed,-rpath,$ORIGIN' "$to/libamdhip64.so.6"
library gomp/libgomp.so.1 "$from/fakegomp.c"
library gomp/libgomp-plugin-nvptx.so.1 "$from/empty.c"
