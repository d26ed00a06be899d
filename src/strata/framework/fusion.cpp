// SPDX-License-Identifier: Apache-2.0
#include "strata/framework/fusion.hpp"

#include "strata/framework/fusion_parts.hpp"

#include <cmath>
#include <numeric>
#include <utility>

namespace strata {
namespace {

/// Kernels of 16-bit products whose rows begin at odd elements take several times as long as those
/// of the next multiple of 8, so that a compiler copies the operand into longer rows. The copy is
/// small beside the product, and is not counted.
FrameworkOperation padded(FrameworkOperation operation) {
  constexpr double vector = 8;  // 16-bit numbers in 16 bytes
  if (form_of(operation.kernel_class) != KernelForm::product ||
      bytes_per_element(operation.precision) != 2)
    return operation;
  for (std::size_t i = 1; i <= 3; ++i) {  // m, n, k; the first is the batch
    double& extent = operation.dims[i];
    if (std::fmod(extent, 2) != 0) extent = std::ceil(extent / vector) * vector;
  }
  return operation;
}

/// Joins parts into kernels, and counts what crosses the borders of each.
class KernelFuser {
 public:
  KernelFuser(const Program& program, const Framework& framework, const FrameworkOptions& options,
              FrameworkOperations written)
      : program_(program),
        rules_(*framework.fusion),
        written_(std::move(written)),
        parts_(program, framework, options, written_),
        kernel_(parts_.all().size()),
        kernels_(parts_.all().size()) {
    join();
    count_reads();
    count_writes();
  }

  FrameworkOperations write() && {
    for (PartId id = 0; id < kernel_.size(); ++id) {
      const FusionPart& part = parts_.all()[id];
      const Kernel& kernel = kernels_[kernel_[id]];
      if (part.stays)
        write_as_it_is(part);
      else if (kernel.launches && kernel.members.back() == id)
        write_kernel(kernel);
    }
    if (!written_.calls.empty() && written_.calls.back().is_update) {
      begin_call(written_.calls.back());
      for (std::size_t i = written_.calls.back().first; i < written_.operations.size(); ++i)
        result_.operations.push_back(written_.operations[i]);
    }
    result_.unknown = std::move(written_.unknown);
    return std::move(result_);
  }

 private:
  struct Kernel {
    std::vector<PartId> members;
    double bytes = 0;      ///< that cross its border
    double own_bytes = 0;  ///< that its parts would move one by one
    bool reduces = false, launches = false;
  };

  PartId first_of(PartId part) {
    while (kernel_[part] != part) part = kernel_[part] = kernel_[kernel_[part]];
    return part;
  }

  void join() {
    std::iota(kernel_.begin(), kernel_.end(), PartId{0});
    for (PartId id = 0; id < kernel_.size(); ++id) {
      const FusionPart& part = parts_.all()[id];
      if (part.stays) continue;
      parts_.each_use(part, [&](const Use& use) {
        const PartId maker = parts_.maker(use.value);
        if (!use.reads || maker == no_part || maker >= id) return;
        const FusionPart& made = parts_.all()[maker];
        if (made.stays || made.is_reduction || made.depth != part.depth) return;
        kernel_[first_of(id)] = first_of(maker);
      });
    }
    for (PartId id = 0; id < kernel_.size(); ++id) {
      const FusionPart& part = parts_.all()[id];
      kernel_[id] = first_of(id);
      Kernel& kernel = kernels_[kernel_[id]];
      kernel.members.push_back(id);
      kernel.bytes += part.random_numbers * rules_.random_bytes;
      kernel.reduces |= part.is_reduction;
      kernel.launches |= part.launches;
      if (part.launches) kernel.own_bytes += part.own_bytes;
    }
  }

  /// A kernel reads a value from outside once, however many of its parts use it.
  void count_reads() {
    is_read_.resize(program_.values.size(), false);
    is_read_lower_.resize(program_.values.size(), false);
    std::vector<PartId> last_reader(program_.values.size(), no_part);
    for (PartId first = 0; first < kernels_.size(); ++first) {
      for (const PartId id : kernels_[first].members) {
        const FusionPart& part = parts_.all()[id];
        const bool is_lower = parts_.is_lower_product(part);
        parts_.each_use(part, [&](const Use& use) {
          const PartId maker = parts_.maker(use.value);
          const bool is_inside = maker != no_part && kernel_[maker] == first;
          if (!use.reads || is_inside) return;
          (is_lower ? is_read_lower_ : is_read_)[use.value] = true;
          if (last_reader[use.value] == first) return;
          last_reader[use.value] = first;
          kernels_[first].bytes += parts_.stored_bytes(use.value);
        });
      }
    }
  }

  /// It writes what others read: under autocast once for products and once for everything else,
  /// where the types differ.
  void count_writes() {
    result_.never_stored.resize(program_.values.size(), false);
    for (ValueId value = 0; value < program_.values.size(); ++value) {
      const PartId maker = parts_.maker(value);
      if (maker == no_part || parts_.all()[maker].stays) continue;
      const double stored = parts_.stored_bytes(value), lower = parts_.lower_bytes(value);
      double written = is_read_[value] || program_.values[value].is_result ? stored : 0;
      if (is_read_lower_[value] && (written == 0 || stored > lower)) written += lower;
      kernels_[kernel_[maker]].bytes += written;
      result_.never_stored[value] = written == 0;
    }
  }

  void begin_call(HostCall call) {
    call.first = static_cast<std::uint32_t>(result_.operations.size());
    result_.calls.push_back(call);
  }

  bool is_backward(const FusionPart& part) const {
    return program_.steps[part.step].pass != Pass::forward;
  }

  void write_as_it_is(const FusionPart& part) {
    const Step& step = program_.steps[part.step];
    const bool is_loss = step.node == no_node && !step.is_gradient_sum;
    if (part.operations.empty()) return;
    HostCall call{.step = part.step, .is_backward = is_backward(part)};
    if (is_loss)
      call.rule = loss_rule();
    else
      call.compiled_calls = rules_.kernel_calls * static_cast<double>(part.operations.size());
    begin_call(call);
    for (const FrameworkOperation& one : part.operations)
      result_.operations.push_back(rules_.pads_products && !is_loss ? padded(one) : one);
  }

  /// Each part has its share of the kernel, by what it would move alone.
  void write_kernel(const Kernel& kernel) {
    const FusionPart& last = parts_.all()[kernel.members.back()];
    begin_call({.step = last.step, .is_backward = is_backward(last)});
    double launched = 1;
    const double number_bytes = 4;  // fused kernels compute in fp32
    FrameworkOperation fused{
        .kernel_class = kernel.reduces ? rules_.reduction_kernel : rules_.pointwise_kernel,
        .dims = {kernel.bytes / number_bytes / (kernel.reduces ? 1 : 2)}};
    for (const PartId id : kernel.members) {
      const FusionPart& part = parts_.all()[id];
      if (!part.launches || !(kernel.own_bytes > 0)) continue;
      fused.step = part.step;
      fused.share = part.own_bytes / kernel.own_bytes;
      result_.operations.push_back(fused);
    }
    for (const PartId id : kernel.members) {
      for (const FrameworkOperation& one : parts_.all()[id].operations) {
        if (!is_single_number(one)) continue;
        result_.operations.push_back(one);
        ++launched;
      }
    }
    result_.calls.back().compiled_calls = rules_.kernel_calls * launched;
  }

  const OperatorRule* loss_rule() const {
    for (const HostCall& call : written_.calls) {
      const Step& step = program_.steps[call.step];
      if (step.node == no_node && !step.is_gradient_sum) return call.rule;
    }
    return nullptr;
  }

  const Program& program_;
  const FusionRules& rules_;
  FrameworkOperations written_;
  FusionParts parts_;
  std::vector<PartId> kernel_;       // of each part: the first part of its kernel
  std::vector<Kernel> kernels_;      // by their first part
  std::vector<bool> is_read_;        // of each value: by another kernel, or a step that stays
  std::vector<bool> is_read_lower_;  // the same, by a product in 16 bits
  FrameworkOperations result_;
};

}  // namespace

FrameworkOperations fuse(const Program& program, const Framework& framework,
                         const FrameworkOptions& options, FrameworkOperations written) {
  return KernelFuser(program, framework, options, std::move(written)).write();
}

}  // namespace strata
