# The target tree_sitter: tree-sitter's core and its Python grammar, from the source distributions
# in REFIT_DEPS_DIR. `./dev` has put them there before CMake starts; `pip install .` has not, and
# then they are fetched here.

set(tree_sitter_core "${REFIT_DEPS_DIR}/tree_sitter-0.26.1/tree_sitter/core/lib")
set(tree_sitter_python "${REFIT_DEPS_DIR}/tree_sitter_python-0.25.0/src")
# 0.25.0's source distribution lacks the scanner. 0.23.6's scans the same external tokens; what it
# does not know are t-strings (Python 3.14) and blocks indented by more than 255 columns.
set(tree_sitter_python_scanner "${REFIT_DEPS_DIR}/tree_sitter_python-0.23.6/src/scanner.c")

if(NOT EXISTS "${tree_sitter_core}" OR NOT EXISTS "${tree_sitter_python}"
   OR NOT EXISTS "${tree_sitter_python_scanner}")
  find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
  message(STATUS "Fetching tree-sitter's sources")
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" "${CMAKE_SOURCE_DIR}/scripts/fetch_sources.py"
            "${REFIT_DEPS_DIR}"
    RESULT_VARIABLE tree_sitter_fetched)
  if(NOT tree_sitter_fetched EQUAL 0)
    message(FATAL_ERROR "tree-sitter's sources could not be fetched; the line above says why.")
  endif()
endif()

add_library(tree_sitter STATIC "${tree_sitter_core}/src/lib.c" "${tree_sitter_python}/parser.c"
                               "${tree_sitter_python_scanner}")
# With tree_sitter/parser.h, the layout of the grammar's tables.
target_include_directories(tree_sitter SYSTEM PUBLIC "${tree_sitter_core}/include"
                                                     "${tree_sitter_python}")
target_include_directories(tree_sitter PRIVATE "${tree_sitter_core}/src")
# Optimised in every build: parsing is most of a run, and nobody steps through it.
target_compile_options(tree_sitter PRIVATE -O3 -w)
