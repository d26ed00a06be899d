// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/recording.hpp"
#include "strata/graph/graph.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Recordings of networks made up for tests, as PyTorch would launch them, with what is true of
/// every kernel.
namespace strata {

struct TrueWork {
  std::string layer;  ///< the node's name, or "" where it has none
  std::string pass;
};

/// Writes a recording kernel by kernel.
class RecordingForge {
 public:
  /// A range that kernels are launched in, until the matching close.
  void open(const std::string& name, std::uint32_t thread = 1) {
    open_.push_back({.time = {now_, now_},
                     .id = 0,
                     .name = recording_.names.id_of(name),
                     .domain = 0,
                     .thread = thread,
                     .kind = RangeKind::nvtx,
                     .is_backward = false});
    now_ += 10;
  }
  void close() {
    open_.back().time.end_ns = now_;
    recording_.ranges.push_back(open_.back());
    open_.pop_back();
    now_ += 10;
  }
  /// A moment, not a range.
  void mark(const std::string& name, std::uint32_t thread = 1) {
    open(name, thread);
    open_.back().time.end_ns = open_.back().time.start_ns;
    recording_.ranges.push_back(open_.back());
    open_.pop_back();
  }
  /// The lengths of kernels differ, so that a kernel in a wrong row shows.
  void launch(std::string_view kernel, TrueWork truth, std::uint32_t thread = 1) {
    const std::uint64_t correlation = recording_.kernels.size() + 1;
    ApiRecord call;
    call.time = {now_, now_ + 5};
    call.correlation = correlation;
    call.name = recording_.names.id_of("cudaLaunchKernel");
    call.thread = thread;
    recording_.calls.push_back(call);
    KernelRecord record;
    record.time = {now_ + 1000,
                   now_ + 1000 + 7 + static_cast<std::int64_t>(correlation * correlation % 97)};
    record.correlation = correlation;
    record.name = recording_.names.id_of(std::string(kernel));
    record.device = 0;
    record.grid = record.block = {32, 1, 1};
    recording_.kernels.push_back(record);
    truth_.push_back(std::move(truth));
    now_ += 200;
  }

  Recording finish() {
    sort_by_start(recording_);
    return std::move(recording_);
  }
  const std::vector<TrueWork>& truth() const { return truth_; }

 private:
  Recording recording_;
  std::vector<RangeRecord> open_;
  std::vector<TrueWork> truth_;
  std::int64_t now_ = 1'000'000;
};

/// Names of kernels that an operator takes, forward and backward, as PyTorch launches them.
inline std::vector<std::string> forward_kernels_of(const Operator& op) {
  if (std::holds_alternative<Convolution>(op))
    return {"cudnn::engines_precompiled::nchwToNhwcKernel<float>",
            "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc"};
  if (std::holds_alternative<BatchNorm>(op)) return {"cudnn::bn_fw_tr_1C11_kernel_NCHW<float>"};
  if (std::holds_alternative<Pool>(op)) return {"at::native::max_pool_forward_nchw<float>"};
  if (std::holds_alternative<AdaptivePool>(op)) return {"at::native::reduce_kernel<512, 1>"};
  if (std::holds_alternative<Linear>(op)) return {"ampere_sgemm_32x32_sliced1x4_tn"};
  if (std::holds_alternative<Flatten>(op)) return {};
  return {"at::native::vectorized_elementwise_kernel<4>"};
}

inline std::vector<std::string> backward_kernels_of(const Operator& op) {
  if (std::holds_alternative<Convolution>(op))
    return {"sm80_xmma_dgrad_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc",
            "sm80_xmma_wgrad_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc"};
  if (std::holds_alternative<BatchNorm>(op)) return {"cudnn::bn_bw_1C11_singleread<float>"};
  if (std::holds_alternative<Pool>(op)) return {"at::native::max_pool_backward_nchw<float>"};
  if (std::holds_alternative<Linear>(op))
    return {"ampere_sgemm_32x32_sliced1x4_nn", "ampere_sgemm_32x32_sliced1x4_nt"};
  // An addition hands its gradient on.
  if (std::holds_alternative<Flatten>(op) || std::holds_alternative<Elementwise>(op)) return {};
  return {"at::native::vectorized_elementwise_kernel<4>"};
}

/// One training step: every node in a range of the name that `module_of` gives it (empty: launched
/// outside of modules), backward in reverse on a thread of its own, then the optimizer at once.
inline void forge_step(RecordingForge& forge, const Graph& graph,
                       const std::function<std::string(const Node&)>& module_of,
                       bool has_backward = true) {
  const auto launch_all = [&](const Node& node, const std::vector<std::string>& kernels,
                              std::string_view pass, std::uint32_t thread) {
    const std::string module = module_of(node);
    if (kernels.empty()) return;
    if (!module.empty()) forge.open(pass == "forward" ? module : module + " backward", thread);
    for (const std::string& kernel : kernels)
      forge.launch(kernel, {node.name, std::string(pass)}, thread);
    if (!module.empty()) forge.close();
  };
  for (const Node& node : graph.nodes) launch_all(node, forward_kernels_of(node.op), "forward", 1);
  if (!has_backward) return;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node)
    launch_all(*node, backward_kernels_of(node->op), "backward", 2);
  forge.launch("at::native::multi_tensor_apply_kernel<FusedSgd>", {"optimizer", "update"});
}

}  // namespace strata
