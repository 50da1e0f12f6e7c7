# Options. Their names begin with SCR_, so that a project that adds SCR as a part of itself keeps its
# own options. As a part SCR is built without commands, tests and examples, and installs nothing.

if(CMAKE_SOURCE_DIR STREQUAL PROJECT_SOURCE_DIR)
    set(SCR_TOP_LEVEL ON)
else()
    set(SCR_TOP_LEVEL OFF)
endif()

# Names without SCR_, which SCR v3.1.0 has or older build scripts use. The entry is taken away, so that
# either name can be given again later.
function(_scr_old_name old new)
    if(SCR_TOP_LEVEL AND DEFINED ${old})
        set(${new} "${${old}}" CACHE STRING "" FORCE)
        unset(${old} CACHE)
    endif()
endfunction()

_scr_old_name(ENABLE_FORTRAN SCR_ENABLE_FORTRAN)
_scr_old_name(ENABLE_EXAMPLES SCR_ENABLE_EXAMPLES)
_scr_old_name(ENABLE_TESTS SCR_ENABLE_TESTS)
_scr_old_name(ENABLE_MYSQL SCR_ENABLE_MYSQL)
_scr_old_name(CARGO_EXECUTABLE SCR_CARGO_EXECUTABLE)
if(SCR_TOP_LEVEL AND SCR_FETCH_CORROSION)
    set(SCR_USE_CORROSION ON CACHE STRING "" FORCE)
    unset(SCR_FETCH_CORROSION CACHE)
endif()

# Of the three names of this, only that of CMake is common; no entry is made for it.
if(DEFINED SCR_BUILD_SHARED_LIBS)
    set(BUILD_SHARED_LIBS ${SCR_BUILD_SHARED_LIBS})
elseif(NOT DEFINED BUILD_SHARED_LIBS)
    set(BUILD_SHARED_LIBS ON)
endif()

set(SCR_ENABLE_FORTRAN AUTO CACHE STRING
    "The Fortran interface: ON, OFF, SOURCE, with which its users compile it, or AUTO, with which it is built if there is a compiler")
set_property(CACHE SCR_ENABLE_FORTRAN PROPERTY STRINGS AUTO ON OFF SOURCE)
option(SCR_INSTALL "Build the commands, and install all" ${SCR_TOP_LEVEL})
option(SCR_ENABLE_PYTHON "Install the Python module" ON)
option(SCR_ENABLE_MYSQL "Write the event log to a MySQL or MariaDB database, too" OFF)
option(SCR_ENABLE_EXAMPLES "Build the examples" ${SCR_TOP_LEVEL})
option(SCR_ENABLE_TESTS "Build the tests" ${SCR_TOP_LEVEL})
set(SCR_USE_CORROSION AUTO CACHE STRING
    "Import the crate by Corrosion: ON, OFF, or AUTO, with which an installed one is used")
set_property(CACHE SCR_USE_CORROSION PROPERTY STRINGS AUTO ON OFF)

set(SCR_MPI linked CACHE STRING
    "linked: the libraries are for the MPI they are built with; found: for any, which they find at run time")
set_property(CACHE SCR_MPI PROPERTY STRINGS linked found)
if(NOT SCR_MPI MATCHES "^(linked|found)$")
    message(FATAL_ERROR "SCR_MPI is ${SCR_MPI}, but must be linked or found.")
endif()
set(SCR_EXPECTED_MPI "" CACHE STRING
    "Stop if MPI is not this one: MPICH (and what is made of it) or OPENMPI; empty for any")

# Defaults that are compiled into the library and the commands.
set(SCR_CACHE_BASE "/dev/shm" CACHE STRING "Default base of cache directories")
set(SCR_CNTL_BASE "/dev/shm" CACHE STRING "Default base of control directories")
set(SCR_CONFIG_FILE "" CACHE STRING
    "System configuration file; if empty, etc/scr.conf of the installation, also after it was moved")

if(SCR_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

# Options of SCR v3.1.0 that ask for nothing here: said once, never an error, so that an old
# configure line still works.
function(_scr_ignored reason)
    foreach(name IN LISTS ARGN)
        if(DEFINED ${name})
            message(STATUS "SCR: ${name} has no effect: ${reason}")
        endif()
    endforeach()
endfunction()

_scr_ignored("the resource manager is found when a job runs" SCR_RESOURCE_MANAGER ENABLE_YOGRT)
_scr_ignored("it is a parameter; set it in the environment or in a configuration file"
    SCR_LOG_ENABLE SCR_LOG_TXT_ENABLE SCR_LOG_SYSLOG_ENABLE SCR_LOG_SYSLOG_PREFIX
    SCR_LOG_SYSLOG_FACILITY SCR_LOG_SYSLOG_LEVEL)
_scr_ignored("the scr command needs neither MPI nor libscr" SCR_LINK_STATIC)
_scr_ignored("the Fortran compiler chooses the names of symbols"
    ENABLE_FORTRAN_TRAILING_UNDERSCORES)
_scr_ignored("locks are always taken, where the file system has them" SCR_FILE_LOCK)
_scr_ignored("threads are part of the library" ENABLE_PTHREADS)
_scr_ignored("this part of SCR v3.1.0 is not offered" ENABLE_PDSH BUILD_PDSH
    ENABLE_IBM_BBAPI ENABLE_CRAY_DW SCR_BGQ)
_scr_ignored("the library has no such dependency" WITH_AXL_PREFIX WITH_DTCMP_PREFIX
    WITH_ER_PREFIX WITH_KVTREE_PREFIX WITH_LWGRP_PREFIX WITH_MYSQL_PREFIX WITH_PDSH_PREFIX
    WITH_RANKSTR_PREFIX WITH_REDSET_PREFIX WITH_SHUFFILE_PREFIX WITH_SPATH_PREFIX
    WITH_YOGRT_PREFIX)
