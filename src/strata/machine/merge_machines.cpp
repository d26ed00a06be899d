// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/merge_machines.hpp"

#include "strata/base/error.hpp"
#include "strata/machine/check_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace strata {
namespace {

constexpr double sigma_of_deviation = 1.4826;  // of a normal distribution
constexpr double most_sigmas = 3;
constexpr double least_share = 0.01;  // what is nearer is not worth a word, however sure
constexpr double most_share = 0.05;
constexpr std::size_t least_nodes_for_sigma = 4;

struct Value {
  std::size_t node;
  double value;
};

/// The same number of all nodes that give it.
struct Column {
  std::string path;
  Quantity quantity;
  std::vector<Value> values;

  std::vector<double> numbers() const {
    std::vector<double> all;
    for (const Value& value : values) all.push_back(value.value);
    return all;
  }
};

void check_alike(std::span<const MeasuredNode> nodes) {
  if (nodes.size() < 2)
    fail(ErrorKind::input, "merge expects the files of at least two nodes, got {}", nodes.size());
  for (const MeasuredNode& node : nodes) {
    if (!node.machine.measured) {
      fail(ErrorKind::input, "{}: expected a measured machine, but it has no 'measured'",
           node.file);
    }
    const Machine& first = nodes.front().machine;
    if (node.machine.kind != first.kind || node.machine.title != first.title) {
      fail(ErrorKind::input, "{}: expected another {} '{}' as in {}, got {} '{}'", node.file,
           first.kind, first.title, nodes.front().file, node.machine.kind, node.machine.title);
    }
  }
}

std::vector<Column> columns_of(std::span<const MeasuredNode> nodes) {
  std::vector<Column> columns;
  std::map<std::string, std::size_t> places;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    for (const MachineNumber& entry : numbers_of(nodes[node].machine)) {
      const auto [place, is_new] = places.emplace(entry.path, columns.size());
      if (is_new) columns.push_back({entry.path, entry.quantity, {}});
      columns[place->second].values.push_back({node, entry.number.value});
    }
  }
  return columns;
}

// Whose shape the result takes: the one that says the most.
std::size_t fullest(std::span<const MeasuredNode> nodes) {
  std::size_t best = 0;
  std::size_t most = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t numbers = numbers_of(nodes[i].machine).size();
    if (numbers > most) best = i;
    most = std::max(most, numbers);
  }
  return best;
}

std::vector<std::string> labels_of(std::span<const MeasuredNode> nodes) {
  std::map<std::string, int> times;
  for (const MeasuredNode& node : nodes) ++times[node.machine.measured->host];
  std::vector<std::string> labels;
  for (const MeasuredNode& node : nodes) {
    const std::string& host = node.machine.measured->host;
    labels.push_back(times[host] > 1 ? fmt::format("{} ({})", host, node.file) : host);
  }
  return labels;
}

NodeSpread spread_of(const Column& column) {
  const std::vector<double> numbers = column.numbers();
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  return {column.path,
          column.quantity,
          numbers.size(),
          *least,
          median_of(numbers),
          *most,
          median_deviation_of(numbers)};
}

void add_outliers(MergedMachines& merged, const Column& column, const NodeSpread& spread,
                  std::span<const MeasuredNode> nodes, const std::vector<std::string>& labels) {
  const double sigma = sigma_of_deviation * spread.deviation;
  for (const Value& value : column.values) {
    const double distance = std::fabs(value.value - spread.median);
    const double share = distance / spread.median;
    const double sigmas = sigma > 0 ? distance / sigma : 0;
    const bool is_far = share > most_share;
    const bool is_unlikely = spread.nodes >= least_nodes_for_sigma && share > least_share &&
                             distance > most_sigmas * sigma;
    if (!is_far && !is_unlikely) continue;
    merged.outliers.push_back({labels[value.node], nodes[value.node].file, column.path,
                               column.quantity, value.value, spread.median, sigmas});
  }
}

// "driver differs: 580.159 (11 nodes), 570.10 (1 node)"
std::vector<std::string> version_notes(std::span<const MeasuredNode> nodes) {
  std::map<std::string, std::map<std::string, int>> counts;
  for (const MeasuredNode& node : nodes) {
    for (const Version& version : node.machine.measured->versions)
      ++counts[version.of][version.version];
  }
  std::vector<std::string> notes;
  for (const auto& [of, versions] : counts) {
    if (versions.size() < 2) continue;
    std::vector<std::string> parts;
    for (const auto& [version, count] : versions)
      parts.push_back(fmt::format("{} ({} node{})", version, count, count == 1 ? "" : "s"));
    notes.push_back(fmt::format("{} differs: {}", of, fmt::join(parts, ", ")));
  }
  return notes;
}

std::string dates_of(std::span<const MeasuredNode> nodes) {
  std::string first = nodes.front().machine.measured->date;
  std::string last = first;
  for (const MeasuredNode& node : nodes) {
    first = std::min(first, node.machine.measured->date);
    last = std::max(last, node.machine.measured->date);
  }
  return first == last ? first : fmt::format("{} to {}", first, last);
}

std::string hosts_of(const std::vector<std::string>& labels) {
  constexpr std::size_t most_named = 8;
  const std::size_t named = std::min(labels.size(), most_named);
  const std::string names =
      fmt::format("{}", fmt::join(labels.begin(), labels.begin() + static_cast<long>(named), ", "));
  return fmt::format("{} nodes: {}{}", labels.size(), names, named < labels.size() ? ", …" : "");
}

std::string line_of(const Outlier& outlier) {
  return fmt::format("{}: {} is {:g}, {:+.1f} % from the median {:g}", outlier.host, outlier.path,
                     outlier.value, 100 * (outlier.value / outlier.median - 1), outlier.median);
}

// The medians into the shape of one node.
void set_medians(Machine& machine, const std::map<std::string, NodeSpread>& spreads) {
  visit_numbers(machine, [&](const std::string& path, Quantity, Sourced& number) {
    const NodeSpread& spread = spreads.at(path);
    if (spread.nodes < 2 || (spread.deviation == 0 && !number.evidence)) return;
    if (number.evidence) {
      Measurement& evidence = *number.evidence;
      if (evidence.share) evidence.share->share *= spread.median / number.value;
      evidence.samples_s.clear();  // they are of one node
      evidence.deviation_s.reset();
      evidence.relative_spread = spread.deviation / spread.median;
      evidence.notes.clear();
    }
    number.value = spread.median;
    number.source = fmt::format("median of {} nodes; {}", spread.nodes, number.source);
  });
}

}  // namespace

MergedMachines merge_machines(std::span<const MeasuredNode> nodes) {
  check_alike(nodes);
  const std::vector<std::string> labels = labels_of(nodes);
  const std::size_t base = fullest(nodes);
  MergedMachines merged;
  merged.machine = nodes[base].machine;
  merged.notes = version_notes(nodes);
  std::map<std::string, NodeSpread> spreads;
  for (const Column& column : columns_of(nodes)) {
    const NodeSpread spread = spread_of(column);
    merged.numbers.push_back(spread);
    spreads.emplace(column.path, spread);
    add_outliers(merged, column, spread, nodes, labels);
    if (spread.nodes < nodes.size()) {
      merged.notes.push_back(
          fmt::format("{} is given by {} of {} nodes", column.path, spread.nodes, nodes.size()));
    }
  }
  set_medians(merged.machine, spreads);
  for (WorkingSetCurve& curve : merged.machine.curves)
    curve.source = fmt::format("of {} alone; {}", labels[base], curve.source);
  Measured& measured = *merged.machine.measured;
  measured.host = hosts_of(labels);
  measured.date = dates_of(nodes);
  measured.warnings = merged.notes;
  for (const Outlier& outlier : merged.outliers) measured.warnings.push_back(line_of(outlier));
  constexpr std::size_t most_warnings = 256;  // that a file may have
  if (measured.warnings.size() > most_warnings) measured.warnings.resize(most_warnings);
  if (const auto problem = contradiction_in(merged.machine)) {
    fail(ErrorKind::input, "the medians contradict each other, so these nodes are not alike: {}",
         *problem);
  }
  return merged;
}

}  // namespace strata
