// SPDX-License-Identifier: Apache-2.0
// What layers that memory limits reach of the machine's own bandwidth, by the kernels that
// `strata measure` runs:
//
//   strata_memory_rates [core|all|cuda] [rounds] [name]
//
// core: one core, by the CPU time of the process, which a busy machine disturbs less; all: every
// core, by the clock on the wall; cuda: the first GPU, by its own clock, ten passes in a row. Each
// figure is the best of `rounds` runs of one pass, and every run on the CPU stands beside runs of
// the machine's read, copy, triad and write walks, so that what else the machine does touches all
// alike. name: only the layers whose name has it in it.
//
// Bytes are those of the cost sheet: what must move. A store that fetches its line first, or a
// tensor that is read twice, counts against the layer; where it cannot be read once, the share with
// both readings stands behind it. "of its mix" is beside the walk that reads
// and writes in the most similar proportion. "in cache" is what the same code reaches of that walk
// with a part of the layer that stays in a core's cache: below 100 %, arithmetic is what limits the
// layer, not memory (not measured on a GPU).
#include "memory_rate_layers.hpp"
#include "memory_rate_walks.hpp"
#include "strata/cost/cost.hpp"
#include "strata/cost/update.hpp"
#include "strata/graph/builder.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace strata;
using memory_rates::bench_clock;
using memory_rates::Layer;
using memory_rates::Traffic;
using memory_rates::Walks;

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
    std::vector<float> numbers(bytes_each / sizeof(float));
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = i < 65521 ? normal(random) : numbers[i - 65521];
    device.upload(given_.get(), numbers.data(), bytes_each);
    device.fill_zero(made_.get(), bytes_each);
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

/// Seconds that work takes.
using Timing = std::function<double(const std::function<void()>&)>;

Timing by_clock() {
  return [](const std::function<void()>& work) {
    const double start = memory_rates::now();
    work();
    return memory_rates::now() - start;
  };
}
/// By the device's own marks: work is only begun by its calls.
Timing by_stopwatch(TrainingDevice& device) {
  return [watch = std::shared_ptr(device.stopwatch(2))](const std::function<void()>& work) {
    watch->mark(0);
    work();
    watch->mark(1);
    return watch->seconds()[1];
  };
}

/// One layer's kernels; runs its passes.
class Subject {
 public:
  Subject(const Layer& layer, TrainingDevice& device, Timing timing)
      : name_(layer.name), is_read_twice_(layer.is_read_twice), timing_(std::move(timing)) {
    GraphBuilder builder("layer");
    std::vector<TensorId> inputs;
    for (const Shape& shape : layer.inputs) {
      const std::string name = "x" + std::to_string(inputs.size());
      if (layer.below > 0 && inputs.size() == layer.whole) {
        numbers_ = whole_numbers(layer, device);
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
      m.inputs.push_back(is_whole ? numbers_.get() : room.given(bytes(node.inputs[i])));
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
      fmt::print("{:>9.3g}{:>8.1f}{:>11.0f}%{:>10}  ", 1e3 * best_s_[pass], rate(pass) / 1e9,
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
  static std::shared_ptr<void> whole_numbers(const Layer& layer, TrainingDevice& device) {
    std::int64_t count = 1;
    for (const Dim dim : layer.inputs[layer.whole]) count *= dim.factor;
    std::mt19937_64 random(2);
    std::uniform_int_distribution<std::int64_t> any(0, layer.below - 1);
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
    for (std::int64_t& number : numbers) number = any(random);
    std::shared_ptr<void> memory = device.allocate(8 * count);
    device.upload(memory.get(), numbers.data(), 8 * count);
    return memory;
  }

  template <class Work>
  void time(std::size_t pass, int times, const Work& work) {
    const double seconds = timing_([&] {
      for (int i = 0; i < times; ++i) work();
    });
    best_s_[pass] = std::min(best_s_[pass], seconds / times);
  }

  std::string name_;
  bool is_read_twice_;
  Timing timing_;
  Graph graph_;
  BoundGraph bound_;
  NodeId node_ = 0;
  std::unique_ptr<NodeKernels> kernels_;
  std::shared_ptr<void> numbers_;     // of the input of whole numbers
  std::set<std::size_t> is_aliased_;  // inputs whose gradient is that of the output, by name
  std::array<Traffic, 2> traffic_;
  std::array<double, 2> best_s_{1e30, 1e30};
};

/// The update of one parameter tensor by each rule.
class Updates {
 public:
  static constexpr std::array rules = {Optimizer::sgd, Optimizer::momentum, Optimizer::adam};

  void run(TrainingDevice& device, const Timing& timing, Room& room) {
    room.begin();
    UpdateMemory m{.parameter = room.made(4 * count),
                   .gradient = room.given(4 * count),
                   .states = {static_cast<float*>(room.made(4 * count)),
                              static_cast<float*>(room.made(4 * count))},
                   .elements = count};
    for (std::size_t i = 0; i < rules.size(); ++i) {
      best_s_[i] = std::min(best_s_[i], timing([&] { device.update({.optimizer = rules[i]}, m); }));
    }
  }
  void print(const Walks& walks) const {
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const UpdateCost cost = update_cost(rules[i], count, DType::fp32);
      const Traffic traffic{static_cast<double>(cost.read_bytes),
                            static_cast<double>(cost.write_bytes)};
      const double rate = traffic.bytes() / best_s_[i];
      fmt::print("{:<24}{:>9.3g}{:>8.1f}{:>11.0f}%\n",
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
      Subject part(part_in_cache(layers[i]), *device, by_clock());
      if (part.bytes() > cache) continue;
      for (int round = 0; round < 5; ++round) part.run(room, 40);
      rates[i] = {part.rate(0), part.rate(1)};
    } catch (const std::exception&) {  // such as groups of channels that are no longer there
    }
  }
  return rates;
}

/// A device with its walks, and how work on it is timed.
struct Bench {
  std::unique_ptr<TrainingDevice> device;
  std::unique_ptr<Walks> walks;
  Timing timing;
  int passes = 1;  ///< in a row
  bool is_cpu = true;
};

Bench cpu_bench() {
  Bench bench{.device = cpu_training_device({}), .walks = {}, .timing = by_clock()};
  bench.walks = std::make_unique<memory_rates::CpuWalks>(*bench.device);
  return bench;
}
Bench cuda_bench() {
  Bench bench{.device = cuda_training_device(0, {}),
              .walks = std::make_unique<memory_rates::CudaWalks>(),
              .timing = {},
              .passes = 10,
              .is_cpu = false};
  bench.timing = by_stopwatch(*bench.device);
  return bench;
}

void run_bench(Bench bench, int rounds, std::string_view part_of_name) {
  Walks& walks = *bench.walks;
  Room room(*bench.device);
  std::vector<Layer> layers = memory_rates::all_layers();
  std::erase_if(layers, [&](const Layer& layer) {
    return layer.name.find(part_of_name) == std::string::npos;
  });
  std::vector<std::unique_ptr<Subject>> subjects;
  for (const Layer& layer : layers)
    subjects.push_back(std::make_unique<Subject>(layer, *bench.device, bench.timing));
  Updates updates;
  const bool has_updates = std::string_view("update").find(part_of_name) != std::string_view::npos;
  for (int round = 0; round < rounds; ++round) {
    walks.run();
    if (has_updates) updates.run(*bench.device, bench.timing, room);
    for (const auto& subject : subjects) {
      if ((&subject - subjects.data()) % 4 == 0) walks.run();
      subject->run(room, bench.passes);
    }
  }
  const int cores = cpu::allowed_cpus();
  fmt::print("{}{}; GB/s: read {:.1f}, triad {:.1f}, copy {:.1f}, write {:.1f}\n",
             bench.device->name(), bench.is_cpu ? fmt::format(", {} threads", cores) : "",
             walks.of(0) / 1e9, walks.of(1) / 1e9, walks.of(2) / 1e9, walks.of(3) / 1e9);
  fmt::print("{:<24}{:>9}{:>8}{:>12}{:>10}  {:>9}{:>8}{:>12}{:>10}\n", "", "forward", "GB/s",
             "of its mix", "in cache", "backward", "GB/s", "of its mix", "in cache");
  std::vector<std::array<double, 2>> in_cache(layers.size());
  if (bench.is_cpu) {
    stay_on_one_core();
    in_cache = rates_in_cache(layers, room);
  }
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    subjects[i]->print(walks, {cores * in_cache[i][0], cores * in_cache[i][1]});
  }
  if (has_updates) updates.print(walks);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view where = count > 1 ? arguments[1] : "core";
  if (where == "core") {
    bench_clock = CLOCK_PROCESS_CPUTIME_ID;
    stay_on_one_core();
  }
  try {
    run_bench(where == "cuda" ? cuda_bench() : cpu_bench(), count > 2 ? std::atoi(arguments[2]) : 5,
              count > 3 ? arguments[3] : "");
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 3;
  }
}
