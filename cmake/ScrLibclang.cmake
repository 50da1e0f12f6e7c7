# libclang, which makes the bindings to MPI while the library is compiled, is looked for where the
# crate clang-sys looks for it, so that its absence is said here and not in the middle of the build.

if(SCR_MPI STREQUAL "found")
    return()
endif()
set(SCR_LIBCLANG_PATH "$ENV{LIBCLANG_PATH}" CACHE PATH
    "Directory of libclang.so; if empty, it is looked for")
if(SCR_LIBCLANG_PATH)
    list(APPEND SCR_CARGO_ENVIRONMENT LIBCLANG_PATH=${SCR_LIBCLANG_PATH})
    set(_scr_directories ${SCR_LIBCLANG_PATH})
    set(_scr_where "in ${SCR_LIBCLANG_PATH} (SCR_LIBCLANG_PATH)")
else()
    set(_scr_directories /usr/lib* /usr/lib*/* /usr/lib*/*/* /usr/local/lib* /usr/local/lib*/*
        /usr/local/lib*/*/* /usr/local/llvm*/lib* /opt/*/lib*)
    string(REPLACE ":" ";" _scr_more "$ENV{LD_LIBRARY_PATH}")
    list(APPEND _scr_directories ${_scr_more})
    find_program(_scr_llvm_config NAMES $ENV{LLVM_CONFIG_PATH} llvm-config)
    if(_scr_llvm_config)
        execute_process(COMMAND ${_scr_llvm_config} --prefix OUTPUT_VARIABLE _scr_more
            ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
        list(APPEND _scr_directories ${_scr_more}/lib*)
    endif()
    unset(_scr_llvm_config CACHE)
    set(_scr_where "")
endif()
set(_scr_libclang "")
foreach(_scr_directory IN LISTS _scr_directories)
    file(GLOB _scr_libclang ${_scr_directory} ${_scr_directory}/libclang.so*
        ${_scr_directory}/libclang-*.so*)
    list(FILTER _scr_libclang INCLUDE REGEX "/libclang(-[^/]*)?\\.so[^/]*$")
    if(_scr_libclang)
        break()
    endif()
endforeach()
if(NOT _scr_libclang)
    message(FATAL_ERROR "libclang was not found ${_scr_where}. The bindings to MPI are made by it. "
        "Install it (Debian: apt-get install libclang-dev; Red Hat: dnf install clang-libs), or name "
        "the directory of libclang.so with -DSCR_LIBCLANG_PATH=/path. (SCR-501)")
endif()
