# Options, as SCR v3.1.0 has them where they make sense here.

option(BUILD_SHARED_LIBS "Build libscr.so and libscrf.so beside the static libraries" ON)
option(ENABLE_FORTRAN "Build the Fortran interface" ON)
option(SCR_ENABLE_PYTHON "Install the Python module" ON)
option(ENABLE_MYSQL "Write the event log to a MySQL or MariaDB database, too" OFF)
option(ENABLE_EXAMPLES "Build the examples" ON)
option(ENABLE_TESTS "Build the tests" ON)
option(SCR_FETCH_CORROSION "Fetch Corrosion from GitHub if it is not installed" OFF)

# Defaults that are compiled into the library and the commands.
set(SCR_CACHE_BASE "/dev/shm" CACHE STRING "Default base of cache directories")
set(SCR_CNTL_BASE "/dev/shm" CACHE STRING "Default base of control directories")
set(SCR_CONFIG_FILE "${CMAKE_INSTALL_FULL_SYSCONFDIR}/scr.conf" CACHE STRING
    "System configuration file")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug or Release" FORCE)
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
