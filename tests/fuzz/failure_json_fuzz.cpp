// SPDX-License-Identifier: Apache-2.0
// Bytes that a worker left in its error file, or a peer sent as its failure report: read or
// refused, never a crash, and what was read can be printed.
#include "launcher/diagnose/error_file.hpp"
#include "launcher/diagnose/failure_report.hpp"
#include "launcher/diagnose/summary.hpp"
#include "rendezvous/base/assert.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace muster::launch;
  std::string const text(reinterpret_cast<char const*>(data), size);
  FailedWorker worker;
  take_error_file(worker, "error.json", text);
  (void)error_file_for(worker, text);
  auto const report = node_report_from_json(text);
  if (!report) return 0;
  auto const again = node_report_from_json(to_json(*report));
  MUSTER_ASSERT(again && *again == *report, "a report that was read does not survive");
  (void)failure_summary({*report, *again});
  return 0;
}
