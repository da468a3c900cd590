# Where refit, its rules and the program of `refit verify` go, in an installation and in a wheel alike: bin/refit looks for
# ../share/refit/rules beside its own folder. The runtime installs itself (runtime/CMakeLists.txt).

include(GNUInstallDirs)
if(REFIT_BUILD_REWRITER)
  if(SKBUILD)
    set(refit_bin_dir "${SKBUILD_SCRIPTS_DIR}")
    set(refit_share_dir "${SKBUILD_DATA_DIR}/share/refit")
  else()
    set(refit_bin_dir "${CMAKE_INSTALL_BINDIR}")
    set(refit_share_dir "${CMAKE_INSTALL_DATADIR}/refit")
  endif()
  install(TARGETS refit RUNTIME DESTINATION "${refit_bin_dir}" COMPONENT tool)
  install(DIRECTORY "${CMAKE_SOURCE_DIR}/rules" "${CMAKE_SOURCE_DIR}/verify"
          DESTINATION "${refit_share_dir}" COMPONENT tool PATTERN "__pycache__" EXCLUDE)
endif()
