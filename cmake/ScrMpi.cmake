# Finds MPI, and sees to it that compilers and launcher are of one MPI.
#
# Debian installs several MPIs side by side as mpicc.mpich, mpicc.openmpi and so on. FindMPI
# takes MPI_C_COMPILER from the user but would still pick the launcher and the compilers of
# the system's default MPI, so their names are derived here.

get_filename_component(_scr_mpicc "${MPI_C_COMPILER}" NAME)
if(_scr_mpicc MATCHES "^mpicc([-.].+)$")
    set(_scr_suffix "${CMAKE_MATCH_1}")
    find_program(MPI_CXX_COMPILER NAMES mpicxx${_scr_suffix})
    find_program(MPI_Fortran_COMPILER NAMES mpifort${_scr_suffix} mpif90${_scr_suffix})
    find_program(MPIEXEC_EXECUTABLE NAMES mpiexec${_scr_suffix} mpirun${_scr_suffix})
endif()

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
