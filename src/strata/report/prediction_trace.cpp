// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/report/prediction_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace strata {
namespace {

/// Rows of the timeline, in the order in which they are shown.
enum class Track { layers = 1, compute, stalls, channel_in, channel_out };

constexpr std::string_view track_names[] = {"layers by block", "compute", "stalls", "channel in",
                                            "channel out"};

std::string json_string(std::string_view text) {
  return printable_json(
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

/// Writes events one by one; a trace of a million steps is never held as a tree. The trace format
/// counts in microseconds.
class TraceText {
 public:
  TraceText() {
    add("{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{{\"name\":\"prediction\"}}}"
        "}");
    for (std::size_t i = 0; i < std::size(track_names); ++i) {
      add("{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":{},\"args\":{{\"name\":{}}}}}",
          i + 1, json_string(track_names[i]));
      add("{{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":1,\"tid\":{},\"args\":{{\"sort_"
          "index\":{}}}}}",
          i + 1, i);
    }
  }

  /// `args` is the inside of a JSON object.
  void slice(Track track, std::string_view name, double start_s, double end_s,
             std::string_view args = "") {
    add("{{\"name\":{},\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{:.4f},\"dur\":{:.4f},\"args\":{{{}"
        "}"
        "}}}",
        json_string(name), static_cast<int>(track), 1e6 * start_s,
        1e6 * std::max(0.0, end_s - start_s), args);
  }

  void on_chip(double at_s, std::int64_t bytes) {
    add("{{\"name\":\"on chip\",\"ph\":\"C\",\"pid\":1,\"ts\":{:.4f},\"args\":{{\"bytes\":{}}}}}",
        1e6 * at_s, bytes);
  }

  std::string finish() && {
    text_ += "\n],\"displayTimeUnit\":\"ms\"}\n";
    return std::move(text_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    text_ += is_first_ ? "\n" : ",\n";
    is_first_ = false;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  std::string text_ = "{\"traceEvents\":[";
  bool is_first_ = true;
};

void add_steps(TraceText& trace, const Program& program, const Prediction& prediction) {
  for (StepId id = 0; id < program.steps.size(); ++id) {
    const StepResult& result = prediction.steps[id];
    const std::string name = name_of(program, id);
    trace.slice(Track::compute, name, result.start_s, result.start_s + result.compute_s,
                fmt::format("\"flop\":{},\"bytes_in\":{},\"bytes_out\":{}", program.steps[id].flop,
                            result.in_bytes, result.out_bytes));
    if (result.wait_s > 0) {
      const std::string cause =
          result.cause == no_value ? "room" : value_name(program, result.cause);
      trace.slice(Track::stalls, "waits for " + cause, result.start_s - result.wait_s,
                  result.start_s, fmt::format("\"step\":{}", json_string(name)));
    }
    if (result.stream_s > 0) {
      trace.slice(Track::stalls, "streams of " + name, result.end_s - result.stream_s,
                  result.end_s);
    }
    trace.on_chip(result.start_s, result.occupied_bytes);
  }
  if (prediction.drain_s > 0) {
    trace.slice(Track::stalls, "last write-backs", prediction.time_s - prediction.drain_s,
                prediction.time_s);
  }
  trace.on_chip(prediction.time_s, 0);
}

/// Runs of steps of one block, and in them runs of one layer: two levels of slices, one in the
/// other. A run ends where the block (or the layer, or the pass) changes.
void add_layers(TraceText& trace, const Program& program, const Prediction& prediction) {
  struct Place {
    std::string_view block;
    std::string_view layer;
    Pass pass;
  };
  const auto place_of = [&](StepId id) -> Place {
    const Step& step = program.steps[id];
    if (step.node == no_node || program.bound == nullptr) return {"", "other", step.pass};
    const Node& node = program.bound->graph->nodes[step.node];
    return {node.block, node.name, step.pass};
  };
  const auto count = static_cast<StepId>(program.steps.size());
  const auto run_from = [&](StepId first, StepId limit, auto is_same) {
    StepId end = first + 1;
    while (end < limit && is_same(place_of(end))) ++end;
    return end;
  };
  for (StepId first = 0; first < count;) {
    const Place place = place_of(first);
    const StepId end = run_from(first, count, [&](const Place& other) {
      return other.block == place.block && other.pass == place.pass &&
             (!place.block.empty() || other.layer == place.layer);
    });
    const double start_s = prediction.steps[first].start_s;
    if (!place.block.empty()) {
      trace.slice(Track::layers, fmt::format("{} {}", place.block, name_of(place.pass)), start_s,
                  prediction.steps[end - 1].end_s);
    }
    for (StepId inner = first; inner < end;) {
      const Place layer = place_of(inner);
      const StepId inner_end =
          run_from(inner, end, [&](const Place& other) { return other.layer == layer.layer; });
      trace.slice(Track::layers, fmt::format("{} {}", layer.layer, name_of(layer.pass)),
                  prediction.steps[inner].start_s, prediction.steps[inner_end - 1].end_s);
      inner = inner_end;
    }
    first = end;
  }
}

// A stream goes both ways on one channel; it is drawn as first in, then out.
void add_transfers(TraceText& trace, const Program& program, const Prediction& prediction) {
  for (const Transfer& transfer : prediction.transfers) {
    const double bytes =
        static_cast<double>(transfer.in_bytes) + static_cast<double>(transfer.out_bytes);
    const double in_share = bytes > 0 ? static_cast<double>(transfer.in_bytes) / bytes : 0;
    const double turn_s = transfer.start_s + in_share * (transfer.end_s - transfer.start_s);
    const bool is_stream = transfer.kind == TransferKind::stream;
    const std::string name = is_stream ? "stream of " + name_of(program, transfer.step)
                                       : value_name(program, transfer.value);
    if (transfer.in_bytes > 0) {
      trace.slice(Track::channel_in, name, transfer.start_s, turn_s,
                  fmt::format("\"bytes\":{}", transfer.in_bytes));
    }
    if (transfer.out_bytes > 0) {
      trace.slice(Track::channel_out, name, turn_s, transfer.end_s,
                  fmt::format("\"bytes\":{}", transfer.out_bytes));
    }
  }
}

}  // namespace

std::string to_trace(const Program& program, const Prediction& prediction) {
  STRATA_CHECK(prediction.steps.size() == program.steps.size(),
               "a timeline needs the result of every step");
  TraceText trace;
  add_layers(trace, program, prediction);
  add_steps(trace, program, prediction);
  add_transfers(trace, program, prediction);
  return std::move(trace).finish();
}

}  // namespace strata
