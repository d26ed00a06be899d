// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/numbers.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

/// Many nodes that were bought alike, measured one by one: what the usual one does, and which
/// stand out.
namespace strata {

struct MeasuredNode {
  std::string file;
  Machine machine;
};

/// One number over all nodes.
struct NodeSpread {
  std::string path;
  Quantity quantity = Quantity::count;
  std::size_t nodes = 0;  ///< that give it
  double least = 0;
  double median = 0;
  double most = 0;
  double deviation = 0;  ///< median absolute deviation
};

struct Outlier {
  std::string host;  ///< with the file when a host has several
  std::string file;
  std::string path;
  Quantity quantity = Quantity::count;
  double value = 0;
  double median = 0;
  double robust_sigmas = 0;  ///< from the median; 0 when the other nodes agree to the last digit
};

struct MergedMachines {
  Machine machine;  ///< the medians; its warnings name the outliers
  std::vector<NodeSpread> numbers;
  std::vector<Outlier> outliers;
  std::vector<std::string> notes;  ///< versions that differ, numbers that only some nodes give
};

/// A node is an outlier in a number that is more than 5 % from the median, or, from four nodes on,
/// more than 3 robust standard deviations (1.4826 × the median absolute deviation) and 1 %. Errors
/// (input): fewer than two nodes, one that was not measured, or machines of different kinds.
MergedMachines merge_machines(std::span<const MeasuredNode> nodes);

}  // namespace strata
