// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/unrolling.hpp"
#include "strata/training/writer.hpp"

#include <deque>
#include <span>
#include <vector>

namespace strata {

/// The values of one tensor, in order: mostly consecutive, sometimes a list.
struct ValueIds {
  ValueId first = 0;
  std::uint32_t count = 0;
  const ValueId* list = nullptr;

  ValueId operator[](std::size_t i) const {
    return list ? list[i] : first + static_cast<ValueId>(i);
  }
  ValueIds part(std::uint32_t begin, std::uint32_t size) const {
    return {first + begin, size, list ? list + begin : nullptr};
  }
};

/// Which values hold which tensor, made when they are first asked for.
class TensorValues {
 public:
  TensorValues(ProgramWriter& writer, const BoundGraph& bound, const Unrolling& unrolling);

  ValueIds of(TensorId tensor);
  bool exist(TensorId tensor) const { return places_[unrolling_.root[tensor]].count > 0; }
  /// What of the tensor belongs to a time step (1 … T); all of it where it is not cut by time.
  ValueIds at(TensorId tensor, std::uint32_t time);
  /// One of `count` equal pieces; all of it where it is not cut that way.
  ValueIds piece(TensorId tensor, std::uint32_t index, std::uint32_t count);

  /// Gives a tensor values that exist already.
  void bind(TensorId tensor, std::vector<ValueId> ids);
  /// The next `of` makes new values: for the next micro-batch, or to compute them again.
  void forget(TensorId tensor) { places_[unrolling_.root[tensor]] = {}; }
  void forget_features();

  /// Rows that a node looks up in a stored table, as a value of their own.
  ValueId looked_up(TensorId table, std::int64_t bytes);

 private:
  void make(TensorId root);

  ProgramWriter& writer_;
  const BoundGraph& bound_;
  const Unrolling& unrolling_;
  std::vector<ValueIds> places_;  // of every root; count 0: not made
  std::deque<std::vector<ValueId>> lists_;
  std::uint32_t look_ups_ = 0;
};

/// The least of a tensor that must be on chip while the rest streams through: of a map N, C, H, W
/// one row of one sample, of a sequence N, T, features one time step of one sample, of a weight
/// what makes one output. `bytes` is the size of the piece of it that the value holds.
std::int64_t row_bytes(const BoundTensor& tensor, const Parting& parting, bool is_stored,
                       std::int64_t bytes);

}  // namespace strata
