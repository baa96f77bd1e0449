// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/http_head.hpp"

#include "rendezvous/base/limits.hpp"
#include "rendezvous/net/asio.hpp"

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>

#include <sstream>

namespace muster::net {

namespace http = boost::beast::http;

Result<std::optional<HttpRequest>> parse_http_head(std::string_view bytes) {
  auto const end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (bytes.size() <= limits::kMaxHttpHeadBytes) return std::optional<HttpRequest>{};
    return Error{
        Errc::limit,
        "an HTTP head of more than " + std::to_string(limits::kMaxHttpHeadBytes) + " bytes",
        {}};
  }
  http::request_parser<http::empty_body> parser;
  parser.header_limit(limits::kMaxHttpHeadBytes);
  boost::system::error_code ec;
  parser.put(boost::asio::buffer(bytes.data(), end + 4), ec);
  if (ec && ec != http::error::need_more)
    return Error{Errc::protocol, "not an HTTP request: " + ec.message(), {}};
  auto const& head = parser.get();
  if (head.method() != http::verb::get && head.method() != http::verb::head)
    return Error{Errc::protocol, "only GET and HEAD are answered", {}};
  std::string_view const target{head.target().data(), head.target().size()};
  HttpRequest request;
  request.head_only = head.method() == http::verb::head;
  request.path = target.substr(0, target.find('?'));
  return std::optional<HttpRequest>{std::move(request)};
}

std::string to_bytes(HttpReply const& reply, bool head_only) {
  auto const reason = http::obsolete_reason(static_cast<http::status>(reply.status));
  std::ostringstream out;
  out << "HTTP/1.1 " << reply.status << ' ' << reason << "\r\nContent-Type: " << reply.content_type
      << "\r\nContent-Length: " << reply.body.size()
      << "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n";
  if (!head_only) out << reply.body;
  return out.str();
}

}  // namespace muster::net
