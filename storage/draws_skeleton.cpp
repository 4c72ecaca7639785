#include "storage/draws_skeleton.hpp"

#include <hdf5.h>
#include <netcdf.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <mutex>
#include <system_error>

#include "engine/error.hpp"

namespace whorl {

static_assert(std::endian::native == std::endian::little);

namespace {

[[noreturn]] void cannot_make(const std::string& shown, std::string_view reason) {
  fail(ErrorKind::io, "draws", "{}: cannot make the netCDF header: {}", shown, reason);
}

// A folder of our own that nobody else can write to, and the one file in it.
class PrivateFolder {
 public:
  PrivateFolder(const std::string& parent, const std::string& shown)
      : path_(parent + "/whorl-draws-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr)
      cannot_make(shown, parent + ": " + std::generic_category().message(errno));
  }
  ~PrivateFolder() {
    ::unlink(file().c_str());
    ::rmdir(path_.c_str());
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  std::string file() const { return path_ + "/draws.nc"; }

 private:
  std::string path_;
};

// HDF5 prints its errors unless it is told not to. NetCDF does tell it, with its first file; this
// is for calls of our own, should somebody else in the program have told it otherwise since.
class SilentHdf5 {
 public:
  SilentHdf5() {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~SilentHdf5() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }
  SilentHdf5(const SilentHdf5&) = delete;
  SilentHdf5& operator=(const SilentHdf5&) = delete;

 private:
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

struct Dimension {
  int id = 0;
  std::int64_t length = 0;
};

// A variable, and how to find it again in the finished file.
struct Variable {
  int group = 0, id = 0;
  std::string path;  // from the root, "/posterior/w"
  std::int64_t bytes = 0;
};

// A netCDF file in the making: all calls of the library, each checked.
class NetcdfFile {
 public:
  NetcdfFile(const std::string& path, const std::string& shown) : shown_(shown) {
    check(nc_create(path.c_str(), NC_NETCDF4 | NC_CLOBBER, &root_));
    is_open_ = true;
  }
  ~NetcdfFile() {
    if (is_open_) nc_abort(root_);
  }
  NetcdfFile(const NetcdfFile&) = delete;
  NetcdfFile& operator=(const NetcdfFile&) = delete;

  int root() const { return root_; }

  int add_group(const char* name) {
    int group = 0;
    check(nc_def_grp(root_, name, &group));
    return group;
  }

  void add_text(int group, int variable, const std::string& name, const std::string& text) {
    check(nc_put_att_text(group, variable, name.c_str(), text.size(), text.data()));
  }

  void add_attributes(int group, const DrawsLayout& layout) {
    for (const auto& [name, text] : layout.attributes) add_text(group, NC_GLOBAL, name, text);
  }

  // With its coordinate 0, 1, 2, ...
  Dimension add_dimension(int group, const std::string& group_name, const std::string& name,
                          std::int64_t length, std::vector<Variable>& coordinates) {
    Dimension dimension{0, length};
    // A length of 0 makes it what netCDF calls unlimited: the only kind that may have no elements.
    check(nc_def_dim(group, name.c_str(), static_cast<std::size_t>(length), &dimension.id));
    coordinates.push_back(add_variable(group, group_name, name, NC_INT64, {dimension}));
    return dimension;
  }

  Variable add_variable(int group, const std::string& group_name, const std::string& name,
                        nc_type type, const std::vector<Dimension>& dimensions) {
    std::vector<int> ids;
    std::int64_t bytes = type == NC_FLOAT ? 4 : 8;
    for (const Dimension& dimension : dimensions) {
      ids.push_back(dimension.id);
      bytes *= dimension.length;
    }
    Variable variable{group, 0, "/" + group_name + "/" + name, bytes};
    check(nc_def_var(group, name.c_str(), type, static_cast<int>(ids.size()), ids.data(),
                     &variable.id));
    // Filling is done by whoever knows the disk.
    check(nc_def_var_fill(group, variable.id, NC_NOFILL, nullptr));
    if (bytes > 0) check(nc_def_var_chunking(group, variable.id, NC_CONTIGUOUS, nullptr));
    return variable;
  }

  void mark_missing_as_nan(const Variable& variable, nc_type type) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    check(nc_put_att_double(variable.group, variable.id, "_FillValue", type, 1, &nan));
  }

  // HDF5 gives a contiguous variable its place with the first number that is written.
  void give_place(const Variable& variable) {
    if (variable.bytes == 0) return;
    const std::array<std::size_t, NC_MAX_VAR_DIMS> origin{};
    const double zero = 0;
    check(nc_put_var1_double(variable.group, variable.id, origin.data(), &zero));
  }

  void end_definitions() { check(nc_enddef(root_)); }

  void close() {
    is_open_ = false;
    check(nc_close(root_));
  }

 private:
  void check(int status) const {
    if (status != NC_NOERR) cannot_make(shown_, nc_strerror(status));
  }

  const std::string& shown_;
  int root_ = 0;
  bool is_open_ = false;
};

struct Variables {
  std::vector<Variable> coordinates, parameters, statistics;
  Variable steps;
};

void define_posterior(NetcdfFile& file, const DrawsLayout& layout, Variables& variables) {
  const std::string name = "posterior";
  const nc_type type = layout.dtype == DType::f32 ? NC_FLOAT : NC_DOUBLE;
  const int group = file.add_group(name.c_str());
  file.add_attributes(group, layout);
  const auto add_dimension = [&](const std::string& dimension, std::int64_t length) {
    return file.add_dimension(group, name, dimension, length, variables.coordinates);
  };
  const Dimension chain = add_dimension("chain", layout.chains);
  const Dimension draw = add_dimension("draw", layout.draws);
  const std::vector<std::string> names = netcdf_parameter_names(layout.parameters);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const DrawsVariable& parameter = layout.parameters[i];
    std::vector<Dimension> dimensions{chain, draw};
    for (int axis = 0; axis < parameter.shape.rank(); ++axis)
      dimensions.push_back(add_dimension(netcdf_axis_name(names[i], axis), parameter.shape[axis]));
    const Variable variable = file.add_variable(group, name, names[i], type, dimensions);
    file.mark_missing_as_nan(variable, type);
    if (names[i] != parameter.name) file.add_text(group, variable.id, "long_name", parameter.name);
    variables.parameters.push_back(variable);
  }
}

void define_sample_stats(NetcdfFile& file, const DrawsLayout& layout, Variables& variables) {
  const std::string name = "sample_stats";
  const int group = file.add_group(name.c_str());
  file.add_attributes(group, layout);
  const Dimension chain =
      file.add_dimension(group, name, "chain", layout.chains, variables.coordinates);
  const Dimension draw =
      file.add_dimension(group, name, "draw", layout.draws, variables.coordinates);
  const std::vector<std::string> names = netcdf_statistic_names(layout.statistics);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Variable variable = file.add_variable(group, name, names[i], NC_DOUBLE, {chain, draw});
    file.mark_missing_as_nan(variable, NC_DOUBLE);
    if (names[i] != layout.statistics[i])
      file.add_text(group, variable.id, "long_name", layout.statistics[i]);
    variables.statistics.push_back(variable);
  }
  // Without a _FillValue: xarray would turn whole numbers that may be missing into floats.
  variables.steps = file.add_variable(group, name, "step", NC_INT64, {draw});
}

Variables make_netcdf(const std::string& path, const DrawsLayout& layout,
                      const std::string& shown) {
  NetcdfFile file(path, shown);
  Variables variables;
  file.add_attributes(file.root(), layout);
  define_posterior(file, layout, variables);
  define_sample_stats(file, layout, variables);
  file.end_definitions();
  // In the order in which they are to lie in the file: the large ones last.
  for (const Variable& variable : variables.coordinates) file.give_place(variable);
  file.give_place(variables.steps);
  for (const Variable& variable : variables.statistics) file.give_place(variable);
  for (const Variable& variable : variables.parameters) file.give_place(variable);
  file.close();
  return variables;
}

// A finished netCDF file, asked where its variables lie.
class Hdf5File {
 public:
  Hdf5File(const std::string& path, const std::string& shown)
      : shown_(shown), file_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)) {
    if (file_ < 0) cannot_make(shown_, "HDF5 does not open what netCDF made");
  }
  ~Hdf5File() { H5Fclose(file_); }
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;

  DrawsRegion region_of(const Variable& variable) const {
    if (variable.bytes == 0) return {};
    const hid_t dataset = H5Dopen2(file_, variable.path.c_str(), H5P_DEFAULT);
    if (dataset < 0) cannot_make(shown_, "HDF5 does not find " + variable.path);
    const haddr_t offset = H5Dget_offset(dataset);
    const hsize_t bytes = H5Dget_storage_size(dataset);
    H5Dclose(dataset);
    if (offset == HADDR_UNDEF || bytes != static_cast<hsize_t>(variable.bytes))
      cannot_make(shown_, "HDF5 gave no place to " + variable.path);
    return {static_cast<std::int64_t>(offset), variable.bytes};
  }

  std::vector<DrawsRegion> regions_of(const std::vector<Variable>& variables) const {
    std::vector<DrawsRegion> regions;
    for (const Variable& variable : variables) regions.push_back(region_of(variable));
    return regions;
  }

 private:
  const std::string& shown_;
  hid_t file_;
};

// More than the netCDF part has beside its numbers: about 3 KiB a variable were measured.
std::int64_t most_header_bytes(const DrawsLayout& layout) {
  std::size_t variables = 8 + layout.statistics.size(), text = 0;
  for (const DrawsVariable& parameter : layout.parameters)
    variables += 1 + static_cast<std::size_t>(parameter.shape.rank());
  for (const auto& [name, value] : layout.attributes) text += 1024 + name.size() + value.size();
  return static_cast<std::int64_t>((64 << 10) + (8 << 10) * variables + 4 * text);
}

// NetCDF 4.9 does not survive a write that fails, so it is made sure that none does.
void check_room(const std::string& folder, const DrawsLayout& layout, const std::string& shown) {
  std::int64_t bytes = most_header_bytes(layout);
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  if (error) cannot_make(shown, folder + ": " + error.message());
  if (space.available < static_cast<std::uintmax_t>(bytes))
    cannot_make(
        shown, fmt::format("{}: {} bytes are free; {} are wanted", folder, space.available, bytes));
  for (const DrawsRegion& region : sized_places(layout).sorted()) bytes += region.bytes;
  // The coordinates, most of all those of the draws in both groups.
  bytes += 16 * (layout.chains + layout.draws);
  for (const DrawsVariable& parameter : layout.parameters)
    for (std::int64_t length : parameter.shape) bytes += 8 * length;
  rlimit limit = {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < static_cast<rlim_t>(bytes))
    fail(ErrorKind::io, "draws", "{}: cannot write: files are limited to {} bytes; {} are wanted",
         shown, limit.rlim_cur, bytes);
}

std::mutex& netcdf_library() {
  static std::mutex mutex;
  return mutex;
}

// The memory file system has file locks, which HDF5 wants, wherever the draws are to be.
std::vector<std::string> folders() {
  std::vector<std::string> result{"/dev/shm"};
  std::error_code error;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(error);
  if (!error) result.push_back(temporary.string());
  return result;
}

}  // namespace

DrawsSkeleton::DrawsSkeleton(const DrawsLayout& layout, const std::string& shown) {
  const std::lock_guard lock(netcdf_library());
  const std::vector<std::string> candidates = folders();
  for (const std::string& folder : candidates) {
    try {
      make(folder, layout, shown);
      return;
    } catch (const Error&) {
      if (&folder == &candidates.back()) throw;
    }
  }
}

void DrawsSkeleton::make(const std::string& parent, const DrawsLayout& layout,
                         const std::string& shown) {
  check_room(parent, layout, shown);
  const PrivateFolder folder(parent, shown);
  const Variables variables = make_netcdf(folder.file(), layout, shown);
  const SilentHdf5 silent;
  const Hdf5File file(folder.file(), shown);
  coordinates_ = file.regions_of(variables.coordinates);
  places_.parameters = file.regions_of(variables.parameters);
  places_.statistics = file.regions_of(variables.statistics);
  places_.steps = file.region_of(variables.steps);
  // Open, it stays readable when folder and name are gone.
  bytes_ = std::make_unique<DrawsBytes>(folder.file(), DrawsBytes::Access::read, shown);
  places_.netcdf_bytes = bytes_->size();
}

}  // namespace whorl
