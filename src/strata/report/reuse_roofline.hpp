// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/predict.hpp"
#include "strata/report/chart/chart.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/text_style.hpp"
#include "strata/training/reuse_frequency.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// The roofline over reuse frequency: what each layer of a network attains when every byte that it
/// touches crosses memory once. It needs no profile, only the network and the rates of a machine.
namespace strata {

/// One value of a layer, with rf(t, l).
struct ReuseRooflineValue {
  std::string name;
  std::int64_t bytes = 0;
  double frequency = 0;
};

struct ReuseRooflineRow {
  std::string layer;
  std::string pass;
  std::string op;
  std::string layer_class;
  std::int64_t flop = 0;
  std::int64_t bytes = 0;
  double frequency = 0;  ///< rf(l), FLOP per byte
  double peak_flop_per_s = 0;
  double attainable_flop_per_s = 0;
  std::vector<ReuseRooflineValue> values;

  bool is_compute_bound() const { return attainable_flop_per_s >= peak_flop_per_s; }
  /// At the attainable rate.
  double time_s() const { return static_cast<double>(flop) / attainable_flop_per_s; }
};

struct ReuseRoofline {
  std::string network;
  std::string title;
  std::string dtype;
  std::string machine;
  std::string machine_title;
  Hardware hardware;
  std::vector<ReuseRooflineRow> rows;  ///< in the order of the program

  /// FLOP per byte from which on dense layers are bound by arithmetic.
  double ridge_flop_per_byte() const { return hardware.dense_flop_per_s / hardware.bytes_per_s; }
};

/// The rows of a program; who calls adds names of network and machine.
ReuseRoofline reuse_roofline(const Program& program, const Hardware& hardware);

/// The rows that take longest at their roof, so many of them.
std::string to_text(const ReuseRoofline& roofline, std::size_t top, const TextStyle& style);
std::string to_csv(const ReuseRoofline& roofline);
std::string to_json(const ReuseRoofline& roofline, const Provenance& provenance);
/// A mark per layer; a stack of equal ones has its count.
chart::Chart to_chart(const ReuseRoofline& roofline);

}  // namespace strata
