// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cuda/implicit_product.cuh"
#include "strata/convolution/cuda/implicit_tiles.cuh"

namespace strata::cuda {
namespace {

constexpr int table_threads = 256;

unsigned blocks_of(std::int64_t items, std::int64_t per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

int inner_of(const ConvView& view) {
  return view.in_channels / view.groups * view.kernel_height * view.kernel_width;
}
int padded_inner(const ConvView& view) {
  return (inner_of(view) + inner_step - 1) / inner_step * inner_step + inner_ahead;
}
int packed_rows(const ConvView& view) {
  const int rows = product_plan(view).tile->rows;
  return (view.out_channels / view.groups + rows - 1) / rows * rows;
}

std::int64_t result_elements(const ConvView& view) {
  return static_cast<std::int64_t>(view.batch) * view.out_channels * view.out_height *
         view.out_width;
}

__global__ void add_to(const float* __restrict__ parts, int count, std::int64_t elements,
                       float* __restrict__ results) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * table_threads + threadIdx.x;
  if (i >= elements) return;
  float sum = results[i];
  for (int part = 0; part < count; ++part) sum += parts[part * elements + i];
  results[i] = sum;
}

__global__ void window_table(ConvView view, Lookup how, WindowEntry* table, int entries) {
  const int k = static_cast<int>(blockIdx.x) * table_threads + static_cast<int>(threadIdx.x);
  if (k >= entries) return;
  const int window = view.kernel_height * view.kernel_width;
  const int channel = k / window, tap = k - channel * window;
  const int ky = tap / view.kernel_width, kx = tap - ky * view.kernel_width;
  const int y = ky * view.dilation_height, x = kx * view.dilation_width;
  WindowEntry entry = {channel * view.in_height * view.in_width, 0};
  if (how != Lookup::spread) entry.offset += y * view.in_width + x;
  entry.where =
      how == Lookup::masked ? static_cast<int>(1U << ky | 1U << (most_masked + kx)) : (x << 16 | y);
  if (channel >= view.in_channels / view.groups) {
    // With Lookup::inside, the first number of the window, and the kernels have a zero for it.
    const int far = static_cast<int>(static_cast<unsigned short>(nowhere));
    entry = {0, how == Lookup::masked ? static_cast<int>(nowhere_bit) : (far << 16 | far)};
  }
  table[k] = entry;
}

// [filter][inner] → [inner][filter], a square at a time.
constexpr int square = 32, square_rows = 8;
__global__ void __launch_bounds__(square* square_rows)
    pack(ConvView view, bool is_turned, const float* __restrict__ weights, int rows, int inner_rows,
         float* __restrict__ packed) {
  __shared__ float place[square][square + 1];
  const int filters = view.out_channels / view.groups;
  const int channels = view.in_channels / view.groups;
  const int window = view.kernel_height * view.kernel_width, inner = channels * window;
  const int group = static_cast<int>(blockIdx.z);
  const int k0 = static_cast<int>(blockIdx.x) * square,
            filter0 = static_cast<int>(blockIdx.y) * square;
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  for (int i = y; i < square; i += square_rows) {
    const int filter = filter0 + i, k = k0 + x;
    float value = 0;
    if (filter < filters && k < inner) {
      const int channel = k / window, tap = k - channel * window;
      // Turned: what the view calls a filter is a channel of the weights, and the other way round.
      const int from =
          is_turned ? ((group * channels + channel) * filters + filter) * window + window - 1 - tap
                    : (group * filters + filter) * inner + k;
      value = weights[from];
    }
    place[i][x] = value;
  }
  __syncthreads();
  for (int i = y; i < square; i += square_rows) {
    const int k = k0 + i, filter = filter0 + x;
    if (k < inner_rows && filter < rows)
      packed[(static_cast<std::int64_t>(group) * inner_rows + k) * rows + filter] = place[x][i];
  }
}

}  // namespace

Lookup lookup_of(const ConvView& view) {
  if (view.gap_height > 1 || view.gap_width > 1) return Lookup::spread;
  const bool is_inside =
      view.pad_height <= 0 && view.pad_width <= 0 &&
      (view.out_height - 1) * view.stride_height - view.pad_height + view.extent_height() <=
          view.in_height &&
      (view.out_width - 1) * view.stride_width - view.pad_width + view.extent_width() <=
          view.in_width;
  if (is_inside) return Lookup::inside;
  return view.kernel_height <= most_masked && view.kernel_width <= most_masked ? Lookup::masked
                                                                               : Lookup::checked;
}

int window_entries(const ConvView& view) { return padded_inner(view); }

void fill_window_table(const ConvView& view, Lookup how, WindowEntry* table, cudaStream_t stream) {
  const int entries = window_entries(view);
  window_table<<<blocks_of(entries, table_threads), table_threads, 0, stream>>>(view, how, table,
                                                                                entries);
  STRATA_CUDA_CALL(cudaGetLastError());
}

std::int64_t packed_elements(const ConvView& view) {
  return static_cast<std::int64_t>(view.groups) * padded_inner(view) * packed_rows(view);
}

void pack_kernels(const ConvView& view, bool is_turned, const float* weights, float* packed,
                  cudaStream_t stream) {
  const int rows = packed_rows(view), inner_rows = padded_inner(view);
  const dim3 grid(blocks_of(inner_rows, square), blocks_of(rows, square),
                  static_cast<unsigned>(view.groups));
  pack<<<grid, dim3(square, square_rows), 0, stream>>>(view, is_turned, weights, rows, inner_rows,
                                                       packed);
  STRATA_CUDA_CALL(cudaGetLastError());
}

std::int64_t part_elements(const ConvView& view) {
  return (product_plan(view).parts - 1) * result_elements(view);
}

void implicit_product(const ConvView& view, const WindowEntry* table, const float* packed,
                      const float* images, float* results, float* parts, cudaStream_t stream) {
  const ProductPlan plan = product_plan(view);
  const ProductChoice& tile = *plan.tile;
  const int rows = packed_rows(view);
  const std::int64_t elements = result_elements(view);
  const dim3 grid(blocks_of(elements / view.out_channels, tile.columns) *
                      static_cast<unsigned>(rows / tile.rows),
                  static_cast<unsigned>(plan.parts), static_cast<unsigned>(view.groups));
  tile.kernel_for(lookup_of(view))<<<grid, tile.threads, 0, stream>>>(view, table, packed, rows,
                                                                      images, results, parts);
  STRATA_CUDA_CALL(cudaGetLastError());
  if (plan.parts == 1) return;
  add_to<<<blocks_of(elements, table_threads), table_threads, 0, stream>>>(parts, plan.parts - 1,
                                                                           elements, results);
  STRATA_CUDA_CALL(cudaGetLastError());
}

const void* implicit_kernel(const ConvView& view) {
  return reinterpret_cast<const void*>(product_plan(view).tile->kernel_for(lookup_of(view)));
}

}  // namespace strata::cuda
