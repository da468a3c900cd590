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
  # The notices of the libraries inside, which their licences ask for.
  if(REFIT_STATIC_LIBRARIES)
    foreach(package libclang-19-dev libcli11-dev libexpected-dev libfmt-dev libgit2-dev libhttp-parser-dev libmbedtls-dev
                    libpcre2-dev libtomlplusplus-dev libyaml-cpp-dev libzstd-dev nlohmann-json3-dev zlib1g-dev)
      install(FILES "/usr/share/doc/${package}/copyright" DESTINATION "${refit_share_dir}/notices"
              COMPONENT tool RENAME "${package}")
    endforeach()
    foreach(source tree_sitter-0.26.1 tree_sitter_python-0.25.0)
      install(FILES "${REFIT_DEPS_DIR}/${source}/LICENSE" DESTINATION "${refit_share_dir}/notices"
              COMPONENT tool RENAME "${source}")
    endforeach()
  endif()
endif()
