# The last step where SCR is part of another project (add_subdirectory, FetchContent): the cache
# holds that project's entries and those of SCR, which begin with SCR_ or scr_, and no others.
# FindMPI, GNUInstallDirs and project() make some, which would decide what that project finds and where
# it installs. Those of languages and of Corrosion stay, as the next run of CMake needs them.

get_cmake_property(_scr_entries CACHE_VARIABLES)
list(REMOVE_ITEM _scr_entries ${_scr_entries_before})
foreach(_scr_entry IN LISTS _scr_entries)
    if(_scr_entry MATCHES "^(MPI_|MPIEXEC_|_MPI|_?FIND_PACKAGE_MESSAGE_DETAILS_MPI|PKG_CONFIG_|_scr_)"
        OR _scr_entry MATCHES "^(CMAKE_INSTALL_|CMAKE_PROJECT_|_GNUInstallDirs_)")
        unset(${_scr_entry} CACHE)
    endif()
endforeach()
