// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/policy.hpp"
#include "strata/predict/thesis.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace strata {

inline constexpr double thesis_bytes_per_s = 616e9;  // RTX 2080 Ti
inline constexpr double hbm_bytes_per_s = 1555e9;    // A100
inline constexpr double thesis_flop_per_s = 13.45e12;
inline constexpr double faster_flop_per_s = 23.04e12;  // Radeon 6900 XT
inline constexpr int thesis_time_steps = 50;           // of a sentence, source and target alike

/// The networks of the thesis: what `strata predict` calls them, and what people do. It took two
/// from Keras; of the others it does not list the layers, and these had to be inferred.
struct NamedNetwork {
  std::string_view model;
  std::string_view title;
  bool is_inferred = false;
};
inline constexpr NamedNetwork thesis_networks[] = {
    {"resnet50_keras", "ResNet-50"},
    {"mobilenet_v2_keras", "MobileNet v2"},
    {"transformer_thesis", "Transformer (inferred)", true},
    {"gnmt_thesis", "GNMT (inferred)", true}};

/// A point at which the thesis predicts.
struct ThesisPoint {
  std::int64_t capacity_mib = 24;
  double flop_per_s = thesis_flop_per_s;
  double bytes_per_s = thesis_bytes_per_s;
  std::optional<Prefetch> prefetch = {};     ///< absent: the preset's
  std::optional<ChannelOrder> channel = {};  ///< the same
  Offload offload = Offload::look_ahead;
  bool may_slice = false;  ///< weights that do not fit are cut instead of refused

  Hardware hardware() const;
  PredictOptions options() const;
};

/// A network of the thesis as one training iteration, predicted the thesis's way.
class ThesisNetwork {
 public:
  /// A batch of 0 is the network's own.
  explicit ThesisNetwork(std::string_view name, std::int64_t batch = 0);

  const std::string& name() const { return graph_->name; }
  const Program& program() const { return *program_; }
  const AccessList& list() const { return *list_; }

  Prediction at(const ThesisPoint& point, Record record = Record::totals) const;

 private:
  std::unique_ptr<Graph> graph_;  // each refers to the one before
  std::unique_ptr<BoundGraph> bound_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<AccessList> list_;
};

}  // namespace strata
