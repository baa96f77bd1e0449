// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/wire/encoder.hpp"

#include "rendezvous/base/bytes.hpp"

namespace muster::wire {
namespace {

// One overload per request: what follows the opcode.
struct BodyWriter {
  ByteWriter out;

  void keyed(std::string_view key, std::string_view value) {
    out.sized(key);
    out.sized(value);
  }
  void list(EncodedList const& list, std::uint64_t count) {
    out.number(count);
    out.raw(list.body);
  }

  void operator()(Validate const& r) { out.number(r.magic); }
  void operator()(Set const& r) { keyed(r.key, r.value); }
  void operator()(CompareSet const& r) {
    keyed(r.key, r.expected);
    out.sized(r.desired);
  }
  void operator()(Get const& r) { out.sized(r.key); }
  void operator()(Add const& r) {
    out.sized(r.key);
    out.number(r.amount);
  }
  void operator()(Check const& r) { list(r.keys, r.keys.count); }
  void operator()(Wait const& r) { list(r.keys, r.keys.count); }
  void operator()(GetNumKeys const&) {}
  void operator()(DeleteKey const& r) { out.sized(r.key); }
  void operator()(Append const& r) { keyed(r.key, r.value); }
  void operator()(MultiGet const& r) { list(r.keys, r.keys.count); }
  void operator()(MultiSet const& r) { list(r.pairs, r.pairs.count / 2); }
  void operator()(CancelWait const&) {}
  void operator()(Ping const& r) { out.number(r.nonce); }
  void operator()(QueuePush const& r) { keyed(r.key, r.value); }
  void operator()(QueuePop const& r) { out.sized(r.key); }
  void operator()(QueueLen const& r) { out.sized(r.key); }
  void operator()(ListKeys const&) {}
  void operator()(Barrier const& r) {
    out.sized(r.key);
    out.number(r.world_size);
  }
};

}  // namespace

void encode(Request const& request, std::string& out) {
  out.push_back(static_cast<char>(request.index()));
  std::visit(BodyWriter{ByteWriter{out}}, request);
}

EncodedList encode_list(std::span<std::string const> items, std::string& storage) {
  auto const begin = storage.size();
  ByteWriter writer{storage};
  for (auto const& item : items) writer.sized(item);
  return {items.size(), std::string_view{storage}.substr(begin)};
}

}  // namespace muster::wire
