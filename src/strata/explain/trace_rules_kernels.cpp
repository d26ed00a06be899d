// SPDX-License-Identifier: Apache-2.0
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"
#include "strata/capture/recording_profile.hpp"
#include "strata/explain/trace_context.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

constexpr double low_occupancy_share = 0.25;
constexpr double low_efficiency = 0.5;

bool has_any(const std::string& text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != text.npos; });
}

/// Products in fp32 on vector units, as their names say: ampere_sgemm, scudnn, simt.
bool is_product_without_matrix_units(const KernelRow& row) {
  if (row.kernel_class.name != "gemm" && row.kernel_class.name != "convolution") return false;
  const std::string name = lower_case(row.name);
  return has_any(name, {"sgemm", "scudnn", "simt", "gcgemm"}) &&
         !has_any(name, {"tensorop", "1688", "16816", "s884", "xmma", "tf32", "wmma", "hmma"});
}

/// Only a machine that is known to have matrix units for them makes it advice.
bool has_units_for_products(const Machine* machine) {
  if (machine == nullptr) return false;
  return std::any_of(machine->peaks.begin(), machine->peaks.end(), [](const Peak& peak) {
    return peak.unit == ComputeUnit::matrix &&
           (peak.dtype == DType::tf32 || peak.dtype == DType::bf16 || peak.dtype == DType::fp16);
  });
}

std::string types_of_products(const Machine& machine) {
  return find_peak(machine, DType::tf32, ComputeUnit::matrix) != nullptr
             ? "TF32 (torch.backends.cuda.matmul.allow_tf32, set_float32_matmul_precision), or "
               "bf16 by autocast"
         : find_peak(machine, DType::bf16, ComputeUnit::matrix) != nullptr
             ? "bf16 or fp16 by autocast"
             : "fp16 by autocast";
}

void find_vector_kernels(const TraceContext& context, TraceFindings& found) {
  if (!has_units_for_products(context.machine())) return;
  double time_s = 0;
  std::int64_t calls = 0;
  std::string largest;
  for (const KernelRow& row : context.tables().by_kernel) {
    if (!is_product_without_matrix_units(row)) continue;
    if (largest.empty()) largest = short_kernel_name(row.name);
    time_s += trace_seconds(row.time.total_ns);
    calls += row.time.calls;
  }
  if (!context.is_noticeable(time_s)) return;
  ProfileFinding finding = context.finding(
      FindingCode::vector_products, time_s,
      fmt::format("{} launches of products in fp32 on vector units, most of the time in {}",
                  format_exact(calls), largest),
      "let tensor units do them: " + types_of_products(*context.machine()));
  finding.evidence.push_back({"launches", static_cast<double>(calls), Measure::count});
  finding.evidence.push_back({"time", time_s, Measure::seconds});
  found.push_back(std::move(finding));
}

void find_few_blocks(const TraceContext& context, TraceFindings& found) {
  double time_s = 0;
  std::int64_t calls = 0;
  for (const KernelRow& row : context.tables().by_kernel) {
    if (row.kernel_class.name == "collective") continue;  // they use few on purpose
    time_s += trace_seconds(row.few_blocks_ns);
    calls += row.few_blocks_calls;
  }
  if (!context.is_noticeable(time_s)) return;
  ProfileFinding finding = context.finding(
      FindingCode::few_blocks, time_s,
      fmt::format("{} launches have fewer blocks than the device has multiprocessors: part of it "
                  "has nothing to do",
                  format_exact(calls)),
      "a larger batch, or several such kernels at once in streams of their own");
  finding.evidence.push_back({"launches", static_cast<double>(calls), Measure::count});
  finding.evidence.push_back({"time", time_s, Measure::seconds});
  found.push_back(std::move(finding));

  double concurrent_s = 0;
  for (const DeviceRow& device : context.tables().devices)
    concurrent_s += trace_seconds(device.concurrent_ns);
  const double alone_s = time_s - concurrent_s;
  if (!context.is_noticeable(alone_s) || !context.tables().process.has_times) return;
  ProfileFinding alone = context.finding(
      FindingCode::low_concurrency, alone_s,
      fmt::format("two kernels ran at once for {} of {}, although kernels that do not fill the "
                  "device took {}",
                  format_time(concurrent_s), format_time(context.whole_s()), format_time(time_s)),
      "independent branches in streams of their own, or in one CUDA graph");
  alone.evidence.push_back({"at once", concurrent_s, Measure::seconds});
  alone.evidence.push_back({"small kernels", time_s, Measure::seconds});
  found.push_back(std::move(alone));
}

void find_low_occupancy(const TraceContext& context, TraceFindings& found) {
  for (const KernelRow& row : context.tables().by_kernel) {
    const bool is_low = row.occupancy && row.occupancy->share < low_occupancy_share &&
                        row.occupancy->limit != OccupancyLimit::none;
    // Products on matrix units are written for few warps with many registers.
    const bool is_product =
        row.kernel_class.name == "gemm" || row.kernel_class.name == "convolution" ||
        row.kernel_class.name == "attention" || row.kernel_class.name == "collective";
    const double time_s = trace_seconds(row.time.total_ns);
    if (!is_low || is_product || !context.is_noticeable(time_s)) continue;
    ProfileFinding finding = context.finding(
        FindingCode::low_occupancy, time_s,
        fmt::format("at most {} of the warps that a multiprocessor holds can be resident; {} is "
                    "what limits it",
                    share_text(row.occupancy->share, 1), name_of(row.occupancy->limit)),
        row.occupancy->limit == OccupancyLimit::registers
            ? "fewer registers per thread (launch bounds, smaller tiles)"
        : row.occupancy->limit == OccupancyLimit::shared_memory
            ? "less shared memory per block (smaller tiles, fewer stages)"
            : "larger blocks");
    finding.subject = short_kernel_name(row.name);
    finding.evidence.push_back({"occupancy", row.occupancy->share, Measure::share});
    if (row.longest.registers != unknown_count) {
      finding.evidence.push_back(
          {"registers", static_cast<double>(row.longest.registers), Measure::count});
    }
    found.push_back(std::move(finding));
  }
}

void find_allocations(const TraceContext& context, TraceFindings& found) {
  double time_s = 0;
  std::int64_t calls = 0;
  for (const ApiRow& row : context.tables().by_api) {
    const std::string name = lower_case(row.name);
    if (row.kind != ApiKind::runtime || !has_any(name, {"malloc", "free", "hostalloc"})) continue;
    time_s += trace_seconds(row.time.total_ns);
    calls += row.time.calls;
  }
  if (!context.is_noticeable(time_s)) return;
  ProfileFinding finding = context.finding(
      FindingCode::allocation_calls, time_s,
      fmt::format("{} calls that allocate or free memory took {} of the host's time; most of them "
                  "wait for the device",
                  format_exact(calls), format_time(time_s)),
      "keep buffers, or use an allocator that does (PyTorch's own, cudaMallocAsync); leave the "
      "first steps out of the recording");
  finding.evidence.push_back({"calls", static_cast<double>(calls), Measure::count});
  finding.evidence.push_back({"time", time_s, Measure::seconds});
  found.push_back(std::move(finding));
}

struct EfficiencyRule {
  std::optional<double> KernelCounters::*value;
  FindingCode code;
  std::string_view what;
  std::string_view advice;
};

constexpr EfficiencyRule efficiency_rules[] = {
    {&KernelCounters::load_efficiency, FindingCode::uncoalesced,
     "of the bytes that global loads moved were asked for",
     "let neighbouring threads read neighbouring addresses; change the layout of the tensor"},
    {&KernelCounters::shared_efficiency, FindingCode::bank_conflicts,
     "of what accesses of shared memory could move was moved: they fall on the same banks",
     "pad or swizzle the tiles in shared memory"},
    {&KernelCounters::warp_efficiency, FindingCode::divergence,
     "of the threads of a warp were active in an instruction",
     "sort the work so that threads of a warp take the same branch; choose sizes that fill warps"}};

}  // namespace

void find_kernels(const TraceContext& context, TraceFindings& found) {
  find_vector_kernels(context, found);
  find_few_blocks(context, found);
  find_low_occupancy(context, found);
  find_allocations(context, found);
}

void find_counters(const TraceContext& context, TraceFindings& found) {
  for (const KernelRow& row : context.tables().by_kernel) {
    const double time_s = trace_seconds(row.time.total_ns);
    for (const EfficiencyRule& rule : efficiency_rules) {
      const std::optional<double> share = row.counters.*rule.value;
      const double cost_s = share ? time_s * (1 - *share) : 0;
      if (!share || *share >= low_efficiency || !context.is_noticeable(cost_s)) continue;
      ProfileFinding finding =
          context.finding(rule.code, cost_s, fmt::format("{} {}", share_text(*share, 1), rule.what),
                          std::string(rule.advice));
      finding.subject = short_kernel_name(row.name);
      finding.evidence.push_back({"efficiency", *share, Measure::share});
      finding.evidence.push_back({"time of the kernel", time_s, Measure::seconds});
      found.push_back(std::move(finding));
    }
  }
}

}  // namespace strata
