# GTest::gtest_main: GoogleTest as it is installed or, where it is not, built from the sources in
# REFIT_DEPS_DIR/googletest, which a machine that only gets a copy of the tree can be given along.

find_package(GTest QUIET)
if(NOT GTest_FOUND)
  if(NOT EXISTS "${REFIT_DEPS_DIR}/googletest/CMakeLists.txt")
    message(FATAL_ERROR "The tests need GoogleTest: install it (Debian, Ubuntu: libgtest-dev), put its "
                        "sources into ${REFIT_DEPS_DIR}/googletest, or set REFIT_BUILD_TESTS=OFF")
  endif()
  set(BUILD_GMOCK OFF CACHE BOOL "GoogleTest's mocks" FORCE)
  set(INSTALL_GTEST OFF CACHE BOOL "Whether GoogleTest is installed with the project" FORCE)
  add_subdirectory("${REFIT_DEPS_DIR}/googletest" googletest EXCLUDE_FROM_ALL)
endif()
include(GoogleTest)
