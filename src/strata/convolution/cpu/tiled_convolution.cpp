// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/tiled_convolution.hpp"

#include "strata/convolution/cpu/blas.hpp"
#include "strata/convolution/cpu/correlation.hpp"
#include "strata/convolution/cpu/scratch.hpp"
#include "strata/convolution/cpu/sizes.hpp"

#include <algorithm>

namespace strata::cpu {
namespace {

/// Sizes of the matrices and where they stand in the scratch memory; steps are in numbers of T.
struct TiledPlan {
  std::int64_t columns_at_once = 16;
  std::int64_t kernel_row = 16;  ///< kernels of one source channel, whole vectors
  std::int64_t kernel_step = 0, source_step = 0, result_step = 0;  ///< between positions
  std::int64_t kernels = 0, sources = 0, results = 0, work = 0;
  ScratchPlan scratch;
};

template <class T>
TiledPlan tiled_plan(const TileDomain<T>& domain, const Correlation& c, int threads) {
  constexpr std::int64_t floats = sizeof(T) / sizeof(float);
  constexpr std::int64_t together = TileDomain<T>::columns_together;
  // What is transformed at once stays near the cores; products want some columns.
  constexpr std::int64_t most_floats = std::int64_t{4} << 20, least_columns = 64;
  const std::int64_t positions = domain.positions();
  const std::int64_t column_floats =
      checked_mul(floats, positions, c.source_channels + c.result_channels);
  TiledPlan p;
  p.columns_at_once = round_up(
      std::min(domain.columns(), std::max(most_floats / column_floats, least_columns)), together);
  p.kernel_row = round_up(c.result_channels, together);
  // Positions must not lie a power of two apart, as they would share few places of a cache.
  const auto step = [](std::int64_t rows, std::int64_t row) {
    return checked_add(checked_mul(rows, row), together);
  };
  p.kernel_step = step(c.source_channels, p.kernel_row);
  p.source_step = step(c.source_channels, p.columns_at_once);
  p.result_step = step(c.result_channels, p.columns_at_once);
  p.kernels = p.scratch.add(checked_mul(floats, positions, p.kernel_step));
  p.sources = p.scratch.add(checked_mul(floats, positions, p.source_step));
  p.results = p.scratch.add(checked_mul(floats, positions, p.result_step));
  p.work = p.scratch.add(checked_mul(threads, round_up(domain.work_floats(), together)));
  return p;
}

template <class T>
class TiledConvolution : public PreparedConvolution {
 public:
  TiledConvolution(const ConvProblem& problem, std::unique_ptr<TileDomain<T>> domain,
                   SharedThreads threads)
      : threads_(std::move(threads)),
        pass_(problem.pass),
        domain_(std::move(domain)),
        correlation_(correlation_of(problem.shape, problem.pass)),
        plan_(tiled_plan(*domain_, correlation_, threads_->count())),
        scratch_(plan_.scratch.bytes()) {}

  std::int64_t scratch_bytes() const override { return scratch_.bytes(); }

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    const Correlation& c = correlation_;
    const bool is_input_gradient = pass_ == ConvPass::input_gradient;
    auto* const source = static_cast<float*>(is_input_gradient ? tensors.output : tensors.input);
    auto* const result = static_cast<float*>(is_input_gradient ? tensors.input : tensors.output);
    for (std::int64_t group = 0; group < c.groups; ++group) {
      const Group of{source + group * c.source_channels * source_plane(),
                     static_cast<float*>(tensors.weights) + group * c.weights_per_group,
                     result + group * c.result_channels * result_plane()};
      pass_ == ConvPass::weight_gradient ? weight_gradient(of, marks) : correlate(of, marks);
    }
  }

 private:
  struct Group {
    float* source;
    float* weights;
    float* result;
  };

  std::int64_t source_plane() const {
    return correlation_.source_height * correlation_.source_width;
  }
  std::int64_t result_plane() const {
    return correlation_.result_height * correlation_.result_width;
  }
  T* numbers(std::int64_t offset) { return reinterpret_cast<T*>(scratch_.at(offset)); }
  float* work(int thread) {
    return scratch_.at(plan_.work) +
           thread * round_up(domain_->work_floats(), TileDomain<T>::columns_together);
  }

  /// Calls body(row, first, count, thread) for pieces of `count` in each of `rows`, on all threads.
  template <class Body>
  void for_each_piece(std::int64_t rows, std::int64_t count, const Body& body) {
    constexpr std::int64_t piece = 4 * TileDomain<T>::columns_together;
    const std::int64_t pieces = divide_up(count, piece);
    threads_->for_each(rows * pieces, [&](std::int64_t i, int thread) {
      const std::int64_t first = i % pieces * piece;
      body(i / pieces, first, std::min(piece, count - first), thread);
    });
  }

  void transform_sources(const Group& of, ColumnRange which) {
    for_each_piece(correlation_.source_channels, which.count,
                   [&](std::int64_t s, std::int64_t first, std::int64_t count, int thread) {
                     domain_->transform_source(
                         of.source + s * source_plane(), {which.first + first, count},
                         numbers(plan_.sources) + s * plan_.columns_at_once + first,
                         plan_.source_step, work(thread));
                   });
  }

  void correlate(const Group& of, RoleMarks& marks) {
    const Correlation& c = correlation_;
    marks.begin(KernelRole::transform);
    for_each_piece(c.source_channels, c.result_channels,
                   [&](std::int64_t s, std::int64_t first, std::int64_t count, int thread) {
                     domain_->transform_kernels(
                         {of.weights + s * c.weight_step_source + first * c.weight_step_result,
                          c.weight_step_result, count, c.is_flipped},
                         numbers(plan_.kernels) + s * plan_.kernel_row + first, plan_.kernel_step,
                         work(thread));
                   });
    for (std::int64_t first = 0; first < domain_->columns(); first += plan_.columns_at_once) {
      const ColumnRange which{first, std::min(plan_.columns_at_once, domain_->columns() - first)};
      marks.begin(KernelRole::transform);
      transform_sources(of, which);
      marks.begin(KernelRole::gemm);
      multiply_by_kernels(which.count);
      marks.begin(KernelRole::inverse_transform);
      for_each_piece(c.result_channels, which.count,
                     [&](std::int64_t r, std::int64_t begin, std::int64_t count, int thread) {
                       domain_->restore_result(
                           numbers(plan_.results) + r * plan_.columns_at_once + begin,
                           plan_.result_step, {which.first + begin, count},
                           of.result + r * result_plane(), work(thread));
                     });
    }
  }

  void weight_gradient(const Group& of, RoleMarks& marks) {
    const Correlation& c = correlation_;
    for (std::int64_t first = 0; first < domain_->columns(); first += plan_.columns_at_once) {
      const ColumnRange which{first, std::min(plan_.columns_at_once, domain_->columns() - first)};
      marks.begin(KernelRole::transform);
      transform_sources(of, which);
      for_each_piece(c.result_channels, which.count,
                     [&](std::int64_t r, std::int64_t begin, std::int64_t count, int thread) {
                       domain_->transform_gradient(
                           of.result + r * result_plane(), {which.first + begin, count},
                           numbers(plan_.results) + r * plan_.columns_at_once + begin,
                           plan_.result_step, work(thread));
                     });
      marks.begin(KernelRole::gemm);
      multiply_by_gradients(which.count, first > 0);
    }
    marks.begin(KernelRole::inverse_transform);
    for_each_piece(c.source_channels, c.result_channels,
                   [&](std::int64_t s, std::int64_t first, std::int64_t count, int thread) {
                     domain_->restore_kernels(
                         numbers(plan_.kernels) + s * plan_.kernel_row + first, plan_.kernel_step,
                         {of.weights + s * c.weight_step_source + first * c.weight_step_result,
                          c.weight_step_result, count},
                         work(thread));
                   });
  }

  /// Calls body(position, first, count) for shares of `count` at each position.
  template <class Body>
  void for_each_position(std::int64_t count, const Body& body) {
    const std::int64_t positions = domain_->positions();
    const std::int64_t shares = std::min(count, divide_up(2 * threads_->count(), positions));
    threads_->for_each(positions * shares, [&](std::int64_t i, int) {
      const std::int64_t first = count * (i % shares) / shares;
      body(i / shares, first, count * (i % shares + 1) / shares - first);
    });
  }

  /// results[r][column] = Σ over source channels of conj(kernels[s][r]) · sources[s][column]
  void multiply_by_kernels(std::int64_t columns) {
    const Correlation& c = correlation_;
    for_each_position(columns, [&](std::int64_t p, std::int64_t first, std::int64_t count) {
      multiply(Gemm<T>{.m = c.result_channels,
                       .n = count,
                       .k = c.source_channels,
                       .a = numbers(plan_.kernels) + p * plan_.kernel_step,
                       .a_step = plan_.kernel_row,
                       .a_is_transposed = true,
                       .b = numbers(plan_.sources) + p * plan_.source_step + first,
                       .b_step = plan_.columns_at_once,
                       .result = numbers(plan_.results) + p * plan_.result_step + first,
                       .result_step = plan_.columns_at_once});
    });
  }

  /// kernels[s][r] (+)= Σ over columns of sources[s][column] · conj(gradients[r][column])
  void multiply_by_gradients(std::int64_t columns, bool adds) {
    const Correlation& c = correlation_;
    for_each_position(
        c.source_channels, [&](std::int64_t p, std::int64_t first, std::int64_t count) {
          multiply(Gemm<T>{
              .m = count,
              .n = c.result_channels,
              .k = columns,
              .a = numbers(plan_.sources) + p * plan_.source_step + first * plan_.columns_at_once,
              .a_step = plan_.columns_at_once,
              .b = numbers(plan_.results) + p * plan_.result_step,
              .b_step = plan_.columns_at_once,
              .b_is_transposed = true,
              .result = numbers(plan_.kernels) + p * plan_.kernel_step + first * plan_.kernel_row,
              .result_step = plan_.kernel_row,
              .adds = adds});
        });
  }

  SharedThreads threads_;
  ConvPass pass_;
  std::unique_ptr<TileDomain<T>> domain_;
  Correlation correlation_;
  TiledPlan plan_;
  Scratch scratch_;
};

}  // namespace

template <class T>
std::unique_ptr<PreparedConvolution> prepare_tiled(const ConvProblem& problem,
                                                   std::unique_ptr<TileDomain<T>> domain,
                                                   const SharedThreads& threads) {
  return std::make_unique<TiledConvolution<T>>(problem, std::move(domain), threads);
}

template <class T>
std::int64_t tiled_bytes(const ConvProblem& problem, const TileDomain<T>& domain, int threads) {
  return tiled_plan(domain, correlation_of(problem.shape, problem.pass), threads).scratch.bytes();
}

template std::unique_ptr<PreparedConvolution> prepare_tiled(const ConvProblem&,
                                                            std::unique_ptr<TileDomain<float>>,
                                                            const SharedThreads&);
template std::unique_ptr<PreparedConvolution> prepare_tiled(
    const ConvProblem&, std::unique_ptr<TileDomain<std::complex<float>>>, const SharedThreads&);
template std::int64_t tiled_bytes(const ConvProblem&, const TileDomain<float>&, int);
template std::int64_t tiled_bytes(const ConvProblem&, const TileDomain<std::complex<float>>&, int);

}  // namespace strata::cpu
