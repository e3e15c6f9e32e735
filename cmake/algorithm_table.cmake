# Writes the table of all training algorithms (see train/algorithms/algorithm.h), sorted by name.
cmake_policy(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/table.cmake)
braid_write_pointers("every training algorithm" "train/algorithms/algorithm.h" train_algorithm train_algorithm)
