// SPDX-License-Identifier: Apache-2.0
// strata_convolution_suite [--shares | FILE [EVERY]]: the sweeps and layers of the paper's suite on
// this GPU, every strategy and some variants of ours, forward; the gradients at the base point and
// the layers. A line of the table per measurement, then our best against the best of cuDNN. First,
// how near our kernels come to what bounds them: to cuBLAS on the same product, and to the memory's
// bandwidth.
#include "strata/base/error.hpp"
#include "strata/convolution/cuda/context.cuh"
#include "strata/convolution/cuda/fft_strategy.cuh"
#include "strata/convolution/lab/reference.hpp"
#include "strata/measure/ceilings/ceilings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>

namespace strata {
namespace {

struct Point {
  std::string axis;
  ConvShape shape;
  bool has_gradients = false;
};

ConvShape paper_shape(int b, int i, int f, int k, int s, int c) {
  ConvShape shape;
  shape.batch = b, shape.channels = c, shape.height = shape.width = i, shape.filters = f;
  shape.kernel_height = shape.kernel_width = k;
  shape.stride_height = shape.stride_width = s;
  return shape;
}

std::vector<Point> paper_suite() {
  std::vector<Point> points;
  const auto add = [&](std::string axis, int b, int i, int f, int k, int s, int c = 3,
                       bool all = false) {
    points.push_back({std::move(axis), paper_shape(b, i, f, k, s, c), all});
  };
  add("base", 64, 128, 64, 11, 1, 3, true);
  add("conv1", 128, 128, 96, 11, 1, 3, true);
  add("conv2", 128, 128, 96, 3, 1, 3, true);
  add("conv3", 128, 32, 128, 9, 1, 128, true);
  add("conv4", 128, 16, 128, 7, 1, 128, true);
  add("conv5", 128, 13, 384, 3, 1, 384, true);
  for (int k = 2; k <= 13; ++k) add("k", 64, 128, 64, k, 1);
  for (int s = 2; s <= 4; ++s) add("s", 64, 128, 64, 11, s);
  for (int i = 32; i <= 256; i += 16) add("i", 64, i, 64, 11, 1);
  for (int b = 32; b <= 512; b += 32) add("b", b, 128, 64, 11, 1);
  for (int f = 32; f <= 512; f += 16) add("f", 64, 128, f, 11, 1);
  return points;
}

class Marks final : public RoleMarks {
 public:
  void begin(KernelRole) override {}
};

/// An event where each role begins.
class EventMarks final : public RoleMarks {
 public:
  explicit EventMarks(cudaStream_t stream) : stream_(stream) {}
  void begin(KernelRole role) override {
    roles_.push_back(role);
    events_.push_back(std::make_unique<cuda::Event>());
    events_.back()->record(stream_);
  }
  /// Ends the last role.
  double seconds_of(KernelRole role) {
    begin(KernelRole::other);
    double sum = 0;
    for (std::size_t i = 0; i + 1 < roles_.size(); ++i)
      if (roles_[i] == role) sum += events_[i + 1]->seconds_since(*events_[i]);
    return sum;
  }
  std::string text() {
    begin(KernelRole::other);
    std::string line;
    for (std::size_t i = 0; i + 1 < roles_.size() && i < 6; ++i)
      line += fmt::format("{}{} {:.3f}", i == 0 ? "" : ", ", name_of(roles_[i]),
                          1e3 * events_[i + 1]->seconds_since(*events_[i]));
    return line;
  }

 private:
  cudaStream_t stream_;
  std::vector<KernelRole> roles_;
  std::vector<std::unique_ptr<cuda::Event>> events_;
};

/// Tensors of one point, shared by its passes and strategies.
struct Tensors {
  std::vector<std::shared_ptr<void>> memory;
  std::vector<float> input, weights, output;
  ConvTensors on_device;

  explicit Tensors(const ConvShape& shape) {
    std::uint32_t state = 1;  // quick and coarse: half a billion numbers are drawn
    const auto fill = [&](std::vector<float>& tensor, std::int64_t elements) {
      tensor.resize(static_cast<std::size_t>(elements));
      for (float& value : tensor) {
        state = state * 1664525U + 1013904223U;
        value = static_cast<float>(static_cast<int>(state >> 24) - 128) / 128.0F;
      }
      memory.push_back(cuda::device_memory(elements * 4));
      upload(memory.back().get(), tensor);
      return memory.back().get();
    };
    on_device.input = fill(input, shape.input_elements());
    on_device.weights = fill(weights, shape.weight_elements());
    on_device.output = fill(output, shape.output_elements());
  }
  static void upload(void* to, const std::vector<float>& from) {
    STRATA_CUDA_CALL(cudaMemcpy(to, from.data(), from.size() * 4, cudaMemcpyHostToDevice));
  }
  /// The first that the pass does not write are what they were.
  std::pair<void*, const std::vector<float>*> written(ConvPass pass) const {
    if (pass == ConvPass::forward) return {on_device.output, &output};
    if (pass == ConvPass::input_gradient) return {on_device.input, &input};
    return {on_device.weights, &weights};
  }
};

double time_ms(PreparedConvolution& prepared, const ConvTensors& tensors, cudaStream_t stream) {
  Marks marks;
  prepared.run(tensors, marks);
  double sum = 0;
  int samples = 0;
  for (; samples < 10 && (samples < 3 || sum < 0.03); ++samples) {
    const cuda::Event start, end;
    start.record(stream);
    prepared.run(tensors, marks);
    end.record(stream);
    sum += end.seconds_since(start);
  }
  return 1e3 * sum / samples;
}

double sampled_error(const Tensors& tensors, const ConvProblem& problem,
                     std::map<std::int64_t, double>& reference) {
  const auto [device, host] = tensors.written(problem.pass);
  std::vector<float> seen;
  std::vector<double> expected;
  const ConvData data = {tensors.input, tensors.weights, tensors.output};
  std::mt19937_64 random(9);
  for (int i = 0; i < 12; ++i) {
    const auto at = static_cast<std::int64_t>(random() % host->size());
    if (!reference.contains(at))
      reference[at] = reference_element(problem.shape, problem.pass, data, at);
    float value = 0;
    STRATA_CUDA_CALL(
        cudaMemcpy(&value, static_cast<const float*>(device) + at, 4, cudaMemcpyDeviceToHost));
    seen.push_back(value);
    expected.push_back(reference[at]);
  }
  return relative_error(seen, expected);
}

struct Best {
  double ms = INFINITY;
  std::string name = "-";
  void take(double other, std::string_view by) {
    if (other < ms) ms = other, name = by;
  }
};

/// C[m × n] = A[m × k] B[k × n] by cuBLAS; beside the convolution of the same shape.
double product_ms(const cuda::ConvContext& context, std::int64_t m, std::int64_t n,
                  std::int64_t k) {
  const auto a = cuda::device_memory(4 * m * k), b = cuda::device_memory(4 * k * n),
             c = cuda::device_memory(4 * m * n);
  STRATA_CUDA_CALL(cudaMemset(a.get(), 0x3c, static_cast<std::size_t>(4 * m * k)));
  STRATA_CUDA_CALL(cudaMemset(b.get(), 0x3d, static_cast<std::size_t>(4 * k * n)));
  cuda::BatchedProduct product;
  product.m = m, product.n = n, product.k = k;
  product.a = {a.get(), k, 0, false}, product.b = {b.get(), n, 0, false};
  product.c = c.get(), product.c_stride = n;
  double sum = 0;
  for (int i = -1; i < 5; ++i) {
    const cuda::Event start, end;
    start.record(context.stream.get());
    context.cublas->multiply(product);
    end.record(context.stream.get());
    const double seconds = end.seconds_since(start);
    if (i >= 0) sum += seconds;
  }
  return 1e3 * sum / 5;
}

void print_product_share(const cuda::SharedContext& context, const ConvShape& shape) {
  cuda::StrategyList list;
  cuda::add_implicit(list, context);
  const ConvProblem problem{shape};
  const Tensors tensors(shape);
  const auto prepared = list.front()->prepare(problem);
  const double ours = time_ms(*prepared, tensors.on_device, context->stream.get());
  const std::int64_t m = shape.filters, k = shape.weight_elements() / shape.filters;
  const std::int64_t n = shape.output_elements() / shape.filters;
  const double theirs = product_ms(*context, m, n, k);
  const auto tera = [&](double ms) { return static_cast<double>(direct_flop(shape)) / ms * 1e-9; };
  fmt::print(
      "{}: implicit {:.3f} ms, {:.1f} TFLOP/s; cuBLAS on {} x {} x {} {:.3f} ms, {:.1f} "
      "TFLOP/s: {:.0f} %\n",
      to_text(shape), ours, tera(ours), m, n, k, theirs, tera(theirs), 100 * theirs / ours);
}

/// The copy of a large array: what a kernel that reads and writes can reach.
double copy_bytes_per_s(cudaStream_t stream) {
  constexpr std::size_t bytes = std::size_t{1} << 30;
  const cuda::DeviceBuffer from(bytes), to(bytes);
  double best = 0;
  for (int i = 0; i < 6; ++i) {
    const cuda::Event start, end;
    start.record(stream);
    STRATA_CUDA_CALL(
        cudaMemcpyAsync(to.get(), from.get(), bytes, cudaMemcpyDeviceToDevice, stream));
    end.record(stream);
    best = std::max(best, 2.0 * bytes / end.seconds_since(start));
  }
  return best;
}

/// Bytes that a transform must move over the time of its role. The kernels' own are left out: they
/// are a thousandth of the whole here.
void print_transform_share(const cuda::SharedContext& context, const ConvStrategy& strategy,
                           const ConvProblem& problem, KernelRole role, double bytes,
                           double copy_rate) {
  const Tensors tensors(problem.shape);
  const auto prepared = strategy.prepare(problem);
  time_ms(*prepared, tensors.on_device, context->stream.get());
  EventMarks marks(context->stream.get());
  prepared->run(tensors.on_device, marks);
  const double rate = bytes / marks.seconds_of(role);
  fmt::print("{} {} {}: {} moves {:.0f} MB at {:.2f} TB/s, {:.0f} % of a copy's {:.2f}\n",
             strategy.name(), name_of(problem.pass), to_text(problem.shape), name_of(role),
             bytes * 1e-6, rate * 1e-12, 100 * rate / copy_rate, copy_rate * 1e-12);
}

void print_shares(const cuda::SharedContext& context) {
  ConvShape vgg = paper_shape(64, 112, 128, 3, 1, 64);
  vgg.pad_height = vgg.pad_width = 1;
  for (const ConvShape& shape :
       {paper_shape(64, 128, 64, 11, 1, 3), paper_shape(128, 128, 96, 11, 1, 3),
        paper_shape(128, 32, 128, 9, 1, 128), paper_shape(128, 16, 128, 7, 1, 128),
        paper_shape(128, 13, 384, 3, 1, 384), vgg})
    print_product_share(context, shape);
  const double rate = copy_bytes_per_s(context->stream.get());
  const auto fft = cuda::fft_strategy(context, "fft32gemm", {32, false});
  const ConvShape base = paper_shape(64, 128, 64, 11, 1, 3);
  // 64 channels of 6 × 6 tiles with 544 complex numbers each, of 118 × 118 numbers.
  const double spectra = 64.0 * 64 * 36 * 544 * 8, plane = 4.0 * 64 * 64 * 118 * 118;
  print_transform_share(context, *fft, {base, ConvPass::input_gradient}, KernelRole::transform,
                        spectra + plane, rate);
  print_transform_share(context, *fft, {base, ConvPass::forward}, KernelRole::inverse_transform,
                        spectra + plane, rate);
  cuda::StrategyList winograd;
  cuda::add_winograd(winograd, context);
  const auto side = static_cast<double>(vgg.height);
  const double tiles = 64 * side / 4 * side / 4;
  print_transform_share(context, *winograd.back(), {vgg}, KernelRole::transform,
                        4.0 * 64 * (64 * side * side + 36 * tiles), rate);
  print_transform_share(context, *winograd.back(), {vgg}, KernelRole::inverse_transform,
                        4.0 * 128 * (64 * side * side + 36 * tiles), rate);
}

class Suite {
 public:
  Suite(cuda::SharedContext context, std::FILE* table)
      : context_(std::move(context)), table_(table) {
    cuda::add_direct(list_, context_);
    cuda::add_unroll(list_, context_);
    cuda::add_implicit(list_, context_);
    cuda::add_winograd(list_, context_);
    list_.push_back(cuda::fft_strategy(context_, "fft", {}));
    cuda::add_cudnn(list_, context_);
    for (const int n : {16, 32}) {
      variants_.push_back(cuda::fft_strategy(context_, fmt::format("fft{}", n), {n, true}));
      variants_.push_back(cuda::fft_strategy(context_, fmt::format("fft{}gemm", n), {n, false}));
    }
  }

  void run(const Point& point) {
    Tensors tensors(point.shape);
    for (const ConvPass pass : all_conv_passes) {
      if (pass != ConvPass::forward && !point.has_gradients) continue;
      const ConvProblem problem{point.shape, pass, DType::fp32};
      std::map<std::int64_t, double> reference;
      Best ours, theirs;
      std::string line;
      const auto measure = [&](const ConvStrategy& strategy, bool counts) {
        if (strategy.refusal(problem)) return;
        const auto prepared = strategy.prepare(problem);
        const double ms = time_ms(*prepared, tensors.on_device, context_->stream.get());
        const double error = sampled_error(tensors, problem, reference);
        fmt::print(table_, "{}\t{}\t{}\t{}\t{:.4f}\t{:.1f}\t{:.1e}{}\n", point.axis,
                   to_text(point.shape), name_of(pass), strategy.name(), ms,
                   static_cast<double>(strategy.scratch_bytes(problem)) / 1e6, error,
                   error <= 3 * strategy.tolerance(problem) ? "" : "\tWRONG");
        if (!(error <= 3 * strategy.tolerance(problem))) ++wrong_;
        if (counts) (strategy.is_vendor() ? theirs : ours).take(ms, strategy.name());
        if (!strategy.is_vendor() || ms < 1.001 * theirs.ms)
          line += fmt::format(" {}:{:.3f}", strategy.name(), ms);
        if (!strategy.is_vendor() && point.has_gradients) {
          EventMarks marks(context_->stream.get());
          prepared->run(tensors.on_device, marks);
          line += fmt::format(" ({})", marks.text());
        }
      };
      for (const auto& strategy : list_) measure(*strategy, true);
      if (point.has_gradients || point.axis == "k" || point.axis == "i")
        for (const auto& strategy : variants_) measure(*strategy, false);
      const auto [device, host] = tensors.written(pass);
      if (point.has_gradients) Tensors::upload(device, *host);
      std::fflush(table_);
      fmt::print("{} {} {} | {} {:.3f} / {} {:.3f} = {:.2f} |{}\n", point.axis,
                 to_text(point.shape), name_of(pass), ours.name, ours.ms, theirs.name, theirs.ms,
                 ours.ms / theirs.ms, line);
      std::fflush(stdout);
      if (pass == ConvPass::forward && std::isfinite(theirs.ms)) {
        logs_ += std::log(ours.ms / theirs.ms);
        ++count_;
        wins_ += ours.ms < theirs.ms;
      }
    }
  }

  int summary() const {
    fmt::print(
        "forward: {} points, ours / cuDNN's best {:.3f} in the geometric mean, faster on {}; "
        "{} results wrong\n",
        count_, std::exp(logs_ / std::max(count_, 1)), wins_, wrong_);
    return wrong_ == 0 ? 0 : 1;
  }

 private:
  cuda::SharedContext context_;
  std::FILE* table_;
  cuda::StrategyList list_, variants_;
  double logs_ = 0;
  int count_ = 0, wins_ = 0, wrong_ = 0;
};

/// Every so many-th point of the sweeps over batch and filters, which are alike.
int run_suite(const char* file, int every) {
  cuda_devices();
  auto context = std::make_shared<cuda::ConvContext>();
  context->cublas = cuda::Cublas::load(context->stream.get(), context->no_cublas);
  if (context->cublas) print_shares(context);
  if (file != nullptr && std::string_view(file) == "--shares") return 0;
  std::FILE* table = file != nullptr ? std::fopen(file, "w") : std::tmpfile();
  if (table == nullptr) fail(ErrorKind::environment, "{}: cannot be written", file);
  fmt::print(table, "axis\tshape\tpass\tstrategy\tms\tscratch_mb\terror\n");
  Suite suite(std::move(context), table);
  int number = 0;
  for (const Point& point : paper_suite())
    if ((point.axis != "b" && point.axis != "f") || number++ % every == 0) suite.run(point);
  std::fclose(table);
  return suite.summary();
}

}  // namespace
}  // namespace strata

int main(int count, char** arguments) {
  try {
    return strata::run_suite(count > 1 ? arguments[1] : nullptr,
                             count > 2 ? std::max(1, std::atoi(arguments[2])) : 1);
  } catch (const strata::Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 3;
  }
}
