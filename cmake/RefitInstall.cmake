# Where refit and its rules go, in an installation and in a wheel alike: bin/refit looks for
# ../share/refit/rules beside its own folder, and for ../lib/refit_cpp.so, which is there where clang's
# libraries were when it was built. The runtime installs itself (runtime/CMakeLists.txt).

include(GNUInstallDirs)
if(REFIT_BUILD_REWRITER)
  if(SKBUILD)
    set(refit_bin_dir "${SKBUILD_SCRIPTS_DIR}")
    set(refit_share_dir "${SKBUILD_DATA_DIR}/share/refit")
    set(refit_lib_dir "${SKBUILD_DATA_DIR}/lib")
  else()
    set(refit_bin_dir "${CMAKE_INSTALL_BINDIR}")
    set(refit_share_dir "${CMAKE_INSTALL_DATADIR}/refit")
    set(refit_lib_dir lib)
  endif()
  install(TARGETS refit RUNTIME DESTINATION "${refit_bin_dir}" COMPONENT tool)
  if(TARGET refit_cpp)
    install(TARGETS refit_cpp LIBRARY DESTINATION "${refit_lib_dir}" COMPONENT tool)
  endif()
  install(DIRECTORY "${CMAKE_SOURCE_DIR}/rules" DESTINATION "${refit_share_dir}" COMPONENT tool)
endif()
