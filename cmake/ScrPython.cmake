# The Python module. It is nothing but source, for any Python 3, so its place names no version of Python:
# PYTHONPATH takes it, as with SCR v3.1.0. It finds libscr by a path relative to its own.

set(SCR_PYTHON_DIR ${CMAKE_INSTALL_DATADIR}/scr/python CACHE STRING
    "Where the Python module is installed, below the prefix")

if(BUILD_SHARED_LIBS)
    get_filename_component(_scr_module ${SCR_PYTHON_DIR}/scr ABSOLUTE BASE_DIR ${CMAKE_INSTALL_PREFIX})
    file(RELATIVE_PATH _scr_library ${_scr_module}
        ${CMAKE_INSTALL_FULL_LIBDIR}/libscr.so.${PROJECT_VERSION_MAJOR})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/python/_installed.py CONTENT
        "\"\"\"Where libscr is, seen from here.\"\"\"\n\nLIBRARY = \"${_scr_library}\"\nVERSION = \"${SCR_RS_VERSION}\"\n")
    install(DIRECTORY python/scr DESTINATION ${SCR_PYTHON_DIR}
        FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
    install(FILES ${PROJECT_BINARY_DIR}/python/_installed.py DESTINATION ${SCR_PYTHON_DIR}/scr)
    # For pip, unless SCR_PYTHON_DIR is one of many modules, which takes no more than the module.
    if(NOT SCR_PYTHON_DIR MATCHES "(site|dist)-packages/?$")
        install(FILES python/pyproject.toml python/setup.py DESTINATION ${SCR_PYTHON_DIR})
    endif()
    install(FILES python/README.md DESTINATION ${SCR_PYTHON_DIR}/scr)
    install(FILES examples/heat_fields.py examples/heat_numpy.py DESTINATION ${SCR_PYTHON_DIR}/scr/examples)
else()
    message(STATUS "SCR: the Python module is left out, as it needs BUILD_SHARED_LIBS")
endif()
