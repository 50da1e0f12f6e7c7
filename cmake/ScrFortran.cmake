# libscrf: the Fortran module and the classic external subroutines. It holds only Fortran and
# needs libscr, so that a program of several languages has one copy of the library.

set(SCRF_MODULE_DIRECTORY ${PROJECT_BINARY_DIR}/include)
add_subdirectory(fortran)

function(_scrf_library target name kind below)
    add_library(${target} ${kind} $<TARGET_OBJECTS:scrf_objects>)
    add_library(scr::${name} ALIAS ${target})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME scrf EXPORT_NAME ${name}
        LINKER_LANGUAGE Fortran)
    target_include_directories(${target} INTERFACE
        $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
        $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${target} PUBLIC ${below})
endfunction()

_scrf_library(scrf_static scrf-static STATIC scr_static)
if(BUILD_SHARED_LIBS)
    _scrf_library(scrf_shared scrf SHARED scr_shared)
    set_target_properties(scrf_shared PROPERTIES
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
else()
    add_library(scr::scrf ALIAS scrf_static)
endif()
