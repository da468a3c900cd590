# The targets llvm_support and clang_libraries: LLVM's support library, and all of clang 19's static
# libraries, which read C++ sources. 19 is the newest that Debian 12 and Ubuntu 24.04 both have, and
# the one that clang-format and clang-tidy are taken from.
#
# The libraries are named here and not taken from clang's own CMake package: that one wants every
# tool of LLVM to be installed.

set(clang_root "/usr/lib/llvm-19" CACHE PATH "Where clang 19's headers and libraries lie")
set(clang_parts
  Format ToolingInclusions ToolingCore Tooling Frontend Driver Serialization Parse Sema Analysis Edit APINotes AST ASTMatchers Rewrite
  Support Lex Basic)
set(llvm_parts
  FrontendHLSL FrontendOpenMP FrontendOffloading ScalarOpts AggressiveInstCombine InstCombine
  TransformUtils Analysis ProfileData SymbolizeCommon Symbolize DebugInfoDWARF DebugInfoPDB
  DebugInfoMSF DebugInfoCodeView DebugInfoBTF Object IRReader AsmParser BitReader BitstreamReader
  MCParser MC TextAPI Core Remarks Option WindowsDriver TargetParser BinaryFormat Support Demangle)

set(clang_archives)
if(EXISTS "${clang_root}/include/clang/Tooling/Tooling.h")
  foreach(part IN LISTS clang_parts)
    if(EXISTS "${clang_root}/lib/libclang${part}.a")
      list(APPEND clang_archives "${clang_root}/lib/libclang${part}.a")
    endif()
  endforeach()
  foreach(part IN LISTS llvm_parts)
    if(EXISTS "${clang_root}/lib/libLLVM${part}.a")
      list(APPEND clang_archives "${clang_root}/lib/libLLVM${part}.a")
    endif()
  endforeach()
endif()
find_library(clang_zlib z)
find_library(clang_zstd zstd)

if(NOT clang_archives OR NOT clang_zlib OR NOT clang_zstd)
  message(FATAL_ERROR "refit reads C++ with clang 19 and did not find its libraries in ${clang_root}; "
                      "install libclang-19-dev, llvm-19-dev, libzstd-dev and zlib1g-dev (./dev setup "
                      "does) or name their folder with -Dclang_root=FOLDER")
endif()
# What of LLVM serves everywhere: JSON, UTF-8, small vectors.
add_library(llvm_support INTERFACE)
target_include_directories(llvm_support SYSTEM INTERFACE "${clang_root}/include")
target_link_libraries(llvm_support INTERFACE
  "${clang_root}/lib/libLLVMSupport.a" "${clang_root}/lib/libLLVMDemangle.a"
  "${clang_zlib}" "${clang_zstd}" Threads::Threads ${CMAKE_DL_LIBS})
add_library(clang_libraries INTERFACE)
target_include_directories(clang_libraries SYSTEM INTERFACE "${clang_root}/include")
target_link_libraries(clang_libraries INTERFACE
  -Wl,--start-group ${clang_archives} -Wl,--end-group
  "${clang_zlib}" "${clang_zstd}" Threads::Threads ${CMAKE_DL_LIBS})
