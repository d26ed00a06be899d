// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/collectives.hpp"

#include "strata/base/text.hpp"
#include "strata/capture/intervals.hpp"
#include "strata/capture/trace_builder.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace strata {
namespace {

/// The first that is in the name, without underscores and in lower case, is it.
constexpr std::pair<std::string_view, std::string_view> collective_words[] = {
    {"allreduce", "all_reduce"}, {"crossdevicereduce", "all_reduce"},
    {"allgather", "all_gather"}, {"reducescatter", "reduce_scatter"},
    {"alltoall", "all_to_all"},  {"sendrecv", "send_recv"},
    {"broadcast", "broadcast"},  {"reduce", "reduce"}};

constexpr std::pair<std::string_view, std::int64_t> torch_types[] = {
    {"float", 4},     {"double", 8},        {"half", 2},          {"bfloat16", 2},
    {"long", 8},      {"long int", 8},      {"int", 4},           {"short", 2},
    {"short int", 2}, {"char", 1},          {"signed char", 1},   {"byte", 1},
    {"bool", 1},      {"unsigned char", 1}, {"float8_e4m3fn", 1}, {"float8_e5m2", 1}};

}  // namespace

bool is_collective(const KernelClass& kernel_class) { return kernel_class.name == "collective"; }

std::string_view collective_in_name(std::string_view kernel_name) {
  std::string lower = lower_case(kernel_name.substr(0, kernel_name.find('(')));
  std::erase(lower, '_');
  for (const auto& [word, name] : collective_words)
    if (lower.find(word) != lower.npos) return name;
  return "collective";
}

std::int64_t bytes_of_torch_type(std::string_view name) {
  constexpr std::string_view prefix = "c10::";
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  const std::string lower = lower_case(name);
  for (const auto& [type, bytes] : torch_types)
    if (type == lower) return bytes;
  return 0;
}

void add_collective_rows(const TraceInput& input, TraceTables& tables) {
  const Recording& recording = input.recording;
  std::map<std::uint32_t, std::vector<TimeSpan>> others;  // by device
  for (const KernelRecord& kernel : recording.kernels)
    if (!is_collective(input.class_of_name[kernel.name]))
      others[kernel.device].push_back(kernel.time);
  std::map<std::uint32_t, Coverage> covered;
  for (auto& [device, spans] : others) covered.emplace(device, Coverage(std::move(spans)));
  std::map<std::string_view, CollectiveRow> rows;
  for (const KernelRecord& kernel : recording.kernels) {
    if (!is_collective(input.class_of_name[kernel.name])) continue;
    const std::string_view name = collective_in_name(recording.names.text(kernel.name));
    CollectiveRow& row = rows[name];
    row.name = name;
    const std::int64_t length = kernel.time.length_ns();
    row.time.add(length);
    const auto found = covered.find(kernel.device);
    row.exposed_ns += length - (found == covered.end() ? 0 : found->second.within(kernel.time));
    if (kernel.message_bytes < 0) continue;
    ++row.known_calls;
    row.bytes += kernel.message_bytes;
    row.known_ns += length;
  }
  for (auto& [name, row] : rows) tables.by_collective.push_back(std::move(row));
}

}  // namespace strata
