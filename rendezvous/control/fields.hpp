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
void fields(A& a, NodeNetwork& m) {
  a("interface", m.interface);
  a("address", m.address);
  a("prefix_bits", m.prefix_bits);
  a("is_bridge", m.is_bridge);
}

template <class A>
void fields(A& a, NodeFacts& m) {
  a("incarnation", m.incarnation);
  a("host", m.host);
  a("address", m.address);
  a("given_rank", m.given_rank);
  a("local_world_size", m.local_world_size);
  a("role", m.role);
  a("node_id", m.node_id);
  a("order_key", m.order_key);
  a("control_port", m.control_port);
  a("networks", m.networks);
}

template <class A>
void fields(A& a, JobSettings& m) {
  a("min_nodes", m.min_nodes);
  a("max_nodes", m.max_nodes);
  a("max_restarts", m.max_restarts);
  a("given_ranks", m.given_ranks);
  a("store_at_endpoint", m.store_at_endpoint);
  a("leases", m.leases);
  a("succession", m.succession);
  a("expected", m.expected);
  a("most_changes", m.most_changes);
  a("quiet", m.quiet);
  a("join_timeout", m.join_timeout);
  a("lease_every", m.lease_every);
  a("dead", m.dead);
  a("dead_at_min", m.dead_at_min);
  a("scale_interval", m.scale_interval);
  a("commit_patience", m.commit_patience);
  a("outcome_patience", m.outcome_patience);
}

template <class A>
void fields(A& a, Status& m) {
  a("prepared", m.prepared);
  a("committed", m.committed);
  a("stopped", m.stopped);
  a("done", m.done);
  a("prepared_in", m.prepared_in);
  a("committed_in", m.committed_in);
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
  a("interface", m.interface);
  a("group_rank", m.group_rank);
  a("rank_base", m.rank_base);
  a("local_world_size", m.local_world_size);
  a("role_rank_base", m.role_rank_base);
  a("role_world_size", m.role_world_size);
}

template <class A>
void fields(A& a, Seat& m) {
  a("node", m.node);
  a("host", m.host);
  a("address", m.address);
  a("port", m.port);
}

template <class A>
void fields(A& a, Electorate& m) {
  a("host", m.host);
  a("voters", m.voters);
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
  a("brief_rounds", m.brief_rounds);
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
  a("row", m.row);
  a("former", m.former);
}

template <class A>
void fields(A& a, Vouch& m) {
  a("node", m.node);
  a("age_ns", m.age_ns);
}

template <class A>
void fields(A& a, Lease& m) {
  a("stamp_ns", m.stamp_ns);
  a("host_stamp_ns", m.host_stamp_ns);
  a("dead_ns", m.dead_ns);
  a("status", m.status);
  a("vouches", m.vouches);
}

template <class A>
void fields(A& a, StoreOpened& m) {
  a("round", m.round);
  a("port", m.port);
  a("error", m.error);
}

template <class A>
void fields(A& a, ProbeTarget& m) {
  a("host", m.host);
  a("address", m.address);
  a("port", m.port);
  a("is_store", m.is_store);
}

template <class A>
void fields(A& a, ProbeFailure& m) {
  a("target", m.target);
  a("error", m.error);
}

template <class A>
void fields(A& a, Probed& m) {
  a("round", m.round);
  a("attempt", m.attempt);
  a("failures", m.failures);
}

template <class A>
void fields(A& a, Prepared& m) {
  a("round", m.round);
  a("vouches", m.vouches);
}

template <class A>
void fields(A& a, Stopped& m) {
  a("round", m.round);
  a("unclean", m.unclean);
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
  a("host_stamp_ns", m.host_stamp_ns);
  a("quorum_age_ns", m.quorum_age_ns);
  a("dead_ns", m.dead_ns);
  a("failure_seen", m.failure_seen);
}

template <class A>
void fields(A& a, Waiting& m) {
  a("have", m.have);
  a("min_nodes", m.min_nodes);
  a("max_nodes", m.max_nodes);
  a("hosts", m.hosts);
  a("text", m.text);
  a("voters", m.voters);
}

template <class A>
void fields(A& a, OpenStore& m) {
  a("round", m.round);
  a("address", m.address);
  a("peers", m.peers);
}

template <class A>
void fields(A& a, Probe& m) {
  a("round", m.round);
  a("attempt", m.attempt);
  a("targets", m.targets);
}

template <class A>
void fields(A& a, Prepare& m) {
  a("record", m.record);
  a("bases", m.bases);
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
void fields(A& a, Evicted& m) {
  a("why", m.why);
}

template <class A>
void fields(A&, Released&) {}

template <class A>
void fields(A&, Resigned&) {}

template <class A>
void fields(A& a, HostIs& m) {
  a("generation", m.generation);
  a("epoch", m.epoch);
  a("host", m.host);
  a("committed", m.committed);
}

template <class A>
void fields(A& a, Ask& m) {
  a("stamp_ns", m.stamp_ns);
  a("prepared", m.prepared);
  a("prepared_in", m.prepared_in);
}

template <class A>
void fields(A& a, Answer& m) {
  a("stamp_ns", m.stamp_ns);
  a("granted", m.granted);
}

template <class A>
void fields(A& a, VoteRequest& m) {
  a("epoch", m.epoch);
  a("at_endpoint", m.at_endpoint);
  a("trial", m.trial);
}

template <class A>
void fields(A& a, Proposed& m) {
  a("record", m.record);
  a("bases", m.bases);
}

template <class A>
void fields(A& a, VoteReply& m) {
  a("epoch", m.epoch);
  a("promised", m.promised);
  a("trial", m.trial);
  a("granted", m.granted);
  a("host_age_ns", m.host_age_ns);
  a("highest", m.highest);
  a("committed", m.committed);
  a("vouches", m.vouches);
  a("gone", m.gone);
}

}  // namespace muster::membership
