# Finds MPI, and sees to it that compilers and launcher are of one MPI. With SCR_MPI=found the libraries need none, but
# tests and examples do.
#
# Debian installs several MPIs side by side as mpicc.mpich, mpicc.openmpi and so on. FindMPI
# takes MPI_C_COMPILER from the user but would still pick the launcher and the compilers of
# the system's default MPI, so their names are derived here.

# A bare name is looked up here, as the find_program calls below and in FindMPI would take it for a
# file in the working directory.
foreach(_scr_language IN ITEMS C CXX Fortran)
    set(_scr_given "${MPI_${_scr_language}_COMPILER}")
    if(_scr_given AND NOT _scr_given MATCHES "/")
        find_program(_scr_found_${_scr_language} NAMES ${_scr_given})
        mark_as_advanced(_scr_found_${_scr_language})
        if(NOT _scr_found_${_scr_language})
            message(FATAL_ERROR "MPI_${_scr_language}_COMPILER: ${_scr_given} was not found in PATH.")
        endif()
        if(SCR_TOP_LEVEL)
            set(MPI_${_scr_language}_COMPILER ${_scr_found_${_scr_language}} CACHE FILEPATH
                "MPI compiler for ${_scr_language}" FORCE)
        else()
            set(MPI_${_scr_language}_COMPILER ${_scr_found_${_scr_language}})
        endif()
        unset(_scr_found_${_scr_language} CACHE)
    endif()
endforeach()

# One that is given tells which MPI, also if it is not that for C.
foreach(_scr_language IN ITEMS C Fortran CXX)
    get_filename_component(_scr_name "${MPI_${_scr_language}_COMPILER}" NAME)
    if(_scr_name MATCHES "^mpi(cc|cxx|c\\+\\+|fort|f90|f77)([-.].+)$")
        set(_scr_suffix "${CMAKE_MATCH_2}")
        find_program(MPI_C_COMPILER NAMES mpicc${_scr_suffix})
        find_program(MPI_CXX_COMPILER NAMES mpicxx${_scr_suffix})
        find_program(MPI_Fortran_COMPILER NAMES mpifort${_scr_suffix} mpif90${_scr_suffix})
        find_program(MPIEXEC_EXECUTABLE NAMES mpiexec${_scr_suffix} mpirun${_scr_suffix})
        break()
    endif()
endforeach()

include(CheckLanguage)
set(_scr_programs OFF)
if(SCR_ENABLE_TESTS OR SCR_ENABLE_EXAMPLES)
    set(_scr_programs ON)
endif()

# SCR_FORTRAN: whether the Fortran interface is built. As a part of another project SCR does not
# add a language to it, unless it is told to. SCR_FORTRAN_SOURCE: whether it is installed as source alone.
set(SCR_FORTRAN OFF)
set(SCR_FORTRAN_SOURCE OFF)
if(SCR_ENABLE_FORTRAN STREQUAL "SOURCE")
    set(SCR_FORTRAN_SOURCE ON)
elseif(SCR_ENABLE_FORTRAN STREQUAL "AUTO" AND NOT SCR_TOP_LEVEL)
    get_property(_scr_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
    if("Fortran" IN_LIST _scr_languages)
        set(SCR_FORTRAN ON)
    endif()
elseif(SCR_ENABLE_FORTRAN)
    check_language(Fortran)
    set(_scr_remedy "Install one (Debian: apt-get install gfortran), or name it with "
        "-DCMAKE_Fortran_COMPILER=")
    if(CMAKE_Fortran_COMPILER)
        enable_language(Fortran)
        set(SCR_FORTRAN ON)
    elseif(SCR_ENABLE_FORTRAN STREQUAL "AUTO")
        # So that a compiler that is installed later is found.
        unset(CMAKE_Fortran_COMPILER CACHE)
        message(STATUS "SCR: the Fortran interface is left out, as no Fortran compiler was found. "
            ${_scr_remedy} "...; -DSCR_ENABLE_FORTRAN=OFF leaves this message out.")
    else()
        message(FATAL_ERROR "No Fortran compiler was found. " ${_scr_remedy}
            "..., or leave Fortran out with -DSCR_ENABLE_FORTRAN=OFF. (SCR-503)")
    endif()
endif()

set(_scr_mpi_components C)
if(_scr_programs)
    check_language(CXX)
    if(CMAKE_CXX_COMPILER)
        enable_language(CXX)
        list(APPEND _scr_mpi_components CXX)
    endif()
endif()
# A project that SCR is a part of may have chosen its MPI already.
if(_scr_programs OR (SCR_MPI STREQUAL "linked" AND (SCR_TOP_LEVEL OR NOT TARGET MPI::MPI_C)))
    find_package(MPI REQUIRED COMPONENTS ${_scr_mpi_components})
endif()
if(SCR_MPI STREQUAL "found")
    message(STATUS "SCR: the libraries find MPI at run time")
endif()
if(_scr_programs OR SCR_MPI STREQUAL "linked")
    message(STATUS "SCR: MPI through ${MPI_C_COMPILER}, launched by ${MPIEXEC_EXECUTABLE}")
endif()

# SCR_FORTRAN_PROGRAMS: whether tests and examples in Fortran are built. libscrf itself needs no MPI.
set(SCR_FORTRAN_PROGRAMS OFF)
if(SCR_FORTRAN AND _scr_programs)
    find_package(MPI COMPONENTS Fortran)
    set(SCR_FORTRAN_PROGRAMS ${MPI_Fortran_FOUND})
    if(NOT MPI_Fortran_FOUND)
        message(STATUS "SCR: tests and examples in Fortran are left out, as this MPI was not found "
            "for Fortran. Name its compiler with -DMPI_Fortran_COMPILER=....")
    endif()
endif()

# What a program needs that has the static library. MPI::MPI_C is not known to a project that SCR is a
# part of, but paths are.
# And SCR_MPI_C_COMPILER, that of the MPI that the libraries are for. All of it is empty if they are for any.
set(SCR_MPI_LIBRARIES ${MPI_C_LIBRARIES})
separate_arguments(SCR_MPI_LINK_FLAGS UNIX_COMMAND "${MPI_C_LINK_FLAGS}")
set(SCR_MPI_C_COMPILER ${MPI_C_COMPILER})
# SCR_MPI_FAMILY: MPICH, also for what is made of it, or OPENMPI; empty for another; ANY if that of the
# program is used. The commands compare launchers with it.
set(SCR_MPI_FAMILY "")
if(SCR_MPI STREQUAL "found")
    set(SCR_MPI_LIBRARIES "")
    set(SCR_MPI_LINK_FLAGS "")
    set(SCR_MPI_C_COMPILER "")
    set(SCR_MPI_FAMILY ANY)
    return()
endif()
foreach(_scr_macro IN ITEMS OPEN_MPI MPICH_VERSION I_MPI_VERSION)
    set(_scr_family "${PROJECT_BINARY_DIR}/CMakeFiles/scr_mpi_family.c")
    file(WRITE ${_scr_family} "#include <mpi.h>\n#ifndef ${_scr_macro}\n#error \"another MPI\"\n#endif\n"
        "int main(void) { return 0; }\n")
    # Not kept: a build directory may be configured for another MPI.
    unset(_scr_is_of CACHE)
    try_compile(_scr_is_of ${PROJECT_BINARY_DIR}/CMakeFiles/scr_mpi_family ${_scr_family}
        LINK_LIBRARIES MPI::MPI_C)
    if(_scr_is_of)
        set(SCR_MPI_FAMILY MPICH)
        if(_scr_macro STREQUAL "OPEN_MPI")
            set(SCR_MPI_FAMILY OPENMPI)
        endif()
        break()
    endif()
endforeach()
unset(_scr_is_of CACHE)

# A package manager knows which MPI it asked for. A path may lead to another, as by Debian's alternatives,
# and the build would be for that one without a word.
if(SCR_EXPECTED_MPI)
    set(_scr_is_MPICH "defined(MPICH_VERSION) || defined(MPICH_NUMVERSION) || defined(I_MPI_VERSION)")
    set(_scr_is_OPENMPI "defined(OPEN_MPI)")
    if(NOT DEFINED _scr_is_${SCR_EXPECTED_MPI})
        message(FATAL_ERROR "SCR_EXPECTED_MPI is ${SCR_EXPECTED_MPI}, but must be MPICH, for MPICH and what "
            "is made of it, or OPENMPI.")
    endif()
    set(_scr_family "${PROJECT_BINARY_DIR}/CMakeFiles/scr_expected_mpi.c")
    file(WRITE ${_scr_family} "#include <mpi.h>\n#if !(${_scr_is_${SCR_EXPECTED_MPI}})\n"
        "#error \"another MPI\"\n#endif\nint main(void) { return 0; }\n")
    try_compile(_scr_expected ${PROJECT_BINARY_DIR}/CMakeFiles/scr_expected_mpi ${_scr_family}
        LINK_LIBRARIES MPI::MPI_C OUTPUT_VARIABLE _scr_told)
    if(NOT _scr_expected)
        if(_scr_told MATCHES "another MPI")
            set(_scr_told "its mpi.h is of another MPI")
        endif()
        message(FATAL_ERROR "${MPI_C_COMPILER} is not of ${SCR_EXPECTED_MPI}, as SCR_EXPECTED_MPI asks: "
            "${_scr_told}. Name the compiler of that MPI with -DMPI_C_COMPILER=...; in Spack, correct the "
            "prefix of the external package. On Debian, update-alternatives chooses whose mpicc it is.")
    endif()
    unset(_scr_expected CACHE)
endif()
