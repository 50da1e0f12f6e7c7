# The target docs: the documentation site, in docs/ of the build directory. It is not part of all.

add_custom_target(docs COMMAND ${PROJECT_SOURCE_DIR}/scripts/docs ${PROJECT_BINARY_DIR}/docs VERBATIM)
