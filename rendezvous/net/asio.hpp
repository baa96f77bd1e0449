// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one list of Asio headers: precompiled in muster_asio, whose asio_impl.cpp holds the bodies.
// Include this, never <boost/asio.hpp>.

#include "rendezvous/base/error.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/error_code.hpp>

#include <string_view>

namespace muster::net {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using boost::system::error_code;

// auto [ec, n] = co_await socket.async_read_some(buffer, kAwait);
inline constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

// An Asio error as ours: the code by its errno, the text "doing: reason".
Error from_asio(error_code const& failure, std::string_view doing);

}  // namespace muster::net
