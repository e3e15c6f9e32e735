# Writes the table of all commands of the braid program (see cli/command.h), sorted by name.
cmake_policy(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/table.cmake)
braid_write_pointers("every command of src/cli" "cli/command.h" bd_command bd_command)
