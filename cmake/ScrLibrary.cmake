# libscr.so and libscr.a, both from the static library that cargo makes.

set(_scr_features --no-default-features --features mpi)
set(_scr_mysql)
if(ENABLE_MYSQL)
    set(_scr_features --no-default-features --features mpi,mysql)
    set(_scr_mysql mysql)
endif()

find_package(Corrosion QUIET)
if(NOT Corrosion_FOUND AND SCR_FETCH_CORROSION)
    include(FetchContent)
    FetchContent_Declare(Corrosion
        GIT_REPOSITORY https://github.com/corrosion-rs/corrosion.git
        GIT_TAG v0.5.2)
    FetchContent_MakeAvailable(Corrosion)
    set(Corrosion_FOUND TRUE)
endif()

# Either way: SCR_RUST_ARCHIVE is the Rust static library, SCR_RUST_TARGET makes it. Corrosion
# names its targets after the crate, "scr", which is why ours have other names inside here.
if(Corrosion_FOUND)
    message(STATUS "SCR: the crate is imported by Corrosion")
    # It has one cargo target directory for each build directory.
    if(DEFINED SCR_CONFIGURED_MPI AND NOT SCR_CONFIGURED_MPI STREQUAL SCR_CARGO_MPI_DIRECTORY)
        message(FATAL_ERROR "This build directory is for another MPI; take a new one.")
    endif()
    set(SCR_CONFIGURED_MPI ${SCR_CARGO_MPI_DIRECTORY} CACHE INTERNAL "")
    corrosion_import_crate(MANIFEST_PATH Cargo.toml CRATES scr-rs CRATE_TYPES staticlib
        NO_DEFAULT_FEATURES FEATURES mpi ${_scr_mysql} PROFILE ${SCR_CARGO_PROFILE} LOCKED)
    corrosion_set_env_vars(scr ${SCR_CARGO_ENVIRONMENT})
    set_target_properties(scr PROPERTIES
        ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${SCR_CARGO_MPI_DIRECTORY})
    set(SCR_RUST_ARCHIVE ${CMAKE_BINARY_DIR}/${SCR_CARGO_MPI_DIRECTORY}/libscr.a)
    set(SCR_RUST_TARGET cargo-build_scr)
else()
    scr_cargo_build(scr_rust DIRECTORY ${SCR_CARGO_MPI_DIRECTORY} OUTPUT libscr.a
        ARGS --lib ${_scr_features})
    set(SCR_RUST_ARCHIVE ${scr_rust_OUTPUT})
    set(SCR_RUST_TARGET scr_rust)
endif()

# CMake wants a source in each library. This one counts as changed when the archive is, so that
# everything is linked anew then.
set(_scr_empty ${CMAKE_BINARY_DIR}/scr_library.c)
file(CONFIGURE OUTPUT ${_scr_empty} CONTENT "typedef int scr_library;\n")
set_source_files_properties(${_scr_empty} PROPERTIES OBJECT_DEPENDS ${SCR_RUST_ARCHIVE})
add_library(scr_empty OBJECT ${_scr_empty})
add_dependencies(scr_empty ${SCR_RUST_TARGET})

function(_scr_common target name)
    add_library(scr::${name} ALIAS ${target})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME scr EXPORT_NAME ${name})
    target_include_directories(${target} INTERFACE
        $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# A copy, not a new archive: where LLVM's linker plugin is installed, ar makes no usable symbol
# table for the Rust standard library, which carries bitcode.
add_library(scr_static STATIC $<TARGET_OBJECTS:scr_empty>)
_scr_common(scr_static scr-static)
add_custom_command(TARGET scr_static POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E copy ${SCR_RUST_ARCHIVE} $<TARGET_FILE:scr_static> VERBATIM)
set_target_properties(scr_static PROPERTIES LINKER_LANGUAGE C)
target_link_libraries(scr_static INTERFACE MPI::MPI_C ${SCR_SYSTEM_LIBRARIES})

if(BUILD_SHARED_LIBS)
    set(_scr_exports ${CMAKE_CURRENT_SOURCE_DIR}/cmake/libscr.map)
    add_library(scr_shared SHARED $<TARGET_OBJECTS:scr_empty>)
    _scr_common(scr_shared scr)
    set_target_properties(scr_shared PROPERTIES
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
        LINKER_LANGUAGE C LINK_DEPENDS "${_scr_exports};${SCR_RUST_ARCHIVE}")
    # MPI_Finalize and signal handlers call into it, so it cannot be unloaded.
    target_link_options(scr_shared PRIVATE -Wl,--version-script=${_scr_exports} -Wl,-z,defs
        -Wl,-z,nodelete -Wl,--gc-sections)
    target_link_libraries(scr_shared PRIVATE
        -Wl,--whole-archive ${SCR_RUST_ARCHIVE} -Wl,--no-whole-archive
        MPI::MPI_C ${SCR_SYSTEM_LIBRARIES})
else()
    add_library(scr::scr ALIAS scr_static)
endif()
