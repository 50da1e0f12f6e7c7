# The scr command, and the names of SCR v3.1.0 under which it does the same as before.

set(SCR_CLASSIC_COMMANDS
    scr_index scr_print scr_print_hash_file kvtree_print
    CACHE STRING "Names beside scr under which the command is installed")

scr_cargo_build(scr_command DIRECTORY cli OUTPUT scr
    ARGS --bin scr --no-default-features --features cli)
set(SCR_COMMAND ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/scr)

add_custom_command(TARGET scr_command POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${scr_command_OUTPUT} ${SCR_COMMAND}
    VERBATIM)
install(PROGRAMS ${SCR_COMMAND} DESTINATION ${CMAKE_INSTALL_BINDIR})

foreach(name IN LISTS SCR_CLASSIC_COMMANDS)
    set(link ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name})
    add_custom_command(TARGET scr_command POST_BUILD
        COMMAND ${CMAKE_COMMAND} -E create_symlink scr ${link} VERBATIM)
    install(FILES ${link} DESTINATION ${CMAKE_INSTALL_BINDIR})
endforeach()
