# Finds MPI, and sees to it that compilers and launcher are of one MPI.
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
        set(MPI_${_scr_language}_COMPILER ${_scr_found_${_scr_language}} CACHE FILEPATH
            "MPI compiler for ${_scr_language}" FORCE)
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
set(_scr_mpi_components C)
if(ENABLE_TESTS OR ENABLE_EXAMPLES)
    check_language(CXX)
    if(CMAKE_CXX_COMPILER)
        enable_language(CXX)
        list(APPEND _scr_mpi_components CXX)
    endif()
endif()
if(ENABLE_FORTRAN)
    check_language(Fortran)
    if(NOT CMAKE_Fortran_COMPILER)
        message(FATAL_ERROR
            "No Fortran compiler found. Install one (Debian: apt-get install gfortran), name it "
            "with -DCMAKE_Fortran_COMPILER=..., or leave Fortran out with -DENABLE_FORTRAN=OFF.")
    endif()
    enable_language(Fortran)
    # libscrf itself needs no MPI; tests and examples do.
    if(ENABLE_TESTS OR ENABLE_EXAMPLES)
        list(APPEND _scr_mpi_components Fortran)
    endif()
endif()

find_package(MPI REQUIRED COMPONENTS ${_scr_mpi_components})
message(STATUS "SCR: MPI through ${MPI_C_COMPILER}, launched by ${MPIEXEC_EXECUTABLE}")
