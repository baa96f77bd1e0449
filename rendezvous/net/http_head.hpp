// SPDX-License-Identifier: Apache-2.0
#pragma once
// The head of an HTTP request, as far as muster cares: GET and HEAD without a body. Pure.

#include "rendezvous/base/result.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace muster::net {

struct HttpRequest {
  bool head_only = false;
  std::string path;  // without the query
};

// Nothing while the head is incomplete.
Result<std::optional<HttpRequest>> parse_http_head(std::string_view bytes);

struct HttpReply {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// Head and body as sent; the connection is closed after it.
std::string to_bytes(HttpReply const& reply, bool head_only);

}  // namespace muster::net
