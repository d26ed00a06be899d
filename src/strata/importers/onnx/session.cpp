// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/session.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/onnx/limits.hpp"
#include "strata/importers/onnx/tensor_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace strata::onnx {
namespace {

// A vector longer than this is a table in disguise, and not worth a look.
constexpr std::size_t most_vector_bytes = std::size_t{1} << 20;
// Shapes under which one weight is used; no real one has more than two or three.
constexpr std::size_t most_shapes_of_one = 64;

}  // namespace

bool is_vector(const Shape& shape) {
  return std::count_if(shape.begin(), shape.end(), [](Dim d) { return !d.is(1); }) <= 1;
}

bool holds_several(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](Dim extent) { return !extent.is(1); });
}

void expect_not_empty(const Shape& shape, const Symbols& symbols) {
  for (const Dim extent : shape) {
    if (extent.is_number() && extent.factor < 1) {
      fail(ErrorKind::unsupported, "an empty tensor, {}", text_of(shape, symbols));
    }
  }
}

ConstantId Session::add_constant(Constant constant) {
  if (constants.size() >= most_values) {
    fail(ErrorKind::input, "more than {} constants", most_values);
  }
  if (constant.numbers != nullptr && constant.numbers.use_count() == 1) {
    numbers_kept += constant.numbers->size();
    if (numbers_kept > most_numbers_kept) constant.numbers.reset();
  }
  if (constant.root == no_root) constant.root = next_root++;
  constants.push_back(std::move(constant));
  return static_cast<ConstantId>(constants.size() - 1);
}

const KnownNumbers& Session::numbers_of(Constant& constant) {
  if (constant.data != nullptr && constant.numbers == nullptr &&
      numbers_kept <= most_numbers_kept) {
    try {
      constant.numbers = onnx::numbers_of(*constant.data);
    } catch (Error& error) {
      error.add_context(fmt::format("initializer {}", quoted(constant.data->name)));
      throw;
    }
    if (constant.numbers != nullptr) {
      numbers_kept += constant.numbers->size();
    }
  }
  return constant.numbers;
}

// Exporters store equal tensors once: all biases of a fresh network are the same zeros. A matrix is
// never equal to another by chance; a vector is taken for shared only if its numbers say so.
bool Session::is_surely_shared(const Constant& constant) {
  if (!is_vector(constant.type.shape)) return true;
  if (constant.data == nullptr) return false;
  std::optional<bool>& is_varied = looks_[constant.data->message.data()].is_varied;
  if (!is_varied) is_varied = !is_uniform(*constant.data, most_vector_bytes).value_or(true);
  return *is_varied;
}

bool Session::is_mask(Constant& constant) {
  if (constant.is_causal_mask) return true;
  if (constant.numbers != nullptr && numbers_computed <= most_numbers_computed) {
    numbers_computed += constant.numbers->size();
    constant.is_causal_mask = is_triangle(*constant.numbers, constant.type.shape);
  }
  if (constant.is_causal_mask || constant.data == nullptr) return constant.is_causal_mask;
  Looks& looks = looks_[constant.data->message.data()];
  if (!looks.is_triangle) {
    looks.is_triangle = is_triangle(*constant.data);
    looks.is_mask = *looks.is_triangle || looks_like_mask(*constant.data) ||
                    looks_like_sinusoids(*constant.data);
  }
  constant.is_causal_mask = constant.numbers == nullptr && *looks.is_triangle;
  return looks.is_mask;
}

void Session::forget_values() {
  values = {};
  constants = {};
  attribute_tensors = {};
  named_dims.clear();
  declared = {};
  stored_by_root = {};
  stored_with_matrix.clear();
  parts.clear();
  quantised_from = {};
  looks_ = {};
}

bool Session::is_named_parameter(const Constant& constant) const {
  return constant.is_learnt && constant.data != nullptr && model.producer == "pytorch" &&
         constant.name.find('.') != std::string_view::npos;
}

DraftId Session::operand(Constant& constant) {
  const bool is_parameter = !is_mask(constant) && constant.is_learnt &&
                            is_floating(constant.type.dtype) &&
                            (holds_several(constant.type.shape) || is_named_parameter(constant));
  const TensorKind kind = is_parameter ? TensorKind::parameter : TensorKind::constant;
  const DraftId id = weight(constant, constant.type.shape, "operand", kind);
  // Passes look at scalars (is it 0.5?) and at masks; longer tables are never read.
  if (draft.tensors[id].numbers == nullptr && !is_parameter) {
    draft.tensors[id].numbers = numbers_of(constant);
  }
  return id;
}

DraftId Session::weight(Constant& constant, const Shape& shape, const char* role, TensorKind kind,
                        DraftId matrix) {
  expect_not_empty(shape, draft.symbols);
  const bool is_shared = kind == TensorKind::constant || is_surely_shared(constant);
  if (is_shared) {
    const std::vector<DraftId>& known = stored_by_root[constant.root];
    for (const DraftId id : std::span(known).first(std::min(known.size(), most_shapes_of_one))) {
      if (draft.shape(id) != shape) continue;
      if (kind == TensorKind::parameter) draft.tensors[id].kind = kind;
      return id;
    }
  } else if (matrix != no_tensor) {
    const auto known = stored_with_matrix.find({constant.root, matrix});
    if (known != stored_with_matrix.end() && draft.shape(known->second) == shape) {
      return known->second;
    }
  }
  const DraftId id = draft.add_tensor({.type = {shape, constant.type.dtype},
                                       .name = constant.name,
                                       .data = constant.data,
                                       .role = role,
                                       .root = constant.root,
                                       .kind = kind,
                                       .is_causal_mask = constant.is_causal_mask});
  if (is_shared) stored_by_root[constant.root].push_back(id);
  if (matrix != no_tensor) stored_with_matrix[{constant.root, matrix}] = id;
  return id;
}

DraftId Session::new_weight(std::string_view name, const TensorType& type, const char* role,
                            TensorKind kind) {
  expect_not_empty(type.shape, draft.symbols);
  return draft.add_tensor(
      {.type = type, .name = name, .role = role, .root = next_root++, .kind = kind});
}

RootId Session::part_of(RootId whole, std::uint32_t part) {
  const auto [place, is_new] = parts.try_emplace({whole, part}, next_root);
  if (is_new) ++next_root;
  return place->second;
}

void Session::warn(WarningCode code, std::string message) {
  constexpr std::size_t most_warnings = 100;  // a reader's limit; the first ones say it all
  const bool is_known = std::any_of(warnings.begin(), warnings.end(), [&](const Warning& warning) {
    return warning.code == code && warning.message == message;
  });
  if (!is_known && warnings.size() < most_warnings) {
    warnings.push_back({code, std::move(message)});
  }
}

}  // namespace strata::onnx
