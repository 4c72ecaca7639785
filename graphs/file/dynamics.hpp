// D and Q of a sampler file, as graphs for any number of coordinates.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/graph.hpp"
#include "graphs/file/fields.hpp"
#include "samplers/recipe.hpp"

namespace whorl::file {
class Function;
}

namespace whorl::graphs {

// Checks names of inputs and outputs, and makes one step. `io` reads the sampler's message. The
// result keeps a copy of the function and its lines, so its Errors are located.
std::function<Graph(std::int64_t n, DType dtype)> make_dynamics(
    const FieldReader& io, const file::Function& function, const std::vector<Variable>& variables,
    const Source& source);

}  // namespace whorl::graphs
