// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/store/engine.hpp"

#include "rendezvous/base/bytes.hpp"
#include "rendezvous/base/limits.hpp"
#include "rendezvous/store/decimal.hpp"

#include <charconv>
#include <utility>

namespace muster::store {

// One request being carried out: an overload for each kind.
struct Engine::Call {
  Engine& engine;
  ClientId client;
  std::string& reply;
  std::vector<ClientId>& woken;

  void answer(std::string_view value) { ByteWriter{reply}.sized(value); }
  void answer(std::int64_t number) { ByteWriter{reply}.number(number); }
  void answer_byte(char byte) { reply.push_back(byte); }
  void came(std::string_view key) {
    if (key == engine.watched_) engine.written_ = true;
    engine.waiters_.wake_all(key, woken);
  }

  Result<void> operator()(wire::Validate const&) {
    return Error{Errc::protocol, "VALIDATE in the middle of a connection", {}};
  }
  Result<void> operator()(wire::Set const& r) {
    engine.put(r.key, r.value);
    came(r.key);
    return ok();
  }
  Result<void> operator()(wire::CompareSet const& r);
  Result<void> operator()(wire::Get const& r) {
    auto const found = engine.keys_.find(r.key);
    answer(found == engine.keys_.end() ? std::string_view{} : std::string_view{found->second});
    return ok();
  }
  Result<void> operator()(wire::Add const& r) {
    MUSTER_TRY(auto const sum, engine.increment(r.key, r.amount));
    answer(sum);
    came(r.key);
    return ok();
  }
  Result<void> operator()(wire::Check const& r) {
    bool const all = r.keys.all_of([&](std::string_view key) { return engine.is_there(key); });
    answer_byte(all ? wire::kReady : wire::kNotReady);
    return ok();
  }
  Result<void> operator()(wire::Wait const& r);
  Result<void> operator()(wire::GetNumKeys const&) {
    answer(static_cast<std::int64_t>(engine.keys_.size()));
    return ok();
  }
  Result<void> operator()(wire::DeleteKey const& r);
  Result<void> operator()(wire::Append const& r);
  Result<void> operator()(wire::MultiGet const& r);
  Result<void> operator()(wire::MultiSet const& r);
  Result<void> operator()(wire::CancelWait const&) {
    engine.counters_.cancels += engine.waiters_.leave(client);
    answer_byte(wire::kWaitCanceled);
    return ok();
  }
  Result<void> operator()(wire::Ping const& r) {
    ByteWriter{reply}.number(r.nonce);
    return ok();
  }
  Result<void> operator()(wire::QueuePush const& r) {
    engine.queues_.push(r.key, r.value);
    engine.waiters_.wake_one(r.key, woken);
    return ok();
  }
  Result<void> operator()(wire::QueuePop const& r);
  Result<void> operator()(wire::QueueLen const& r) {
    answer(engine.queues_.length(r.key));
    return ok();
  }
  Result<void> operator()(wire::ListKeys const&);
  Result<void> operator()(wire::Barrier const& r);

  Result<void> park(std::vector<std::string_view> const& keys);
  Result<void> room_for(std::size_t bytes, std::size_t begin) const;
};

Result<void> Engine::apply(ClientId client, wire::Request const& request, std::string& reply,
                           std::vector<ClientId>& woken) {
  ++counters_.requests[request.index()];
  auto const woken_before = woken.size();
  auto done = std::visit(Call{*this, client, reply, woken}, request);
  counters_.wakes += woken.size() - woken_before;
  if (!done) ++counters_.refused;
  return done;
}

void Engine::put(std::string_view key, std::string_view value) {
  auto const found = keys_.find(key);
  if (found == keys_.end()) {
    keys_.emplace(key, value);
    counters_.key_bytes += key.size();
    counters_.value_bytes += value.size();
    return;
  }
  counters_.value_bytes += value.size() - found->second.size();
  found->second.assign(value);
}

bool Engine::is_there(std::string_view key) const {
  return keys_.contains(key) || queues_.length(key) > 0;
}

Result<std::int64_t> Engine::increment(std::string_view key, std::int64_t amount) {
  auto const found = keys_.find(key);
  std::int64_t sum = amount;
  if (found != keys_.end()) {
    auto const old = leading_decimal(found->second);
    if (!old)
      return Error{
          Errc::protocol, "add to key '" + std::string(key) + "', which holds no number", {}};
    sum = wrapping_sum(*old, amount);
  }
  char digits[24];
  auto const end = std::to_chars(digits, digits + sizeof digits, sum).ptr;
  put(key, std::string_view{digits, static_cast<std::size_t>(end - digits)});
  return sum;
}

// The reply of one request is bounded like the request itself: many legal values must not add up
// to our memory.
Result<void> Engine::Call::room_for(std::size_t bytes, std::size_t begin) const {
  if (reply.size() - begin + bytes <= limits::kMaxRequestBytes) return ok();
  return Error{Errc::limit,
               "the reply would exceed " + std::to_string(limits::kMaxRequestBytes) + " bytes",
               "ask for fewer keys at once"};
}

Result<void> Engine::Call::operator()(wire::CompareSet const& r) {
  auto const found = engine.keys_.find(r.key);
  if (found == engine.keys_.end()) {
    // Upstream's answer to "missing, and something else was expected": the expectation itself.
    if (!r.expected.empty()) {
      answer(r.expected);
      return ok();
    }
  } else if (found->second != r.expected) {
    answer(found->second);
    return ok();
  }
  engine.put(r.key, r.desired);
  answer(r.desired);
  came(r.key);
  return ok();
}

Result<void> Engine::Call::operator()(wire::Wait const& r) {
  std::vector<std::string_view> missing;
  r.keys.all_of([&](std::string_view key) {
    if (!engine.is_there(key)) missing.push_back(key);
    return true;
  });
  if (!missing.empty()) return park(missing);
  answer_byte(wire::kStopWaiting);
  return ok();
}

Result<void> Engine::Call::park(std::vector<std::string_view> const& keys) {
  auto const total = engine.waiters_.keys_of(client) + keys.size();
  if (total > limits::kMaxKeyCount)
    return Error{Errc::limit,
                 "one connection waits for " + std::to_string(total) + " keys, the limit is " +
                     std::to_string(limits::kMaxKeyCount),
                 {}};
  engine.waiters_.park(client, keys);
  return ok();
}

Result<void> Engine::Call::operator()(wire::DeleteKey const& r) {
  auto const found = engine.keys_.find(r.key);
  bool const is_there = found != engine.keys_.end();
  if (is_there) {
    engine.counters_.key_bytes -= found->first.size();
    engine.counters_.value_bytes -= found->second.size();
    engine.keys_.erase(found);
  }
  answer(std::int64_t{is_there});
  return ok();
}

Result<void> Engine::Call::operator()(wire::Append const& r) {
  auto const found = engine.keys_.find(r.key);
  if (found == engine.keys_.end()) {
    engine.put(r.key, r.value);
  } else {
    if (found->second.size() + r.value.size() > limits::kMaxRequestBytes)
      return Error{Errc::limit,
                   "append would grow key '" + std::string(r.key) + "' beyond " +
                       std::to_string(limits::kMaxRequestBytes) + " bytes",
                   {}};
    found->second.append(r.value);
    engine.counters_.value_bytes += r.value.size();
  }
  came(r.key);
  return ok();
}

Result<void> Engine::Call::operator()(wire::MultiGet const& r) {
  auto const begin = reply.size();
  auto done = ok();
  r.keys.all_of([&](std::string_view key) {
    auto const found = engine.keys_.find(key);
    auto const value =
        found == engine.keys_.end() ? std::string_view{} : std::string_view{found->second};
    done = room_for(value.size(), begin);
    if (done) answer(value);
    return done.has_value();
  });
  return done;
}

Result<void> Engine::Call::operator()(wire::MultiSet const& r) {
  auto rest = r.pairs.body;
  for (std::uint64_t i = 0; i < r.pairs.count; i += 2) {
    auto const key = wire::EncodedList::take(rest);
    auto const value = wire::EncodedList::take(rest);
    engine.put(key, value);
    came(key);
  }
  return ok();
}

Result<void> Engine::Call::operator()(wire::QueuePop const& r) {
  answer(engine.queues_.length(r.key));
  if (auto const value = engine.queues_.pop(r.key)) answer(*value);
  return ok();
}

Result<void> Engine::Call::operator()(wire::ListKeys const&) {
  auto const count = engine.keys_.size();
  MUSTER_CHECK(room_for(engine.counters_.key_bytes + 8 * (count + 1), reply.size()));
  answer(static_cast<std::int64_t>(count));
  for (auto const& entry : engine.keys_) answer(entry.first);
  return ok();
}

// A barrier is a counter under its key. The arrival that completes it wakes all who wait on the
// key, in barriers and in WAIT alike; the counter stays, so who comes later passes at once.
Result<void> Engine::Call::operator()(wire::Barrier const& r) {
  MUSTER_TRY(auto const arrived, engine.increment(r.key, 1));
  if (arrived < r.world_size) return park({r.key});
  answer_byte(wire::kStopWaiting);
  came(r.key);
  return ok();
}

}  // namespace muster::store
