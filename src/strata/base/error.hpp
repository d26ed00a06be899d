// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace strata {

/// Whose turn it is to act on a failure. The program's exit code follows from it.
enum class ErrorKind {
  usage,        ///< the command line or a call was wrong
  input,        ///< a file or a value is malformed
  unsupported,  ///< well-formed, but Strata does not do it
  environment,  ///< the machine or this build lacks something that was asked for
  internal,     ///< a bug in Strata
};

std::string_view name_of(ErrorKind kind);

/// The one exception of the library. Thrown where the work cannot go on; caught only by the program
/// and by the language bindings. What fails for one item of many is a value with a reason instead.
class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message);

  ErrorKind kind() const noexcept { return kind_; }
  const char* what() const noexcept override { return message_.c_str(); }

  /// Puts a place in front of the message, outermost last: "model.onnx: node 'conv1': …".
  void add_context(std::string_view place);

 private:
  ErrorKind kind_;
  std::string message_;
};

template <class... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

[[noreturn]] void fail_check(const char* condition, const char* why, const char* file, int line);

/// A statement that cannot be false unless Strata has a bug; on in every build.
#define STRATA_CHECK(condition, why) \
  ((condition) ? void(0) : ::strata::fail_check(#condition, why, __FILE__, __LINE__))

}  // namespace strata
