# scr::scrf and scr::scrf-static where the module is installed as source: the project compiles it, with its own compiler
# and flags, once for all of its targets. They are imported, so that a library that uses them can be exported.

if(NOT TARGET scr_fortran_module)
    add_library(scr_fortran_module STATIC EXCLUDE_FROM_ALL
        "${_scr_fortran}/scrf.F90" "${_scr_fortran}/scrf_classic.f90")
    set(_scr_modules "${CMAKE_BINARY_DIR}/scr-fortran")
    file(MAKE_DIRECTORY "${_scr_modules}") # CMake 3.18 wants it there.
    set_target_properties(scr_fortran_module PROPERTIES OUTPUT_NAME scrf POSITION_INDEPENDENT_CODE ON
        ARCHIVE_OUTPUT_DIRECTORY "${_scr_modules}" Fortran_MODULE_DIRECTORY "${_scr_modules}")
    target_include_directories(scr_fortran_module INTERFACE "${_scr_modules}")
endif()
foreach(_scr_kind IN ITEMS "" "-static")
    if(TARGET scr::scr${_scr_kind} AND NOT TARGET scr::scrf${_scr_kind})
        add_library(scr::scrf${_scr_kind} INTERFACE IMPORTED)
        set_target_properties(scr::scrf${_scr_kind} PROPERTIES
            INTERFACE_LINK_LIBRARIES "scr_fortran_module;scr::scr${_scr_kind}")
    endif()
endforeach()
