#!/bin/sh
# RUSTC_WORKSPACE_WRAPPER of scripts/fuzz: compiles the engine, scr-jobs and the commands so that the fuzzer sees which code an
# input reaches. All other crates are compiled as in any build.
case " $* " in
*" --crate-name scr_engine "* | *" --crate-name scr_jobs "* | *" --crate-name scr_commands "*)
    exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
        -Cllvm-args=-sanitizer-coverage-trace-compares
    ;;
esac
exec "$@"
