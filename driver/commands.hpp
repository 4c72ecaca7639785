// The subcommands, one file each. driver.cpp lists them.
#pragma once

#include <memory>
#include <vector>

#include "driver/command_line.hpp"
#include "driver/output.hpp"
#include "engine/graph.hpp"
#include "engine/plan.hpp"

namespace whorl::driver {

Command check_command();
Command show_command();
Command run_command();
Command grad_command();
Command train_command();
Command sample_command();
Command resume_command();
Command predict_command();
Command summary_command();
Command table_command();
Command report_command();
Command ops_command();

// In the order of help.
const std::vector<Command>& all_commands();

// Loads the graph that the first argument names; what the loader remarks becomes notes.
Graph load_with_notes(const Arguments& arguments, const Output& output);

// The plan of a graph. Throws a memory Error when what it takes on --threads, as check prints it,
// and the random feeds of a run are more than --memory-budget.
std::shared_ptr<const Plan> compile_within_budget(const Graph& graph, const Arguments& arguments,
                                                  std::int64_t feed_bytes = 0);

// Variables of the environment that tell MKL and OpenMP how to compute would change speed or bits
// behind our back: they are removed, with a note.
void override_environment(const Output& output);

// The node that a user means by a name: an output's, or else a node's own. Throws a usage Error
// that offers the nearest name.
NodeId named_node(const Graph& graph, std::string_view where, std::string_view option,
                  std::string_view name);

}  // namespace whorl::driver
