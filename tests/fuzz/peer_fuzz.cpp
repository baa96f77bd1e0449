// SPDX-License-Identifier: Apache-2.0
// What one rank's process decodes from another's: frame headers and control messages. Whatever
// decodes must encode to the same bytes again.
#include "worker_runtime/comm/control_message.hpp"
#include "worker_runtime/comm/frame.hpp"

#include <cstdlib>
#include <cstring>

using namespace muster;
using namespace muster::worker;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const bytes(reinterpret_cast<char const*>(data), size);
  if (auto const missing = missing_bytes(bytes); missing && *missing == 0) {
    auto const message = decode_control(bytes);
    if (message && encode(*message) != bytes.substr(0, encode(*message).size())) std::abort();
  }
  if (size >= kFrameHeaderBytes) {
    FrameBytes frame;
    std::memcpy(frame.data(), data, frame.size());
    auto const header = decode_frame(frame);
    if (header && encode(*header) != frame) std::abort();
  }
  return 0;
}
