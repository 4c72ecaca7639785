# How Whorl's own targets are made. Everything here is PRIVATE to them: the flags of a
# project that embeds Whorl are left alone.

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(WHORL_CCACHE ccache)
  mark_as_advanced(WHORL_CCACHE)
  if(WHORL_CCACHE)
    # Without this it would not cache what uses a precompiled header.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${WHORL_CCACHE}")
  endif()
endif()

# whorl_warnings(<target>): the language and the warnings, nothing that shapes the code.
function(whorl_warnings target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow)
  # GCC 12 takes the copy inside "text" + std::string for one that overlaps itself.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(WHORL_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(WHORL_SANITIZE)
    # Not vptr: oneTBB's flow graph casts a task to its class after destroying it.
    target_compile_options(${target} PRIVATE -fsanitize=${WHORL_SANITIZE} -fno-sanitize=vptr
                                             -fno-sanitize-recover=all)
    # Instrumented code hides from GCC what is initialised, and it warns of what is not so.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
    endif()
    # PUBLIC: what links an instrumented library needs the sanitizer's runtime.
    target_link_options(${target} PUBLIC -fsanitize=${WHORL_SANITIZE})
  endif()
endfunction()

# whorl_precompiled(<target> <headers>): headers of other libraries that nearly every file of a
# target reads, compiled once. Our own are not among them: they change. Instrumented builds, and the
# driver, do without: GCC 12 then warns of what it inlines from the standard library.
function(whorl_precompiled target)
  if(WHORL_SANITIZE)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE ${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()

# whorl_arithmetic(<target>): the machine, and what floating point means.
#
# Results must not depend on which loop the compiler chose to vectorise, so nothing is
# contracted or reordered (never -ffast-math). errno and floating-point traps are read
# by nobody, and giving them up lets loops with sqrt and comparisons vectorise.
function(whorl_arithmetic target)
  target_compile_options(${target} PRIVATE -ffp-contract=off -fno-math-errno -fno-trapping-math)
  if(WHORL_ARCH)
    target_compile_options(${target} PRIVATE -march=${WHORL_ARCH})
  endif()
endfunction()

# whorl_library(<room> SOURCES <files> HEADERS <files>): the library whorl_<room>, also
# known as whorl::<room>.
#
# HEADERS are the public ones, by name: a header that is not listed is not installed.
# Sources write #include "engine/graph.hpp"; a project outside may write that or
# #include <whorl/engine/graph.hpp>.
function(whorl_library room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS")
  set(target whorl_${room})
  add_library(${target} ${arg_SOURCES})
  add_library(whorl::${room} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${room}
                                             VERSION ${PROJECT_VERSION}
                                             SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  whorl_warnings(${target})
  whorl_arithmetic(${target})
  target_compile_features(${target} PUBLIC cxx_std_20)
  whorl_precompiled(${target} <fmt/format.h> <algorithm> <cmath> <cstdint> <functional> <map>
                    <memory> <optional> <span> <string> <vector>)
  target_include_directories(${target} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/whorl>")
  if(NOT PROJECT_IS_TOP_LEVEL)
    # <whorl/...> for a project that takes Whorl in as a subdirectory.
    set(prefixed "${PROJECT_BINARY_DIR}/include")
    file(MAKE_DIRECTORY "${prefixed}")
    file(CREATE_LINK "${PROJECT_SOURCE_DIR}" "${prefixed}/whorl" SYMBOLIC)
    target_include_directories(${target} INTERFACE "$<BUILD_INTERFACE:${prefixed}>")
  endif()
  target_sources(${target} PUBLIC
    FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES ${arg_HEADERS})
  install(TARGETS ${target} EXPORT whorl
    FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/whorl")
endfunction()
