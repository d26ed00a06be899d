// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/direct.hpp"
#include "strata/convolution/cpu/direct_kernels.hpp"
#include "strata/convolution/cpu/scratch.hpp"
#include "strata/convolution/cpu/tap_plan.hpp"

#include <algorithm>
#include <array>

namespace strata::cpu {
namespace {

struct DirectProductsPlan {
  TapPlan taps;
  std::int64_t images = 1;
  std::int64_t gradient_floats = 0;  ///< of one filter: its frame, zeros, whole vectors
  std::int64_t slack = 0;            ///< read beyond the last plane
  std::int64_t planes = 0, gradients = 0;
  ScratchPlan scratch;
};

DirectProductsPlan products_plan(const ConvShape& s) {
  DirectProductsPlan p;
  p.taps = forward_taps(s);
  p.gradient_floats = checked_add(checked_mul(s.output_height(), p.taps.plane_width), 15) / 16 * 16;
  const std::int64_t image_planes = checked_mul(s.channels, p.taps.channel_floats());
  const std::int64_t image_gradients = checked_mul(s.filters, p.gradient_floats);
  p.images = images_at_once(s.batch, checked_add(image_planes, image_gradients));
  p.slack = p.taps.plane_width - s.output_width() + vector_slack;
  p.planes = p.scratch.add(checked_add(checked_mul(p.images, image_planes), p.slack));
  p.gradients = p.scratch.add(checked_mul(p.images, image_gradients));
  return p;
}

class DirectProducts : public PreparedConvolution {
 public:
  DirectProducts(const ConvProblem& problem, SharedThreads threads)
      : threads_(std::move(threads)),
        shape_(problem.shape),
        plan_(products_plan(problem.shape)),
        scratch_(plan_.scratch.bytes()) {
    for (std::int64_t c = 0; c < channels(); ++c) {
      for (const Tap& tap : plan_.taps.phases[0].taps) {
        sources_.push_back(c * plan_.taps.channel_floats() + tap.offset);
      }
    }
  }

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    for (std::int64_t image = 0; image < shape_.batch; image += plan_.images) {
      const std::int64_t images = std::min(plan_.images, shape_.batch - image);
      marks.begin(KernelRole::copy);
      fill(tensors, image, images);
      marks.begin(KernelRole::direct);
      const std::int64_t blocks = (filters() + most_gradients - 1) / most_gradients;
      const auto sources = static_cast<std::int64_t>(sources_.size());
      const std::int64_t rows = shape_.groups * blocks;
      const std::int64_t most = (sources + most_sources - 1) / most_sources;
      const std::int64_t splits =
          std::clamp<std::int64_t>(4 * threads_->count() / rows + 1, 1, most);
      threads_->for_each(rows * splits, [&](std::int64_t i, int) {
        const std::int64_t row = i / splits;
        const std::int64_t begin = most * (i % splits) / splits * most_sources;
        const std::int64_t end = std::min(sources, most * (i % splits + 1) / splits * most_sources);
        multiply(row / blocks, row % blocks * most_gradients, begin, end, images, image > 0,
                 static_cast<float*>(tensors.weights));
      });
    }
  }

 private:
  std::int64_t channels() const { return shape_.channels / shape_.groups; }
  std::int64_t filters() const { return shape_.filters / shape_.groups; }

  void fill(const ConvTensors& tensors, std::int64_t image, std::int64_t images) {
    const auto* input = static_cast<const float*>(tensors.input);
    const auto* gradient = static_cast<const float*>(tensors.output);
    float* const planes = scratch_.at(plan_.planes);
    const std::int64_t inputs = images * shape_.channels;
    const std::int64_t columns = shape_.output_width();
    const std::int64_t width = plan_.taps.plane_width;
    threads_->for_each(inputs + images * shape_.filters, [&](std::int64_t i, int) {
      if (i < inputs) {
        fill_planes(plan_.taps,
                    input + (image * shape_.channels + i) * shape_.height * shape_.width,
                    shape_.height, shape_.width, planes + i * plan_.taps.channel_floats());
        return;
      }
      i -= inputs;
      float* to = scratch_.at(plan_.gradients) + i * plan_.gradient_floats;
      float* const end = to + plan_.gradient_floats;
      const float* from =
          gradient + (image * shape_.filters + i) * shape_.output_height() * columns;
      for (std::int64_t y = 0; y < shape_.output_height(); ++y, from += columns, to += width) {
        std::copy_n(from, columns, to);
        std::fill_n(to + columns, width - columns, 0.0F);
      }
      std::fill(to, end, 0.0F);
    });
    // Met by zeros only, but zero times what memory happens to hold may be no number.
    std::fill_n(planes + inputs * plan_.taps.channel_floats(), plan_.slack, 0.0F);
  }

  void multiply(std::int64_t group, std::int64_t filter, std::int64_t begin, std::int64_t end,
                std::int64_t images, bool adds, float* weights) {
    const auto row = static_cast<std::int64_t>(sources_.size());
    std::array<float, most_gradients * most_sources> sums{};
    TapProducts products{
        .gradient =
            scratch_.at(plan_.gradients) + (group * filters() + filter) * plan_.gradient_floats,
        .gradients = std::min(most_gradients, filters() - filter),
        .gradient_step = plan_.gradient_floats,
        .gradient_image_step = shape_.filters * plan_.gradient_floats,
        .source = scratch_.at(plan_.planes) + group * channels() * plan_.taps.channel_floats(),
        .source_image_step = shape_.channels * plan_.taps.channel_floats(),
        .images = images,
        .pixels = plan_.gradient_floats,
        .result = sums.data()};
    for (std::int64_t first = begin; first < end; first += most_sources) {
      products.sources = std::min(most_sources, end - first);
      products.source_offsets = sources_.data() + first;
      multiply_taps(products);
      for (std::int64_t i = 0; i < products.gradients; ++i) {
        float* const to = weights + (group * filters() + filter + i) * row + first;
        for (std::int64_t j = 0; j < products.sources; ++j) {
          const float sum = sums[static_cast<std::size_t>(i * products.sources + j)];
          to[j] = adds ? to[j] + sum : sum;
        }
      }
    }
  }

  SharedThreads threads_;
  ConvShape shape_;
  DirectProductsPlan plan_;
  Scratch scratch_;
  std::vector<std::int64_t> sources_;  ///< offset of every channel and tap of a group
};

}  // namespace

std::unique_ptr<PreparedConvolution> prepare_direct_products(const ConvProblem& problem,
                                                             const SharedThreads& threads) {
  if (auto prepared = prepare_filter_products(problem, threads)) return prepared;
  return std::make_unique<DirectProducts>(problem, threads);
}

std::int64_t direct_products_bytes(const ConvProblem& problem, int threads) {
  if (const auto bytes = filter_products_bytes(problem, threads)) return *bytes;
  return products_plan(problem.shape).scratch.bytes();
}

}  // namespace strata::cpu
