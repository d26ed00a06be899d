// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/recording_profile.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/capture/collectives.hpp"
#include "strata/capture/counter_columns.hpp"
#include "strata/capture/read_recording.hpp"
#include "strata/capture/recorded_step.hpp"
#include "strata/capture/step_work.hpp"
#include "strata/capture/trace_builder.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace strata {
namespace {

constexpr double most_bytes = 9e18;

std::int64_t kernel_ns(const Recording& recording) {
  std::int64_t sum = 0;
  for (const KernelRecord& kernel : recording.kernels) sum += kernel.time.length_ns();
  return sum;
}

std::int64_t bytes_of(std::optional<double> value) {
  if (!value || *value < 0 || *value > most_bytes) return 0;
  return std::llround(*value);
}

struct RowInProgress {
  ProfileRow row;
  std::map<std::string, std::int64_t> class_ns;
};

class ProfileMaker {
 public:
  explicit ProfileMaker(const Recording& recording)
      : recording_(recording),
        calls_(recording),
        origins_(origins_of_kernels(recording, calls_)),
        classes_(classes_of_names(recording)),
        columns_(recording) {}

  ProfileWithKernels make() {
    Profile profile;
    profile.evidence = Evidence::measured;
    profile.columns.has_flop = has_arithmetic(columns_);
    profile.columns.has_bytes = columns_.has("dram_read_bytes") && columns_.has("dram_write_bytes");
    has_flop_ = profile.columns.has_flop;
    const ProfileKernels of_profile = kernels_of_profile(recording_, origins_);
    for (const std::size_t kernel : of_profile.kernels) add(kernel);
    for (RowInProgress& made : rows_) {
      const auto most =
          std::max_element(made.class_ns.begin(), made.class_ns.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      made.row.op = most->first;
      profile.rows.push_back(std::move(made.row));
    }
    set_recorded_step(recording_, origins_, kernels_, of_profile.is_step, profile);
    return {std::move(profile), std::move(kernels_)};
  }

 private:
  void add(std::size_t kernel) {
    const KernelRecord& record = recording_.kernels[kernel];
    const KernelOrigin& origin = origins_.of_kernel[kernel];
    const KernelClass& kernel_class = classes_[record.name];
    const std::string_view name = recording_.names.text(record.name);
    const bool is_exchange = is_collective(kernel_class);
    const std::string layer = is_exchange         ? std::string(collective_in_name(name))
                              : origin.layer == 0 ? printable(short_kernel_name(name))
                                                  : printable(origins_.layers.text(origin.layer));
    const std::string pass = pass_of(origin, kernel_class);
    const auto [at, is_new] = at_.emplace(std::tuple(layer, pass, is_exchange), rows_.size());
    if (is_new) {
      RowInProgress made;
      made.row.layer = layer;
      made.row.pass = pass;
      made.row.block = layer;
      if (is_exchange) made.row.layer_class = communication_class;
      rows_.push_back(std::move(made));
    }
    kernels_.push_back({kernel, at->second});
    RowInProgress& made = rows_[at->second];
    made.class_ns[kernel_class.name] += record.time.length_ns();
    add_totals(kernel, made.row);
  }

  void add_totals(std::size_t kernel, ProfileRow& row) const {
    Totals one;
    one.steps = 1;
    one.launches = 1;
    one.time_s = 1e-9 * static_cast<double>(recording_.kernels[kernel].time.length_ns());
    if (!columns_.is_empty()) {
      // What a collective adds up on its way is communication, not arithmetic of the network.
      const bool is_exchange = is_communication(row);
      const std::vector<TypedFlop> arithmetic =
          is_exchange ? std::vector<TypedFlop>{} : arithmetic_of(columns_, kernel);
      for (const TypedFlop& part : arithmetic) one.flop = checked_add(one.flop, part.flop);
      one.in_bytes = bytes_of(columns_.value(kernel, "dram_read_bytes"));
      one.out_bytes = bytes_of(columns_.value(kernel, "dram_write_bytes"));
      if (has_flop_ && one.flop == 0 && !is_exchange) {
        one.zero_flop_launches = 1;
        one.zero_flop_s = one.time_s;
      }
      strata::add(row.arithmetic, arithmetic);
    }
    row.totals += one;
  }

  const Recording& recording_;
  LaunchCalls calls_;
  KernelOrigins origins_;
  std::vector<KernelClass> classes_;
  CounterColumns columns_;
  bool has_flop_ = false;
  std::map<std::tuple<std::string, std::string, bool>, std::size_t> at_;
  std::vector<RowInProgress> rows_;
  std::vector<RowKernel> kernels_;
};

}  // namespace

std::string short_kernel_name(std::string_view name) {
  std::string text(name.starts_with("void ") ? name.substr(5) : name);
  constexpr std::string_view nobody = "(anonymous namespace)::";
  for (std::size_t at = text.find(nobody); at != text.npos; at = text.find(nobody))
    text.erase(at, nobody.size());
  const std::size_t end = text.find_first_of("<(");
  if (end == 0 || end == text.npos) return text;
  const std::string base = text.substr(0, end);
  // CUTLASS has one kernel, and says in its argument what it does.
  const bool is_wrapper = base.ends_with("::Kernel") || base.ends_with("::Kernel2");
  if (is_wrapper && text[end] == '<') {
    const std::size_t close = text.find_first_of("<>(", end + 1);
    if (close != text.npos && close > end + 1) return text.substr(end + 1, close - end - 1);
  }
  return base;
}

Profile profile_of(const Recording& recording) { return profile_with_kernels(recording).profile; }

ProfileWithKernels profile_with_kernels(const Recording& recording) {
  if (recording.kernels.empty())
    fail(ErrorKind::input, "no kernel is recorded, so there is no profile of a device");
  ProfileWithKernels made = ProfileMaker(recording).make();
  Profile& profile = made.profile;
  profile.subject.network = recording.process.command;
  profile.subject.title = recording.process.command;
  if (const RecordedDevice* device =
          device_of(recording.process, recording.kernels.front().device)) {
    profile.subject.machine_title = device->name;
  }
  return made;
}

Profile load_recorded_profile(const std::filesystem::path& path) {
  const std::vector<Recording> recordings = read_recordings(path);
  const auto longest = std::max_element(
      recordings.begin(), recordings.end(),
      [](const Recording& a, const Recording& b) { return kernel_ns(a) < kernel_ns(b); });
  try {
    if (longest == recordings.end()) fail(ErrorKind::input, "there is no process in it");
    Profile profile = profile_of(*longest);
    profile.subject.network = printable(path.stem().string());
    profile.subject.title = profile.subject.network;
    return profile;
  } catch (Error& error) {
    error.add_context(path.string());
    throw;
  }
}

}  // namespace strata
