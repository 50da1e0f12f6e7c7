# The scr command, the names of SCR v3.1.0 under which it does the same as before, and the
# manual pages of all of them.

set(_scr_command_features cli)
if(SCR_ENABLE_MYSQL)
    set(_scr_command_features cli,mysql)
endif()
scr_cargo_build(scr_command OUTPUT scr
    ARGS -p scr-rs --bin scr --no-default-features --features ${_scr_command_features}
    LINK_FLAGS "${CMAKE_EXE_LINKER_FLAGS}")
add_dependencies(scr_command ${SCR_RUST_TARGET})
set(SCR_COMMAND ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/scr)

add_custom_command(TARGET scr_command POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${scr_command_OUTPUT} ${SCR_COMMAND}
    VERBATIM)
install(PROGRAMS ${SCR_COMMAND} DESTINATION ${CMAKE_INSTALL_BINDIR})
# `cmake --install --strip` takes symbols away from targets of CMake's own only.
if(CMAKE_STRIP AND NOT IS_ABSOLUTE "${CMAKE_INSTALL_BINDIR}")
    install(CODE "if(CMAKE_INSTALL_DO_STRIP)
        execute_process(COMMAND \"${CMAKE_STRIP}\"
            \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/scr\")
    endif()")
endif()

# Completions of command lines, where each shell looks for them.
set(_scr_bash_directory bash-completion/completions)
set(_scr_zsh_directory zsh/site-functions)
set(_scr_fish_directory fish/vendor_completions.d)
foreach(shell IN ITEMS bash zsh fish)
    set(_scr_completions ${PROJECT_BINARY_DIR}/completions/${shell})
    add_custom_command(TARGET scr_command POST_BUILD
        COMMAND ${SCR_COMMAND} completions ${shell} --dir ${_scr_completions} VERBATIM)
    install(DIRECTORY ${_scr_completions}/
        DESTINATION ${CMAKE_INSTALL_DATADIR}/${_scr_${shell}_directory})
endforeach()

# The manual pages of all names, and of the calls of the library.
set(_scr_manual ${PROJECT_BINARY_DIR}/man)
add_custom_command(TARGET scr_command POST_BUILD
    COMMAND ${SCR_COMMAND} manual --dir ${_scr_manual} --calls
        ${PROJECT_SOURCE_DIR}/docs/c-api.md ${PROJECT_SOURCE_DIR}/fortran/scrf.F90 VERBATIM)
install(DIRECTORY ${_scr_manual}/ DESTINATION ${CMAKE_INSTALL_MANDIR})

# The classic names. docs/commands.md has them in the rows of its table: a test compares it with the command.
set(_scr_page ${PROJECT_SOURCE_DIR}/docs/commands.md)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_scr_page})
file(STRINGS ${_scr_page} _scr_rows REGEX "^[|] .`scr ")
string(REGEX MATCHALL "`[a-z0-9]+_[a-z0-9_]+`" _scr_names "${_scr_rows}")
foreach(name IN LISTS _scr_names)
    string(REPLACE "`" "" name ${name})
    set(link ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name})
    add_custom_command(TARGET scr_command POST_BUILD
        COMMAND ${CMAKE_COMMAND} -E create_symlink scr ${link} VERBATIM)
    install(FILES ${link} DESTINATION ${CMAKE_INSTALL_BINDIR})
endforeach()
