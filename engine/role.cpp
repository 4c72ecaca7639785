#include "engine/role.hpp"

namespace whorl {

std::string role(const Graph& graph, NodeId input) {
  for (const auto& [key, value] : graph.attributes(input).list())
    if (const auto* text = std::get_if<std::string>(&value); text != nullptr && key == "role")
      return *text;
  return "";
}

}  // namespace whorl
