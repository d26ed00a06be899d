// SPDX-License-Identifier: Apache-2.0
// What layers that memory limits reach of the machine's own bandwidth, by the kernels that
// `strata measure --device cpu` runs:
//
//   strata_memory_rates [core|all] [rounds] [name]
//
// core: one core, by the CPU time of the process, which a busy machine disturbs less; all: every
// core, by the clock on the wall. Each figure is the best of `rounds` runs of one pass, and every
// run stands beside runs of the machine's read, copy, triad and write walks, so that what else the
// machine does touches all alike. name: only the layers whose name has it in it.
//
// Bytes are those of the cost sheet: what must move. A store that fetches its line first, or a
// tensor that is read twice, counts against the layer; where it cannot be read once, the share with
// both readings stands behind it. "of its mix" is beside the walk that reads
// and writes in the most similar proportion. "in cache" is what the same code reaches of that walk
// with a part of the layer that stays in a core's cache: below 100 %, arithmetic is what limits the
// layer, not memory.
#include "memory_rate_layers.hpp"
#include "strata/cost/cost.hpp"
#include "strata/cost/update.hpp"
#include "strata/graph/builder.hpp"
#include "strata/measure/cpu/ceilings/kernels.hpp"
#include "strata/measure/cpu/threads.hpp"
#include "strata/measure/training/device.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace strata;
using memory_rates::Layer;

clockid_t bench_clock = CLOCK_MONOTONIC;

double now() {
  timespec time{};
  ::clock_gettime(bench_clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Traffic {
  double read = 0, written = 0;
  double bytes() const { return read + written; }
};

/// Of passes that run as one: what several of them touch moves once.
Traffic traffic_of(std::initializer_list<const PassCost*> passes) {
  Traffic traffic;
  std::set<std::tuple<Operand, AccessMode, std::uint32_t>> seen;
  for (const PassCost* pass : passes) {
    for (const Access& access : pass->accesses) {
      if (access.mode == AccessMode::alias) continue;
      if (!seen.insert({access.operand, access.mode, access.index}).second) continue;
      (access.mode == AccessMode::read ? traffic.read : traffic.written) +=
          static_cast<double>(access.bytes);
    }
  }
  return traffic;
}

/// Memory that one layer after the other works on. What is given is never written, so that it stays
/// random numbers; what is computed goes elsewhere.
class Room {
 public:
  explicit Room(TrainingDevice& device)
      : given_(device.allocate(bytes_each)), made_(device.allocate(bytes_each)) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    auto* const numbers = static_cast<float*>(given_.get());
    for (std::int64_t i = 0; i < bytes_each / 4; ++i) {
      numbers[i] = i < 65521 ? normal(random) : numbers[i - 65521];
    }
    std::fill_n(static_cast<char*>(made_.get()), bytes_each, '\0');
  }
  void begin() { used_given_ = used_made_ = 0; }
  void* given(std::int64_t bytes) { return take(given_, used_given_, bytes); }
  void* made(std::int64_t bytes) { return take(made_, used_made_, bytes); }

 private:
  static constexpr std::int64_t bytes_each = std::int64_t{1} << 30;

  static void* take(const std::shared_ptr<void>& memory, std::int64_t& used, std::int64_t bytes) {
    constexpr std::int64_t page = 2 << 20;
    void* const place = static_cast<char*>(memory.get()) + used;
    used += (bytes + page - 1) / page * page + page;
    if (used > bytes_each) throw std::runtime_error("the layer is too large for the bench");
    return place;
  }
  std::shared_ptr<void> given_, made_;
  std::int64_t used_given_ = 0, used_made_ = 0;
};

/// The machine's own rates: every thread walks through its own part of memory.
class Walks {
 public:
  static constexpr std::array mixes = {AccessMix::read, AccessMix::triad, AccessMix::copy,
                                       AccessMix::write};
  static constexpr std::array read_shares = {1.0, 2.0 / 3, 0.5, 0.0};

  explicit Walks(TrainingDevice& device) : memory_(device.allocate(3 * 8 * count_)) {
    std::fill_n(static_cast<double*>(memory_.get()), 3 * count_, 1.0);
  }

  /// Runs each once, with stores of both kinds and with lines asked for or not, and keeps what is
  /// best so far.
  void run() {
    for (std::size_t i = 0; i < mixes.size(); ++i) {
      for (const cpu::Store store : {cpu::Store::cached, cpu::Store::past_caches}) {
        if (store == cpu::Store::past_caches && (i == 0 || !cpu::has_stores_past_caches()))
          continue;
        for (const cpu::Asking asking : {cpu::Asking::none, cpu::Asking::ahead}) {
          best_[i] = std::max(best_[i], rate_of({mixes[i], store}, asking));
        }
      }
    }
  }
  double of(std::size_t mix) const { return best_[mix]; }
  double like(const Traffic& traffic) const {
    const double share = traffic.read / traffic.bytes();
    std::size_t nearest = 0;
    for (std::size_t i = 1; i < mixes.size(); ++i) {
      if (std::abs(read_shares[i] - share) < std::abs(read_shares[nearest] - share)) nearest = i;
    }
    return best_[nearest];
  }

 private:
  double rate_of(cpu::Walk walk, cpu::Asking asking) {
    const std::int64_t threads = threads_.count();
    const std::int64_t each = count_ / threads / cpu::walk_granule * cpu::walk_granule;
    std::vector<double> sums(static_cast<std::size_t>(threads) * 8);
    const double start = now();
    threads_.for_each(threads, [&](std::int64_t part, int) {
      double* const first = static_cast<double*>(memory_.get()) + part * each;
      sums[static_cast<std::size_t>(part) * 8] = cpu::run_walk(
          {walk.mix, walk.store, first, first + count_, first + 2 * count_, each, asking}, 1);
    });
    const double arrays = walk.mix == AccessMix::triad ? 3 : walk.mix == AccessMix::copy ? 2 : 1;
    return arrays * 8 * static_cast<double>(each * threads) / (now() - start);
  }
  static constexpr std::int64_t count_ = (std::int64_t{128} << 20) / 8;  // in each of 3 arrays
  cpu::Threads threads_{cpu::allowed_cpus()};
  std::shared_ptr<void> memory_;
  std::array<double, mixes.size()> best_{};
};

/// One layer's kernels; runs its passes.
class Subject {
 public:
  Subject(const Layer& layer, TrainingDevice& device)
      : name_(layer.name), is_read_twice_(layer.is_read_twice) {
    GraphBuilder builder("layer");
    std::vector<TensorId> inputs;
    for (const Shape& shape : layer.inputs) {
      const std::string name = "x" + std::to_string(inputs.size());
      if (layer.below > 0 && inputs.size() == layer.whole) {
        whole_numbers(layer);
        inputs.push_back(builder.input(name, shape, DType::int64));
      } else {
        // Made from a parameter, so that its gradient is wanted.
        const TensorId parameter = builder.stored(name, shape);
        inputs.push_back(builder.add("made " + name, Unary{UnaryKind::identity}, {parameter}));
      }
    }
    node_ = builder.add_node("layer", layer.op, inputs);
    for (const TensorId output : builder.graph().nodes[node_].outputs) builder.output(output);
    graph_ = std::move(builder).finish();
    bound_ = bind_graph(graph_, {}, DType::fp32);
    const NodeCost cost = cost_of(bound_, node_);
    traffic_ = {traffic_of({&cost.forward}),
                traffic_of({&cost.backward_input, &cost.backward_weight})};
    for (const Access& access : cost.backward_input.accesses) {
      if (access.mode == AccessMode::alias) is_aliased_.insert(access.index);
    }
    KernelsOrReason made = device.kernels(bound_, node_, true);
    if (const auto* reason = std::get_if<NoKernels>(&made))
      throw std::runtime_error(reason->reason);
    kernels_ = std::move(std::get<std::unique_ptr<NodeKernels>>(made));
  }

  /// All that its passes touch.
  double bytes() const { return traffic_[0].bytes() + traffic_[1].bytes(); }
  /// The best so far, in bytes per second; 0 where nothing moves.
  double rate(std::size_t pass) const { return traffic_[pass].bytes() / best_s_[pass]; }

  /// Runs forward, then backward, each so many times, and keeps the shortest times.
  void run(Room& room, int times = 1) {
    const Node& node = graph_.nodes[node_];
    const auto bytes = [&](TensorId id) { return bound_.tensors[id].bytes; };
    room.begin();
    NodeMemory m;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool is_whole = !is_floating(bound_.tensors[node.inputs[i]].dtype);
      m.inputs.push_back(is_whole ? numbers_.data() : room.given(bytes(node.inputs[i])));
    }
    for (const TensorId id : node.outputs) m.outputs.push_back(room.made(bytes(id)));
    m.saved = room.made(kernels_->needs().saved_bytes);
    m.scratch = room.made(kernels_->needs().scratch_bytes);
    time(0, times, [&] { kernels_->run(Pass::forward, m); });
    for (const TensorId id : node.outputs) m.output_gradients.push_back(room.given(bytes(id)));
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId id = node.inputs[i];
      const bool is_wanted = bound_.tensors[id].wants_gradient;
      m.input_gradients.push_back(is_aliased_.contains(i) ? m.output_gradients[0]
                                  : is_wanted             ? room.made(bytes(id))
                                                          : nullptr);
    }
    time(1, times, [&] { kernels_->run(Pass::backward, m); });
  }

  /// in_cache: bytes per second of both passes, with as many cores; 0: not measured.
  void print(const Walks& walks, const std::array<double, 2>& in_cache) const {
    fmt::print("{:<24}", name_);
    for (std::size_t pass = 0; pass < 2; ++pass) {
      if (rate(pass) == 0) {  // nothing moves
        fmt::print("{:>39}  ", "-");
        continue;
      }
      const double walk = walks.like(traffic_[pass]);
      fmt::print("{:>9.1f}{:>8.1f}{:>11.0f}%{:>10}  ", 1e3 * best_s_[pass], rate(pass) / 1e9,
                 100 * rate(pass) / walk,
                 in_cache[pass] == 0 ? "-" : fmt::format("{:.0f}%", 100 * in_cache[pass] / walk));
    }
    if (is_read_twice_) {
      fmt::print("read twice {:.0f}%, {:.0f}%", 100 * share_read_twice(walks, 0),
                 100 * share_read_twice(walks, 1));
    }
    fmt::print("\n");
  }

 private:
  double share_read_twice(const Walks& walks, std::size_t pass) const {
    const Traffic moved{2 * traffic_[pass].read, traffic_[pass].written};
    return moved.bytes() / best_s_[pass] / walks.like(moved);
  }
  void whole_numbers(const Layer& layer) {
    std::int64_t count = 1;
    for (const Dim dim : layer.inputs[layer.whole]) count *= dim.factor;
    std::mt19937_64 random(2);
    std::uniform_int_distribution<std::int64_t> any(0, layer.below - 1);
    for (std::int64_t i = 0; i < count; ++i) numbers_.push_back(any(random));
  }

  template <class Work>
  void time(std::size_t pass, int times, const Work& work) {
    const double start = now();
    for (int i = 0; i < times; ++i) work();
    best_s_[pass] = std::min(best_s_[pass], (now() - start) / times);
  }

  std::string name_;
  bool is_read_twice_;
  Graph graph_;
  BoundGraph bound_;
  NodeId node_ = 0;
  std::unique_ptr<NodeKernels> kernels_;
  std::vector<std::int64_t> numbers_;
  std::set<std::size_t> is_aliased_;  // inputs whose gradient is that of the output, by name
  std::array<Traffic, 2> traffic_;
  std::array<double, 2> best_s_{1e30, 1e30};
};

/// The update of one parameter tensor by each rule.
class Updates {
 public:
  static constexpr std::array rules = {Optimizer::sgd, Optimizer::momentum, Optimizer::adam};

  void run(TrainingDevice& device, Room& room) {
    room.begin();
    UpdateMemory m{.parameter = room.made(4 * count),
                   .gradient = room.given(4 * count),
                   .states = {static_cast<float*>(room.made(4 * count)),
                              static_cast<float*>(room.made(4 * count))},
                   .elements = count};
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const double start = now();
      device.update({.optimizer = rules[i]}, m);
      best_s_[i] = std::min(best_s_[i], now() - start);
    }
  }
  void print(const Walks& walks) const {
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const UpdateCost cost = update_cost(rules[i], count, DType::fp32);
      const Traffic traffic{static_cast<double>(cost.read_bytes),
                            static_cast<double>(cost.write_bytes)};
      const double rate = traffic.bytes() / best_s_[i];
      fmt::print("{:<24}{:>9.1f}{:>8.1f}{:>11.0f}%\n",
                 fmt::format("update by {}", name_of(rules[i])), 1e3 * best_s_[i], rate / 1e9,
                 100 * rate / walks.like(traffic));
    }
  }

 private:
  static constexpr std::int64_t count = std::int64_t{32} << 20;
  std::array<double, rules.size()> best_s_{1e30, 1e30, 1e30};
};

void stay_on_one_core() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  ::sched_setaffinity(0, sizeof one, &one);
}

/// Fewer images or rows, then channels, of a layer.
Layer part_in_cache(Layer layer) {
  constexpr std::int64_t most = std::int64_t{1} << 15;  // numbers of the first input
  const auto count = [&] {
    std::int64_t numbers = 1;
    for (const Dim dim : layer.inputs[0]) numbers *= dim.factor;
    return numbers;
  };
  const std::size_t axes = layer.inputs[0].size() > 2 ? 2 : 1;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    while (count() > most && layer.inputs[0][axis].factor > 1) {
      const Dim whole = layer.inputs[0][axis];
      for (Shape& shape : layer.inputs) {
        if (axis < shape.size() && shape[axis] == whole) shape[axis] = Dim(whole.factor / 2);
      }
    }
  }
  return layer;
}

/// What each layer reaches where memory is no limit, on this core alone; 0 where no part of it is
/// small enough, or possible.
std::vector<std::array<double, 2>> rates_in_cache(const std::vector<Layer>& layers, Room& room) {
  constexpr double cache = 1 << 20;
  const auto device = cpu_training_device({});
  std::vector<std::array<double, 2>> rates(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    try {
      Subject part(part_in_cache(layers[i]), *device);
      if (part.bytes() > cache) continue;
      for (int round = 0; round < 5; ++round) part.run(room, 40);
      rates[i] = {part.rate(0), part.rate(1)};
    } catch (const std::exception&) {  // such as groups of channels that are no longer there
    }
  }
  return rates;
}

void run_bench(int rounds, std::string_view part_of_name) {
  const auto device = cpu_training_device({});
  Walks walks(*device);
  Room room(*device);
  std::vector<Layer> layers = memory_rates::all_layers();
  std::erase_if(layers, [&](const Layer& layer) {
    return layer.name.find(part_of_name) == std::string::npos;
  });
  std::vector<std::unique_ptr<Subject>> subjects;
  for (const Layer& layer : layers) subjects.push_back(std::make_unique<Subject>(layer, *device));
  Updates updates;
  const bool has_updates = std::string_view("update").find(part_of_name) != std::string_view::npos;
  for (int round = 0; round < rounds; ++round) {
    walks.run();
    if (has_updates) updates.run(*device, room);
    for (const auto& subject : subjects) {
      if ((&subject - subjects.data()) % 4 == 0) walks.run();
      subject->run(room);
    }
  }
  const int cores = cpu::allowed_cpus();
  fmt::print("{}, {} threads; GB/s: read {:.1f}, triad {:.1f}, copy {:.1f}, write {:.1f}\n",
             device->name(), cores, walks.of(0) / 1e9, walks.of(1) / 1e9, walks.of(2) / 1e9,
             walks.of(3) / 1e9);
  fmt::print("{:<24}{:>9}{:>8}{:>12}{:>10}  {:>9}{:>8}{:>12}{:>10}\n", "", "forward", "GB/s",
             "of its mix", "in cache", "backward", "GB/s", "of its mix", "in cache");
  stay_on_one_core();
  const auto in_cache = rates_in_cache(layers, room);
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    subjects[i]->print(walks, {cores * in_cache[i][0], cores * in_cache[i][1]});
  }
  if (has_updates) updates.print(walks);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2 || std::string_view(arguments[1]) == "core") {
    bench_clock = CLOCK_PROCESS_CPUTIME_ID;
    stay_on_one_core();
  }
  run_bench(count > 2 ? std::atoi(arguments[2]) : 5, count > 3 ? arguments[3] : "");
}
