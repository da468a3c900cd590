# With REFIT_STATIC_LIBRARIES, the tool needs no shared library but glibc's own: `./dev wheel` makes a
# file that runs on machines which have none of these libraries. Only the linking differs; every
# object is compiled as for the shared libraries, so that the two builds share the compiler's cache.

option(REFIT_STATIC_LIBRARIES "Link the tool with every library but glibc statically" OFF)
if(NOT REFIT_STATIC_LIBRARIES)
  return()
endif()

set(static_dir "${CMAKE_CURRENT_LIST_DIR}/static")
# Sets VARIABLE to the archive libNAME.a.
function(refit_find_archive variable name)
  find_library(${variable} "lib${name}.a")
  if(NOT ${variable})
    message(FATAL_ERROR "REFIT_STATIC_LIBRARIES links lib${name}.a and found none; install the packages "
                        "of scripts/packages/debian-wheel.txt (./dev wheel does) or leave the option off")
  endif()
endfunction()

foreach(name git2 http_parser mbedcrypto pcre2-8 yaml-cpp z zstd)
  refit_find_archive(static_${name} ${name})
endforeach()
# What ClangLibraries.cmake links.
set(clang_zlib "${static_z}")
set(clang_zstd "${static_zstd}")

foreach(package libgit2 yaml_cpp)
  set_target_properties(PkgConfig::${package} PROPERTIES INTERFACE_LINK_LIBRARIES "")
endforeach()
target_link_libraries(PkgConfig::yaml_cpp INTERFACE "${static_yaml-cpp}")
target_link_libraries(PkgConfig::libgit2 INTERFACE
  "${static_git2}" "${static_http_parser}" "${static_mbedcrypto}" "${static_pcre2-8}" "${static_z}")

# fmt has no archive in Debian: its functions are compiled from its headers.
add_library(refit_fmt STATIC "${static_dir}/fmt.cpp")
target_link_libraries(refit_fmt PRIVATE refit_warnings)
target_compile_definitions(refit_fmt INTERFACE FMT_SHARED)
add_library(fmt::fmt ALIAS refit_fmt)

# Makes the program TARGET free of every shared library but glibc's. The objects of static/ come before
# the archives on the command line, so that no member of an archive is taken for what they define.
function(refit_link_statically target)
  target_sources(${target} PRIVATE "${static_dir}/local_only.c" "${static_dir}/random.c")
  target_link_libraries(${target} PRIVATE PkgConfig::libgit2)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
endfunction()
