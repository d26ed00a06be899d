// SPDX-License-Identifier: Apache-2.0
#include "strata/roofline/roofs.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace strata {
namespace {

std::string roof_name(const Peak& peak) {
  return fmt::format("{} {}", name_of(peak.dtype), name_of(peak.unit));
}

PeakRoof roof_of(const Peak& peak) { return {roof_name(peak), peak.flop_per_s.value}; }

std::string peaks_in_words(const Machine& machine) {
  std::vector<std::string> names;
  for (const Peak& peak : machine.peaks)
    names.push_back(fmt::format("{}-{}", name_of(peak.dtype), name_of(peak.unit)));
  return fmt::format("{}", fmt::join(names, ", "));
}

const Peak& tensor_peak(const Machine& machine) {
  for (const DType dtype : {DType::fp16, DType::bf16}) {
    if (const Peak* peak = find_peak(machine, dtype, ComputeUnit::matrix)) return *peak;
  }
  const Peak* fastest = nullptr;
  for (const Peak& peak : machine.peaks) {
    if (peak.unit != ComputeUnit::matrix) continue;
    if (fastest == nullptr || peak.flop_per_s.value > fastest->flop_per_s.value) fastest = &peak;
  }
  if (fastest == nullptr) {
    fail(ErrorKind::input, "{} has no matrix units to be the roof; it has: {}", machine.name,
         peaks_in_words(machine));
  }
  return *fastest;
}

const Peak& named_peak(const Machine& machine, const RoofChoice& choice) {
  const Peak* peak = nullptr;
  if (choice.unit) {
    peak = find_peak(machine, choice.dtype, *choice.unit);
  } else {
    peak = find_peak(machine, choice.dtype, ComputeUnit::vector);
    if (peak == nullptr) peak = find_peak(machine, choice.dtype, ComputeUnit::matrix);
  }
  if (peak == nullptr) {
    fail(ErrorKind::input, "{} has no rate {} to be the roof; it has: {}", machine.name,
         name_of(choice), peaks_in_words(machine));
  }
  return *peak;
}

const Peak& own_peak(const Machine& machine, DType dtype, bool is_matrix) {
  const ComputeUnit unit = is_matrix ? ComputeUnit::matrix : ComputeUnit::vector;
  const ComputeUnit other = is_matrix ? ComputeUnit::vector : ComputeUnit::matrix;
  if (const Peak* peak = find_peak(machine, dtype, unit)) return *peak;
  // Lanes that do not know a short type compute in fp32; matrix units do not do a lane's work.
  if (!is_matrix) {
    if (const Peak* peak = find_peak(machine, DType::fp32, ComputeUnit::vector)) return *peak;
  }
  if (const Peak* peak = find_peak(machine, dtype, other)) return *peak;
  if (const Peak* peak = find_peak(machine, DType::fp32, ComputeUnit::vector)) return *peak;
  fail(ErrorKind::input, "{} has no rate for {}; it has: {} (--roof chooses one)", machine.name,
       name_of(dtype), peaks_in_words(machine));
}

}  // namespace

RoofChoice parse_roof(std::string_view text) {
  const std::string word = lower_case(trimmed(text));
  if (word == "auto") return {};
  if (word == "tensor" || word == "matrix") return {.kind = RoofChoice::Kind::tensor};
  const std::size_t dash = word.find('-');
  const std::optional<DType> dtype = dtype_named(word.substr(0, dash));
  const std::string unit = dash == std::string::npos ? "" : word.substr(dash + 1);
  const bool is_matrix = unit == "matrix" || unit == "tensor";
  if (!dtype || !(unit.empty() || unit == "vector" || is_matrix)) {
    fail(ErrorKind::usage,
         "--roof expects auto, tensor, or a data type with or without a unit (fp32, fp16-matrix), "
         "got '{}'",
         text);
  }
  RoofChoice choice{.kind = RoofChoice::Kind::named, .dtype = *dtype};
  if (!unit.empty()) choice.unit = is_matrix ? ComputeUnit::matrix : ComputeUnit::vector;
  return choice;
}

std::string name_of(const RoofChoice& choice) {
  if (choice.kind == RoofChoice::Kind::automatic) return "auto";
  if (choice.kind == RoofChoice::Kind::tensor) return "tensor";
  if (!choice.unit) return std::string(name_of(choice.dtype));
  return fmt::format("{}-{}", name_of(choice.dtype), name_of(*choice.unit));
}

const MemoryRoof* Roofs::find(std::string_view level) const {
  const std::string wanted = lower_case(level);
  const auto found = std::find_if(memory.begin(), memory.end(), [&](const MemoryRoof& roof) {
    return lower_case(roof.name) == wanted;
  });
  return found == memory.end() ? nullptr : &*found;
}

Roofs roofs_of(const Machine& machine, const RoofChoice& choice) {
  Roofs roofs{.machine = &machine, .choice = choice};
  if (machine.memory.empty() || !machine.memory.back().bandwidth_bytes_per_s) {
    fail(ErrorKind::input,
         "{} says no bandwidth of its outermost memory, without which there is no roof",
         machine.name);
  }
  for (const MemoryLevel& level : machine.memory) {
    if (level.bandwidth_bytes_per_s)
      roofs.memory.push_back({level.name, level.bandwidth_bytes_per_s->value});
  }
  if (machine.launch_latency_s) roofs.launch_latency_s = machine.launch_latency_s->value;
  if (choice.kind == RoofChoice::Kind::tensor) tensor_peak(machine);  // refuses now, not later
  if (choice.kind == RoofChoice::Kind::named) named_peak(machine, choice);
  return roofs;
}

PeakRoof peak_for(const Roofs& roofs, DType dtype, bool is_matrix) {
  switch (roofs.choice.kind) {
    case RoofChoice::Kind::tensor: return roof_of(tensor_peak(*roofs.machine));
    case RoofChoice::Kind::named: return roof_of(named_peak(*roofs.machine, roofs.choice));
    case RoofChoice::Kind::automatic: break;
  }
  return roof_of(own_peak(*roofs.machine, dtype, is_matrix));
}

PeakTime peak_time(const Roofs& roofs, std::int64_t flop, std::span<const TypedFlop> parts,
                   const TypedFlop& otherwise) {
  std::vector<TypedFlop> all(parts.begin(), parts.end());
  if (all.empty()) all.push_back({otherwise.dtype, otherwise.is_matrix, 0});
  std::int64_t rest = flop;
  for (const TypedFlop& part : all) rest -= std::min(part.flop, rest);
  all.front().flop += rest;
  std::stable_sort(all.begin(), all.end(),
                   [](const TypedFlop& a, const TypedFlop& b) { return a.flop > b.flop; });
  PeakTime result;
  double counted = 0;
  for (const TypedFlop& part : all) {
    PeakRoof roof = peak_for(roofs, part.dtype, part.is_matrix);
    result.time_s += static_cast<double>(part.flop) / roof.flop_per_s;
    counted += static_cast<double>(part.flop);
    const bool is_new =
        std::find(result.roofs.begin(), result.roofs.end(), roof) == result.roofs.end();
    if (is_new && (part.flop > 0 || result.roofs.empty())) result.roofs.push_back(std::move(roof));
  }
  result.flop_per_s = result.time_s > 0 ? counted / result.time_s : result.roofs.front().flop_per_s;
  return result;
}

}  // namespace strata
