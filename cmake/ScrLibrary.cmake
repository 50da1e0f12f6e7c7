# libscr.so and libscr.a, both from the static library that cargo makes.

set(_scr_features mpi)
if(SCR_MPI STREQUAL "found")
    set(_scr_features any-mpi)
endif()
if(SCR_ENABLE_MYSQL)
    list(APPEND _scr_features mysql)
endif()
list(JOIN _scr_features "," _scr_words)

# Either way: SCR_RUST_ARCHIVE is the Rust static library, SCR_RUST_TARGET makes it. Corrosion
# names its targets after the crate, "scr", which is why ours have other names inside here.
# The library is compiled as an rlib in the same step, which tests/transport uses.
if(SCR_WITH_CORROSION)
    set(_scr_flags "")
    # Since 0.6 Corrosion names the crate type in the command line, which replaces those in Cargo.toml.
    if(NOT _scr_corrosion_version VERSION_LESS 0.6)
        set(_scr_flags FLAGS --crate-type=rlib)
    endif()
    corrosion_import_crate(MANIFEST_PATH ${PROJECT_SOURCE_DIR}/Cargo.toml CRATES scr-rs
        CRATE_TYPES staticlib NO_DEFAULT_FEATURES FEATURES ${_scr_features} PROFILE ${SCR_CARGO_PROFILE} LOCKED
        ${_scr_flags})
    corrosion_set_env_vars(scr ${SCR_CARGO_ENVIRONMENT})
    # Flags for a linker, which an archive does not need: they would make it another compilation.
    set_property(TARGET scr PROPERTY INTERFACE_CORROSION_LOCAL_RUSTFLAGS "")
    set(_scr_directory ${PROJECT_BINARY_DIR}/${SCR_CARGO_MPI_DIRECTORY})
    set_target_properties(scr PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${_scr_directory})
    set(SCR_RUST_ARCHIVE ${_scr_directory}/libscr.a)
    set(SCR_RUST_TARGET cargo-build_scr)
else()
    scr_cargo_build(scr_rust OUTPUT libscr.a
        ARGS -p scr-rs --lib --no-default-features --features ${_scr_words})
    set(SCR_RUST_ARCHIVE ${scr_rust_OUTPUT})
    set(SCR_RUST_TARGET scr_rust)
endif()

# CMake wants a source in each library. This one counts as changed when the archive is, so that
# everything is linked again then.
set(_scr_empty ${PROJECT_BINARY_DIR}/scr_library.c)
file(CONFIGURE OUTPUT ${_scr_empty} CONTENT "typedef int scr_library;\n")
set_source_files_properties(${_scr_empty} PROPERTIES OBJECT_DEPENDS ${SCR_RUST_ARCHIVE})
add_library(scr_empty OBJECT ${_scr_empty})
add_dependencies(scr_empty ${SCR_RUST_TARGET})

function(_scr_common target name)
    add_library(scr::${name} ALIAS ${target})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME scr EXPORT_NAME ${name})
    target_include_directories(${target} INTERFACE
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# A copy, not a new archive: where LLVM's linker plugin is installed, ar makes no usable symbol
# table for the Rust standard library, which carries bitcode.
add_library(scr_static STATIC $<TARGET_OBJECTS:scr_empty>)
_scr_common(scr_static scr-static)
add_custom_command(TARGET scr_static POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E copy ${SCR_RUST_ARCHIVE} $<TARGET_FILE:scr_static> VERBATIM)
# The Rust standard library comes with debug information and bitcode, which are most of the archive.
if(CMAKE_STRIP AND SCR_CARGO_PROFILE MATCHES "^(release|minsizerel)$")
    add_custom_command(TARGET scr_static POST_BUILD COMMAND ${CMAKE_STRIP} --strip-debug
        -R .llvmbc -R .llvmcmd $<TARGET_FILE:scr_static> VERBATIM)
endif()
set_target_properties(scr_static PROPERTIES LINKER_LANGUAGE C)
if(SCR_MPI STREQUAL "linked")
    target_link_libraries(scr_static INTERFACE $<INSTALL_INTERFACE:MPI::MPI_C>)
endif()
foreach(_scr_library IN LISTS SCR_MPI_LIBRARIES)
    target_link_libraries(scr_static INTERFACE $<BUILD_INTERFACE:${_scr_library}>)
endforeach()
foreach(_scr_flag IN LISTS SCR_MPI_LINK_FLAGS)
    target_link_options(scr_static INTERFACE $<BUILD_INTERFACE:${_scr_flag}>)
endforeach()
target_link_libraries(scr_static INTERFACE ${SCR_SYSTEM_LIBRARIES})

# scr_shared_library(<target> <archive> <source> [<MPI library>...]): a libscr.so of an archive.
function(scr_shared_library target archive source)
    set(exports ${PROJECT_SOURCE_DIR}/cmake/libscr.map)
    add_library(${target} SHARED ${source})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME scr
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
        LINKER_LANGUAGE C LINK_DEPENDS "${exports};${archive}")
    # MPI_Finalize and signal handlers call into it, so it cannot be unloaded.
    target_link_options(${target} PRIVATE -Wl,--version-script=${exports}
        -Wl,-z,nodelete -Wl,--gc-sections)
    if(SCR_CARGO_PROFILE MATCHES "^(release|minsizerel)$")
        target_link_options(${target} PRIVATE -Wl,--strip-debug)
    endif()
    # clang links the library of a sanitizer into programs only.
    if(NOT "${CMAKE_C_FLAGS} ${CMAKE_SHARED_LINKER_FLAGS}" MATCHES "-fsanitize=")
        target_link_options(${target} PRIVATE -Wl,-z,defs)
    endif()
    target_link_libraries(${target} PRIVATE
        -Wl,--whole-archive ${archive} -Wl,--no-whole-archive ${ARGN} ${SCR_SYSTEM_LIBRARIES})
endfunction()

if(BUILD_SHARED_LIBS)
    scr_shared_library(scr_shared ${SCR_RUST_ARCHIVE} $<TARGET_OBJECTS:scr_empty> ${SCR_MPI_LIBRARIES})
    _scr_common(scr_shared scr)
    target_link_options(scr_shared PRIVATE ${SCR_MPI_LINK_FLAGS})
else()
    add_library(scr::scr ALIAS scr_static)
endif()
