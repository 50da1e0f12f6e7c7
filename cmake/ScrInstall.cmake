# Installs libraries, headers, packages, documentation and examples. All of it can be moved as a whole.

install(FILES include/scr.h include/scr_session.h include/scr.hpp include/scr_fields.hpp include/scr_arrays.hpp
    include/scr_session.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(SCR_FORTRAN)
    install(FILES ${PROJECT_BINARY_DIR}/include/scrf.mod DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
# A .mod file fits one compiler; with the source, users of another can make their own.
if(SCR_FORTRAN OR SCR_FORTRAN_SOURCE)
    install(FILES include/scrf.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(FILES fortran/scrf.F90 fortran/scrf_classic.f90 ${SCR_GENERATED}/scrf.mk DESTINATION ${SCR_FORTRAN_DIR})
endif()
install(TARGETS ${SCR_TARGETS} EXPORT scrTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT scrTargets NAMESPACE scr:: DESTINATION ${SCR_PACKAGE_DIR})
install(FILES ${SCR_GENERATED}/scr-config.cmake ${SCR_GENERATED}/scr-config-version.cmake cmake/scr-fortran.cmake
    DESTINATION ${SCR_PACKAGE_DIR})

# Documentation, with the directories that links in it name. docs/scr.conf.sample has all parameters.
# A directory without a page is left out by name: CMake would make it, and uninstall would leave it.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE-MIT LICENSE-APACHE
    THIRD-PARTY-NOTICES.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs
    FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "scaling" EXCLUDE)
install(FILES docs/scr.conf.sample DESTINATION ${CMAKE_INSTALL_DATADIR}/scr)
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/scr/examples
    USE_SOURCE_PERMISSIONS
    FILES_MATCHING PATTERN "heat2d*.*" PATTERN "mpi_repair.h" PATTERN "mesh_diffusion.f90" PATTERN "particles.cpp" PATTERN "sums.f" PATTERN "Makefile" PATTERN "heat_*.py" PATTERN "jobs/*" PATTERN "node-tests/*"
    PATTERN "cargo" EXCLUDE)

# What a static link needs, in the words of a command line. Where there is no shared library, it is
# what each link needs.
list(JOIN SCR_MPI_LIBRARIES " " _scr_private)
list(JOIN SCR_MPI_LINK_FLAGS " " _scr_flags)
set(SCR_PC_PRIVATE " ${_scr_flags} ${_scr_private} -pthread -ldl -lm")
string(REGEX REPLACE "  +" " " SCR_PC_PRIVATE "${SCR_PC_PRIVATE}")
set(SCR_PC_PUBLIC "")
if(NOT BUILD_SHARED_LIBS)
    set(SCR_PC_PUBLIC "${SCR_PC_PRIVATE}")
    set(SCR_PC_PRIVATE "")
endif()

# path_to_prefix(<result> <directory>): the way from a directory of the installation to its prefix.
function(_scr_path_to_prefix result directory)
    file(RELATIVE_PATH path ${CMAKE_INSTALL_PREFIX}/${directory} ${CMAKE_INSTALL_PREFIX})
    string(REGEX REPLACE "/$" "" path "${path}")
    set(${result} "${path}" PARENT_SCOPE)
endfunction()

_scr_path_to_prefix(SCR_PC_PREFIX ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
_scr_path_to_prefix(SCR_FORTRAN_PREFIX ${SCR_FORTRAN_DIR})
set(_scr_pc scr)
set(SCRF_PC_LIBRARIES "")
if(SCR_FORTRAN)
    set(SCRF_PC_LIBRARIES " -L\${libdir} -lscrf")
endif()
if(SCR_FORTRAN OR SCR_FORTRAN_SOURCE)
    list(APPEND _scr_pc scrf)
    configure_file(cmake/scrf.mk.in ${SCR_GENERATED}/scrf.mk @ONLY)
endif()
foreach(name IN LISTS _scr_pc)
    configure_file(cmake/${name}.pc.in ${SCR_GENERATED}/${name}.pc @ONLY)
    install(FILES ${SCR_GENERATED}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# For `module use <prefix>/share/scr/modulefiles; module load scr`.
set(_scr_modules ${CMAKE_INSTALL_DATADIR}/scr/modulefiles/scr)
_scr_path_to_prefix(SCR_MODULE_PREFIX ${_scr_modules})
set(SCR_MODULE_MPI "Programs must use the MPI that it was built with: ${SCR_MPI_C_COMPILER}")
if(SCR_MPI STREQUAL "found")
    set(SCR_MODULE_MPI "Programs may use any MPI.")
endif()
set(SCR_MODULE_PYTHON "")
if(SCR_ENABLE_PYTHON AND BUILD_SHARED_LIBS)
    set(SCR_MODULE_PYTHON "prepend-path PYTHONPATH \$prefix/${CMAKE_INSTALL_DATADIR}/scr/python")
endif()
configure_file(cmake/modulefile.in ${SCR_GENERATED}/modulefile @ONLY)
install(FILES ${SCR_GENERATED}/modulefile DESTINATION ${_scr_modules} RENAME ${SCR_RS_VERSION})
