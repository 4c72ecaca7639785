# find_package(whorl) for other projects.

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/whorl")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/whorlConfig.cmake.in" "${PROJECT_BINARY_DIR}/whorlConfig.cmake"
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/whorlConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)

install(EXPORT whorl NAMESPACE whorl:: DESTINATION "${package_dir}" FILE whorlTargets.cmake)
install(FILES
  "${PROJECT_BINARY_DIR}/whorlConfig.cmake"
  "${PROJECT_BINARY_DIR}/whorlConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindMKL.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindnetCDF.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindxxHash.cmake"
  DESTINATION "${package_dir}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
