# The packages by which others find SCR, in the build directory and for the installation:
# find_package(SCR), find_package(scr) and pkg-config.

include(CMakePackageConfigHelpers)

set(SCR_TARGETS scr_static)
if(BUILD_SHARED_LIBS)
    list(APPEND SCR_TARGETS scr_shared)
endif()
if(SCR_FORTRAN)
    list(APPEND SCR_TARGETS scrf_static)
    if(BUILD_SHARED_LIBS)
        list(APPEND SCR_TARGETS scrf_shared)
    endif()
endif()

# find_package(scr) wants scr-config.cmake or scrConfig.cmake, find_package(SCR) the former or
# SCRConfig.cmake. The directory is that of SCR v3.1.0, which build scripts may name in scr_DIR.
set(SCR_PACKAGE_DIR ${CMAKE_INSTALL_DATADIR}/scr/cmake)
set(SCR_FORTRAN_DIR ${CMAKE_INSTALL_DATADIR}/scr/fortran)
set(SCR_GENERATED ${PROJECT_BINARY_DIR}/package)
set(_scr_fortran_place ${SCR_FORTRAN_DIR})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/scr-config.cmake.in
    ${SCR_GENERATED}/scr-config.cmake INSTALL_DESTINATION ${SCR_PACKAGE_DIR} PATH_VARS _scr_fortran_place)
write_basic_package_version_file(${SCR_GENERATED}/scr-config-version.cmake
    COMPATIBILITY SameMajorVersion)

# For projects that take SCR from its build directory, by scr_DIR or CMAKE_PREFIX_PATH.
set(_scr_fortran_place ${PROJECT_SOURCE_DIR}/fortran)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/scr-config.cmake.in
    ${PROJECT_BINARY_DIR}/scr-config.cmake INSTALL_DESTINATION ${PROJECT_BINARY_DIR}
    INSTALL_PREFIX ${PROJECT_BINARY_DIR} PATH_VARS _scr_fortran_place)
configure_file(${PROJECT_SOURCE_DIR}/cmake/scr-fortran.cmake ${PROJECT_BINARY_DIR}/scr-fortran.cmake COPYONLY)
configure_file(${SCR_GENERATED}/scr-config-version.cmake
    ${PROJECT_BINARY_DIR}/scr-config-version.cmake COPYONLY)
export(TARGETS ${SCR_TARGETS} NAMESPACE scr:: FILE ${PROJECT_BINARY_DIR}/scrTargets.cmake)
