# libscr.so and libscr.a: the Rust static library together with the one C file.

set(_scr_features --no-default-features --features mpi)

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
    corrosion_import_crate(MANIFEST_PATH Cargo.toml CRATES scr-rs CRATE_TYPES staticlib
        NO_DEFAULT_FEATURES FEATURES mpi PROFILE ${SCR_CARGO_PROFILE} LOCKED)
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

# The C file counts as changed when the archive is, so that everything is linked anew.
set(_scr_configf ${CMAKE_CURRENT_SOURCE_DIR}/src/capi/configf.c)
set_source_files_properties(${_scr_configf} PROPERTIES OBJECT_DEPENDS ${SCR_RUST_ARCHIVE})
add_library(scr_configf OBJECT ${_scr_configf})
target_include_directories(scr_configf PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/include)
add_dependencies(scr_configf ${SCR_RUST_TARGET})

function(_scr_common target name)
    add_library(scr::${name} ALIAS ${target})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME scr EXPORT_NAME ${name})
    target_include_directories(${target} INTERFACE
        $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# An archive cannot hold an archive: start from the Rust one and add our object to it.
add_library(scr_static STATIC $<TARGET_OBJECTS:scr_configf>)
_scr_common(scr_static scr-static)
add_custom_command(TARGET scr_static POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E copy ${SCR_RUST_ARCHIVE} $<TARGET_FILE:scr_static>
    COMMAND ${CMAKE_AR} rs $<TARGET_FILE:scr_static> $<TARGET_OBJECTS:scr_configf>
    COMMAND_EXPAND_LISTS VERBATIM)
set_target_properties(scr_static PROPERTIES LINKER_LANGUAGE C)
target_link_libraries(scr_static INTERFACE MPI::MPI_C ${SCR_SYSTEM_LIBRARIES})

if(BUILD_SHARED_LIBS)
    set(_scr_exports ${CMAKE_CURRENT_SOURCE_DIR}/cmake/libscr.map)
    add_library(scr_shared SHARED $<TARGET_OBJECTS:scr_configf>)
    _scr_common(scr_shared scr)
    set_target_properties(scr_shared PROPERTIES
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
        LINKER_LANGUAGE C LINK_DEPENDS "${_scr_exports};${SCR_RUST_ARCHIVE}")
    target_link_options(scr_shared PRIVATE -Wl,--version-script=${_scr_exports} -Wl,-z,defs
        -Wl,--gc-sections)
    target_link_libraries(scr_shared PRIVATE
        -Wl,--whole-archive,${SCR_RUST_ARCHIVE},--no-whole-archive
        MPI::MPI_C ${SCR_SYSTEM_LIBRARIES})
else()
    add_library(scr::scr ALIAS scr_static)
endif()
