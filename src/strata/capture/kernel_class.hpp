// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What a kernel does, told by its name. Libraries name kernels in hundreds of ways; the rules are
/// data (data/kernels/classes.json), tried in order, the first that fits wins.
namespace strata {

struct KernelClass {
  std::string name = "other";  ///< one of kernel_class_names()
  std::string algorithm;       ///< of a convolution: winograd, fft, implicit_gemm, direct, unrolled
  std::string pass;            ///< forward, backward, …; empty: the name does not tell

  bool operator==(const KernelClass&) const = default;
};

struct KernelRule {
  KernelClass gives;
  bool says_pass = false;                     ///< even that the name does not tell
  bool is_zero_flop = false;                  ///< its kernels do no floating-point arithmetic,
  std::vector<std::string> zero_flop_unless;  ///< but for those with one of these words
  std::vector<std::string> any, all, none;
  std::string example;
};

/// What a kernel is for in a convolution, as strata conv calls it: "gemm", "transform", ….
struct KernelRoleRule {
  std::string role;
  KernelRule when;  ///< its words
};

struct KernelRules {
  std::vector<KernelRule> rules;
  std::vector<KernelRule> passes;
  std::vector<KernelRoleRule> roles;
};

/// Every class that a rule may give, and "other".
std::span<const std::string_view> kernel_class_names();

/// Errors (input) name the field, what was expected and what came; also: an example that its rule
/// does not fit, or that an earlier rule takes.
KernelRules read_kernel_rules(std::string_view json_text);

/// The rules that ship.
const KernelRules& kernel_rules();

KernelClass class_of_kernel(std::string_view name, const KernelRules& rules = kernel_rules());

/// Whether a kernel does no floating-point arithmetic: a copy, a fill, a change of layout or type,
/// the computation of addresses. A name that no rule knows is taken for arithmetic.
bool is_zero_flop_kernel(std::string_view name, const KernelRules& rules = kernel_rules());

/// The role of a kernel that a library runs for a convolution; "other" where no rule fits.
std::string_view role_of_kernel(std::string_view name, const KernelRules& rules = kernel_rules());

}  // namespace strata
