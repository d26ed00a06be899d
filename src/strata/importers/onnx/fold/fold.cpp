// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/fold/fold.hpp"

#include "strata/base/checked.hpp"
#include "strata/importers/onnx/limits.hpp"

#include <unordered_map>

namespace strata::onnx {
namespace {

std::unordered_map<std::string_view, Fold> all_folds() {
  std::unordered_map<std::string_view, Fold> folds;
  for (const std::span<const FoldRow> table :
       {view_folds(), arithmetic_folds(), movement_folds(), source_folds()}) {
    for (const FoldRow& row : table) folds.emplace(row.op, row.fold);
  }
  return folds;
}

}  // namespace

bool fold(OpContext& context) {
  static const std::unordered_map<std::string_view, Fold> folds = all_folds();
  if (!context.domain().empty()) return false;
  const auto row = folds.find(context.op());
  return row != folds.end() && row->second(context);
}

std::optional<Known> known(OpContext& context, std::size_t input) {
  const KnownNumbers numbers = context.numbers(input);
  if (numbers == nullptr) return std::nullopt;
  Known result{numbers, {}};
  for (const Dim extent : context.shape(input)) {
    if (!extent.is_number()) return std::nullopt;
    result.extents.push_back(extent.factor);
  }
  return result;
}

bool is_learnt_operand(OpContext& context, std::size_t input) {
  const Constant* const given = context.constant(input);
  if (given == nullptr || !given->is_learnt || given->data == nullptr) return false;
  return context.session().is_named_parameter(*given) ||
         (given->type.shape.size() > 1 && holds_several(given->type.shape));
}

namespace {

bool is_made_of_learnt(OpContext& context) {
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const Constant* const given = context.constant(i);
    if (given != nullptr && given->is_learnt) return true;
  }
  return false;
}

}  // namespace

bool set_known(OpContext& context, std::size_t output, DType dtype, const Index& extents,
               Numbers numbers) {
  if (numbers.size() > static_cast<std::size_t>(most_known_numbers)) return false;
  Constant constant{.type = {{}, dtype}};
  for (const std::int64_t extent : extents) constant.type.shape.push_back(extent);
  constant.numbers = std::make_shared<const Numbers>(std::move(numbers));
  constant.is_learnt = is_floating(dtype) && is_made_of_learnt(context);
  context.set(output, std::move(constant));
  return true;
}

std::int64_t count_of(const Index& extents) {
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count = checked_mul(count, extent);
  return count;
}

void for_each_index(const Index& extents, const std::function<void(const Index&)>& visit) {
  const std::int64_t count = count_of(extents);
  Index index(extents.size(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    visit(index);
    for (std::size_t axis = extents.size(); axis-- > 0;) {
      if (++index[axis] < extents[axis]) break;
      index[axis] = 0;
    }
  }
}

std::size_t place_in(const Index& extents, const Index& index) {
  const std::size_t lead = index.size() - extents.size();
  std::int64_t place = 0;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    place = place * extents[axis] + (extents[axis] == 1 ? 0 : index[lead + axis]);
  }
  return static_cast<std::size_t>(place);
}

bool may_compute(OpContext& context, std::int64_t numbers) {
  if (numbers > most_known_numbers) return false;
  context.session().numbers_computed += static_cast<std::size_t>(numbers);
  return context.session().numbers_computed <= most_numbers_computed;
}

}  // namespace strata::onnx
