# Installs a build into an empty prefix, then configures, builds and runs a project
# outside that finds it with find_package(whorl).
#
#   cmake -D BUILD_DIR=<build> -D PROJECT_DIR=<project> -D WORK_DIR=<scratch> \
#         -D COMPILER=<c++> -P cmake/checks/embed.cmake
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${WORK_DIR}")
set(prefix "${WORK_DIR}/prefix")
set(build "${WORK_DIR}/build")

function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

step("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${prefix}")
step("${CMAKE_COMMAND}" -S "${PROJECT_DIR}" -B "${build}" -G Ninja
     -D CMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_COMPILER=${COMPILER}"
     "-DCMAKE_PREFIX_PATH=${prefix}" -D CMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
step("${CMAKE_COMMAND}" --build "${build}")
step("${build}/embed")
