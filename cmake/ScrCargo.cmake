# Runs cargo, and knows where its products are.
#
# scr_cargo_build(<target> OUTPUT <file> ARGS <arg>... [DIRECTORY <name>])
#   A target that always runs `cargo build ARGS`; cargo itself knows what is out of date.
#   <file> is the product, relative to the profile's directory below the cargo target
#   directory <name>; its absolute path is returned in <target>_OUTPUT. cargo runs in the source
#   directory, so that it reads .cargo/config.toml there.

file(READ ${CMAKE_CURRENT_SOURCE_DIR}/Cargo.toml _scr_manifest)
string(REGEX MATCH "\nrust-version = \"([0-9.]+)\"" _scr_match "${_scr_manifest}")
set(SCR_RUST_MINIMUM "${CMAKE_MATCH_1}")
string(REGEX MATCH "\nversion = \"([^\"]+)\"" _scr_match "${_scr_manifest}")
set(SCR_RS_VERSION "${CMAKE_MATCH_1}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${CMAKE_CURRENT_SOURCE_DIR}/Cargo.toml)

find_program(CARGO_EXECUTABLE cargo PATHS $ENV{CARGO_HOME}/bin $ENV{HOME}/.cargo/bin)
set(_scr_rust_advice
    "SCR needs Rust ${SCR_RUST_MINIMUM} or newer. Get it from https://rustup.rs (no root "
    "needed), or with 'rustup update' if rustup is there, then run cmake again in a fresh build "
    "directory, or with -DCARGO_EXECUTABLE=/path/to/cargo.")
if(NOT CARGO_EXECUTABLE)
    message(FATAL_ERROR "cargo was not found. " ${_scr_rust_advice})
endif()
execute_process(COMMAND ${CARGO_EXECUTABLE} --version
    OUTPUT_VARIABLE _scr_cargo_version ERROR_VARIABLE _scr_cargo_error
    RESULT_VARIABLE _scr_cargo_result)
if(NOT _scr_cargo_result EQUAL 0 OR NOT _scr_cargo_version MATCHES "cargo ([0-9]+\\.[0-9.]+)")
    message(FATAL_ERROR "${CARGO_EXECUTABLE} does not work: ${_scr_cargo_error}"
        ${_scr_rust_advice})
elseif(CMAKE_MATCH_1 VERSION_LESS SCR_RUST_MINIMUM)
    message(FATAL_ERROR "${CARGO_EXECUTABLE} is version ${CMAKE_MATCH_1}. " ${_scr_rust_advice})
endif()

# One cargo target directory for each MPI and feature set: the bindings to one MPI must never
# be taken for those to another, also when a build directory is configured anew.
if(DEFINED ENV{CARGO_TARGET_DIR})
    set(_scr_default $ENV{CARGO_TARGET_DIR})
else()
    set(_scr_default ${CMAKE_BINARY_DIR}/cargo)
endif()
set(SCR_CARGO_TARGET_DIR ${_scr_default} CACHE PATH
    "Where cargo builds; may be shared by several build directories")
string(SHA256 _scr_mpi_hash "${MPI_C_COMPILER};${MPI_C_LIBRARIES}")
string(SUBSTRING "${_scr_mpi_hash}" 0 8 _scr_mpi_hash)
set(SCR_CARGO_MPI_DIRECTORY "mpi-${_scr_mpi_hash}")

if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    set(SCR_CARGO_PROFILE dev)
    set(_scr_profile_directory debug)
else()
    set(SCR_CARGO_PROFILE release)
    set(_scr_profile_directory release)
endif()

# Arguments of `cmake -E env`. MPI_PKG_CONFIG would win over MPICC and could name another MPI.
set(SCR_CARGO_ENVIRONMENT
    --unset=MPI_PKG_CONFIG
    CC=${CMAKE_C_COMPILER}
    MPICC=${MPI_C_COMPILER}
    SCR_DEFAULT_CACHE_BASE=${SCR_CACHE_BASE}
    SCR_DEFAULT_CNTL_BASE=${SCR_CNTL_BASE}
    SCR_CONFIG_FILE=${SCR_CONFIG_FILE})

function(scr_cargo_build target)
    cmake_parse_arguments(arg "" "OUTPUT;DIRECTORY" "ARGS" ${ARGN})
    set(directory ${SCR_CARGO_TARGET_DIR}/${arg_DIRECTORY})
    set(output ${directory}/${_scr_profile_directory}/${arg_OUTPUT})
    list(JOIN arg_ARGS " " words)
    add_custom_target(${target} ALL
        COMMAND ${CMAKE_COMMAND} -E env ${SCR_CARGO_ENVIRONMENT}
            ${CARGO_EXECUTABLE} build --locked --profile ${SCR_CARGO_PROFILE}
            --manifest-path ${PROJECT_SOURCE_DIR}/Cargo.toml
            --target-dir ${directory} ${arg_ARGS}
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
        BYPRODUCTS ${output}
        COMMENT "cargo build ${words}"
        USES_TERMINAL VERBATIM)
    set(${target}_OUTPUT ${output} PARENT_SCOPE)
endfunction()
