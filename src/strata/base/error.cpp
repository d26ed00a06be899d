// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"

namespace strata {

std::string_view name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return "usage";
    case ErrorKind::input: return "input";
    case ErrorKind::unsupported: return "unsupported";
    case ErrorKind::environment: return "environment";
    case ErrorKind::internal: return "internal";
  }
  return "internal";
}

Error::Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

void Error::add_context(std::string_view place) {
  message_ = fmt::format("{}: {}", place, message_);
}

void fail_check(const char* condition, const char* why, const char* file, int line) {
  std::string_view path = file;
  // Only the part below src/ is worth showing, and builds stay the same wherever the tree lies.
  if (const auto at = path.rfind("strata/"); at != std::string_view::npos) path.remove_prefix(at);
  fail(ErrorKind::internal, "{}:{}: {} ({})", path, line, why, condition);
}

}  // namespace strata
