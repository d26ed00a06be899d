// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/onnx/fold/fold.hpp"
#include "strata/importers/onnx/ops/ops.hpp"

#include <map>
#include <utility>

namespace strata::onnx {
namespace {

using Key = std::pair<std::string_view, std::string_view>;  // domain, operator

std::map<Key, Lower> all_rows() {
  std::map<Key, Lower> rows;
  for (const std::span<const OpRow> table :
       {attention_ops(), convolution_ops(), loss_ops(), lookup_ops(), movement_ops(),
        normalization_ops(), pointwise_ops(), pool_ops(), product_ops(), quantization_ops(),
        recurrent_ops(), reduction_ops(), resize_ops(), refused_ops(), uncounted_ops()}) {
    for (const OpRow& row : table) rows.emplace(Key{row.domain, row.op}, row.lower);
  }
  return rows;
}

}  // namespace

Lower find_op(std::string_view domain, std::string_view op) {
  static const std::map<Key, Lower> rows = all_rows();
  if (const auto row = rows.find({domain, op}); row != rows.end()) return row->second;
  if (!domain.empty() && domain != microsoft) return nullptr;
  const auto row = rows.find({OpRow::any_domain, op});
  return row == rows.end() ? nullptr : row->second;
}

bool is_known_operator(std::string_view domain, std::string_view op) {
  return find_op(domain, op) != nullptr;
}

void lower_all(Session& session) {
  for (std::uint32_t node = 0; node < session.flat.nodes.size(); ++node) {
    OpContext context(session, node);
    try {
      if (fold(context)) continue;
      const Lower lower = find_op(context.domain(), context.op());
      if (lower != nullptr) {
        lower(context);
      } else {
        lower_unknown(context);
      }
    } catch (Error& error) {
      error.add_context(context.place());
      throw;
    }
  }
}

std::int64_t number_of(OpContext& context, Dim dim, std::string_view what) {
  if (dim.is_number()) return dim.factor;
  fail(ErrorKind::unsupported, "{} must be a number, got {}", what, context.symbols().text(dim));
}

}  // namespace strata::onnx
