// SPDX-License-Identifier: Apache-2.0
#pragma once
// Answers HTTP requests on connections that a Server hands over: one request each, then closed.
// Where many are open at once the oldest goes. A program that does not link this (muster_http) pays
// nothing for it. On the io_context's thread.

#include "rendezvous/net/control_counters.hpp"
#include "rendezvous/net/http_head.hpp"
#include "rendezvous/net/server.hpp"
#include "rendezvous/net/status_page.hpp"

#include <functional>

namespace muster::net {

// Called per request, on the io_context's thread. What it refers to outlives the server.
using HttpPages = std::function<HttpReply(HttpRequest const&)>;

// For ServerOptions::on_http. `pages` is copied.
Handover http_front(HttpPages pages);

// /healthz, /metrics and /status.json of a store server and the jobs that are hosted beside it,
// everything else 404. `control`: of the host beside it, where there is one.
HttpReply store_page(HttpRequest const& request, Server const& server, JobReasons const& jobs,
                     ControlCounters const* control = nullptr);

}  // namespace muster::net
