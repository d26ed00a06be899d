// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/inject/callbacks.cuh"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace strata::inject {
namespace {

std::uint32_t this_thread() { return static_cast<std::uint32_t>(::syscall(SYS_gettid)); }

// What NVTX's functions are given. Its binary interface has been the same since version 2; its
// headers are not where CUPTI's are in every toolkit.
struct RangeAttributes {
  std::uint16_t version, size;
  std::uint32_t category;
  std::int32_t color_type;
  std::uint32_t color;
  std::int32_t payload_type, reserved;
  std::uint64_t payload;
  std::int32_t message_type;
  const char* message;
};
constexpr std::int32_t ascii_message = 1;

struct OneWord {  // a text, attributes or a number of a range
  std::uint64_t word;
};
struct DomainAndWord {
  void* domain;
  std::uint64_t word;
};

template <class Parameters>
std::uint64_t word_of(const CUpti_NvtxData& data) {
  return data.functionParams == nullptr ? 0
                                        : static_cast<const Parameters*>(data.functionParams)->word;
}

std::string_view text_at(std::uint64_t address) {
  const auto* const text = reinterpret_cast<const char*>(address);
  return text == nullptr ? std::string_view() : text;
}

std::string_view message_at(std::uint64_t address) {
  const auto* const attributes = reinterpret_cast<const RangeAttributes*>(address);
  if (attributes == nullptr || attributes->message_type != ascii_message ||
      attributes->message == nullptr)
    return {};  // registered strings: their text is known to CUPTI only, in its records
  return attributes->message;
}

std::uint64_t range_id(const CUpti_NvtxData& data) {
  return data.functionReturnValue == nullptr
             ? 0
             : *static_cast<const std::uint64_t*>(data.functionReturnValue);
}

void see_range(CaptureSession& session, CUpti_CallbackId call, const CUpti_NvtxData& data) {
  switch (call) {
    case CUPTI_CBID_NVTX_nvtxRangePushA:
      return session.push(this_thread(), text_at(word_of<OneWord>(data)));
    case CUPTI_CBID_NVTX_nvtxRangePushEx:
      return session.push(this_thread(), message_at(word_of<OneWord>(data)));
    case CUPTI_CBID_NVTX_nvtxDomainRangePushEx:
      return session.push(this_thread(), message_at(word_of<DomainAndWord>(data)));
    case CUPTI_CBID_NVTX_nvtxRangePushW: return session.push(this_thread(), {});
    case CUPTI_CBID_NVTX_nvtxRangePop:
    case CUPTI_CBID_NVTX_nvtxDomainRangePop: return session.pop(this_thread());
    case CUPTI_CBID_NVTX_nvtxRangeStartA:
      return session.start(range_id(data), text_at(word_of<OneWord>(data)));
    case CUPTI_CBID_NVTX_nvtxRangeStartEx:
      return session.start(range_id(data), message_at(word_of<OneWord>(data)));
    case CUPTI_CBID_NVTX_nvtxDomainRangeStartEx:
      return session.start(range_id(data), message_at(word_of<DomainAndWord>(data)));
    case CUPTI_CBID_NVTX_nvtxRangeEnd: return session.stop(word_of<OneWord>(data));
    case CUPTI_CBID_NVTX_nvtxDomainRangeEnd: return session.stop(word_of<DomainAndWord>(data));
    default: return;
  }
}

void see_driver_call(const Callbacks& callbacks, CUpti_CallbackId call,
                     const CUpti_CallbackData& data) {
  const bool begins = data.callbackSite == CUPTI_API_ENTER;
  if (call == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart) {
    if (!begins) callbacks.session->profiler(true);
  } else if (call == CUPTI_DRIVER_TRACE_CBID_cuProfilerStop) {
    if (begins) callbacks.session->profiler(false);
  } else if (callbacks.counters != nullptr) {
    callbacks.counters->see_call(call, data, callbacks.session->is_open());
  }
}

void CUPTIAPI see_callback(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId call,
                           const void* data) {
  const Callbacks& callbacks = *static_cast<const Callbacks*>(user);
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    see_driver_call(callbacks, call, *static_cast<const CUpti_CallbackData*>(data));
  } else if (domain == CUPTI_CB_DOMAIN_NVTX) {
    see_range(*callbacks.session, call, *static_cast<const CUpti_NvtxData*>(data));
  } else if (domain == CUPTI_CB_DOMAIN_STATE) {
    const auto& state = *static_cast<const CUpti_StateData*>(data);
    callbacks.session->log().append_text(
        LogKind::info, static_cast<std::uint32_t>(LogInfo::note),
        std::string("CUPTI: ") +
            (state.notification.message == nullptr ? "a fatal error" : state.notification.message));
    callbacks.session->log().hand_over();
  }
}

std::string subscribe(Callbacks& callbacks, CUpti_SubscriberHandle& subscriber) {
  if (cupti().subscribe_by_name == nullptr) {
    const CUptiResult status = cupti().subscribe(&subscriber, see_callback, &callbacks);
    return status == CUPTI_SUCCESS ? "" : cupti_problem("cuptiSubscribe", status);
  }
  std::array<char, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN + 1> other{};
  STRATA_PARAMETERS(CUpti_SubscriberParams, parameters);
  parameters.subscriberName = "strata";
  parameters.oldSubscriberName = other.data();
  parameters.oldSubscriberSize = other.size() - 1;
  const CUptiResult status =
      cupti().subscribe_by_name(&subscriber, see_callback, &callbacks, &parameters);
  if (status == CUPTI_SUCCESS) return "";
  if (status == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
    return std::string("another profiler is attached to the program") +
           (other[0] == '\0' ? "" : std::string(" (") + other.data() + ")") +
           "; only one can be: switch it off";
  return cupti_problem("cuptiSubscribe_v2", status);
}

}  // namespace

std::string Callbacks::begin() {
  CUpti_SubscriberHandle subscriber = nullptr;
  std::string problem = subscribe(*this, subscriber);
  if (!problem.empty()) return problem;
  const auto watch = [&](CUpti_CallbackDomain domain, CUpti_CallbackId call) {
    const CUptiResult status = cupti().enable_callback(1, subscriber, domain, call);
    if (status != CUPTI_SUCCESS && problem.empty())
      problem = cupti_problem("cuptiEnableCallback", status);
  };
  watch(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR);
  problem.clear();  // a CUPTI without it reports no fatal errors, that is all
  watch(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
  watch(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuProfilerStop);
  if (session->watches_ranges()) {
    const CUptiResult status = cupti().enable_domain(1, subscriber, CUPTI_CB_DOMAIN_NVTX);
    if (status != CUPTI_SUCCESS) problem = cupti_problem("cuptiEnableDomain", status);
  }
  if (counters != nullptr) {
    for (const CUpti_CallbackId call : KernelCounters::watched_calls())
      watch(CUPTI_CB_DOMAIN_DRIVER_API, call);
  }
  return problem;
}

}  // namespace strata::inject
