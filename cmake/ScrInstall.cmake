# Installs libraries, headers, Fortran sources, and the packages by which others find them:
# find_package(SCR), find_package(scr) and pkg-config. All of it can be moved as a whole.

include(CMakePackageConfigHelpers)

set(_scr_targets scr_static)
if(BUILD_SHARED_LIBS)
    list(APPEND _scr_targets scr_shared)
endif()
install(FILES include/scr.h include/scr.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# The manual pages of the calls, made from the header.
install(DIRECTORY docs/man3/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 FILES_MATCHING PATTERN "*.3")

if(ENABLE_FORTRAN)
    list(APPEND _scr_targets scrf_static)
    if(BUILD_SHARED_LIBS)
        list(APPEND _scr_targets scrf_shared)
    endif()
    install(FILES include/scrf.h ${CMAKE_BINARY_DIR}/include/scrf.mod
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    # A .mod file fits one compiler; with the source, users of another can make their own.
    install(FILES fortran/scrf.F90 fortran/scrf_classic.f90
        DESTINATION ${CMAKE_INSTALL_DATADIR}/scr/fortran)
endif()
install(TARGETS ${_scr_targets} EXPORT scrTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/scr/examples
    FILES_MATCHING PATTERN "heat2d.*" PATTERN "heat_numpy.py" PATTERN "cargo" EXCLUDE)

# find_package(scr) wants scr-config.cmake or scrConfig.cmake, find_package(SCR) the former or
# SCRConfig.cmake. The directory is that of SCR v3.1.0, which build scripts may name in scr_DIR.
set(_scr_package ${CMAKE_INSTALL_DATADIR}/scr/cmake)
set(_scr_generated ${CMAKE_BINARY_DIR}/package)
install(EXPORT scrTargets NAMESPACE scr:: DESTINATION ${_scr_package})
configure_package_config_file(cmake/scr-config.cmake.in ${_scr_generated}/scr-config.cmake
    INSTALL_DESTINATION ${_scr_package})
write_basic_package_version_file(${_scr_generated}/scr-config-version.cmake
    COMPATIBILITY SameMajorVersion)
foreach(suffix IN ITEMS config config-version)
    install(FILES ${_scr_generated}/scr-${suffix}.cmake DESTINATION ${_scr_package})
endforeach()

# What a static link needs, in the words of a command line.
set(_scr_private "")
foreach(library IN LISTS MPI_C_LIBRARIES)
    string(APPEND _scr_private " ${library}")
endforeach()
string(APPEND _scr_private " -pthread -ldl -lm")
file(RELATIVE_PATH SCR_PC_PREFIX
    ${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" SCR_PC_PREFIX "${SCR_PC_PREFIX}")
set(SCR_PC_PRIVATE "${_scr_private}")
set(_scr_pc scr)
if(ENABLE_FORTRAN)
    list(APPEND _scr_pc scrf)
endif()
foreach(name IN LISTS _scr_pc)
    configure_file(cmake/${name}.pc.in ${_scr_generated}/${name}.pc @ONLY)
    install(FILES ${_scr_generated}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
