// SPDX-License-Identifier: Apache-2.0
// XNNPACK computes with channels last and packs the weights when an operator is made. Weights
// change in every iteration of training, so both are done in every run, as a caller with our
// tensors has to; the roles say how long that takes.
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/base/loaded_library.hpp"
#include "strata/convolution/cpu/scratch.hpp"
#include "strata/convolution/cpu/strategies.hpp"

#include <xnnpack.h>

#include <algorithm>
#include <limits>

namespace strata::cpu {
namespace {

struct Xnnpack {
  decltype(&xnn_initialize) initialize;
  decltype(&xnn_create_convolution2d_nhwc_f32) create;
  decltype(&xnn_setup_convolution2d_nhwc_f32) setup;
  decltype(&xnn_run_operator) run;
  decltype(&xnn_delete_operator) destroy;
  decltype(&pthreadpool_create) create_pool;
  decltype(&pthreadpool_destroy) destroy_pool;
};

void check_xnnpack(xnn_status status, const char* what) {
  if (status == xnn_status_success) return;
  fail(ErrorKind::environment, "XNNPACK, {}: status {}", what, static_cast<int>(status));
}

Xnnpack load_xnnpack() {
  const LoadedLibrary library(STRATA_XNNPACK_LIBRARY);
  Xnnpack xnn{};
  library.find("xnn_initialize", xnn.initialize);
  library.find("xnn_create_convolution2d_nhwc_f32", xnn.create);
  library.find("xnn_setup_convolution2d_nhwc_f32", xnn.setup);
  library.find("xnn_run_operator", xnn.run);
  library.find("xnn_delete_operator", xnn.destroy);
  library.find("pthreadpool_create", xnn.create_pool);
  library.find("pthreadpool_destroy", xnn.destroy_pool);
  check_xnnpack(xnn.initialize(nullptr), "xnn_initialize");
  return xnn;
}

const Xnnpack& xnnpack() {
  static const Xnnpack xnn = load_xnnpack();
  return xnn;
}

/// to[column][row] = from[row][column], in squares that stay in the first cache.
void transpose(const float* from, std::int64_t rows, std::int64_t columns, float* to) {
  constexpr std::int64_t side = 16;
  for (std::int64_t row0 = 0; row0 < rows; row0 += side)
    for (std::int64_t column0 = 0; column0 < columns; column0 += side)
      for (std::int64_t column = column0; column < std::min(column0 + side, columns); ++column)
        for (std::int64_t row = row0; row < std::min(row0 + side, rows); ++row)
          to[column * rows + row] = from[row * columns + column];
}

struct XnnpackPlan {
  ScratchPlan plan;
  std::int64_t input_at = 0, weights_at = 0, output_at = 0;
};

XnnpackPlan xnnpack_plan(const ConvShape& shape) {
  XnnpackPlan made;
  // It reads some bytes beyond the end.
  const auto floats = [&](std::int64_t count) {
    return made.plan.add(checked_add(count, XNN_EXTRA_BYTES / 4));
  };
  made.input_at = floats(shape.input_elements());
  made.weights_at = floats(shape.weight_elements());
  made.output_at = floats(shape.output_elements());
  return made;
}

class XnnpackConvolution : public PreparedConvolution {
 public:
  XnnpackConvolution(SharedThreads threads, const ConvShape& shape)
      : threads_(std::move(threads)),
        shape_(shape),
        plan_(xnnpack_plan(shape)),
        scratch_(plan_.plan.bytes()),
        pool_(xnnpack().create_pool(static_cast<std::size_t>(threads_->count()))) {}
  ~XnnpackConvolution() override { xnnpack().destroy_pool(pool_); }

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    const ConvShape& s = shape_;
    const std::int64_t in = s.height * s.width, out = s.output_height() * s.output_width();
    float* const input = scratch_.at(plan_.input_at);
    float* const output = scratch_.at(plan_.output_at);
    marks.begin(KernelRole::transpose);
    for_images(static_cast<const float*>(tensors.input), s.channels, in, input);
    const xnn_operator_t operation = made_of(static_cast<const float*>(tensors.weights));
    xnn_status status = xnnpack().setup(operation, static_cast<std::size_t>(s.batch),
                                        static_cast<std::size_t>(s.height),
                                        static_cast<std::size_t>(s.width), input, output, pool_);
    if (status == xnn_status_success) {
      marks.begin(KernelRole::direct);
      status = xnnpack().run(operation, pool_);
    }
    marks.begin(KernelRole::transpose);
    xnnpack().destroy(operation);
    check_xnnpack(status, "a run");
    for_images(output, out, s.filters, static_cast<float*>(tensors.output));
  }

 private:
  void for_images(const float* from, std::int64_t rows, std::int64_t columns, float* to) const {
    threads_->for_each(shape_.batch, [&](std::int64_t image, int) {
      transpose(from + image * rows * columns, rows, columns, to + image * rows * columns);
    });
  }

  /// An operator with the weights in its own order: [filter][row][column][channel].
  xnn_operator_t made_of(const float* weights) {
    const ConvShape& s = shape_;
    const std::int64_t channels = s.channels / s.groups, window = s.kernel_height * s.kernel_width;
    float* const turned = scratch_.at(plan_.weights_at);
    threads_->for_each(s.filters, [&](std::int64_t filter, int) {
      const std::int64_t at = filter * channels * window;
      transpose(weights + at, channels, window, turned + at);
    });
    const auto narrow = [](std::int64_t size) { return static_cast<std::uint32_t>(size); };
    constexpr float most = std::numeric_limits<float>::infinity();
    xnn_operator_t operation = nullptr;
    check_xnnpack(
        xnnpack().create(
            narrow(s.pad_height), narrow(s.pad_width), narrow(s.pad_height), narrow(s.pad_width),
            narrow(s.kernel_height), narrow(s.kernel_width), narrow(s.stride_height),
            narrow(s.stride_width), narrow(s.dilation_height), narrow(s.dilation_width),
            narrow(s.groups), static_cast<std::size_t>(channels),
            static_cast<std::size_t>(s.filters / s.groups), static_cast<std::size_t>(s.channels),
            static_cast<std::size_t>(s.filters), turned, nullptr, -most, most, 0, &operation),
        "a convolution");
    return operation;
  }

  SharedThreads threads_;
  ConvShape shape_;
  XnnpackPlan plan_;
  Scratch scratch_;
  pthreadpool_t pool_;
};

class XnnpackStrategy : public ConvStrategy {
 public:
  explicit XnnpackStrategy(SharedThreads threads) : threads_(std::move(threads)) {}
  std::string_view name() const override { return "xnnpack"; }
  bool is_vendor() const override { return true; }

  std::optional<std::string> refusal(const ConvProblem& problem) const override {
    if (auto reason = type_refusal(problem)) return reason;
    if (problem.pass != ConvPass::forward) return "XNNPACK has no gradients";
    const ConvShape& s = problem.shape;
    for (const std::int64_t size : {s.pad_height, s.pad_width, s.stride_height, s.stride_width,
                                    s.dilation_height, s.dilation_width, s.groups})
      if (size > std::numeric_limits<std::uint32_t>::max()) return "a size beyond 32 bits";
    try {
      xnnpack();
    } catch (const Error& error) {
      return error.what();
    }
    return std::nullopt;
  }
  std::int64_t scratch_bytes(const ConvProblem& problem) const override {
    return xnnpack_plan(problem.shape).plan.bytes();
  }
  std::optional<std::int64_t> flop(const ConvProblem& problem) const override {
    return direct_flop(problem.shape);
  }
  double tolerance(const ConvProblem& problem) const override {
    return rounding_tolerance(problem);
  }
  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem& problem) const override {
    return std::make_unique<XnnpackConvolution>(threads_, problem.shape);
  }

 private:
  SharedThreads threads_;
};

}  // namespace

std::unique_ptr<ConvStrategy> xnnpack_strategy(const SharedThreads& threads) {
  return std::make_unique<XnnpackStrategy>(threads);
}

}  // namespace strata::cpu
