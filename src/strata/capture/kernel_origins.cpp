// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/kernel_origins.hpp"

#include "strata/base/text.hpp"
#include "strata/capture/recording_profile.hpp"
#include "strata/capture/xla_names.hpp"

#include <algorithm>
#include <charconv>
#include <map>

namespace strata {
namespace {

/// How well a range names a layer.
enum class Strength : std::uint8_t { none, user, framework, layer };

/// What is known inside a range: from its own name, and from the ranges around it.
struct OpenRange {
  std::int64_t end_ns = 0;
  NameId layer = 0;
  std::size_t range = no_index;  ///< that gave the layer
  Strength strength = Strength::none;
  WorkPass pass = WorkPass::unknown;
  std::uint64_t sequence = 0;
  bool names_kernels = false;  ///< kernels in it are called after what they compute
};

constexpr std::string_view module_prefix = "nn.Module: ";

struct RangeMeaning {
  std::string layer;
  Strength strength = Strength::none;
  WorkPass pass = WorkPass::unknown;
  std::uint64_t sequence = 0;
  bool names_kernels = false;
};

WorkPass pass_in_name(std::string_view name) {
  if (name.starts_with("autograd::engine::")) return WorkPass::backward;
  if (name.starts_with("Optimizer.")) return WorkPass::update;
  return WorkPass::unknown;
}

/// Kernels of a command buffer are launched at once and called after their own instructions.
RangeMeaning meaning_of_xla(const XlaRange& range) {
  RangeMeaning meaning;
  meaning.pass = pass_of_xla_path(range.path);
  meaning.names_kernels = range.kind == XlaKind::command_buffer;
  if (range.kind != XlaKind::instruction) return meaning;
  meaning.layer = layer_of_xla(range.path, range.hlo_op);
  meaning.strength = Strength::layer;
  return meaning;
}

RangeMeaning meaning_of(const RangeRecord& range, std::string_view name) {
  RangeMeaning meaning;
  meaning.pass = range.is_backward ? WorkPass::backward : pass_in_name(name);
  meaning.sequence = range.id;
  if (is_step_mark(name)) return meaning;
  switch (range.kind) {
    case RangeKind::nvtx: {
      if (const auto xla = xla_range(name)) return meaning_of_xla(*xla);
      const RangeWords words = words_of_range(name);
      meaning.layer = words.layer;
      meaning.strength = name.find("::") == name.npos ? Strength::layer : Strength::framework;
      if (words.pass != WorkPass::unknown) meaning.pass = words.pass;
      if (words.sequence != 0) meaning.sequence = words.sequence;
      break;
    }
    case RangeKind::framework:
      meaning.layer = name;
      meaning.strength = Strength::framework;
      break;
    case RangeKind::user:
      meaning.layer = name;
      meaning.strength = Strength::user;
      break;
    case RangeKind::call:
      if (!name.starts_with(module_prefix)) break;
      meaning.layer = name.substr(module_prefix.size());
      meaning.strength = Strength::layer;
      break;
  }
  return meaning;
}

/// The ranges of one thread that are open at a moment; moments are asked for in rising order.
class OpenRanges {
 public:
  OpenRanges(const Recording& recording, NameTable& layers,
             std::unordered_map<std::uint64_t, NameId>& layer_of_sequence)
      : recording_(recording), layers_(layers), layer_of_sequence_(layer_of_sequence) {}

  void push(std::size_t index) {
    const RangeRecord& range = recording_.ranges[index];
    pop_until(range.time.start_ns);
    const RangeMeaning meaning = meaning_of(range, recording_.names.text(range.name));
    OpenRange open = open_.empty() ? OpenRange{} : open_.back();
    open.end_ns = range.time.end_ns;
    if (meaning.strength != Strength::none && meaning.strength >= open.strength) {
      open.layer = layers_.id_of(meaning.layer);
      open.range = index;
      open.strength = meaning.strength;
    }
    open.names_kernels = meaning.names_kernels;
    if (meaning.pass != WorkPass::unknown) open.pass = meaning.pass;
    if (meaning.sequence != 0) open.sequence = meaning.sequence;
    // The first forward operator of a number stands for it: those inside have the same.
    if (meaning.sequence != 0 && open.pass != WorkPass::backward &&
        open.strength == Strength::layer) {
      layer_of_sequence_.emplace(meaning.sequence, open.layer);
    }
    open_.push_back(open);
  }

  OpenRange at(std::int64_t moment) {
    pop_until(moment);
    return open_.empty() ? OpenRange{} : open_.back();
  }

 private:
  void pop_until(std::int64_t moment) {
    while (!open_.empty() && open_.back().end_ns <= moment) open_.pop_back();
  }

  const Recording& recording_;
  NameTable& layers_;
  std::unordered_map<std::uint64_t, NameId>& layer_of_sequence_;
  std::vector<OpenRange> open_;
};

/// The name that the recorder gives the kernel itself, where no range of a layer was open.
bool add_own_name(const Recording& recording, const KernelRecord& kernel, const OpenRange& found,
                  NameTable& layers, KernelOrigin& origin) {
  if (kernel.origin == 0 || found.strength == Strength::layer) return false;
  const std::optional<XlaRange> words = xla_range(recording.names.text(kernel.origin));
  if (!words || words->hlo_op.empty()) return false;
  origin.layer = layers.id_of(layer_of_xla(words->path, words->hlo_op));
  origin.pass = pass_of_xla_path(words->path);
  return true;
}

struct Launch {
  std::int64_t at_ns = 0;
  std::size_t kernel = 0;
};

}  // namespace

bool is_step_mark(std::string_view name) {
  const std::string lower = lower_case(name);
  for (const std::string_view word : {"profilerstep", "iteration", "step", "iter"}) {
    if (!lower.starts_with(word)) continue;
    std::string_view rest = std::string_view(lower).substr(word.size());
    rest = rest.substr(std::min(rest.find_first_not_of(" #_:=-"), rest.size()));
    return !rest.empty() && rest.find_first_not_of("0123456789") == rest.npos;
  }
  return false;
}

RangeWords words_of_range(std::string_view name) {
  RangeWords words;
  constexpr std::string_view sequence_mark = ", seq = ";
  const std::size_t mark = name.find(sequence_mark);
  if (mark != name.npos) {
    const std::string_view digits = name.substr(mark + sequence_mark.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), words.sequence);
    name = name.substr(0, mark);
  }
  constexpr std::pair<std::string_view, WorkPass> endings[] = {{" forward", WorkPass::forward},
                                                               {" backward", WorkPass::backward},
                                                               {" update", WorkPass::update}};
  for (const auto& [ending, pass] : endings) {
    if (!name.ends_with(ending) || name.size() == ending.size()) continue;
    name.remove_suffix(ending.size());
    words.pass = pass;
    break;
  }
  words.layer = name;
  return words;
}

LaunchCalls::LaunchCalls(const Recording& recording) {
  by_correlation_.reserve(recording.calls.size());
  for (std::size_t i = 0; i < recording.calls.size(); ++i) {
    const ApiRecord& call = recording.calls[i];
    if (call.correlation == 0) continue;
    // The runtime's call holds the driver's; both may carry the number. The outer one counts.
    const auto [known, is_new] = by_correlation_.emplace(call.correlation, i);
    if (!is_new && call.time.start_ns < recording.calls[known->second].time.start_ns)
      known->second = i;
  }
}

std::size_t LaunchCalls::call_of(std::uint64_t correlation) const {
  const auto found = by_correlation_.find(correlation);
  return correlation == 0 || found == by_correlation_.end() ? no_index : found->second;
}

KernelOrigins origins_of_kernels(const Recording& recording, const LaunchCalls& calls) {
  KernelOrigins result;
  std::vector<KernelOrigin>& origins = result.of_kernel;
  origins.resize(recording.kernels.size());
  std::map<std::uint32_t, std::vector<Launch>> launches;  // by thread
  for (std::size_t i = 0; i < recording.kernels.size(); ++i) {
    origins[i].call = calls.call_of(recording.kernels[i].correlation);
    if (origins[i].call == no_index) continue;
    const ApiRecord& call = recording.calls[origins[i].call];
    launches[call.thread].push_back({call.time.start_ns, i});
  }
  std::map<std::uint32_t, std::vector<std::size_t>> ranges;
  for (std::size_t i = 0; i < recording.ranges.size(); ++i)
    ranges[recording.ranges[i].thread].push_back(i);

  std::unordered_map<std::uint64_t, NameId> layer_of_sequence;
  std::vector<OpenRange> found(recording.kernels.size());
  for (const auto& [thread, of_thread] : ranges) {
    std::vector<Launch>& wanted = launches[thread];
    std::stable_sort(wanted.begin(), wanted.end(),
                     [](const Launch& a, const Launch& b) { return a.at_ns < b.at_ns; });
    OpenRanges open(recording, result.layers, layer_of_sequence);
    std::size_t next = 0;
    for (const std::size_t range : of_thread) {
      const RangeRecord& opened = recording.ranges[range];
      for (; next < wanted.size() && wanted[next].at_ns < opened.time.start_ns; ++next)
        found[wanted[next].kernel] = open.at(wanted[next].at_ns);
      open.push(range);
    }
    for (; next < wanted.size(); ++next) found[wanted[next].kernel] = open.at(wanted[next].at_ns);
  }
  for (std::size_t i = 0; i < origins.size(); ++i) {
    if (add_own_name(recording, recording.kernels[i], found[i], result.layers, origins[i]))
      continue;
    origins[i].pass = found[i].pass;
    origins[i].range = found[i].range;
    NameId layer = found[i].layer;
    if (layer == 0 && found[i].names_kernels)
      layer =
          result.layers.id_of(short_kernel_name(recording.names.text(recording.kernels[i].name)));
    const auto forward = layer_of_sequence.find(found[i].sequence);
    if (found[i].pass == WorkPass::backward && found[i].strength != Strength::layer &&
        forward != layer_of_sequence.end()) {
      layer = forward->second;
      origins[i].range = no_index;
    }
    origins[i].layer = layer;
  }
  return result;
}

}  // namespace strata
