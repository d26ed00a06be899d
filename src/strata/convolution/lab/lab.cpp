// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/lab.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/base/this_run.hpp"
#include "strata/base/units.hpp"
#include "strata/convolution/lab/bench_tensors.hpp"
#include "strata/version.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <new>

namespace strata {
namespace {

class NoMarks final : public RoleMarks {
 public:
  void begin(KernelRole) override {}
};

/// The tensors of the shape that is being worked on; the next shape takes their place.
class ConvWorkplace {
 public:
  ConvWorkplace(ConvDevice& device, const ConvPlan& plan, const ConvLabHooks& hooks)
      : device_(device), plan_(plan), hooks_(hooks) {}

  ConvCell fill(const ConvTask& task) {
    ConvCell cell;
    cell.shape = task.shape;
    cell.pass = task.pass;
    cell.strategy = task.strategy->name();
    try {
      if (const auto reason = refusal(task, cell)) {
        cell.status = ConvStatus::refused;
        cell.reason = *reason;
        return cell;
      }
      measure(task, cell);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      give_up(cell, error.what());
    } catch (const std::bad_alloc&) {
      give_up(cell, "out of host memory");
    }
    return cell;
  }

  /// Traces the kernels of libraries at all tasks. Nothing where they cannot be: times are there
  /// all the same, and whoever asks is told why.
  void trace(std::span<const ConvTask> tasks) {
    const auto is_traced = [](const ConvTask& task) { return task.strategy->is_vendor(); };
    const auto count = std::count_if(tasks.begin(), tasks.end(), is_traced);
    std::size_t done = 0;
    try {
      for (const ConvTask& task : tasks) {
        if (hooks_.is_interrupted && hooks_.is_interrupted()) return;
        if (!is_traced(task)) continue;
        if (hooks_.on_trace) hooks_.on_trace(done++, static_cast<std::size_t>(count));
        ConvCell unused;
        if (refusal(task, unused)) continue;
        lay_tensors(task);
        if (const auto prepared = prepared_or_null(task)) {
          auto kernels = device_.traced_kernels(*prepared, tensors_->on_device());
          if (!kernels.empty()) traced_.emplace(&task, std::move(kernels));
        }
      }
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      if (hooks_.on_no_traces) hooks_.on_no_traces(error.what());
    } catch (const std::bad_alloc&) {
      if (hooks_.on_no_traces) hooks_.on_no_traces("out of host memory");
    }
  }

 private:
  /// Null where it cannot be prepared: the cell says why when it is filled.
  std::unique_ptr<PreparedConvolution> prepared_or_null(const ConvTask& task) const {
    try {
      auto prepared = task.strategy->prepare(problem_of(task));
      NoMarks marks;
      prepared->run(tensors_->on_device(), marks);  // what a first run loads is not the kernels'
      return prepared;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      return nullptr;
    }
  }

  static void give_up(ConvCell& cell, std::string reason) {
    cell.status = ConvStatus::failed;
    cell.reason = std::move(reason);
    cell.samples_s.clear();
    cell.roles.clear();
  }

  ConvProblem problem_of(const ConvTask& task) const {
    return {task.shape, task.pass, plan_.dtype};
  }

  std::optional<std::string> refusal(const ConvTask& task, ConvCell& cell) {
    if (auto reason = task.strategy->refusal(problem_of(task))) return reason;
    const Count elements = Count(task.shape.input_elements()) + task.shape.weight_elements() +
                           task.shape.output_elements();
    cell.tensor_bytes = (elements * bytes_per_element(plan_.dtype)).value();
    cell.scratch_bytes = task.strategy->scratch_bytes(problem_of(task));
    cell.flop = task.strategy->flop(problem_of(task));
    const std::int64_t needed = checked_add(cell.tensor_bytes, cell.scratch_bytes);
    if (plan_.memory_limit_bytes && needed > *plan_.memory_limit_bytes) {
      return beyond_limit_text(needed, *plan_.memory_limit_bytes);
    }
    const bool is_in_place = tensors_ && tensors_->shape() == task.shape;
    const std::int64_t to_get = is_in_place ? cell.scratch_bytes : needed;
    const std::int64_t free_bytes =
        device_.free_bytes() + (tensors_ && !is_in_place ? tensors_->bytes() : 0);
    if (to_get > free_bytes) {
      return fmt::format("needs {} more, the device has {} free",
                         format_capacity(static_cast<double>(to_get)),
                         format_capacity(static_cast<double>(free_bytes)));
    }
    return std::nullopt;
  }

  void lay_tensors(const ConvTask& task) {
    if (!tensors_ || !(tensors_->shape() == task.shape)) {
      tensors_.reset();  // before the new ones are allocated
      tensors_ = std::make_unique<BenchTensors>(device_, task.shape, plan_.dtype, plan_.seed);
    }
    tensors_->prepare_for(task.pass);
  }

  void measure(const ConvTask& task, ConvCell& cell) {
    lay_tensors(task);
    cell.kernels = task.strategy->kernels(problem_of(task));
    cell.tolerance = task.strategy->tolerance(problem_of(task));
    const auto prepared = task.strategy->prepare(problem_of(task));
    NoMarks marks;
    prepared->run(tensors_->on_device(), marks);
    const ConvCheck check = tensors_->checked();
    cell.error = check.error;
    cell.checked = check.count;
    if (!(check.error <= cell.tolerance)) {
      cell.status = ConvStatus::wrong;
      cell.reason = std::isfinite(check.error)
                        ? fmt::format("wrong: relative error {:.2g}, at most {:.2g} is right",
                                      check.error, cell.tolerance)
                        : std::string("wrong: some results are not finite or not written");
      if (!std::isfinite(check.error)) cell.error = 0;  // no number to store
      return;
    }
    const ConvTimingOptions timing{.samples = plan_.samples};
    ConvTiming times = device_.time(*prepared, tensors_->on_device(), timing);
    cell.samples_s = std::move(times.samples_s);
    cell.roles = std::move(times.roles);
    cell.clock_hz = times.clock_hz;
    cell.transfers = tensors_->input_transfers();
    if (const auto traced = traced_.find(&task); traced != traced_.end())
      take_kernels(std::move(traced->second), cell);
    // After the times, which counters would disturb.
    if (plan_.has_efficiencies)
      cell.efficiencies = device_.efficiencies(*prepared, tensors_->on_device());
  }

  /// A library marks no roles: the names of its kernels tell them.
  void take_kernels(std::vector<KernelFacts> kernels, ConvCell& cell) const {
    cell.roles.clear();
    for (KernelFacts& kernel : kernels) {
      kernel.role = hooks_.role_of_kernel(kernel.name);
      const auto same =
          std::find_if(cell.roles.begin(), cell.roles.end(),
                       [&](const RoleTime& role) { return role.role == kernel.role; });
      if (same == cell.roles.end()) {
        cell.roles.push_back({kernel.role, kernel.seconds});
      } else {
        same->seconds += kernel.seconds;
      }
    }
    cell.kernels = std::move(kernels);
  }

  ConvDevice& device_;
  const ConvPlan& plan_;
  const ConvLabHooks& hooks_;
  // Optionals within an optional: gcc loses track of what is there, and warns that it may not be.
  std::unique_ptr<BenchTensors> tensors_;
  std::map<const ConvTask*, std::vector<KernelFacts>> traced_;
};

}  // namespace

ConvOrigin conv_origin_of(const ConvDevice& device) {
  ConvOrigin origin{this_moment(), device.facts()};
  origin.facts.versions.insert(origin.facts.versions.begin(), {"strata", std::string(version)});
  return origin;
}

std::vector<const ConvStrategy*> chosen_strategies(
    const ConvDevice& device, std::span<const std::unique_ptr<ConvStrategy>> plugins,
    std::span<const std::string> names) {
  std::vector<const ConvStrategy*> all;
  std::vector<std::string> known;
  for (const auto& list : {device.strategies(), plugins}) {
    for (const auto& strategy : list) {
      if (std::find(known.begin(), known.end(), strategy->name()) != known.end())
        fail(ErrorKind::usage, "two strategies are called '{}'", strategy->name());
      all.push_back(strategy.get());
      known.emplace_back(strategy->name());
    }
  }
  if (names.empty()) return all;
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      fail(ErrorKind::usage, "no strategy '{}' on this device{}; there are {}", name,
           did_you_mean(name, known), fmt::join(known, ", "));
    }
  }
  std::erase_if(all, [&](const ConvStrategy* strategy) {
    return std::find(names.begin(), names.end(), strategy->name()) == names.end();
  });
  return all;
}

std::vector<ConvTask> conv_tasks(const ConvPlan& plan,
                                 std::span<const ConvStrategy* const> strategies) {
  std::vector<ConvTask> tasks;
  for (const ConvPoint& point : distinct_points(plan.series)) {
    for (const ConvPass pass : plan.passes) {
      if (point.counts[static_cast<std::size_t>(pass)] == 0) continue;
      for (const ConvStrategy* strategy : strategies)
        tasks.push_back({point.shape, pass, strategy});
    }
  }
  return tasks;
}

std::vector<ConvCell> run_conv_lab(ConvDevice& device, const ConvPlan& plan,
                                   std::span<const ConvTask> tasks, std::size_t first,
                                   const ConvLabHooks& hooks) {
  ConvWorkplace workplace(device, plan, hooks);
  // Before the first counter is read: a device that has counted traces no more.
  if (plan.has_efficiencies && hooks.role_of_kernel)
    workplace.trace(tasks.subspan(std::min(first, tasks.size())));
  std::vector<ConvCell> cells;
  for (std::size_t task = first; task < tasks.size(); ++task) {
    if (hooks.is_interrupted && hooks.is_interrupted()) break;
    cells.push_back(workplace.fill(tasks[task]));
    if (hooks.others_share && cells.back().is_timed())
      cells.back().others_share = hooks.others_share();
    if (hooks.on_cell) hooks.on_cell(task, cells.back());
  }
  return cells;
}

}  // namespace strata
