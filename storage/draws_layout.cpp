#include "storage/draws_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <unordered_set>

namespace whorl {

namespace {

// Far beyond any disk, and far enough from 2^63 that sums of offsets and sizes do not overflow.
constexpr std::int64_t most_bytes = std::int64_t{1} << 60;

bool fits(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (std::int64_t factor : factors)
    if (__builtin_mul_overflow(product, factor, &product) || product > most_bytes) return false;
  return true;
}

std::int64_t size_of_number(DType dtype) { return static_cast<std::int64_t>(size_of(dtype)); }

std::string parameter_fault(const DrawsLayout& layout, const DrawsVariable& parameter) {
  const std::int64_t elements = parameter.shape.elements();
  if (parameter.name.empty()) return "a parameter has no name";
  if (parameter.offset < 0 || parameter.offset > Shape::max_elements)
    return fmt::format("parameter '{}' lies at {} in the state", parameter.name, parameter.offset);
  // Without elements, too: the number of rows is used by itself.
  if (!fits({layout.chains, layout.draws, std::max<std::int64_t>(elements, 1), 8}))
    return fmt::format(
        "parameter '{}' has {} chains of {} draws of {} numbers, too many for a file",
        parameter.name, layout.chains, layout.draws, elements);
  return "";
}

std::string name_fault(const DrawsLayout& layout) {
  std::unordered_set<std::string_view> seen;
  for (const DrawsVariable& parameter : layout.parameters)
    if (!seen.insert(parameter.name).second)
      return fmt::format("two parameters have the name '{}'", parameter.name);
  seen.clear();
  for (const std::string& statistic : layout.statistics) {
    if (statistic.empty()) return "a statistic has no name";
    if (!seen.insert(statistic).second)
      return fmt::format("two statistics have the name '{}'", statistic);
  }
  return "";
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

std::string netcdf_name(std::string_view name) {
  constexpr std::size_t longest = 200;  // netCDF's limit is 256, with all that is put behind
  std::string result;
  for (char c : name) result += c == '/' ? '.' : is_plain(c) ? c : '_';
  if (result.starts_with('.') || result.starts_with('-')) result.insert(0, 1, '_');
  if (result.size() > longest) result.resize(longest);
  return result;
}

// A name for each of `wanted`, none of them or of their `ranks` axes taken.
std::vector<std::string> distinct_names(const std::vector<std::string_view>& wanted,
                                        const std::vector<int>& ranks,
                                        std::set<std::string, std::less<>> taken) {
  std::vector<std::string> names(wanted.size());
  const auto take = [&](const std::string& name, int rank) {
    bool is_free = !taken.contains(name);
    for (int axis = 0; axis < rank; ++axis)
      is_free = is_free && !taken.contains(netcdf_axis_name(name, axis));
    if (!is_free) return false;
    taken.insert(name);
    for (int axis = 0; axis < rank; ++axis) taken.insert(netcdf_axis_name(name, axis));
    return true;
  };
  for (const bool unchanged : {true, false}) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::string first = netcdf_name(wanted[i]);
      if ((first == wanted[i]) != unchanged) continue;
      names[i] = first;
      for (int n = 2; !take(names[i], ranks[i]); ++n) names[i] = fmt::format("{}_{}", first, n);
    }
  }
  return names;
}

std::string count_difference(std::string_view what, std::int64_t file, std::int64_t run) {
  return file == run ? "" : fmt::format("{} {} in the file, {} in the run", file, what, run);
}

std::string text_difference(std::string_view what, std::string_view file, std::string_view run) {
  return file == run ? "" : fmt::format("{} '{}' in the file, '{}' in the run", what, file, run);
}

std::string parameter_difference(const DrawsVariable& file, const DrawsVariable& run) {
  if (file.name != run.name) return text_difference("parameter", file.name, run.name);
  if (!(file.shape == run.shape))
    return fmt::format("parameter '{}' is {} in the file, {} in the run", file.name,
                       to_string(file.shape), to_string(run.shape));
  if (file.offset != run.offset)
    return fmt::format("parameter '{}' lies at {} of the state in the file, at {} in the run",
                       file.name, file.offset, run.offset);
  return "";
}

// The first text of `f(i)` that is not "".
template <class F>
std::string first_text(std::size_t count, F&& f) {
  for (std::size_t i = 0; i < count; ++i)
    if (std::string text = f(i); !text.empty()) return text;
  return "";
}

std::string scalar_difference(const DrawsLayout& file, const DrawsLayout& run) {
  const auto count = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  const std::string differences[] = {
      count_difference("chains", file.chains, run.chains),
      count_difference("draws", file.draws, run.draws),
      text_difference("numbers are", name(file.dtype), name(run.dtype)),
      count_difference("parameters", count(file.parameters), count(run.parameters)),
      count_difference("statistics", count(file.statistics), count(run.statistics)),
      count_difference("attributes", count(file.attributes), count(run.attributes))};
  return first_text(std::size(differences), [&](std::size_t i) { return differences[i]; });
}

}  // namespace

std::vector<DrawsRegion> DrawsPlaces::sorted() const {
  std::vector<DrawsRegion> all = parameters;
  all.insert(all.end(), statistics.begin(), statistics.end());
  all.push_back(steps);
  std::erase_if(all, [](const DrawsRegion& region) { return region.bytes == 0; });
  std::sort(all.begin(), all.end(),
            [](const DrawsRegion& a, const DrawsRegion& b) { return a.offset < b.offset; });
  return all;
}

std::string layout_fault(const DrawsLayout& layout) {
  if (layout.chains < 1) return fmt::format("{} chains; at least 1 is needed", layout.chains);
  if (layout.draws < 0) return fmt::format("{} draws; 0 or more are needed", layout.draws);
  if (!is_float(layout.dtype))
    return fmt::format("numbers of type {}; draws are f32 or f64", name(layout.dtype));
  if (!fits({layout.chains, layout.draws, 8}))
    return fmt::format("{} chains of {} draws, too many for a file", layout.chains, layout.draws);
  const std::string fault = first_text(layout.parameters.size(), [&](std::size_t i) {
    return parameter_fault(layout, layout.parameters[i]);
  });
  if (!fault.empty()) return fault;
  std::int64_t total = 0;
  for (const DrawsRegion& region : sized_places(layout).sorted())
    if ((total += region.bytes) > most_bytes) return "all numbers together are too many for a file";
  return name_fault(layout);
}

std::string layout_difference(const DrawsLayout& file, const DrawsLayout& run) {
  if (std::string text = scalar_difference(file, run); !text.empty()) return text;
  std::string text = first_text(file.parameters.size(), [&](std::size_t i) {
    return parameter_difference(file.parameters[i], run.parameters[i]);
  });
  if (!text.empty()) return text;
  text = first_text(file.statistics.size(), [&](std::size_t i) {
    return text_difference("statistic", file.statistics[i], run.statistics[i]);
  });
  if (!text.empty()) return text;
  return first_text(file.attributes.size(), [&](std::size_t i) {
    const auto& [name, value] = file.attributes[i];
    if (name != run.attributes[i].first)
      return text_difference("attribute", name, run.attributes[i].first);
    return text_difference(fmt::format("attribute '{}' is", name), value, run.attributes[i].second);
  });
}

std::int64_t row_bytes(const DrawsLayout& layout, const DrawsVariable& parameter) {
  return parameter.shape.elements() * size_of_number(layout.dtype);
}

DrawsPlaces sized_places(const DrawsLayout& layout) {
  DrawsPlaces places;
  const std::int64_t rows = layout.chains * layout.draws;
  for (const DrawsVariable& parameter : layout.parameters)
    places.parameters.push_back({0, rows * row_bytes(layout, parameter)});
  places.statistics.assign(layout.statistics.size(), {0, rows * size_of_number(DType::f64)});
  places.steps.bytes = layout.draws * static_cast<std::int64_t>(sizeof(std::int64_t));
  return places;
}

std::string netcdf_axis_name(const std::string& parameter, int axis) {
  return fmt::format("{}_dim_{}", parameter, axis);
}

std::vector<std::string> netcdf_parameter_names(std::span<const DrawsVariable> parameters) {
  std::vector<std::string_view> names;
  std::vector<int> ranks;
  for (const DrawsVariable& parameter : parameters) {
    names.push_back(parameter.name);
    ranks.push_back(parameter.shape.rank());
  }
  return distinct_names(names, ranks, {"chain", "draw"});
}

std::vector<std::string> netcdf_statistic_names(std::span<const std::string> statistics) {
  const std::vector<std::string_view> names(statistics.begin(), statistics.end());
  return distinct_names(names, std::vector<int>(names.size(), 0), {"chain", "draw", "step"});
}

}  // namespace whorl
