// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/bench_tensors.hpp"

#include "strata/base/checked.hpp"
#include "strata/convolution/lab/encoded_numbers.hpp"
#include "strata/convolution/lab/lab.hpp"
#include "strata/convolution/lab/on_all_cores.hpp"

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

// Multiplications of the reference: some tenths of a second on one core.
constexpr std::int64_t all_budget = 20'000'000;
constexpr std::int64_t sampled_budget = 50'000'000;
constexpr std::int64_t least_sampled = 48;
constexpr std::int64_t most_sampled = 512;

std::int64_t products_of_one(const ConvShape& shape, ConvPass pass) {
  switch (pass) {
    case ConvPass::forward:
      return checked_mul(shape.channels / shape.groups, shape.kernel_height, shape.kernel_width);
    case ConvPass::input_gradient:
      return checked_mul(shape.filters / shape.groups, shape.kernel_height, shape.kernel_width);
    case ConvPass::weight_gradient:
      return checked_mul(shape.batch, shape.output_height(), shape.output_width());
  }
  return 1;
}

std::byte* moved(const std::shared_ptr<void>& memory, std::int64_t bytes) {
  return static_cast<std::byte*>(memory.get()) + bytes;
}

}  // namespace

std::vector<std::int64_t> checked_indices(const ConvShape& shape, ConvPass pass,
                                          std::uint64_t seed) {
  const std::int64_t elements = result_elements(shape, pass);
  const std::int64_t each = std::max<std::int64_t>(1, products_of_one(shape, pass));
  const bool is_small = elements <= all_budget / each;
  const std::int64_t wanted = std::clamp(sampled_budget / each, least_sampled, most_sampled);
  const std::int64_t count = is_small ? elements : std::min(elements, wanted);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  const std::vector<float> random = random_numbers(count, DType::fp32, seed);
  for (std::int64_t i = 0; i < count; ++i) {
    // One at a random place of each of `count` equal stretches; the first and the last number
    // always, where padding and partial tiles are.
    const std::int64_t begin = elements / count * i + std::min(i, elements % count);
    const std::int64_t end = elements / count * (i + 1) + std::min(i + 1, elements % count);
    const double share = (static_cast<double>(random[static_cast<std::size_t>(i)]) + 1) / 2;
    const auto within = static_cast<std::int64_t>(share * static_cast<double>(end - begin));
    std::int64_t index = std::min(begin + within, end - 1);
    if (i == 0) index = 0;
    if (i == count - 1) index = elements - 1;
    indices[static_cast<std::size_t>(i)] = index;
  }
  return indices;
}

BenchTensors::BenchTensors(ConvDevice& device, const ConvShape& shape, DType dtype,
                           std::uint64_t seed)
    : device_(device), shape_(shape), dtype_(dtype), seed_(seed) {
  const std::int64_t elements[] = {shape.input_elements(), shape.weight_elements(),
                                   shape.output_elements()};
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    tensors_[i].elements = elements[i];
    tensors_[i].memory = device.allocate(elements[i] * bytes_per_element(dtype));
  }
}

std::int64_t BenchTensors::bytes() const {
  std::int64_t elements = 0;
  for (const OneTensor& tensor : tensors_) elements += tensor.elements;
  return elements * bytes_per_element(dtype_);
}

ConvTensors BenchTensors::on_device() const {
  return {tensors_[input].memory.get(), tensors_[weights].memory.get(),
          tensors_[output].memory.get()};
}

BenchTensors::Which BenchTensors::written_by(ConvPass pass) {
  switch (pass) {
    case ConvPass::forward: return output;
    case ConvPass::input_gradient: return input;
    case ConvPass::weight_gradient: return weights;
  }
  return output;
}

void BenchTensors::bring(Which which) {
  OneTensor& tensor = tensors_[which];
  if (tensor.is_current) return;
  if (tensor.numbers.empty())
    tensor.numbers = random_numbers(tensor.elements, dtype_, seed_ * 3 + which);
  if (bytes_per_element(dtype_) == sizeof(float)) {
    device_.upload(tensor.memory.get(), tensor.numbers.data(),
                   tensor.elements * static_cast<std::int64_t>(sizeof(float)));
  } else {
    const auto bytes = encoded(tensor.numbers, dtype_);
    device_.upload(tensor.memory.get(), bytes.data(), static_cast<std::int64_t>(bytes.size()));
  }
  tensor.is_current = true;
}

bool BenchTensors::is_whole(const Expected& expected, const OneTensor& tensor) const {
  return static_cast<std::int64_t>(expected.indices.size()) == tensor.elements;
}

void BenchTensors::poison(Which which, const Expected& expected) {
  OneTensor& tensor = tensors_[which];
  tensor.is_current = false;
  const std::int64_t width = bytes_per_element(dtype_);
  const std::size_t count = is_whole(expected, tensor) ? expected.indices.size() : 1;
  const auto bytes = encoded(std::vector<float>(count, NAN), dtype_);
  if (count == expected.indices.size() && is_whole(expected, tensor)) {
    device_.upload(tensor.memory.get(), bytes.data(), static_cast<std::int64_t>(bytes.size()));
    return;
  }
  for (const std::int64_t index : expected.indices)
    device_.upload(moved(tensor.memory, index * width), bytes.data(), width);
}

void BenchTensors::prepare_for(ConvPass pass) {
  pass_ = pass;
  const Which written = written_by(pass);
  for (const Which which : {input, weights, output}) {
    if (which != written) bring(which);
  }
  poison(written, expected_of(pass));
}

const BenchTensors::Expected& BenchTensors::expected_of(ConvPass pass) {
  auto& expected = expected_[static_cast<std::size_t>(pass)];
  if (expected) return *expected;
  expected.emplace();
  expected->indices = checked_indices(shape_, pass, seed_);
  expected->values.resize(expected->indices.size());
  const ConvData data{tensors_[input].numbers, tensors_[weights].numbers, tensors_[output].numbers};
  const std::int64_t least = std::max<std::int64_t>(
      1, 1'000'000 / std::max<std::int64_t>(1, products_of_one(shape_, pass)));
  const auto count = static_cast<std::int64_t>(expected->indices.size());
  on_all_cores(count, least, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      expected->values[i] = reference_element(shape_, pass, data, expected->indices[i]);
  });
  return *expected;
}

ConvCheck BenchTensors::checked() {
  const Expected& expected = expected_of(pass_);
  const OneTensor& tensor = tensors_[written_by(pass_)];
  const auto width = static_cast<std::size_t>(bytes_per_element(dtype_));
  std::vector<std::byte> bytes(expected.indices.size() * width);
  if (is_whole(expected, tensor)) {
    device_.download(bytes.data(), tensor.memory.get(), static_cast<std::int64_t>(bytes.size()));
  } else {
    for (std::size_t i = 0; i < expected.indices.size(); ++i) {
      device_.download(bytes.data() + i * width,
                       moved(tensor.memory, expected.indices[i] * static_cast<std::int64_t>(width)),
                       static_cast<std::int64_t>(width));
    }
  }
  return {relative_error(decoded(bytes, dtype_), expected.values),
          static_cast<std::int64_t>(expected.indices.size())};
}

std::optional<HostTransfers> BenchTensors::input_transfers() {
  if (!transfers_)
    transfers_ = device_.host_transfers(tensors_[input].elements * bytes_per_element(dtype_));
  return *transfers_;
}

}  // namespace strata
