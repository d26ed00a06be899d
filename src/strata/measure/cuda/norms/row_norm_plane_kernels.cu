// SPDX-License-Identifier: Apache-2.0
// A thread has a part of one plane. The sums of each plane are what the weights' gradients add up,
// and those of a group's planes make what dx needs.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/norms/row_norm_gradient.cuh"

namespace strata::cuda::train {
namespace {

constexpr int most_threads = 512, most_threads_beside = 1024;

/// threadIdx.y is a plane: of the block's group; or, where a group has one, a group. With
/// `is_beside`, dy is in shared memory: registers have room for one of two long planes.
template <class T, int width, int count, bool is_beside>
__global__ void __launch_bounds__(is_beside ? most_threads_beside : most_threads, least_blocks<T>)
    take_planes(RowNorm norm, GradientArrays<T> arrays) {
  using A = Compute<T>;
  using P = Items<T, width>;
  __shared__ SumPair<A> parts[warp_threads], plane_parts[warp_threads];
  const std::int64_t group_planes = norm.length / norm.inner;
  const bool is_group = group_planes == 1;
  const std::int64_t plane =
      blockIdx.x * (is_group ? std::int64_t{blockDim.y} : group_planes) + threadIdx.y;
  const bool is_there = is_group ? plane < norm.rows : threadIdx.y < group_planes;
  const unsigned pieces = is_there ? static_cast<unsigned>(norm.inner / width) : 0;
  RowPieces<T, width, count, is_beside> d;
  RowPieces<T, width, count, false> x;
  d.read(arrays.dy + plane * norm.inner, pieces);
  x.read(arrays.x + plane * norm.inner, pieces);
  NormSlope<A> slope(arrays.statistics, is_group ? plane : blockIdx.x, is_there);
  A scale = 1;
  if (is_there && arrays.scale != nullptr) scale = value(arrays.scale[plane % norm.entries()]);
  d.wait();
  SumPair<A> of_plane{0, 0};
#pragma unroll
  for (int k = 0; k < count; ++k) {
    if (piece_at(k) >= pieces) continue;
    const P dk = d[k], xk = x[k];
#pragma unroll
    for (int j = 0; j < width; ++j) {
      const A dy = value(dk.item[j]);
      of_plane = of_plane + SumPair<A>{dy * slope.normalized(value(xk.item[j])), dy};
    }
  }
  // Over a plane, or what a warp has of it; then over the planes of the group.
  const unsigned team = blockDim.x;
  of_plane = over_lanes(of_plane, Sum{}, 1, team < warp_threads ? team : warp_threads);
  SumPair<A> of_group{of_plane.first * scale, of_plane.second * scale};
  if (!is_group || team > warp_threads) {
    of_group = over_lanes(of_group, Sum{}, team, warp_threads);
    const unsigned warp = thread_of_block() / warp_threads;
    if (thread_of_block() % warp_threads == 0) plane_parts[warp] = of_plane;
    of_group = over_warps(of_group, Sum{}, SumPair<A>{0, 0}, parts);
    if (threadIdx.x == 0) {
      for (unsigned i = 1; i < team / warp_threads; ++i)
        of_plane = of_plane + plane_parts[warp + i];
    }
  }
  if (threadIdx.x == 0 && is_there && arrays.partials != nullptr) arrays.partials[plane] = of_plane;
  if (arrays.dx == nullptr) return;
  slope.take(norm, of_group);
#pragma unroll
  for (int k = 0; k < count; ++k) {
    if (piece_at(k) >= pieces) continue;
    const P dk = d[k], xk = x[k];
    P out;
#pragma unroll
    for (int j = 0; j < width; ++j) {
      const A dy = value(dk.item[j]);
      out.item[j] = stored<T>(slope(dy * scale, slope.normalized(value(xk.item[j]))));
    }
    reinterpret_cast<P*>(arrays.dx + plane * norm.inner)[piece_at(k)] = out;
  }
}

/// A block's [planes] × [threads of a plane], with `each` pieces for a thread.
RowTeams plane_teams(const RowNorm& norm, std::int64_t pieces, int each) {
  const std::int64_t group_planes = norm.length / norm.inner;
  std::int64_t team = 1, planes = group_planes;
  while (team < warp_threads && team * each < pieces) team *= 2;
  if (team * each < pieces) team = whole_warps(parts_of(pieces, each));
  if (group_planes == 1 && team <= warp_threads) {
    planes = threads_per_block / team;
  } else if (team < warp_threads) {
    planes = whole_warps(planes * team) / team;
  }
  return {static_cast<int>(team), static_cast<int>(planes), each};
}

struct PlanePlan {
  RowTeams teams;
  bool is_beside = false;
};

template <class T, int width>
PlanePlan plan_of(const RowNorm& norm) {
  // Sums of small planes would take as long to move as their numbers.
  constexpr std::int64_t least_plane = 32, most_of_a_group = 1 << 20;
  if (norm.inner < least_plane || norm.inner % width != 0 || norm.length > most_of_a_group)
    return {};
  constexpr int most = most_pieces<T, width>;
  for (const int each : {most / 2, most}) {
    const RowTeams teams = plane_teams(norm, norm.inner / width, each);
    if (teams.threads() <= most_threads) return {teams, false};
    if (each == most && width > 1 && teams.threads() <= most_threads_beside) return {teams, true};
  }
  return {};
}

template <class T, int width>
bool launch_planes(const RowNorm& norm, const RowNormMemory& memory, cudaStream_t stream) {
  constexpr int most = most_pieces<T, width>;
  const PlanePlan plan = plan_of<T, width>(norm);
  if (!plan.teams.exist()) return false;
  const unsigned blocks =
      norm.length == norm.inner ? plan.teams.blocks(norm.rows) : static_cast<unsigned>(norm.rows);
  const auto launch = [&](auto kernel, int bytes) {
    kernel<<<blocks, plan.teams.block(), static_cast<unsigned>(bytes), stream>>>(
        norm, GradientArrays<T>(memory));
  };
  if (plan.is_beside) {
    if constexpr (width > 1) {
      const auto kernel = take_planes<T, width, most, true>;
      const int bytes = RowPieces<T, width, most, true>::bytes(plan.teams.threads());
      if (!takes_beside_registers(kernel, bytes)) return false;
      launch(kernel, bytes);
    }
  } else if (plan.teams.pieces == most) {
    launch(take_planes<T, width, most, false>, 0);
  } else {
    launch(take_planes<T, width, most / 2, false>, 0);
  }
  return true;
}

}  // namespace

std::int64_t gradient_by_planes(const RowNorm& norm, const RowNormMemory& memory,
                                cudaStream_t stream) {
  bool is_done = false;
  with_element_type(norm.dtype, [&](auto element) {
    using T = decltype(element);
    const bool is_whole = norm.inner % Pack<T>::size == 0 && is_gradient_aligned(memory);
    with_piece_width<T>(is_whole, [&](auto width) {
      is_done = launch_planes<T, width.value>(norm, memory, stream);
    });
  });
  STRATA_CUDA_CALL(cudaGetLastError());
  return is_done ? norm.rows / norm.groups : 0;
}

std::int64_t most_plane_parts(const RowNorm& norm) {
  bool exists = false;
  with_element_type(norm.dtype, [&](auto element) {
    using T = decltype(element);
    exists = plan_of<T, 1>(norm).teams.exist() || plan_of<T, Pack<T>::size>(norm).teams.exist();
  });
  return exists ? norm.rows / norm.groups : 0;
}

}  // namespace strata::cuda::train
