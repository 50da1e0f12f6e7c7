# Runs cargo, and knows where its products are.
#
# scr_cargo_build(<target> OUTPUT <file> ARGS <arg>... [LINK_FLAGS <flags>])
#   A target that always runs `cargo rustc ARGS`; cargo itself knows what is out of date.
#   <file> is the product, relative to SCR_CARGO_PRODUCTS; its absolute path is returned in
#   <target>_OUTPUT. The product is linked with LINK_FLAGS, in the words of a command line.
#
# cargo runs in the source directory, so that it reads .cargo/config.toml there. It takes part in the
# job server of make; CARGO_BUILD_JOBS limits its processes with other programs.

file(READ ${PROJECT_SOURCE_DIR}/Cargo.toml _scr_manifest)
string(REGEX MATCH "\nrust-version = \"([0-9.]+)\"" _scr_match "${_scr_manifest}")
set(SCR_RUST_MINIMUM "${CMAKE_MATCH_1}")
string(REGEX MATCH "\nversion = \"([^\"]+)\"" _scr_match "${_scr_manifest}")
set(SCR_RS_VERSION "${CMAKE_MATCH_1}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/Cargo.toml)

find_program(SCR_CARGO_EXECUTABLE cargo PATHS $ENV{CARGO_HOME}/bin $ENV{HOME}/.cargo/bin
    DOC "The cargo to use")
string(CONCAT SCR_RUST_ADVICE
    "SCR needs Rust ${SCR_RUST_MINIMUM} or newer. Get it from https://rustup.rs (no root "
    "needed), or with 'rustup update' if rustup is there, then run cmake again in a fresh build "
    "directory, or with -DSCR_CARGO_EXECUTABLE=/path/to/cargo.")
if(NOT SCR_CARGO_EXECUTABLE)
    message(FATAL_ERROR "cargo was not found. ${SCR_RUST_ADVICE} (SCR-502)")
endif()
execute_process(COMMAND ${SCR_CARGO_EXECUTABLE} --version
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE _scr_cargo_version ERROR_VARIABLE _scr_cargo_error
    RESULT_VARIABLE _scr_cargo_result)
if(NOT _scr_cargo_result EQUAL 0 OR NOT _scr_cargo_version MATCHES "cargo ([0-9]+\\.[0-9.]+)")
    message(FATAL_ERROR "${SCR_CARGO_EXECUTABLE} does not work: ${_scr_cargo_error}"
        ${SCR_RUST_ADVICE})
elseif(CMAKE_MATCH_1 VERSION_LESS SCR_RUST_MINIMUM)
    message(FATAL_ERROR
        "${SCR_CARGO_EXECUTABLE} is version ${CMAKE_MATCH_1}. ${SCR_RUST_ADVICE}")
endif()

# One cargo target directory for each MPI and feature set: the bindings to one MPI must never
# be taken for those to another, also when a build directory is configured again.
if(DEFINED ENV{CARGO_TARGET_DIR})
    set(_scr_default $ENV{CARGO_TARGET_DIR})
else()
    set(_scr_default ${PROJECT_BINARY_DIR}/cargo)
endif()
set(SCR_CARGO_TARGET_DIR ${_scr_default} CACHE PATH
    "Where cargo builds; may be shared by several build directories")
# cargo takes a relative one from the directory in which it runs; what copies its products runs elsewhere.
get_filename_component(SCR_CARGO_TARGET_DIR "${SCR_CARGO_TARGET_DIR}" ABSOLUTE
    BASE_DIR ${PROJECT_SOURCE_DIR})
if(SCR_MPI STREQUAL "found")
    set(SCR_CARGO_MPI_DIRECTORY any-mpi)
else()
    string(SHA256 _scr_mpi_hash "${MPI_C_COMPILER};${MPI_C_LIBRARIES}")
    string(SUBSTRING "${_scr_mpi_hash}" 0 8 _scr_mpi_hash)
    set(SCR_CARGO_MPI_DIRECTORY "mpi-${_scr_mpi_hash}")
endif()

# The profiles of Cargo.toml, each built in the directory of its name, but dev in debug.
string(TOLOWER "${CMAKE_BUILD_TYPE}" _scr_type)
if(_scr_type STREQUAL "debug")
    set(SCR_CARGO_PROFILE dev)
    set(_scr_profile_directory debug)
else()
    set(SCR_CARGO_PROFILE release)
    if(_scr_type MATCHES "^(relwithdebinfo|minsizerel)$")
        set(SCR_CARGO_PROFILE ${_scr_type})
    endif()
    set(_scr_profile_directory ${SCR_CARGO_PROFILE})
endif()

# Where cargo builds the library and all that is made of the same engine, and the arguments that say so.
# ScrCorrosion.cmake has others.
set(SCR_CARGO_DIRECTORY ${SCR_CARGO_TARGET_DIR}/${SCR_CARGO_MPI_DIRECTORY})
set(SCR_CARGO_PRODUCTS ${SCR_CARGO_DIRECTORY}/${_scr_profile_directory})
set(SCR_CARGO_PLACE --target-dir ${SCR_CARGO_DIRECTORY})

# The system configuration file, from the directories of commands and of the library.
foreach(_scr_kind IN ITEMS BIN LIB)
    file(RELATIVE_PATH _scr_config_from_${_scr_kind}
        ${CMAKE_INSTALL_FULL_${_scr_kind}DIR} ${CMAKE_INSTALL_FULL_SYSCONFDIR}/scr.conf)
endforeach()

# Arguments of `cmake -E env`. MPI_PKG_CONFIG would win over MPICC and could name another MPI.
# CFLAGS are for the few C files, which cargo compiles by way of the crate cc.
string(TOUPPER "CMAKE_C_FLAGS_${CMAKE_BUILD_TYPE}" _scr_flags_of_type)
string(STRIP "${CMAKE_C_FLAGS} ${${_scr_flags_of_type}}" _scr_c_flags)
set(SCR_CARGO_ENVIRONMENT
    --unset=MPI_PKG_CONFIG
    CC=${CMAKE_C_COMPILER}
    "CFLAGS=${_scr_c_flags}"
    MPICC=${SCR_MPI_C_COMPILER}
    SCR_MPI_FAMILY=${SCR_MPI_FAMILY}
    SCR_DEFAULT_CACHE_BASE=${SCR_CACHE_BASE}
    SCR_DEFAULT_CNTL_BASE=${SCR_CNTL_BASE}
    SCR_CONFIG_FILE=${SCR_CONFIG_FILE}
    SCR_CONFIG_FROM_BIN=${_scr_config_from_BIN}
    SCR_CONFIG_FROM_LIB=${_scr_config_from_LIB}
    SCR_CONFIG_DEFAULT=${CMAKE_INSTALL_FULL_SYSCONFDIR}/scr.conf)
# make gives its job server to commands that have this in them.
if(CMAKE_GENERATOR MATCHES "Makefiles")
    list(APPEND SCR_CARGO_ENVIRONMENT "MAKE=$(MAKE)")
endif()

function(scr_cargo_build target)
    cmake_parse_arguments(arg "" "OUTPUT;LINK_FLAGS" "ARGS" ${ARGN})
    set(output ${SCR_CARGO_PRODUCTS}/${arg_OUTPUT})
    list(JOIN arg_ARGS " " words)
    set(link "")
    string(STRIP "${arg_LINK_FLAGS}" flags)
    if(flags)
        set(link -- -C "link-args=${flags}")
    endif()
    add_custom_target(${target} ALL
        COMMAND ${CMAKE_COMMAND} -E env ${SCR_CARGO_ENVIRONMENT}
            ${SCR_CARGO_EXECUTABLE} rustc --locked --profile ${SCR_CARGO_PROFILE}
            ${SCR_CARGO_PLACE} ${arg_ARGS} ${link}
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
        BYPRODUCTS ${output}
        COMMENT "cargo rustc ${words}"
        USES_TERMINAL VERBATIM)
    set(${target}_OUTPUT ${output} PARENT_SCOPE)
endfunction()
