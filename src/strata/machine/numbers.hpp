// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/machine.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Every number of a machine under one name, so that two machines can be compared.
namespace strata {

/// What a number counts; decides how it is shown.
enum class Quantity : std::uint8_t {
  flop_per_s,
  flop,
  bytes,
  bytes_per_s,
  seconds,
  hertz,
  watt,
  count
};

struct MachineNumber {
  std::string path;  ///< "machine.memory.l2.capacity_bytes"; the name of a link or level is lower
                     ///< case with '_' for each space
  Quantity quantity = Quantity::count;
  Sourced number;
};

/// The numbers that the machine gives, in the order of its file.
std::vector<MachineNumber> numbers_of(const Machine& machine);

/// Calls `visit(path, quantity, number)` for each of them.
using VisitNumber = std::function<void(const std::string&, Quantity, Sourced&)>;
void visit_numbers(Machine& machine, const VisitNumber& visit);

/// As a name stands in a path: lower case, '_' for each space.
std::string path_part(std::string_view name);

/// One number in two machines; absent where a machine does not give it.
struct NumberPair {
  std::string path;
  Quantity quantity = Quantity::count;
  std::optional<double> first;
  std::optional<double> second;
};

/// Every number of either, in the order of the first; then what only the second has.
std::vector<NumberPair> side_by_side(const Machine& first, const Machine& second);

}  // namespace strata
