// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fields of every control message, once, for both directions: fields(archive, value) names each
// member; the archive writes or reads it. Include only in codec.cpp.

#include "rendezvous/membership/message.hpp"

namespace muster::membership {

template <class A>
void fields(A& a, Header& m) {
  a("run_id", m.run_id);
  a("generation", m.generation);
  a("epoch", m.epoch);
  a("round", m.round);
  a("incarnation", m.incarnation);
  a("request", m.request);
}

template <class A>
void fields(A& a, NodeFacts& m) {
  a("incarnation", m.incarnation);
  a("host", m.host);
  a("address", m.address);
  a("given_rank", m.given_rank);
  a("local_world_size", m.local_world_size);
  a("role", m.role);
}

template <class A>
void fields(A& a, JobSettings& m) {
  a("min_nodes", m.min_nodes);
  a("max_nodes", m.max_nodes);
  a("max_restarts", m.max_restarts);
  a("given_ranks", m.given_ranks);
  a("store_at_endpoint", m.store_at_endpoint);
  a("leases", m.leases);
  a("quiet", m.quiet);
  a("join_timeout", m.join_timeout);
  a("lease_every", m.lease_every);
  a("fence", m.fence);
  a("dead", m.dead);
  a("commit_patience", m.commit_patience);
  a("outcome_patience", m.outcome_patience);
}

template <class A>
void fields(A& a, Status& m) {
  a("prepared", m.prepared);
  a("committed", m.committed);
  a("stopped", m.stopped);
  a("done", m.done);
}

template <class A>
void fields(A& a, Failure& m) {
  a("round", m.round);
  a("exit_code", m.exit_code);
  a("is_consequence", m.is_consequence);
  a("age_ns", m.age_ns);
  a("report", m.report);
}

template <class A>
void fields(A& a, TableRow& m) {
  a("node", m.node);
  a("host", m.host);
  a("address", m.address);
  a("group_rank", m.group_rank);
  a("rank_base", m.rank_base);
  a("local_world_size", m.local_world_size);
  a("role_rank_base", m.role_rank_base);
  a("role_world_size", m.role_world_size);
}

template <class A>
void fields(A& a, MasterEndpoint& m) {
  a("address", m.address);
  a("port", m.port);
}

template <class A>
void fields(A& a, Budgets& m) {
  a("worker_failures", m.worker_failures);
  a("membership_changes", m.membership_changes);
}

template <class A>
void fields(A& a, RecordOutcome& m) {
  a("success", m.success);
  a("exit_code", m.exit_code);
  a("why", m.why);
}

template <class A>
void fields(A& a, Record& m) {
  a("generation", m.generation);
  a("epoch", m.epoch);
  a("round", m.round);
  a("host", m.host);
  a("voters", m.voters);
  a("nodes", m.nodes);
  a("world_size", m.world_size);
  a("master", m.master);
  a("table_digest", m.table_digest);
  a("used", m.used);
  a("repeat", m.repeat);
  a("reason", m.reason);
  a("outcome", m.outcome);
}

template <class A>
void fields(A& a, Join& m) {
  a("facts", m.facts);
  a("job", m.job);
  a("status", m.status);
  a("backend", m.backend);
}

template <class A>
void fields(A& a, Lease& m) {
  a("stamp_ns", m.stamp_ns);
  a("status", m.status);
}

template <class A>
void fields(A& a, StoreOpened& m) {
  a("round", m.round);
  a("port", m.port);
  a("error", m.error);
}

template <class A>
void fields(A& a, Prepared& m) {
  a("round", m.round);
}

template <class A>
void fields(A& a, Stopped& m) {
  a("round", m.round);
}

template <class A>
void fields(A& a, Failed& m) {
  a("failure", m.failure);
}

template <class A>
void fields(A& a, Done& m) {
  a("round", m.round);
}

template <class A>
void fields(A&, OutcomeAck&) {}

template <class A>
void fields(A& a, Leave& m) {
  a("exit_code", m.exit_code);
  a("why", m.why);
}

template <class A>
void fields(A& a, LastWord& m) {
  a("node", m.node);
}

template <class A>
void fields(A& a, Welcome& m) {
  a("host", m.host);
  a("job", m.job);
}

template <class A>
void fields(A& a, Ack& m) {
  a("stamp_ns", m.stamp_ns);
  a("failure_seen", m.failure_seen);
}

template <class A>
void fields(A& a, Waiting& m) {
  a("have", m.have);
  a("min_nodes", m.min_nodes);
  a("max_nodes", m.max_nodes);
  a("hosts", m.hosts);
}

template <class A>
void fields(A& a, OpenStore& m) {
  a("round", m.round);
}

template <class A>
void fields(A& a, Prepare& m) {
  a("record", m.record);
}

template <class A>
void fields(A& a, Commit& m) {
  a("record", m.record);
  a("row", m.row);
  a("hosts", m.hosts);
}

template <class A>
void fields(A& a, Stop& m) {
  a("round", m.round);
  a("grace_ns", m.grace_ns);
  a("why", m.why);
}

template <class A>
void fields(A& a, Outcome& m) {
  a("success", m.success);
  a("exit_code", m.exit_code);
  a("why", m.why);
  a("reports", m.reports);
}

template <class A>
void fields(A& a, Refused& m) {
  a("code", m.code);
  a("what", m.what);
  a("hint", m.hint);
}

template <class A>
void fields(A& a, Deposed& m) {
  a("generation", m.generation);
  a("epoch", m.epoch);
}

template <class A>
void fields(A& a, VoteRequest& m) {
  a("epoch", m.epoch);
}

template <class A>
void fields(A& a, VoteReply& m) {
  a("epoch", m.epoch);
  a("granted", m.granted);
  a("highest", m.highest);
}

}  // namespace muster::membership
