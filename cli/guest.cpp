// SPDX-License-Identifier: Apache-2.0
#include "cli/guest.hpp"

namespace strata {
namespace {

thread_local Guest* guest_of_thread = nullptr;

}  // namespace

Guest* this_guest() { return guest_of_thread; }

GuestRun::GuestRun(Guest& guest) { guest_of_thread = &guest; }
GuestRun::~GuestRun() { guest_of_thread = nullptr; }

}  // namespace strata
