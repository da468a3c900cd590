# Sees to it that tree-sitter's sources lie in REFIT_DEPS_DIR. `./dev` has put them there before
# CMake starts; `pip install .` has not.

file(STRINGS "${CMAKE_SOURCE_DIR}/scripts/requirements/sources.txt" refit_pins REGEX "==")
set(refit_missing_sources "")
foreach(pin IN LISTS refit_pins)
  string(REGEX REPLACE "^([A-Za-z0-9-]+)==([0-9.]+).*" "\\1-\\2" folder "${pin}")
  string(REGEX REPLACE "-([^0-9])" "_\\1" folder "${folder}")
  if(NOT IS_DIRECTORY "${REFIT_DEPS_DIR}/${folder}")
    list(APPEND refit_missing_sources "${folder}")
  endif()
endforeach()

if(refit_missing_sources)
  find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
  message(STATUS "Fetching ${refit_missing_sources}")
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" "${CMAKE_SOURCE_DIR}/scripts/fetch_sources.py"
            "${REFIT_DEPS_DIR}"
    RESULT_VARIABLE refit_fetch_status)
  if(NOT refit_fetch_status EQUAL 0)
    message(FATAL_ERROR "The sources of ${refit_missing_sources} could not be fetched; "
                        "the message above says why.")
  endif()
endif()
