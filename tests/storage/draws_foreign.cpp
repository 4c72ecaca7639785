// What programs that know nothing of Whorl find in a file of draws.

#include <stdio.h>
#include <sys/wait.h>

#include <array>
#include <iostream>
#include <optional>

#include "tests/storage/draws_fixture.hpp"

namespace whorl {

namespace {

struct Finished {
  int code = -1;
  std::string output;  // and what went to the error stream
};

Finished run(const std::string& command) {
  Finished result;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> block{};
  while (const std::size_t n = ::fread(block.data(), 1, block.size(), pipe))
    result.output.append(block.data(), n);
  const int status = ::pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

// Debian's Python first: another one on the path has not Debian's packages.
std::optional<std::string> python_with_netcdf() {
  for (const std::string python : {"/usr/bin/python3", "python3"})
    if (run(python + " -c 'import netCDF4'").code == 0) return python;
  return std::nullopt;
}

void skip(const std::string& missing) {
  const std::string text = "SKIPPED: " + missing + "; draws were not read by another program";
  BOOST_WARN_MESSAGE(false, text);
  std::cout << text << std::endl;
}

struct Fixture : testing::DrawsFixture {
  std::string python_output(const std::string& python, const std::string& path) const {
    const std::string script = WHORL_SOURCE_DIR "/tests/storage/print_netcdf.py";
    const Finished finished = run(python + " '" + script + "' '" + path + "'");
    BOOST_TEST(finished.code == 0);
    return finished.output;
  }
};

std::string attributes_of(const DrawsLayout& layout, std::string_view group) {
  std::string text;
  for (const auto& [name, value] : layout.attributes)
    text += fmt::format("{} attribute {} = {}\n", group, name, value);
  return text;
}

std::string coordinate(std::string_view group, std::string_view name, std::int64_t length) {
  std::string text = fmt::format("{} {} int64 ({}={})", group, name, name, length);
  for (std::int64_t i = 0; i < length; ++i) text += fmt::format(" {}", i);
  return text + "\n";
}

// What print_netcdf.py says of a file of small_layout() of which `drawn` draws are there.
std::string expected_posterior(const DrawsLayout& layout, std::int64_t drawn) {
  const std::string group = "/posterior";
  std::string text = attributes_of(layout, group);
  text += coordinate(group, "chain", layout.chains) + coordinate(group, "draw", layout.draws);
  const std::array<std::string, 4> names{"layer.w", "b", "none", "v"};
  for (std::size_t p = 0; p < names.size(); ++p) {
    const auto& [name, shape, offset] = layout.parameters[p];
    std::string dimensions = fmt::format("chain={} draw={}", layout.chains, layout.draws);
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const std::string dimension = fmt::format("{}_dim_{}", names[p], axis);
      text += coordinate(group, dimension, shape[axis]);
      dimensions += fmt::format(" {}={}", dimension, shape[axis]);
    }
    text += fmt::format("{} {} {} ({}) _FillValue=nan", group, names[p],
                        layout.dtype == DType::f32 ? "float32" : "float64", dimensions);
    if (name != names[p]) text += " long_name=" + name;
    for (std::int64_t chain = 0; chain < layout.chains; ++chain)
      for (std::int64_t draw = 0; draw < layout.draws; ++draw)
        for (std::int64_t i = 0; i < shape.elements(); ++i)
          text += draw < drawn ? fmt::format(" {:.17g}",
                                             testing::DrawsFixture::number(draw, chain, offset + i))
                               : " nan";
    text += "\n";
  }
  return text;
}

std::string expected_statistics(const DrawsLayout& layout, std::int64_t drawn) {
  const std::string group = "/sample_stats";
  std::string text = attributes_of(layout, group);
  text += coordinate(group, "chain", layout.chains) + coordinate(group, "draw", layout.draws);
  for (std::size_t which = 0; which < layout.statistics.size(); ++which) {
    text += fmt::format("{} {} float64 (chain={} draw={}) _FillValue=nan", group,
                        layout.statistics[which], layout.chains, layout.draws);
    for (std::int64_t chain = 0; chain < layout.chains; ++chain)
      for (std::int64_t draw = 0; draw < layout.draws; ++draw)
        text += draw < drawn
                    ? fmt::format(" {:.17g}", testing::DrawsFixture::statistic(which, draw, chain))
                    : " nan";
    text += "\n";
  }
  text += fmt::format("{} step int64 (draw={})", group, layout.draws);
  for (std::int64_t draw = 0; draw < layout.draws; ++draw)
    text += fmt::format(" {}", draw < drawn ? testing::DrawsFixture::step_of(draw) : -1);
  return text + "\n";
}

std::string expected_output(const DrawsLayout& layout, std::int64_t drawn) {
  return attributes_of(layout, "") + expected_posterior(layout, drawn) +
         expected_statistics(layout, drawn);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(draws_foreign, Fixture)

BOOST_AUTO_TEST_CASE(python_reads_what_was_put_while_the_writer_has_the_file_open) {
  const std::optional<std::string> python = python_with_netcdf();
  if (!python) return skip("no Python with netCDF4 (python3-netcdf4) is installed");
  for (DType dtype : {DType::f32, DType::f64}) {
    const DrawsLayout layout = small_layout(4, dtype);
    create_draws(scratch / "d.nc", layout);
    BOOST_TEST(python_output(*python, scratch / "d.nc") == expected_output(layout, 0));
    DrawsWriter writer(scratch / "d.nc", layout);
    put_all(writer, layout, 0, 3);
    writer.flush();
    BOOST_TEST(python_output(*python, scratch / "d.nc") == expected_output(layout, 3));
  }
}

BOOST_AUTO_TEST_CASE(python_reads_a_file_that_was_shrunk_and_one_without_draws) {
  const std::optional<std::string> python = python_with_netcdf();
  if (!python) return skip("no Python with netCDF4 (python3-netcdf4) is installed");
  const std::string path = make("d.nc", small_layout(9), 5);
  for (std::int64_t draws : {5, 1, 0}) {
    shrink_draws(path, draws);
    BOOST_TEST(python_output(*python, path) == expected_output(small_layout(draws), draws));
  }
}

BOOST_AUTO_TEST_CASE(ncdump_prints_the_schema_of_arviz) {
  if (run("ncdump --version").output.find("netcdf") == std::string::npos)
    return skip("ncdump (netcdf-bin) is not installed");
  DrawsLayout layout;
  layout.chains = 2;
  layout.draws = 2;
  layout.parameters = {{"layer/w", {2}, 0}, {"b", {}, 8}};
  layout.statistics = {"lp"};
  layout.attributes = {{"created_at", "2020-01-01"}, {"inference_library", "whorl"}};
  const std::string path = make("d.nc", layout, 1);
  const Finished finished = run("ncdump -p 9,17 '" + path + "'");
  BOOST_TEST(finished.code == 0);
  const std::string attributes =
      ":created_at = \"2020-01-01\" ;\n\t\t:inference_library = \"whorl\" ;\n";
  const std::string group_attributes =
      "\n  // group attributes:\n  \t\t:created_at = \"2020-01-01\" ;\n"
      "  \t\t:inference_library = \"whorl\" ;\n";
  BOOST_TEST(finished.output == "netcdf d {\n\n// global attributes:\n\t\t" + attributes + R"(
group: posterior {
  dimensions:
  	chain = 2 ;
  	draw = 2 ;
  	layer.w_dim_0 = 2 ;
  variables:
  	int64 chain(chain) ;
  	int64 draw(draw) ;
  	int64 layer.w_dim_0(layer.w_dim_0) ;
  	float layer.w(chain, draw, layer.w_dim_0) ;
  		layer.w:_FillValue = NaNf ;
  		layer.w:long_name = "layer/w" ;
  	float b(chain, draw) ;
  		b:_FillValue = NaNf ;
)" + group_attributes + R"(  data:

   chain = 0, 1 ;

   draw = 0, 1 ;

   layer.w_dim_0 = 0, 1 ;

   layer.w =
  0.25, 1.25,
  _, _,
  100.25, 101.25,
  _, _ ;

   b =
  8.25, _,
  108.25, _ ;
  } // group posterior

group: sample_stats {
  dimensions:
  	chain = 2 ;
  	draw = 2 ;
  variables:
  	int64 chain(chain) ;
  	int64 draw(draw) ;
  	double lp(chain, draw) ;
  		lp:_FillValue = NaN ;
  	int64 step(draw) ;
)" + group_attributes + R"(  data:

   chain = 0, 1 ;

   draw = 0, 1 ;

   lp =
  0, _,
  0.33333333333333331, _ ;

   step = 100, -1 ;
  } // group sample_stats
}
)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
