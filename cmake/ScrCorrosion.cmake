# SCR_WITH_CORROSION: whether the crate is imported by Corrosion, https://corrosion-rs.github.io,
# instead of by ScrCargo.cmake. SCR_USE_CORROSION decides:
#   AUTO  if it is there: in the project that SCR is a part of, at CORROSION_SOURCE (a variable of
#         CMake or of the environment), or installed
#   ON    always; it is fetched if it is not there
#   OFF   never

set(SCR_WITH_CORROSION OFF)
set(_scr_corrosion_minimum 0.5)
set(_scr_corrosion_fetched 0.6.1)
string(CONCAT _scr_corrosion_advice
    "Install Corrosion ${_scr_corrosion_minimum} or newer and add its prefix to CMAKE_PREFIX_PATH, "
    "name its source with -DCORROSION_SOURCE=/path, or take -DSCR_USE_CORROSION=OFF, with which "
    "CMake runs cargo itself.")

# Says that a Corrosion cannot be used: an error if it must be.
macro(_scr_no_corrosion why)
    if(SCR_USE_CORROSION STREQUAL "AUTO")
        message(STATUS "SCR: CMake runs cargo itself, as ${why}")
    else()
        message(FATAL_ERROR "SCR_USE_CORROSION=${SCR_USE_CORROSION}: ${why}. ${_scr_corrosion_advice}")
    endif()
endmacro()

# Adds the source of a Corrosion to the build.
macro(_scr_add_corrosion source)
    set(_scr_found "")
    if(EXISTS "${source}/cmake/Corrosion.cmake")
        file(STRINGS "${source}/CMakeLists.txt" _scr_found REGEX "^ *VERSION +[0-9.]+ *$")
        string(REGEX REPLACE "[^0-9.]" "" _scr_found "${_scr_found}")
    endif()
    if(NOT _scr_found)
        message(FATAL_ERROR "${source} is no source of Corrosion. ${_scr_corrosion_advice}")
    elseif(_scr_found VERSION_LESS _scr_corrosion_minimum)
        _scr_no_corrosion("Corrosion in ${source} is version ${_scr_found}, and ${_scr_corrosion_minimum} is needed")
    else()
        set(_scr_corrosion_version ${_scr_found})
        add_subdirectory("${source}" ${PROJECT_BINARY_DIR}/corrosion EXCLUDE_FROM_ALL)
        set(SCR_WITH_CORROSION ON)
    endif()
endmacro()

if(NOT CORROSION_SOURCE)
    set(CORROSION_SOURCE "$ENV{CORROSION_SOURCE}")
endif()
if(NOT SCR_USE_CORROSION)
    return()
elseif(COMMAND corrosion_import_crate)
    set(_scr_corrosion_version "${Corrosion_VERSION}")
    set(SCR_WITH_CORROSION ON)
elseif(CORROSION_SOURCE)
    get_filename_component(_scr_source "${CORROSION_SOURCE}" ABSOLUTE BASE_DIR ${CMAKE_BINARY_DIR})
    _scr_add_corrosion("${_scr_source}")
elseif(SCR_TOP_LEVEL OR NOT SCR_USE_CORROSION STREQUAL "AUTO")
    find_package(Corrosion ${_scr_corrosion_minimum} QUIET)
    if(Corrosion_FOUND)
        set(_scr_corrosion_version "${Corrosion_VERSION}")
        set(SCR_WITH_CORROSION ON)
    elseif(Corrosion_CONSIDERED_CONFIGS)
        _scr_no_corrosion("the installed Corrosion is version ${Corrosion_CONSIDERED_VERSIONS} (${Corrosion_CONSIDERED_CONFIGS}), and ${_scr_corrosion_minimum} is needed")
    elseif(NOT SCR_USE_CORROSION STREQUAL "AUTO")
        set(SCR_CORROSION_URL
            https://github.com/corrosion-rs/corrosion/archive/refs/tags/v${_scr_corrosion_fetched}.tar.gz
            CACHE STRING "Archive of Corrosion, which is fetched if it is not installed")
        set(_scr_archive ${PROJECT_BINARY_DIR}/corrosion-archive)
        file(DOWNLOAD ${SCR_CORROSION_URL} ${_scr_archive}.tar.gz STATUS _scr_status TLS_VERIFY ON
            INACTIVITY_TIMEOUT 30)
        list(GET _scr_status 0 _scr_code)
        list(GET _scr_status 1 _scr_why)
        if(NOT _scr_code EQUAL 0)
            file(REMOVE ${_scr_archive}.tar.gz)
            _scr_no_corrosion("Corrosion is not installed, and ${SCR_CORROSION_URL} cannot be fetched: ${_scr_why}")
        endif()
        file(REMOVE_RECURSE ${_scr_archive})
        file(ARCHIVE_EXTRACT INPUT ${_scr_archive}.tar.gz DESTINATION ${_scr_archive})
        file(GLOB _scr_source ${_scr_archive}/*)
        _scr_add_corrosion("${_scr_source}")
    endif()
endif()

if(SCR_WITH_CORROSION)
    message(STATUS "SCR: the crate is imported by Corrosion ${_scr_corrosion_version}")
    if(Rust_VERSION AND Rust_VERSION VERSION_LESS SCR_RUST_MINIMUM)
        message(FATAL_ERROR "Corrosion has found Rust ${Rust_VERSION}. ${SCR_RUST_ADVICE}")
    endif()
    # It has one cargo target directory for each build directory.
    if(DEFINED SCR_CONFIGURED_MPI AND NOT SCR_CONFIGURED_MPI STREQUAL SCR_CARGO_MPI_DIRECTORY)
        message(FATAL_ERROR "This build directory is for another MPI; take a new one.")
    endif()
    set(SCR_CONFIGURED_MPI ${SCR_CARGO_MPI_DIRECTORY} CACHE INTERNAL "")

    # The command is built where Corrosion has cargo build, with the same linker, so that both are made of one
    # compilation of the engine. Corrosion does not tell the directory. If another version of it takes another one,
    # the engine is compiled twice, which ctest -R cmake.corrosion finds.
    get_filename_component(_scr_manifest ${PROJECT_SOURCE_DIR}/Cargo.toml REALPATH)
    get_filename_component(_scr_folder ${PROJECT_SOURCE_DIR} NAME)
    string(SHA1 _scr_hash ${_scr_manifest})
    string(SUBSTRING ${_scr_hash} 0 5 _scr_hash)
    set(SCR_CARGO_DIRECTORY ${CMAKE_BINARY_DIR}/cargo/${_scr_folder}_${_scr_hash})
    set(SCR_CARGO_PRODUCTS ${SCR_CARGO_DIRECTORY}/${Rust_CARGO_TARGET_CACHED}/${_scr_profile_directory})
    set(SCR_CARGO_PLACE --target-dir ${SCR_CARGO_DIRECTORY} --target ${Rust_CARGO_TARGET_CACHED})
    string(TOUPPER ${Rust_CARGO_TARGET_CACHED} _scr_triple)
    string(REPLACE "-" "_" _scr_triple ${_scr_triple})
    list(APPEND SCR_CARGO_ENVIRONMENT CARGO_TARGET_${_scr_triple}_LINKER=${CMAKE_C_COMPILER})
endif()
