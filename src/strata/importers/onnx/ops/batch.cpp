// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/ops/batch.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace strata::onnx {
namespace {

// Shapes as numbers: the batch is the file's own, and every other symbol a prime of its own, so
// that products divide only where the symbols do.
class Valuation {
 public:
  explicit Valuation(const Batch& batch) {
    values_.emplace_back(batch.dim.symbol, batch.file_value);
  }

  std::int64_t operator()(Dim dim) {
    if (dim.is_number()) return dim.factor;
    for (const auto& [symbol, value] : values_) {
      if (symbol == dim.symbol) return checked_mul(dim.factor, value);
    }
    constexpr std::array<std::int64_t, 8> primes = {1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049};
    values_.emplace_back(dim.symbol, primes[values_.size() % primes.size()]);
    return checked_mul(dim.factor, values_.back().second);
  }

 private:
  std::vector<std::pair<SymbolId, std::int64_t>> values_;
};

// Where x has the batch: `before` numbers of axes in front of it, and the whole.
struct Place {
  std::int64_t before = 1;
  std::int64_t total = 1;
};

// Nothing when x has no batch, or has it twice. `offset`: what is in front of the batch inside its
// axis.
std::optional<Place> place_of_batch(const Shape& x, const Batch& batch, std::int64_t offset,
                                    Valuation& value) {
  Place place;
  bool has_batch = false;
  for (const Dim extent : x) {
    if (extent.symbol == batch.dim.symbol) {
      if (has_batch) return std::nullopt;
      has_batch = true;
      const bool fits = extent.factor % offset == 0;
      place.before = checked_mul(place.total, fits ? offset : 1);
    }
    place.total = checked_mul(place.total, value(extent));
  }
  if (!has_batch) return std::nullopt;
  return place;
}

// The axis of the target that contains the batch. In row-major order the batch is a run of
// `file_value` steps after `before`; an axis contains it when it starts at or before that place and
// reaches over the run. For a batch of 1 the run is empty and several axes qualify: an axis that is
// exactly the batch is best, then one that starts at the place, then one that ends there; the last
// axis holds features and comes last.
struct BatchAxis {
  std::size_t axis;
  std::int64_t offset;  ///< of the batch inside the axis
};

std::optional<BatchAxis> axis_of_batch(const std::vector<std::int64_t>& target, const Place& x,
                                       std::int64_t batch) {
  std::optional<BatchAxis> best;
  int best_rank = 0;
  std::int64_t before = 1;
  for (std::size_t axis = 0; axis < target.size(); ++axis) {
    const std::int64_t extent = target[axis];
    const bool starts_in_time = x.before % before == 0;
    const std::int64_t inside = starts_in_time ? x.before / before : 0;
    if (starts_in_time && extent % checked_mul(inside, batch) == 0) {
      const bool starts_there = inside == 1;
      const bool is_last = axis + 1 == target.size() && target.size() > 1;
      int rank = is_last ? 1 : starts_there ? 3 : 2;
      if (starts_there && extent == batch) rank = 4;
      if (rank > best_rank) {
        best = BatchAxis{axis, inside};
        best_rank = rank;
      }
    }
    before = checked_mul(before, extent);
  }
  return best;
}

}  // namespace

void refuse_open_batch(OpContext& context, const char* reason) {
  if (!context.session().batch.is_from_number()) return;
  throw BatchConflict{fmt::format("{}: {}", context.place(), reason)};
}

void open_batch(OpContext& context, const Shape& x, Shape& target,
                std::optional<std::size_t> open) {
  const Batch& batch = context.session().batch;
  if (!batch.is_from_number() || context.is_constant(0)) return;
  const bool is_open_already = std::any_of(target.begin(), target.end(),
                                           [&](Dim d) { return d.symbol == batch.dim.symbol; });
  Valuation value(batch);
  const std::int64_t offset = context.draft().tensors[context.tensor(0)].batch_offset;
  const std::optional<Place> place = place_of_batch(x, batch, offset, value);
  if (!place || is_open_already) return;

  std::vector<std::int64_t> numbers;
  std::int64_t known = 1;
  for (const Dim extent : target) {
    numbers.push_back(value(extent));
    if (!extent.is(-1)) known = checked_mul(known, numbers.back());
  }
  if (open && known != 0) numbers[*open] = place->total / known;
  const std::int64_t total = open ? checked_mul(known, numbers[*open]) : known;
  if (total != place->total) {
    fail(ErrorKind::input, "{} does not reshape into {}", text_of(x, context.symbols()),
         text_of(target, context.symbols()));
  }
  const std::optional<BatchAxis> found = axis_of_batch(numbers, *place, batch.file_value);
  if (!found) {
    return refuse_open_batch(context, "the target shape mixes the batch with other axes");
  }
  context.batch_offset = found->offset;
  Dim& extent = target[found->axis];
  if (!extent.is_number()) {
    extent = context.symbols().multiply(extent, batch.dim);
  } else if (!extent.is(-1)) {
    extent = Dim(extent.factor / batch.file_value, batch.dim.symbol);
  }
}

void open_expanded_batch(OpContext& context, const Shape& x, Shape& target) {
  const Batch& batch = context.session().batch;
  if (!batch.is_from_number()) return;
  for (std::size_t axis = 0; axis < target.size(); ++axis) {
    Dim& extent = target[axis];
    if (!extent.is(batch.file_value)) continue;
    const std::size_t lead = target.size() - std::min(target.size(), x.size());
    const bool meets_batch =
        axis >= lead && !x.empty() && x[axis + x.size() - target.size()].symbol == batch.dim.symbol;
    if (meets_batch) extent = 1;
    // A token that is repeated for every sample; a lone 1 needs no repetition.
    if (!meets_batch && axis == 0 && batch.file_value > 1) extent = batch.dim;
  }
}

}  // namespace strata::onnx
