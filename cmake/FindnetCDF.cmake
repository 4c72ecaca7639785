# Finds the C library of netCDF with the HDF5 below it as the target netCDF::netcdf.

find_path(netCDF_INCLUDE_DIR netcdf.h)
find_library(netCDF_LIBRARY netcdf)
# Debian has an HDF5 for serial programs and others for MPI, in folders of their own.
find_path(netCDF_HDF5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
find_library(netCDF_HDF5_LIBRARY NAMES hdf5_serial hdf5 PATH_SUFFIXES hdf5/serial)
mark_as_advanced(netCDF_INCLUDE_DIR netCDF_LIBRARY netCDF_HDF5_INCLUDE_DIR netCDF_HDF5_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(netCDF REQUIRED_VARS
  netCDF_LIBRARY netCDF_INCLUDE_DIR netCDF_HDF5_LIBRARY netCDF_HDF5_INCLUDE_DIR)

if(netCDF_FOUND AND NOT TARGET netCDF::netcdf)
  add_library(netCDF::netcdf UNKNOWN IMPORTED)
  set_target_properties(netCDF::netcdf PROPERTIES
    IMPORTED_LOCATION "${netCDF_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${netCDF_INCLUDE_DIR};${netCDF_HDF5_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${netCDF_HDF5_LIBRARY}")
endif()
