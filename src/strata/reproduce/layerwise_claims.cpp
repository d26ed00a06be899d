// SPDX-License-Identifier: Apache-2.0
// The claims of the layer-wise study. Where it gives words only, about equal is neither twice the
// other, far more is above twice, much lower below half, almost linear and stable within 20 %.
#include "strata/reproduce/layerwise_claims.hpp"

namespace strata {
// Named, as the short names of groups and measures are for this file alone.
namespace layerwise_data {
namespace {

using enum LayerGroup;
using enum LayerMeasure;
using enum LayerwiseRule;

constexpr auto forward = LayerDirection::forward;
constexpr auto backward = LayerDirection::backward;
constexpr std::array<std::string_view, 2> of_time = {"time_s"};
constexpr std::array<std::string_view, 2> l1_bytes = {"l1_load_bytes", "l1_store_bytes"};
constexpr std::array<std::string_view, 2> l2_bytes = {"l2_read_bytes", "l2_write_bytes"};
constexpr std::array<std::string_view, 2> l1_hits = {"l1_hit_rate"};
constexpr std::array<std::string_view, 2> read_hits = {"l2_read_hit_rate", "l2_read_bytes"};
constexpr std::array<std::string_view, 2> write_hits = {"l2_write_hit_rate", "l2_write_bytes"};
constexpr std::array<std::string_view, 2> load_store = {"load_store_instructions", "instructions"};

constexpr std::string_view critical =
    "Backward is more performance-critical than forward, in convolutional and fully connected "
    "layers (abstract, finding i; introduction)";
constexpr std::string_view more_reads =
    "The input convolution and fully connected layers read far more from L2 than they write (L2, "
    "figures 7 and 8)";
constexpr std::string_view level_by_level =
    "Throughput of L2 is about that of L1, as little is kept on the way (L1 and L2, figures 5 to "
    "8)";

std::vector<LayerwiseClaim> claims_of_time() {
  return {
      {.about = "dominance",
       .sentence = "Inner convolutions take most of the time (figure 2a)",
       .what = "inner convolutions' share of time",
       .printed = "most of it",
       .of = {inner, sum, of_time},
       .over = {{all, sum, of_time}},
       .least = 0.5,
       .rule_text = "holds above 50 %",
       .unit = LayerwiseUnit::share,
       .cause = longest_other_type},
      {.about = "dominance",
       .sentence = "Inner convolutions execute most of the instructions (figure 2b)",
       .what = "inner convolutions' share of instructions",
       .printed = "most of them",
       .of = {inner, sum, {"instructions"}},
       .over = {{all, sum, {"instructions"}}},
       .least = 0.5,
       .rule_text = "holds above 50 %",
       .unit = LayerwiseUnit::share,
       .cause = longest_other_type},
      {.about = "dominance",
       .sentence = "Convolutions take far longer than fully connected layers (figure 2a)",
       .what = "time of convolutions over fully connected layers",
       .printed = "far longer",
       .of = {convolutions, sum, of_time},
       .over = {{connected, sum, of_time}},
       .least = 2,
       .rule_text = "holds above 2×"},
      {.about = "dominance",
       .sentence = "Loads and stores are a smaller share of the instructions of inner convolutions "
                   "than of fully connected layers (figure 2c)",
       .what = "loads and stores among instructions: inner convolutions; fully connected layers",
       .printed = "smaller",
       .of = {inner, share, load_store},
       .over = {{connected, share, load_store}},
       .most = 1,
       .rule_text = "holds where inner convolutions have the smaller share",
       .unit = LayerwiseUnit::share,
       .cause = inner_ran_as},
      {.about = "backward",
       .sentence = critical,
       .what = "time of backward over forward, all layers",
       .printed = "> 1×",
       .of = {all, sum, of_time, backward},
       .over = {{all, sum, of_time, forward}},
       .least = 1,
       .rule_text = "holds above 1×"},
      {.about = "backward",
       .sentence = critical,
       .what = "time of backward over forward, convolutions",
       .printed = "> 1×",
       .of = {convolutions, sum, of_time, backward},
       .over = {{convolutions, sum, of_time, forward}},
       .least = 1,
       .rule_text = "holds above 1×"},
      {.about = "backward",
       .sentence = critical,
       .what = "time of backward over forward, fully connected layers",
       .printed = "> 1×",
       .of = {connected, sum, of_time, backward},
       .over = {{connected, sum, of_time, forward}},
       .least = 1,
       .rule_text = "holds above 1×"},
      {.about = "backward",
       .sentence = "Backward of a network can take more than twice as long as forward (figure 2d, "
                   "2e)",
       .what = "time of backward over forward, the whole network",
       .printed = "> 2×",
       .of = {all, sum, of_time, backward},
       .over = {{all, sum, of_time, forward}},
       .least = 2,
       .rule_text = "holds above 2×",
       .cause = backward_by_layer,
       .drawn = "ratio",
       .drawn_at = 2},
  };
}

std::vector<LayerwiseClaim> claims_over_batches() {
  return {
      {.about = "batch",
       .sentence = "Execution time grows with the batch (figure 2a)",
       .what = "time of an iteration",
       .printed = "grows",
       .rule = rises,
       .of = {all, sum, of_time},
       .rule_text = "holds where each larger batch has more"},
      {.about = "batch",
       .sentence = "Instructions grow with the batch (figure 2b)",
       .what = "instructions of an iteration",
       .printed = "grow",
       .rule = rises,
       .of = {all, sum, {"instructions"}},
       .rule_text = "holds where each larger batch has more"},
      {.about = "batch",
       .sentence = "Stall time grows with the batch (figure 3)",
       .what = "warps that wait × cycles of an iteration",
       .printed = "grows",
       .rule = rises,
       .of = {all, sum, {"waiting"}},
       .rule_text = "holds where each larger batch has more"},
      {.about = "batch",
       .sentence = "Traffic with DRAM grows almost linearly with the batch (DRAM, figures 9 and "
                   "10)",
       .what = "bytes to and from DRAM",
       .printed = "almost linear",
       .rule = proportional,
       .of = {all, sum, {"dram_read_bytes", "dram_write_bytes"}},
       .least = 0.8,
       .most = 1.2,
       .rule_text = "holds within 20 % of the batch's growth",
       .unit = LayerwiseUnit::bytes,
       .cause = inner_ran_as},
      {.about = "batch",
       .sentence = "L1 hit rates of convolutions hardly change with the batch (L1, figure 6)",
       .what = "the widest difference of L1 hits of a convolution",
       .printed = "small",
       .rule = steady_layer,
       .of = {convolutions, mean, l1_hits},
       .most = 0.10,
       .rule_text = "holds up to 10 points",
       .unit = LayerwiseUnit::share},
      {.about = "batch",
       .sentence =
           "L1 hit rates of fully connected layers hardly change with the batch (L1, figure 6)",
       .what = "the widest difference of L1 hits of a fully connected layer",
       .printed = "small",
       .rule = steady_layer,
       .of = {connected, mean, l1_hits},
       .most = 0.10,
       .rule_text = "holds up to 10 points",
       .unit = LayerwiseUnit::share},
      {.about = "batch",
       .sentence = "Throughput of L1 hardly changes with the batch (L1, figure 5)",
       .what = "L1 throughput of inner convolutions, the most over the least",
       .printed = "stable",
       .rule = steady,
       .of = {inner, rate, l1_bytes},
       .most = 1.2,
       .rule_text = "holds up to 1.2×",
       .unit = LayerwiseUnit::bytes_per_s,
       .cause = inner_ran_as},
      {.about = "batch",
       .sentence = "Throughput of L2 hardly changes with the batch (L2, figures 7 and 8)",
       .what = "L2 throughput of inner convolutions, the most over the least",
       .printed = "stable",
       .rule = steady,
       .of = {inner, rate, l2_bytes},
       .most = 1.2,
       .rule_text = "holds up to 1.2×",
       .unit = LayerwiseUnit::bytes_per_s,
       .cause = inner_ran_as},
      {.about = "batch",
       .sentence = "L1 throughput of fully connected layers jumps from batch 32 to 64, where other "
                   "kernels are chosen (L1, figure 5)",
       .what = "L1 throughput of fully connected layers, forward",
       .printed = "jumps",
       .rule = next_batch,
       .of = {connected, rate, l1_bytes, forward},
       .least = 1.5,
       .rule_text = "holds from 1.5× on",
       .unit = LayerwiseUnit::bytes_per_s},
      {.about = "batch",
       .sentence = "L2 write throughput of fully connected layers falls from batch 32 to 64 (L2, "
                   "figure 8)",
       .what = "L2 write throughput of fully connected layers",
       .printed = "falls",
       .rule = next_batch,
       .of = {connected, rate, {"l2_write_bytes"}},
       .most = 1,
       .rule_text = "holds where it falls",
       .unit = LayerwiseUnit::bytes_per_s},
  };
}

std::vector<LayerwiseClaim> claims_of_stalls_and_l1() {
  return {
      {.about = "stalls",
       .sentence = "Data access causes more than 30 % of the stalls across batch sizes even in the "
                   "most compute-intensive convolutions (figure 4)",
       .what = "waiting for data, of all waiting, in the four convolutions of most FLOP",
       .printed = "> 30 %",
       .rule = each_layer,
       .of = {heaviest, mean, {"stall_data_access"}},
       .least = 0.30,
       .rule_text = "holds where each of the four is above 30 % at every batch",
       .unit = LayerwiseUnit::share,
       .cause = other_waiting,
       .is_of_every_batch = true,
       .drawn = "data-stalls",
       .drawn_at = 0.30},
      {.about = "stalls",
       .sentence =
           "Data stalls of convolutions are up to 38 % longer than those of fully connected "
           "layers (figure 3)",
       .what = "time of data stalls, the convolution over the fully connected layer with most",
       .printed = "up to 1.38×",
       .of = {convolutions, most, {"data_waiting"}},
       .over = {{connected, most, {"data_waiting"}}},
       .least = 1,
       .most = 1.385,
       .rule_text = "holds where it is longer, by at most 38 %; instructions × warps that wait per "
                    "instruction × share that waits for data",
       .cause = inner_ran_as},
      {.about = "L1",
       .sentence = "The input convolution exploits L1 sufficiently (abstract, finding ii)",
       .what = "L1 hits of the input convolution, forward",
       .printed = "high",
       .of = {input, mean, l1_hits, forward},
       .least = 0.5,
       .rule_text = "holds above 50 %",
       .unit = LayerwiseUnit::share,
       .cause = kept_by_l1},
      {.about = "L1",
       .sentence = "Hit rates of L1 fall with depth (L1, figure 6)",
       .what = "L1 hits forward: inner convolutions; the input convolution",
       .printed = "lower",
       .of = {inner, mean, l1_hits, forward},
       .over = {{input, mean, l1_hits, forward}},
       .most = 1,
       .rule_text = "holds where the mean of inner convolutions is the lower",
       .unit = LayerwiseUnit::share,
       .cause = inner_ran_as},
      {.about = "L1",
       .sentence =
           "The working set of inner convolutions does not fit L1: they hit less than other "
           "layers (abstract, finding ii; L1, figure 6)",
       .what = "L1 hits: inner convolutions; fully connected layers",
       .printed = "lower",
       .of = {inner, mean, l1_hits},
       .over = {{connected, mean, l1_hits}},
       .most = 1,
       .rule_text = "holds where the mean of inner convolutions is the lower",
       .unit = LayerwiseUnit::share,
       .cause = inner_ran_as},
      {.about = "L1",
       .sentence = "Throughput of L1 is much lower in inner convolutions than in other layers (L1, "
                   "figure 5)",
       .what = "L1 throughput: inner convolutions; the input convolution, fully connected layers",
       .printed = "much lower",
       .of = {inner, rate, l1_bytes},
       .over = {{input, rate, l1_bytes}, {connected, rate, l1_bytes}},
       .most = 0.5,
       .rule_text = "holds below half of both",
       .unit = LayerwiseUnit::bytes_per_s,
       .cause = inner_ran_as},
      {.about = "L1",
       .sentence = "Inner convolutions issue more accesses to L1 than other layers (L1, figure 5)",
       .what =
           "bytes through L1: inner convolutions; the input convolution, fully connected layers",
       .printed = "more",
       .of = {inner, sum, l1_bytes},
       .over = {{input, sum, l1_bytes}, {connected, sum, l1_bytes}},
       .least = 1,
       .rule_text = "holds above both",
       .unit = LayerwiseUnit::bytes,
       .cause = inner_ran_as},
  };
}

std::vector<LayerwiseClaim> claims_of_l2() {
  return {
      {.about = "L2",
       .sentence =
           "The working set of inner convolutions fits L2 better than L1 (L2, figures 7 and "
           "8)",
       .what = "hits of inner convolutions: L2 reads; L1",
       .printed = "more",
       .of = {inner, mean, read_hits},
       .over = {{inner, mean, l1_hits}},
       .least = 1,
       .rule_text = "holds where L2 has the higher rate",
       .unit = LayerwiseUnit::share,
       .cause = inner_ran_as},
      {.about = "L2",
       .sentence = "Inner convolutions find 68 % of their reads in L2 on average (L2, figure 7)",
       .what = "L2 read hits of inner convolutions",
       .printed = "68 %",
       .of = {inner, mean, read_hits},
       .least = 0.53,
       .most = 0.83,
       .rule_text = "holds within 15 points",
       .unit = LayerwiseUnit::share,
       .cause = inner_ran_as,
       .drawn = "l2-read-hits",
       .drawn_at = 0.68},
      {.about = "L2",
       .sentence = "Inner convolutions find 45 % of their writes in L2 on average (L2, figure 8)",
       .what = "L2 write hits of inner convolutions",
       .printed = "45 %",
       .of = {inner, mean, write_hits},
       .least = 0.30,
       .most = 0.60,
       .rule_text = "holds within 15 points",
       .unit = LayerwiseUnit::share,
       .cause = write_hits_cause,
       .drawn = "l2-write-hits",
       .drawn_at = 0.45},
      {.about = "L2",
       .sentence =
           "Most inner convolutions read from L2 about as much as they write (L2, figures 7 "
           "and 8)",
       .what = "layers whose L2 reads over writes are from 0.5× to 2×",
       .printed = "most",
       .rule = most_layers,
       .of = {inner, sum, {"l2_read_bytes"}},
       .over = {{inner, sum, {"l2_write_bytes"}}},
       .least = 0.5,
       .most = 2,
       .rule_text = "holds where more than half are, forward and backward apart",
       .cause = inner_ran_as},
      {.about = "L2",
       .sentence = more_reads,
       .what = "L2 reads over writes of the input convolution",
       .printed = "far more",
       .of = {input, sum, {"l2_read_bytes"}},
       .over = {{input, sum, {"l2_write_bytes"}}},
       .least = 2,
       .rule_text = "holds above 2×",
       .cause = input_bytes},
      {.about = "L2",
       .sentence = more_reads,
       .what = "L2 reads over writes of fully connected layers",
       .printed = "far more",
       .of = {connected, sum, {"l2_read_bytes"}},
       .over = {{connected, sum, {"l2_write_bytes"}}},
       .least = 2,
       .rule_text = "holds above 2×",
       .cause = connected_bytes},
      {.about = "L2",
       .sentence = level_by_level,
       .what = "convolutions whose L2 over L1 throughput is from 0.5× to 2×",
       .printed = "about equal",
       .rule = most_layers,
       .of = {convolutions, rate, l2_bytes},
       .over = {{convolutions, rate, l1_bytes}},
       .least = 0.5,
       .most = 2,
       .rule_text = "holds where more than half are, forward and backward apart",
       .cause = kept_by_l1},
      {.about = "L2",
       .sentence = level_by_level,
       .what = "fully connected layers whose L2 over L1 throughput is from 0.5× to 2×",
       .printed = "about equal",
       .rule = most_layers,
       .of = {connected, rate, l2_bytes},
       .over = {{connected, rate, l1_bytes}},
       .least = 0.5,
       .most = 2,
       .rule_text = "holds where more than half are, forward and backward apart",
       .cause = kept_by_l1},
      {.about = "L2",
       .sentence = "Convolutions hit L2 on reads more than on writes (L2, figures 7 and 8)",
       .what = "L2 hits of convolutions: reads; writes",
       .printed = "more on reads",
       .of = {convolutions, mean, read_hits},
       .over = {{convolutions, mean, write_hits}},
       .least = 1,
       .rule_text = "holds where reads hit more",
       .unit = LayerwiseUnit::share,
       .cause = write_hits_cause},
      {.about = "L2",
       .sentence = "Fully connected layers hit L2 on writes more than on reads (L2, figures 7 and "
                   "8)",
       .what = "L2 hits of fully connected layers: writes; reads",
       .printed = "more on writes",
       .of = {connected, mean, write_hits},
       .over = {{connected, mean, read_hits}},
       .least = 1,
       .rule_text = "holds where writes hit more",
       .unit = LayerwiseUnit::share,
       .cause = connected_bytes},
  };
}

std::vector<LayerwiseClaim> claims_of_dram() {
  return {
      {.about = "DRAM",
       .sentence = "Inner convolutions generate more write than read traffic with DRAM (DRAM, "
                   "figures 9 and 10)",
       .what = "DRAM bytes of inner convolutions: written; read",
       .printed = "more written",
       .of = {inner, sum, {"dram_write_bytes"}},
       .over = {{inner, sum, {"dram_read_bytes"}}},
       .least = 1,
       .rule_text = "holds where they write more in all",
       .unit = LayerwiseUnit::bytes,
       .cause = inner_bytes},
      {.about = "DRAM",
       .sentence =
           "Fully connected layers read far more from DRAM than they write (DRAM, figures 9 "
           "and 10)",
       .what = "DRAM reads over writes of fully connected layers",
       .printed = "far more",
       .of = {connected, sum, {"dram_read_bytes"}},
       .over = {{connected, sum, {"dram_write_bytes"}}},
       .least = 2,
       .rule_text = "holds above 2×",
       .cause = connected_bytes},
      {.about = "DRAM",
       .sentence = "Traffic with DRAM follows the misses of L2 (DRAM, figures 9 and 10)",
       .what = "bytes: read from DRAM; read from L2 and not found there",
       .printed = "follows",
       .of = {all, sum, {"dram_read_bytes"}},
       .over = {{all, sum, {"l2_missed_bytes"}}},
       .least = 0.8,
       .most = 1.2,
       .rule_text = "holds within 20 %",
       .unit = LayerwiseUnit::bytes},
  };
}

}  // namespace
}  // namespace layerwise_data

std::span<const LayerwiseClaim> layerwise_claims() {
  using namespace layerwise_data;
  static const std::vector<LayerwiseClaim> claims = [] {
    std::vector<LayerwiseClaim> together;
    for (const auto& part : {claims_of_time(), claims_over_batches(), claims_of_stalls_and_l1(),
                             claims_of_l2(), claims_of_dram()})
      together.insert(together.end(), part.begin(), part.end());
    return together;
  }();
  return claims;
}

}  // namespace strata
