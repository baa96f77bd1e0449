// SPDX-License-Identifier: Apache-2.0
// Requests of a TCPStore client as they come from the wire: decoded at once and byte by byte they
// must mean the same, never read beyond the input, and be carried out by an engine in bounded
// memory. The first byte chooses how many clients take turns.
#include "rendezvous/base/assert.hpp"
#include "rendezvous/store/engine.hpp"
#include "rendezvous/wire/decoder.hpp"
#include "rendezvous/wire/encoder.hpp"

#include <cstdint>
#include <memory>

using namespace muster;

namespace {

struct Meaning {
  std::string requests;  // encoded again
  std::string replies;
  std::size_t woken = 0;
  bool refused = false;

  friend bool operator==(Meaning const&, Meaning const&) = default;
};

// One connection's life when its bytes come `piece` at a time.
Meaning serve(std::string_view stream, std::size_t piece, std::uint64_t clients) {
  Meaning meaning;
  store::Engine engine;
  wire::RequestDecoder decoder;
  std::vector<ClientId> woken;
  std::size_t begin = 0, end = 0;
  std::uint64_t turn = 0;
  while (!meaning.refused && end < stream.size()) {
    end = std::min(stream.size(), end + piece);
    while (true) {
      auto const found = decoder.next(stream.substr(begin, end - begin));
      meaning.refused = !found;
      if (!found || !found->has_value()) break;
      begin += (*found)->consumed;
      MUSTER_ASSERT(begin <= end, "a request is longer than the input");
      wire::encode((*found)->message, meaning.requests);
      ClientId const client{++turn % clients};
      auto const done = engine.apply(client, (*found)->message, meaning.replies, woken);
      meaning.refused = !done;
      if (!done) break;
    }
  }
  for (std::uint64_t client = 0; client < clients; ++client) engine.leave(ClientId{client});
  MUSTER_ASSERT(engine.waiters().waits() == 0, "a wait outlives its client");
  meaning.woken = woken.size();
  return meaning;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  // Exactly so large, so that a sanitizer sees a read beyond it.
  std::unique_ptr<char[]> const exact(new char[size]);
  std::copy(data, data + size, exact.get());
  std::string_view const stream(exact.get() + 1, size - 1);
  auto const clients = 1 + data[0] % 3u;
  auto const whole = serve(stream, stream.size(), clients);
  MUSTER_ASSERT(serve(stream, 1, clients) == whole, "bytes one by one mean something else");
  MUSTER_ASSERT(stream.substr(0, whole.requests.size()) == whole.requests,
                "a request encoded again is other bytes");
  return 0;
}
