// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/declared_types.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/importers/onnx/limits.hpp"
#include "strata/importers/onnx/tensor_data.hpp"
#include "strata/importers/onnx/wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace strata::onnx {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Strata's own format, and a command line, want dimensions to be called by words.
std::string word_of(std::string_view name) {
  std::string word;
  for (const char c : name.substr(0, 60)) word += is_letter(c) || is_digit(c) ? c : '_';
  if (word.empty() || is_digit(word.front())) word.insert(0, "dim_");
  return word;
}

// What a dimension is when neither file nor user says: images of 224 pixels, texts of 128 tokens.
std::int64_t usual_extent(std::string_view name) {
  const std::string lower = lower_case(name);
  const bool is_of_image = has_part(lower, "height") || has_part(lower, "width") ||
                           has_part(lower, "image") || lower == "h" || lower == "w";
  return is_of_image ? 224 : 128;
}

bool is_taken(const Symbols& symbols, std::string_view name) {
  return std::any_of(symbols.parameters().begin(), symbols.parameters().end(),
                     [name](const Parameter& parameter) { return parameter.name == name; });
}

Dim new_parameter(Session& session, std::string_view name) {
  Symbols& symbols = session.draft.symbols;
  if (symbols.parameters().size() >= most_dimensions) {
    fail(ErrorKind::input, "more than {} open dimensions", most_dimensions);
  }
  std::string word = word_of(name);
  while (is_taken(symbols, word)) word += '_';
  session.assumed.push_back({word, usual_extent(name)});
  return symbols.parameter(word);
}

// "batch*seq", "past + 1": sums of products of known names and numbers, without brackets.
class DimFormula {
 public:
  DimFormula(Session& session, std::string_view text) : session_(session), rest_(text) {}

  std::optional<Dim> value() {
    std::optional<Dim> total = product();
    while (total && !(rest_ = trimmed(rest_)).empty()) {
      const char sign = rest_.front();
      if (sign != '+' && sign != '-') return std::nullopt;
      rest_.remove_prefix(1);
      const std::optional<Dim> next = product();
      if (!next) return std::nullopt;
      Symbols& symbols = session_.draft.symbols;
      total = sign == '+' ? symbols.add(*total, *next) : symbols.subtract(*total, *next);
    }
    return total;
  }

 private:
  std::optional<Dim> product() {
    std::optional<Dim> result = factor();
    while (result && (rest_ = trimmed(rest_)).starts_with('*')) {
      rest_.remove_prefix(1);
      const std::optional<Dim> next = factor();
      if (!next) return std::nullopt;
      result = session_.draft.symbols.multiply(*result, *next);
    }
    return result;
  }

  std::optional<Dim> factor() {
    rest_ = trimmed(rest_);
    std::size_t length = 0;
    while (length < rest_.size() && (is_letter(rest_[length]) || is_digit(rest_[length]))) {
      ++length;
    }
    const std::string_view token = rest_.substr(0, length);
    rest_.remove_prefix(length);
    if (token.empty()) return std::nullopt;
    if (is_digit(token.front())) {
      std::int64_t number = 0;
      const auto [end, problem] =
          std::from_chars(token.data(), token.data() + token.size(), number);
      if (problem != std::errc{} || end != token.data() + token.size()) return std::nullopt;
      return Dim(number);
    }
    const auto known = session_.named_dims.find(token);
    if (known == session_.named_dims.end()) return std::nullopt;
    return known->second;
  }

  Session& session_;
  std::string_view rest_;
};

std::optional<Dim> dim_of(Session& session, const ExtentDef& extent) {
  if (!extent.name.empty()) return named_dim(session, extent.name);
  if (extent.number && *extent.number > 0) return Dim(*extent.number);
  return std::nullopt;
}

}  // namespace

Dim named_dim(Session& session, std::string_view name) {
  constexpr std::size_t longest_formula = 200;
  const auto known = session.named_dims.find(name);
  if (known != session.named_dims.end()) return known->second;
  std::optional<Dim> dim;
  if (name.size() <= longest_formula) dim = DimFormula(session, name).value();
  if (!dim || dim->factor < 1) dim = new_parameter(session, name);  // "0" is a name like any
  session.named_dims.emplace(name, *dim);
  return *dim;
}

std::optional<TensorType> declared_type(Session& session, FlatValueId value) {
  if (session.declared.empty()) {
    for (const ValueDef& def : session.model.graph->values) session.declared[def.name] = &def;
    for (const ValueDef& def : session.model.graph->outputs) session.declared[def.name] = &def;
  }
  const auto place = session.declared.find(session.flat.value_names[value]);
  if (place == session.declared.end()) return std::nullopt;
  const TypeDef def = parse_type(place->second->type);
  const std::optional<DType> dtype = dtype_of(def.type);
  if (!def.is_tensor || !def.has_shape || !dtype) return std::nullopt;
  TensorType type{{}, *dtype};
  for (const ExtentDef& extent : def.extents) {
    const std::optional<Dim> dim = dim_of(session, extent);
    if (!dim) return std::nullopt;
    type.shape.push_back(*dim);
  }
  return type;
}

void enter_initializers(Session& session) {
  const std::vector<TensorDef>& tensors = session.model.graph->initializers;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorDef& tensor = tensors[i];
    const FlatValueId id = session.flat.initializers[i];
    // A text table has no data type of ours; only a node that reads it has a problem.
    const std::optional<DType> dtype = dtype_of(tensor.type);
    if (id == no_flat_value || !dtype) continue;
    Constant constant{.type = {{}, *dtype}, .data = &tensor, .name = tensor.name};
    try {
      elements_of(tensor);
    } catch (Error& error) {
      error.add_context(fmt::format("initializer {}", quoted(tensor.name)));
      throw;
    }
    for (const std::int64_t extent : tensor.extents) constant.type.shape.push_back(extent);
    constant.is_learnt =
        is_floating(*dtype) && session.signature.is_learnt(tensor.name).value_or(true);
    session.values[id].constant = session.add_constant(std::move(constant));
  }
}

}  // namespace strata::onnx
