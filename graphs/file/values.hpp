// Checks that need the values' types, and those of constants the values themselves: made while an
// expanded graph grows, and once when it is complete.
#pragma once

#include <functional>

#include "engine/graph.hpp"
#include "graphs/file/source.hpp"

namespace whorl::graphs {

class ValueChecks {
 public:
  ValueChecks(const Source& source, LoadReport* report) : source_(source), report_(report) {}

  // Warns when inputs [N] and [N,1] of an elementwise op would become [N,N].
  void broadcasts(const Graph& graph, const std::vector<NodeId>& inputs, int line,
                  const std::function<std::string()>& label);
  // The limits, and constant indices and labels against what they choose from.
  void node(const Graph& graph, NodeId id);
  // Random nodes that would draw the same numbers are refused; unused nodes are noted.
  void graph(const Graph& graph);

 private:
  const Source& source_;
  LoadReport* report_;
  std::int64_t constant_bytes_ = 0;
};

}  // namespace whorl::graphs
