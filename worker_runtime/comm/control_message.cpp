// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/control_message.hpp"

#include "rendezvous/base/bytes.hpp"

#include <cstring>
#include <type_traits>

namespace muster::worker {
namespace {

constexpr std::uint32_t kMagic = 0x4354534DU;  // "MSTC"

Error bad_bytes(char const* what) {
  return Error{Errc::protocol, std::string("control message from a peer: ") + what, {}};
}

void write_seat(ByteWriter& writer, Seat const& seat) {
  writer.sized(seat.host);
  writer.sized(seat.address);
  writer.number(seat.port);
}

void write_body(ByteWriter& writer, ControlMessage const& message) {
  std::visit(
      [&](auto const& m) {
        using M = std::decay_t<decltype(m)>;
        if constexpr (std::is_same_v<M, Hello>) {
          writer.number(m.nonce);
          writer.number(m.incarnation);
          writer.number(m.rank);
          writer.number(m.size);
          writer.number(static_cast<std::uint8_t>(m.channel));
          write_seat(writer, m.seat);
        } else if constexpr (std::is_same_v<M, Table>) {
          writer.number(static_cast<std::uint32_t>(m.seats.size()));
          for (auto const& seat : m.seats) write_seat(writer, seat);
        } else if constexpr (std::is_same_v<M, Abort>) {
          writer.number(static_cast<std::uint8_t>(m.error.code));
          writer.sized(m.error.what);
          writer.sized(m.error.hint);
        }
      },
      message);
}

// Reads that remember whether all of them succeeded.
class Body {
 public:
  explicit Body(std::string_view bytes) : reader_(bytes) {}

  template <class T>
  T number() {
    auto const value = reader_.number<T>();
    if (!value) bad_ = true;
    return value.value_or(T{});
  }
  std::string text() {
    auto const length = number<std::uint64_t>();
    auto const view = bad_ ? std::nullopt : reader_.take(length);
    if (!view) bad_ = true;
    return view ? std::string(*view) : std::string();
  }
  Seat seat() {
    Seat seat;
    seat.host = text();
    seat.address = text();
    seat.port = number<std::uint16_t>();
    return seat;
  }
  bool good() const { return !bad_; }
  bool whole() const { return !bad_ && reader_.left() == 0; }

 private:
  ByteReader reader_;
  bool bad_ = false;
};

Hello read_hello(Body& body, bool& valid) {
  Hello hello;
  hello.nonce = body.number<std::uint64_t>();
  hello.incarnation = body.number<std::uint64_t>();
  hello.rank = body.number<std::int32_t>();
  hello.size = body.number<std::int32_t>();
  auto const channel = body.number<std::uint8_t>();
  valid = channel <= static_cast<std::uint8_t>(Channel::data) && hello.rank >= 0 &&
          hello.rank < hello.size;
  hello.channel = static_cast<Channel>(valid ? channel : 0);
  hello.seat = body.seat();
  return hello;
}

Table read_table(Body& body) {
  Table table;
  auto const count = body.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && body.good(); ++i) table.seats.push_back(body.seat());
  return table;
}

Abort read_abort(Body& body, bool& valid) {
  Abort abort;
  auto const code = body.number<std::uint8_t>();
  valid = code <= static_cast<std::uint8_t>(Errc::internal);
  abort.error.code = valid ? static_cast<Errc>(code) : Errc::internal;
  abort.error.what = body.text();
  abort.error.hint = body.text();
  return abort;
}

}  // namespace

std::string encode(ControlMessage const& message) {
  std::string body;
  ByteWriter body_writer(body);
  write_body(body_writer, message);
  std::string bytes;
  ByteWriter writer(bytes);
  writer.number(kMagic);
  writer.number(static_cast<std::uint8_t>(message.index()));
  writer.number(static_cast<std::uint32_t>(body.size()));
  writer.raw(body);
  return bytes;
}

Result<std::size_t> missing_bytes(std::string_view bytes) {
  if (bytes.size() < kControlPrefixBytes) return kControlPrefixBytes - bytes.size();
  ByteReader reader(bytes);
  if (reader.number<std::uint32_t>() != kMagic) return bad_bytes("not muster's");
  if (*reader.number<std::uint8_t>() >= std::variant_size_v<ControlMessage>)
    return bad_bytes("unknown type");
  std::size_t const length = *reader.number<std::uint32_t>();
  if (length > kMaxControlBody) return bad_bytes("too long");
  auto const whole = kControlPrefixBytes + length;
  return bytes.size() >= whole ? 0 : whole - bytes.size();
}

Result<ControlMessage> decode_control(std::string_view bytes) {
  MUSTER_TRY(auto const missing, missing_bytes(bytes));
  if (missing != 0) return bad_bytes("cut short");
  std::uint32_t length = 0;  // what follows belongs to the next message
  std::memcpy(&length, bytes.data() + kControlPrefixBytes - sizeof length, sizeof length);
  Body body(bytes.substr(kControlPrefixBytes, length));
  bool valid = true;
  ControlMessage message;
  switch (static_cast<unsigned char>(bytes[4])) {
    case 0:
      message = read_hello(body, valid);
      break;
    case 1:
      message = Welcome{};
      break;
    case 2:
      message = read_table(body);
      break;
    case 3:
      message = read_abort(body, valid);
      break;
    default:
      message = Bye{};
      break;
  }
  if (!valid || !body.whole()) return bad_bytes("malformed body");
  return message;
}

}  // namespace muster::worker
