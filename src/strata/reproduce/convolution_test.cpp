// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/convolution.hpp"

#include "strata/base/error.hpp"
#include "strata/convolution/lab/made_up_results_test.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace strata {
namespace {

using Seconds = std::function<double(const ConvShape&, ConvPass)>;
using Bytes = std::function<std::int64_t(const ConvShape&)>;
using test::MadeUpStrategy;

constexpr std::int64_t gib = std::int64_t{1} << 30;

double flop_of(const ConvShape& s) { return static_cast<double>(direct_flop(s)); }
Seconds of_flop(double seconds) {
  return [=](const ConvShape& s, ConvPass) { return seconds * flop_of(s); };
}
double side_of(const ConvShape& s) { return static_cast<double>(s.kernel_height); }
/// Flat in the kernel; for stride 1 only.
Seconds flat_fft(double scale) {
  return [=](const ConvShape& s, ConvPass) {
    return s.stride_height > 1
               ? -1.0
               : scale * 1e-12 * static_cast<double>(s.batch * s.filters * s.height * s.width);
  };
}
Bytes some_bytes(std::int64_t bytes) {
  return [=](const ConvShape&) { return bytes; };
}
/// Rises and falls from one input to the next, and from one kernel to the next.
std::int64_t wavy_bytes(const ConvShape& s) {
  return (4 + 2 * (s.height / 16 % 2) + 2 * (s.kernel_height % 2)) * gib;
}

/// A world as the study describes it: FFT is flat in the kernel and needs the most memory, the
/// library grows with it and multiplies faster than unroll up to 160 filters, direct is slow and
/// frugal. What a test changes is the rest.
struct World {
  MadeUpStrategy direct{{"direct"}, of_flop(2.8e-13)};
  MadeUpStrategy unroll{{"unroll"}, of_flop(2.5e-13), some_bytes(gib)};
  MadeUpStrategy fft{{"fft"}, flat_fft(15), wavy_bytes};
  MadeUpStrategy pick{{"cudnn:pick", true}, [](const ConvShape& s, ConvPass) {
                        return (s.kernel_height < 7 ? 1e-14 : 2e-13) * flop_of(s);
                      }};
  std::vector<MadeUpStrategy> more = {{{"cudnn:implicit_gemm", true},
                                       [](const ConvShape& s, ConvPass) {
                                         return (s.filters > 160 ? 3e-13 : 2.2e-13) * flop_of(s);
                                       },
                                       some_bytes(2 * gib)}};
  std::vector<ConvPass> passes = {ConvPass::forward};

  ConvResults results() const {
    std::vector<MadeUpStrategy> all = {direct, unroll, fft, pick};
    all.insert(all.end(), more.begin(), more.end());
    return test::made_up_results(conv_suite("paper"), all, passes);
  }
};

using Rows = std::map<std::string, Finding>;

Rows rows_of(const ConvResults& results, std::span<const HotLayers> networks = {}) {
  Rows rows;
  for (const Finding& row : reproduce_convolution(results, networks)) {
    EXPECT_TRUE(rows.emplace(row.observation, row).second) << row.observation;
    if (row.is_printed) {
      EXPECT_EQ(row.note.find("holds when"), 0U) << row.observation << ": " << row.note;
    }
    if (row.is_printed && !row.holds) {
      EXPECT_NE(row.note.find("; no: "), std::string::npos) << row.observation << ": " << row.note;
    }
    if (!row.is_printed) {
      EXPECT_FALSE(row.note.empty()) << row.observation;
    }
  }
  return rows;
}
Rows rows_of(const World& world) { return rows_of(world.results()); }

bool says(const Finding& row, std::string_view words) {
  return row.note.find(words) != std::string::npos;
}

TEST(ReproduceConvolution, a_world_as_the_study_saw_it_holds) {
  const Rows rows = rows_of(World{});
  EXPECT_EQ(rows.size(), 46U);
  for (const char* number : {"1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",  "9",  "11",
                             "14", "16", "18", "19", "31", "33", "34", "35", "40", "41"})
    EXPECT_TRUE(rows.at(number).holds)
        << number << ": " << rows.at(number).found << " " << rows.at(number).note;
  // Made-up roles: gemm 0.7 of 0.9; 16 KB of shared memory and 72 registers.
  EXPECT_EQ(rows.at("10").found, "77.8 %");
  EXPECT_TRUE(rows.at("10").holds);
  EXPECT_TRUE(rows.at("12").holds);
  EXPECT_TRUE(rows.at("13").holds);
}

TEST(ReproduceConvolution, a_world_with_a_slow_fft_does_not_and_names_who_is_ahead) {
  World world;
  world.fft.seconds = flat_fft(5000);
  const Rows rows = rows_of(world);
  for (const char* number : {"1", "2", "4"}) EXPECT_FALSE(rows.at(number).holds) << number;
  EXPECT_TRUE(says(rows.at("2"), "direct at f = 32")) << rows.at("2").note;
  EXPECT_TRUE(says(rows.at("4"), "cudnn:pick at k = 8")) << rows.at("4").note;
  EXPECT_TRUE(rows.at("3").holds);
  EXPECT_TRUE(rows.at("5").holds) << "slow, and still constant";
}

TEST(ReproduceConvolution, small_kernels_are_judged_against_the_librarys_choice) {
  World world;
  world.fft.seconds = flat_fft(1e-3);
  world.more.push_back({{"cudnn:fft", true}, flat_fft(3000), some_bytes(gib)});
  const Finding row = rows_of(world).at("3");
  EXPECT_FALSE(row.holds);
  EXPECT_TRUE(says(row, "fft at k = 2")) << row.note;
  EXPECT_TRUE(says(row, "the library's cudnn:fft takes")) << row.note;
}

TEST(ReproduceConvolution, an_fft_that_grows_with_the_kernel_is_not_constant) {
  World world;
  world.fft.seconds = [](const ConvShape& s, ConvPass) { return 1e-5 * side_of(s); };
  const Finding row = rows_of(world).at("5");
  EXPECT_EQ(row.found, "6.50×");
  EXPECT_FALSE(row.holds);
}

TEST(ReproduceConvolution, strides_name_who_is_ahead_of_the_library) {
  World world;
  world.unroll.seconds = of_flop(1e-15);
  const Finding row = rows_of(world).at("6");
  EXPECT_EQ(row.found, "0 of 3");
  EXPECT_TRUE(says(row, "unroll at s = 2")) << row.note;
}

TEST(ReproduceConvolution, an_fft_that_takes_strides_says_what_it_costs) {
  World world;
  world.fft.seconds = [](const ConvShape&, ConvPass) { return 1e-4; };
  world.more.push_back({{"cudnn:fft", true}, flat_fft(3000)});
  const Finding row = rows_of(world).at("7");
  EXPECT_EQ(row.found, "3 of 3");
  EXPECT_FALSE(row.holds);
  EXPECT_TRUE(says(row, "1.00× its time at stride 1; cudnn:fft runs at 0 of 3")) << row.note;
}

TEST(ReproduceConvolution, direct_memory_has_a_tolerance_and_names_who_needs_less) {
  World world;
  world.direct.scratch = [](const ConvShape& s) {
    return (s.input_elements() + s.weight_elements() + s.output_elements()) * 4 / 100;
  };
  EXPECT_TRUE(rows_of(world).at("8").holds);
  world.direct.scratch = some_bytes(gib);
  const Finding row = rows_of(world).at("8");
  EXPECT_FALSE(row.holds);
  EXPECT_TRUE(says(row, "cudnn:pick at b = 32")) << row.note;
  EXPECT_TRUE(says(row, "forward, 1.00 GiB")) << row.note;
}

TEST(ReproduceConvolution, speed_and_memory_are_of_the_same_fft) {
  World world;
  // Slower, refused at one point, and with much more memory: another FFT decides nothing.
  world.more.push_back({{"cudnn:fft", true},
                        [](const ConvShape& s, ConvPass pass) {
                          return s.height == 256 ? -1.0 : flat_fft(3000)(s, pass);
                        },
                        some_bytes(64 * gib)});
  EXPECT_TRUE(rows_of(world).at("9").holds);
  EXPECT_TRUE(says(rows_of(world).at("9"), "fft, at 74 of 74 points"));
  world.fft.scratch = some_bytes(0);
  const Finding row = rows_of(world).at("9");
  EXPECT_FALSE(row.holds);
  EXPECT_TRUE(says(row, "more: ") && says(row, "unroll at b = 32")) << row.note;
}

TEST(ReproduceConvolution, unrolling_that_needs_more_than_fft_is_not_between) {
  World world;
  world.unroll.scratch = some_bytes(100 * gib);
  const Finding row = rows_of(world).at("18");
  EXPECT_FALSE(row.holds);
  EXPECT_TRUE(says(row, "more than fft at b = 32")) << row.note;
}

// Bytes count, and not bytes per byte of the tensors: memory that grows in uneven steps only
// grows.
TEST(ReproduceConvolution, memory_that_only_grows_does_not_fluctuate) {
  World world;
  world.fft.scratch = [](const ConvShape& s) {
    return (s.height / 32) * (s.height / 32) * gib + s.kernel_height * gib;
  };
  const Rows rows = rows_of(world);
  EXPECT_FALSE(rows.at("19").holds);
  EXPECT_TRUE(says(rows.at("19"), "fft has ")) << rows.at("19").note;
  EXPECT_FALSE(rows.at("31").holds);
  // Up and down along the kernel alone.
  world.fft.scratch = [](const ConvShape& s) {
    return s.height * s.height * gib / 100 + (s.kernel_height % 2) * gib;
  };
  EXPECT_FALSE(rows_of(world).at("19").holds);
  EXPECT_TRUE(rows_of(world).at("31").holds);
}

TEST(ReproduceConvolution, the_library_is_held_against_other_unrolling) {
  World world;
  world.more.front().seconds = of_flop(2.6e-13);  // slower than unroll everywhere
  world.more.front().scratch = some_bytes(gib / 2);
  const Rows slow = rows_of(world);
  EXPECT_EQ(slow.at("33").found, "0 of 31");
  EXPECT_FALSE(slow.at("33").holds);
  EXPECT_FALSE(slow.at("41").holds);
  world.more.front().seconds = of_flop(1e-13);
  const Rows fast = rows_of(world);
  EXPECT_TRUE(fast.at("33").holds);
  world.pick.seconds = of_flop(1e-11);
  EXPECT_EQ(rows_of(world).at("34").found, "0 of 74");
  EXPECT_FALSE(rows_of(world).at("34").holds);
  EXPECT_FALSE(fast.at("35").holds) << "direct takes 2.8 times as long";
  world.fft.seconds = [](const ConvShape& s, ConvPass pass) {
    return s.kernel_height == 11 && s.stride_height == 1 ? 1.0 : flat_fft(15)(s, pass);
  };
  EXPECT_FALSE(rows_of(world).at("40").holds);
}

TEST(ReproduceConvolution, roles_are_of_the_configuration_of_figure_4) {
  ConvResults results = World{}.results();
  const auto set = [&](std::string_view strategy, std::vector<RoleTime> at,
                       std::vector<RoleTime> else_) {
    for (ConvCell& cell : results.cells) {
      if (cell.strategy != strategy || !cell.is_measured()) continue;
      const ConvShape& s = cell.shape;
      const bool is_it = s.batch == 64 && s.height == 128 && s.filters == 64 &&
                         s.kernel_height == 11 && s.stride_height == 1;
      cell.roles = is_it ? at : else_;
    }
  };
  const std::vector<RoleTime> mostly_gemm = {{KernelRole::gemm, 83}, {KernelRole::im2col, 17}};
  const std::vector<RoleTime> two_thirds = {{KernelRole::gemm, 66.5}, {KernelRole::im2col, 33.5}};
  set("unroll", mostly_gemm, two_thirds);
  EXPECT_TRUE(rows_of(results).at("10").holds);
  EXPECT_EQ(rows_of(results).at("10").found, "83.0 %");
  set("unroll", two_thirds, mostly_gemm);  // what Table I's layers have decides nothing
  EXPECT_EQ(rows_of(results).at("10").found, "66.5 %");
  EXPECT_FALSE(rows_of(results).at("10").holds);
  EXPECT_FALSE(rows_of(results).at("46").holds);
  const std::vector<RoleTime> four = {{KernelRole::transform, 3},
                                      {KernelRole::gemm, 4},
                                      {KernelRole::inverse_transform, 2},
                                      {KernelRole::transpose, 1}};
  set("fft", four, four);
  EXPECT_TRUE(rows_of(results).at("46").holds);
}

TEST(ReproduceConvolution, a_processor_has_no_registers_to_judge) {
  ConvResults results = World{}.results();
  for (ConvCell& cell : results.cells)
    for (KernelFacts& kernel : cell.kernels) kernel.registers_per_thread = 0;
  EXPECT_FALSE(rows_of(results).at("12").is_printed);
}

TEST(ReproduceConvolution, shapes_that_are_refused_are_counted) {
  World world;
  EXPECT_TRUE(says(rows_of(world).at("16"), "fft 3 (not this one)"));
  world.unroll.seconds = [](const ConvShape& s, ConvPass) { return s.batch > 256 ? -1.0 : 1e-3; };
  const Finding row = rows_of(world).at("16");
  EXPECT_FALSE(row.holds);
  EXPECT_EQ(row.found, "71 of 79");
}

TEST(ReproduceConvolution, multiples_of_128_have_a_verdict_where_cuda_convnet2_is_there) {
  World world;
  const Finding without = rows_of(world).at("17");
  EXPECT_FALSE(without.is_printed);
  EXPECT_TRUE(says(without, "cuda-convnet2, written for Kepler, is not in these results"));
  EXPECT_TRUE(says(without, "has no such step"));
  world.more.push_back({{"cuda-convnet2"}, [](const ConvShape& s, ConvPass) {
                          return (s.batch % 128 == 0 ? 1e-5 : 2e-5) * static_cast<double>(s.batch);
                        }});
  EXPECT_TRUE(rows_of(world).at("17").holds);
  EXPECT_EQ(rows_of(world).at("17").found, "2.00–2.00×");
  world.more.back().seconds = of_flop(1e-12);
  EXPECT_TRUE(rows_of(world).at("17").is_printed);
  EXPECT_FALSE(rows_of(world).at("17").holds);
}

TEST(ReproduceConvolution, explicit_unrolling_is_held_against_the_librarys_products) {
  World world;
  world.pick.seconds = of_flop(1e-15);  // by another algorithm: not what the claim is about
  Finding row = rows_of(world).at("11");
  EXPECT_TRUE(row.holds) << row.note;
  EXPECT_EQ(row.found, "22 of 22");
  EXPECT_TRUE(says(row, "ahead of cudnn:pick at 0 of 22")) << row.note;
  world.more.front().seconds = of_flop(1e-13);
  row = rows_of(world).at("11");
  EXPECT_FALSE(row.holds);
  EXPECT_TRUE(says(row, "ahead: cudnn GEMM at f = 176")) << row.note;
  world.more.clear();
  EXPECT_TRUE(says(rows_of(world).at("11"), "less time than cudnn:pick"));
}

TEST(ReproduceConvolution, a_layer_takes_all_its_passes_where_they_are_there) {
  World world;
  world.passes.assign(all_conv_passes.begin(), all_conv_passes.end());
  EXPECT_TRUE(rows_of(world).at("1").holds);
  // Fast forward, slow in one gradient: only the sum tells.
  world.fft.seconds = [](const ConvShape& s, ConvPass pass) {
    return (pass == ConvPass::weight_gradient ? 5000 : 1) * flat_fft(15)(s, pass);
  };
  EXPECT_FALSE(rows_of(world).at("1").holds);
  // Products have other names in other passes: together they are one contender.
  world.more = {{{"cudnn:gemm", true},
                 [](const ConvShape& s, ConvPass pass) {
                   return pass == ConvPass::forward ? 1e-12 * flop_of(s) : -1.0;
                 }},
                {{"cudnn:algo_0", true}, [](const ConvShape& s, ConvPass pass) {
                   return pass == ConvPass::forward ? -1.0 : 1e-12 * flop_of(s);
                 }}};
  EXPECT_EQ(rows_of(world).at("11").found, "22 of 22");
}

TEST(ReproduceConvolution, the_share_of_products_is_of_all_passes) {
  World world;
  world.passes.assign(all_conv_passes.begin(), all_conv_passes.end());
  ConvResults results = world.results();
  for (ConvCell& cell : results.cells) {
    const double products = cell.pass == ConvPass::forward ? 1.0 : 4.0;
    cell.roles = {{KernelRole::im2col, 1}, {KernelRole::gemm, products}};
  }
  EXPECT_EQ(rows_of(results).at("10").found, "75.0 %");
}

TEST(ReproduceConvolution, kernels_beyond_table_two_are_named) {
  ConvResults results = World{}.results();
  for (ConvCell& cell : results.cells)
    if (cell.strategy == "fft") cell.kernels = {{"tile", KernelRole::transform, 128, 1 << 17}};
  const Rows rows = rows_of(results);
  EXPECT_EQ(rows.at("12").found, "72–128");
  EXPECT_FALSE(rows.at("12").holds);
  EXPECT_TRUE(says(rows.at("12"), "the most: tile of fft")) << rows.at("12").note;
  EXPECT_FALSE(rows.at("13").holds);
}

TEST(ReproduceConvolution, copies_are_judged_by_the_words_of_the_study) {
  ConvResults results = World{}.results();
  Rows rows = rows_of(results);
  EXPECT_TRUE(rows.at("14").holds);
  EXPECT_FALSE(rows.at("15").holds) << "17 % is not more than 60 %";
  EXPECT_EQ(rows.at("15").printed, "more than 60 %");
  for (ConvCell& cell : results.cells)
    if (cell.transfers) cell.transfers = HostTransfers{2 * cell.time_s(), 4 * cell.time_s()};
  rows = rows_of(results);
  EXPECT_FALSE(rows.at("14").holds);
  EXPECT_TRUE(says(rows.at("14"), "ms to copy"));
  EXPECT_TRUE(rows.at("15").holds);
}

constexpr const char* numbers_of_efficiencies[] = {"20", "21", "22", "23", "24", "25",
                                                   "32", "36", "37", "38", "39"};

/// The same efficiencies in every cell.
ConvResults results_with(const ConvEfficiency& efficiency) {
  ConvResults results = World{}.results();
  for (ConvCell& cell : results.cells)
    if (cell.is_measured()) cell.efficiencies = ConvEfficiencies{{efficiency}, ""};
  return results;
}

TEST(ReproduceConvolution, efficiencies_as_the_study_saw_them_hold) {
  ConvResults results = results_with({.role = KernelRole::gemm,
                                      .occupancy = 0.2,
                                      .ipc = 2,
                                      .warp_execution = 0.99,
                                      .global_load = 0.1,
                                      .global_store = 0.5,
                                      .shared = 1.4});
  for (ConvCell& cell : results.cells) {
    if (!cell.efficiencies) continue;
    ConvEfficiency& one = cell.efficiencies->roles.front();
    if (cell.strategy == "fft") one.warp_execution = 0.7, one.shared = 0.15;
    if (cell.strategy == "cudnn:implicit_gemm") one.occupancy = 0.29, one.ipc = 3, one.shared = 1.5;
  }
  const Rows rows = rows_of(results);
  for (const char* number : numbers_of_efficiencies) {
    EXPECT_TRUE(rows.at(number).is_printed) << number;
    EXPECT_TRUE(rows.at(number).holds) << number << ": " << rows.at(number).note;
  }
}

TEST(ReproduceConvolution, other_efficiencies_do_not_and_name_the_strategies) {
  ConvResults results = results_with({.role = KernelRole::gemm,
                                      .occupancy = 0.5,
                                      .ipc = 2,
                                      .warp_execution = 0.9,
                                      .global_load = 0.8,
                                      .global_store = 0.9,
                                      .shared = 0.3});
  for (ConvCell& cell : results.cells) {
    if (cell.strategy != "fft" || !cell.efficiencies) continue;
    cell.efficiencies->roles.front().occupancy = 0.9;  // the fullest is the fastest
    cell.efficiencies->roles.front().warp_execution = 0.98;
    cell.efficiencies->roles.front().shared = 0.4;
    cell.samples_s = {1e-9};
  }
  const Rows rows = rows_of(results);
  for (const char* number : numbers_of_efficiencies) {
    EXPECT_TRUE(rows.at(number).is_printed) << number;
    EXPECT_FALSE(rows.at(number).holds) << number << ": " << rows.at(number).note;
  }
  EXPECT_TRUE(says(rows.at("25"), "direct at conv1 (90 %)")) << rows.at("25").note;
}

TEST(ReproduceConvolution, without_efficiencies_their_rows_say_how_to_get_them) {
  const Rows rows = rows_of(World{});
  for (const char* number : numbers_of_efficiencies) {
    EXPECT_FALSE(rows.at(number).is_printed) << number;
    EXPECT_TRUE(says(rows.at(number), "--metrics")) << number;
  }
}

// As in the paper, most exceed 97 % and Theano-fft is far below: one strategy of four below the
// bound does not undo it.
TEST(ReproduceConvolution, most_warps_are_full_though_one_strategy_is_not) {
  ConvResults results = results_with({.role = KernelRole::gemm, .warp_execution = 0.99});
  for (ConvCell& cell : results.cells)
    if (cell.strategy == "direct" && cell.efficiencies)
      cell.efficiencies->roles.front().warp_execution = 0.9;
  const Finding row = rows_of(results).at("25");
  EXPECT_TRUE(row.holds) << row.note;
  EXPECT_TRUE(says(row, "direct at conv1 (90 %)")) << row.note;
}

HotLayers network_of(std::string name, double convolution) {
  return {.network = std::move(name),
          .title = "Net",
          .device = "Imagined 1",
          .batch = 64,
          .types = {{"convolution", convolution}, {"batch_norm", 1 - convolution}},
          .roles = {{"forward", {{"gemm", 3.0}, {"transform", 1.0}}}}};
}

TEST(ReproduceConvolution, hot_layers_are_held_against_the_printed_shares) {
  const std::vector<HotLayers> networks = {network_of("googlenet", 0.5), network_of("vgg16", 0.92)};
  const Rows rows = rows_of(World{}.results(), networks);
  EXPECT_FALSE(rows.at("26").holds);
  EXPECT_TRUE(says(rows.at("26"), "batch 64; next: batch_norm 50 %")) << rows.at("26").note;
  EXPECT_TRUE(rows.at("27").holds);
  EXPECT_TRUE(says(rows.at("27"), "the study's is VGG-19"));
  EXPECT_FALSE(rows.at("28").is_printed) << "no OverFeat";
  EXPECT_FALSE(rows.at("42").holds) << "half is not more than half";
  EXPECT_TRUE(rows.at("43").holds);
  EXPECT_FALSE(rows.at("44").is_printed);
  EXPECT_EQ(rows.at("30").found, "75 %");
  EXPECT_FALSE(rows_of(World{}).at("30").is_printed);
  EXPECT_EQ(rows_of(World{}).at("30").found, "–");
}

TEST(ReproduceConvolution, a_profile_is_read_with_the_roles_of_its_kernels) {
  const HotLayers network = read_hot_layers(R"json({"schema_version": 1, "kind": "measurement",
    "evidence": "measured", "model": {"name": "n", "title": "N", "dims": {"batch": 8}},
    "machine": {"name": "m", "title": "Imagined 1"},
    "layers": [{"layer": "c", "pass": "forward", "op": "convolution", "time_s": 3,
                "implementation": "cuDNN 9 engine 3: fft"},
               {"layer": "r", "pass": "forward", "op": "relu", "time_s": 1}],
    "kernels": [{"name": "void fft2d_r2c_32x32<float>(float2*)", "layer": "c", "pass": "forward",
                 "begin_s": 0, "time_s": 2},
                {"name": "implicit_convolve_sgemm", "layer": "c", "pass": "forward",
                 "begin_s": 2, "time_s": 1},
                {"name": "relu", "layer": "r", "pass": "forward", "begin_s": 3, "time_s": 1}]})json");
  EXPECT_EQ(network.batch, 8);
  EXPECT_NEAR(network.convolution_share(), 0.75, 1e-12);
  EXPECT_NEAR(network.fewer_operations_share, 1, 1e-12);
  EXPECT_EQ(network.roles.at("forward").at("transform"), 2);
  EXPECT_EQ(network.roles.at("forward").at("gemm"), 1);
  EXPECT_EQ(network.roles.at("forward").size(), 2U) << "kernels of convolutions only";
}

TEST(ReproduceConvolution, what_is_not_there_is_said_to_be_missing) {
  ConvResults results = World{}.results();
  std::erase_if(results.cells, [](const ConvCell& cell) { return cell.strategy == "fft"; });
  const Rows rows = rows_of(results);
  EXPECT_FALSE(rows.at("1").is_printed);
  EXPECT_EQ(rows.at("1").note, "not in these results");
  results.cells.clear();
  for (const auto& [number, row] : rows_of(results)) {
    EXPECT_FALSE(row.is_printed) << number;
    EXPECT_FALSE(row.holds) << number;
  }
}

TEST(ReproduceConvolution, figures_are_of_training_networks_efficiencies_and_copies) {
  const ConvResults results =
      results_with({.role = KernelRole::gemm, .occupancy = 0.5, .shared = 0.3});
  const std::vector<HotLayers> networks = {network_of("googlenet", 0.5)};
  std::map<std::string, const Figure*> by_name;
  const std::vector<Figure> figures = convolution_figures(results, networks);
  for (const Figure& figure : figures) {
    EXPECT_TRUE(by_name.emplace(figure.name, &figure).second) << figure.name;
    EXPECT_FALSE(chart::to_svg(figure.grid).empty());
    EXPECT_FALSE(figure.csv.empty());
  }
  for (const char* name :
       {"convolution-hot-layers", "convolution-k-training-time", "convolution-b-training-memory",
        "convolution-layers-forward-roles", "convolution-layers-forward-efficiencies",
        "convolution-library-roles", "convolution-copies"})
    EXPECT_TRUE(by_name.contains(name)) << name;
  EXPECT_EQ(by_name.at("convolution-layers-forward-efficiencies")->grid.panels.size(), 3U)
      << "run time, occupancy and shared memory";
  // As the paper numbers and calls them.
  EXPECT_EQ(by_name.at("convolution-k-training-time")->grid.title,
            "Figure 3d: time of a layer in training, kernel size");
  EXPECT_EQ(by_name.at("convolution-k-training-memory")->grid.panels.front().x.title,
            "kernel size");
  EXPECT_FALSE(convolution_figures(World{}.results()).empty()) << "without networks, too";
}

TEST(ReproduceConvolution, no_two_strategies_share_a_colour) {
  World world;
  for (int i = 0; i < 11; ++i)
    world.more.push_back({{"cudnn:" + std::to_string(i), true}, of_flop(1e-12 * (i + 1))});
  // As many again that this pass does not have.
  for (int i = 11; i < 16; ++i)
    world.more.push_back(
        {{"cudnn:" + std::to_string(i), true}, [](const ConvShape&, ConvPass) { return -1.0; }});
  ConvResults results = world.results();
  for (ConvCell& cell : results.cells)
    if (cell.is_measured())
      cell.efficiencies =
          ConvEfficiencies{{{.role = KernelRole::gemm, .occupancy = 0.5, .shared = 0.3}}, ""};
  for (const Figure& figure : convolution_figures(results)) {
    if (figure.name != "convolution-layers-forward-efficiencies") continue;
    const auto& bars = figure.grid.panels.front().bars;
    EXPECT_EQ(figure.grid.panels.front().y.title, "run time");
    EXPECT_EQ(bars.size(), 16U);
    std::set<chart::Color> colors;
    for (const chart::Bars& each : bars) colors.insert(each.color);
    EXPECT_EQ(colors.size(), bars.size());
  }
}

}  // namespace
}  // namespace strata
