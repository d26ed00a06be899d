// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/framework/operations.hpp"

#include <span>
#include <vector>

namespace strata {

using PartId = std::uint32_t;
inline constexpr PartId no_part = ~PartId{0};

/// What a fused kernel may be made of: a step, or half of one. Or a step that stays as it is.
struct FusionPart {
  StepId step = 0;
  bool stays = false;
  bool is_reduction = false;
  bool launches = true;       ///< false: a view, which takes no time beside others
  bool writes = true;         ///< what its step writes; the reduction before another part does not
  std::uint32_t depth = 0;    ///< how many kernels must be done before it
  double own_bytes = 0;       ///< that it would move by itself
  double random_numbers = 0;  ///< that it draws
  std::span<const FrameworkOperation> operations;  ///< of the step; none in the second half of one
};

/// The parts of a program in their order, with their depths. `written` must outlive this.
class FusionParts {
 public:
  FusionParts(const Program& program, const Framework& framework, const FrameworkOptions& options,
              const FrameworkOperations& written);

  const std::vector<FusionPart>& all() const { return parts_; }
  /// The part that makes a value; no_part: it is given.
  PartId maker(ValueId value) const { return maker_[value]; }
  /// Features, gradients and what is saved for backward that a part reads or writes. Weights and
  /// statistics of the layers that are fused are small.
  template <class Visit>
  void each_use(const FusionPart& part, const Visit& visit) const {
    for (const Use& use : program_.uses_of(part.step)) {
      if (is_data(use.value)) visit(use);
    }
  }
  bool is_data(ValueId value) const;
  /// Whether it is a step that stays and reads and writes 16 bits under autocast.
  bool is_lower_product(const FusionPart& part) const;
  /// Of a value as it is stored: what a product in 16 bits makes has 16 bits, of whatever type
  /// autocast takes the tensor to be.
  double stored_bytes(ValueId value) const;
  double lower_bytes(ValueId value) const;  ///< of the same numbers in 16 bits

 private:
  void add_step(StepId id, std::span<const FrameworkOperation> operations);
  const FusionPart& add(FusionPart part);
  void sink();
  double numbers_of(ValueId value) const;

  const Program& program_;
  const Framework& framework_;
  const FusionRules& rules_;
  const FrameworkOptions& options_;
  std::vector<DType> types_;
  std::vector<PartId> maker_;
  std::vector<FusionPart> parts_;
};

/// A single number: a counter, or the last stage of a reduction. It is a launch of its own.
bool is_single_number(const FrameworkOperation& operation);

}  // namespace strata
