// SPDX-License-Identifier: Apache-2.0
#pragma once
// Blocking-with-deadline operations on raw sockets, for joining and for small control messages.
// All descriptors are non-blocking and close-on-exec. Any thread.

#include "rendezvous/base/clock.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/base/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster::worker {

struct Listener {
  UniqueFd fd;
  std::uint16_t port = 0;
};

// Port 0 of a numeric address; an empty address listens on all.
Result<Listener> listen_on(std::string const& address);

// address: numeric or a name. Gives up at the deadline, or at once where nobody listens.
Result<UniqueFd> connect_to(std::string const& address, std::uint16_t port, Deadline deadline);

// The next connection, or nothing where none waits.
Result<UniqueFd> accept_from(Listener const& listener);

// No delay for small messages; probes that notice a silent host within seconds.
void tune_socket(int fd);

Result<void> write_all(int fd, std::string_view bytes, Deadline deadline);

// Milliseconds for poll(2) until the deadline, rounded up, at most a minute.
int poll_ms(Deadline deadline);

// Data is under way and was sent again six times (12 s at least) without an answer. A host whose
// program is merely busy acknowledges; one without power or network does not.
bool is_silent(int fd);

bool is_loopback(std::string_view address);

std::string own_host_name();

}  // namespace muster::worker
