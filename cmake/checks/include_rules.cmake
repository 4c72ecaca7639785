# Fails if a folder includes one that it may not see, or a library through another door
# than the one that is meant for it.
#
#   cmake -D SOURCE_DIR=<repository> -P cmake/checks/include_rules.cmake
cmake_minimum_required(VERSION 3.25)

set(rooms engine autodiff graphs models samplers losses diagnostics data driver)
set(sees_engine "")
set(sees_autodiff engine)
# Sampler and experiment files hold what samplers are made of.
set(sees_graphs engine samplers)
set(sees_models engine)
set(sees_samplers engine autodiff)
set(sees_losses engine autodiff)
set(sees_diagnostics engine)
set(sees_data engine)
set(sees_driver engine autodiff graphs models samplers losses diagnostics data)

# Each door: what is included, and the only files that may include it.
set(doors mkl boost_graph protobuf)
set(mkl_is "^mkl([_/].*)?(\\.h|\\.hpp)$|^mkl/")
set(mkl_through "^engine/kernels")
set(boost_graph_is "^boost/graph/")
set(boost_graph_through "^engine/(algorithms|graph_bgl)")
set(protobuf_is "\\.pb\\.h$|^google/protobuf/")
set(protobuf_through "^graphs/")

set(faults 0)
macro(fault text)
  message("${file}: ${text}: ${line}")
  math(EXPR faults "${faults} + 1")
endmacro()

set(checked 0)
foreach(room IN LISTS rooms)
  file(GLOB_RECURSE files RELATIVE "${SOURCE_DIR}" "${SOURCE_DIR}/${room}/*.[ch]pp"
       "${SOURCE_DIR}/${room}/*.h")
  foreach(file IN LISTS files)
    math(EXPR checked "${checked} + 1")
    file(STRINGS "${SOURCE_DIR}/${file}" lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"]*).*" "\\1" header "${line}")
      string(REGEX REPLACE "/.*" "" seen "${header}")
      if(header MATCHES "(^|/)\\.\\./")
        fault("includes are written from the root of the repository")
      elseif(seen STREQUAL "whorl")
        fault("the prefix whorl/ is for projects outside")
      elseif(seen STREQUAL "tests" OR seen STREQUAL "bench" OR seen STREQUAL "examples")
        fault("${room} may not include ${seen}")
      elseif(header MATCHES "/" AND seen IN_LIST rooms AND NOT seen STREQUAL room
             AND NOT seen IN_LIST sees_${room})
        fault("${room} may not include ${seen}")
      endif()
      foreach(door IN LISTS doors)
        if(header MATCHES "${${door}_is}" AND NOT file MATCHES "${${door}_through}")
          fault("${door} may only be included by files that match ${${door}_through}")
        endif()
      endforeach()
    endforeach()
  endforeach()
endforeach()

if(faults)
  message(FATAL_ERROR "${faults} includes break the rules")
endif()
if(checked EQUAL 0)
  message(FATAL_ERROR "no sources under '${SOURCE_DIR}'")
endif()
message("${checked} files keep the rules")
