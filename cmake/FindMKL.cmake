# Finds MKL, sequential and with 32-bit integers (LP64), as the target MKL::MKL.
#
# A oneMKL with a CMake config of its own is preferred; MKLROOT points to it, or to an
# older MKL without one. Otherwise the headers and libraries are looked for where
# distributions put them. Sequential, because Whorl's tasks are the only threads.

set(MKL_THREADING sequential)
set(MKL_INTERFACE lp64)
set(MKL_LINK dynamic)
find_package(MKL CONFIG QUIET HINTS "$ENV{MKLROOT}" "$ENV{MKLROOT}/lib/cmake/mkl")
if(TARGET MKL::MKL)
  include(FindPackageHandleStandardArgs)
  find_package_handle_standard_args(MKL CONFIG_MODE)
  return()
endif()

find_path(MKL_INCLUDE_DIR mkl.h
  HINTS "$ENV{MKLROOT}" PATH_SUFFIXES include mkl)
set(mkl_libraries "")
foreach(part IN ITEMS intel_lp64 sequential core)
  find_library(MKL_${part}_LIBRARY mkl_${part}
    HINTS "$ENV{MKLROOT}" PATH_SUFFIXES lib lib/intel64)
  list(APPEND mkl_libraries "${MKL_${part}_LIBRARY}")
endforeach()
mark_as_advanced(MKL_INCLUDE_DIR MKL_intel_lp64_LIBRARY MKL_sequential_LIBRARY MKL_core_LIBRARY)

if(MKL_INCLUDE_DIR AND EXISTS "${MKL_INCLUDE_DIR}/mkl_version.h")
  set(MKL_VERSION "")
  foreach(part IN ITEMS __INTEL_MKL__ __INTEL_MKL_MINOR__ __INTEL_MKL_UPDATE__)
    file(STRINGS "${MKL_INCLUDE_DIR}/mkl_version.h" line REGEX "#define ${part}[ \t]")
    if(line MATCHES "([0-9]+)[ \t]*$")
      list(APPEND MKL_VERSION "${CMAKE_MATCH_1}")
    endif()
  endforeach()
  list(JOIN MKL_VERSION "." MKL_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MKL
  REQUIRED_VARS MKL_intel_lp64_LIBRARY MKL_sequential_LIBRARY MKL_core_LIBRARY MKL_INCLUDE_DIR
  VERSION_VAR MKL_VERSION
  REASON_FAILURE_MESSAGE "Install Debian's libmkl-dev (tools/setup does), or set MKLROOT to a oneMKL")

if(MKL_FOUND AND NOT TARGET MKL::MKL)
  find_package(Threads REQUIRED)
  add_library(MKL::MKL INTERFACE IMPORTED)
  # The three libraries refer to each other, and the kernels that MKL loads at run time
  # to all of them, without saying so in their headers: a linker that drops libraries
  # which look unused would drop one.
  set_target_properties(MKL::MKL PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${MKL_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES
      "-Wl,--push-state,--no-as-needed;${mkl_libraries};-Wl,--pop-state;Threads::Threads;m;${CMAKE_DL_LIBS}")
endif()
