# Finds Random123, which is headers only. It is needed to build Whorl, not to use it.

find_path(Random123_INCLUDE_DIR Random123/philox.h)
mark_as_advanced(Random123_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Random123 REQUIRED_VARS Random123_INCLUDE_DIR)
