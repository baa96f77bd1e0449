// SPDX-License-Identifier: Apache-2.0
#include "launcher/environment/networks.hpp"

#include "tests/unit/environment/fake_file_system.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

namespace muster::launch {
namespace {

using membership::NodeNetwork;
using Networks = std::vector<NodeNetwork>;

InterfaceAddress up(std::string interface, std::string address, std::uint8_t bits = 24) {
  return {std::move(interface), std::move(address), bits, true, false};
}

std::vector<std::string> names(Networks const& networks, bool bridges) {
  std::vector<std::string> names;
  for (auto const& network : networks)
    if (network.is_bridge == bridges) names.push_back(network.interface);
  return names;
}

using Names = std::vector<std::string>;

Networks usable(std::vector<InterfaceAddress> const& listed, FileSystem const& files) {
  return usable_networks(listed, files);
}

Networks const kTwo{{"eth0", "10.0.0.1", 24, false},
                    {"docker0", "172.17.0.1", 16, true},
                    {"ib0", "10.1.0.1", 16, false}};

Networks offered(std::string wish) {
  auto const offer = offer_networks(kTwo, {std::move(wish), std::nullopt}, "h1");
  REQUIRE(offer);
  CHECK(offer->address == offer->networks.front().address);
  return offer->networks;
}

}  // namespace

TEST_CASE("loopback and interfaces that do not run are no network", "[environment]") {
  FakeFileSystem const files;
  std::vector<InterfaceAddress> const listed{
      {"lo", "127.0.0.1", 8, true, true},
      {"lo", "10.9.9.9", 32, true, true},
      {"dead0", "10.3.0.1", 24, false, false},
      up("eth0", "10.0.0.1"),
      up("eth0", "fd77::1", 64),
  };
  CHECK(usable(listed, files) ==
        Networks{{"eth0", "10.0.0.1", 24, false}, {"eth0", "fd77::1", 64, false}});
}

TEST_CASE("bridges of containers and virtual machines are marked", "[environment]") {
  FakeFileSystem files;
  files.file("/sys/class/net/lab/bridge/x").file("/sys/class/net/lab/brif/veth1/x");
  files.file("/sys/class/net/br0/bridge/x").file("/sys/class/net/br0/brif/eno1/x");
  files.file("/sys/class/net/eno1/device/vendor");
  files.file("/sys/class/net/br1/bridge/x").file("/sys/class/net/br1/brif/bond0/x");
  files.file("/sys/class/net/bond0/lower_eno2/x");
  auto const networks = usable(
      {up("docker0", "172.17.0.1"), up("br-0123456789ab", "172.18.0.1"), up("lab", "10.5.0.1"),
       up("br0", "10.0.0.1"), up("br1", "10.7.0.1"), up("br-ex", "10.6.0.1"),
       up("virbr0", "192.168.122.1"), up("cni0", "10.244.0.1"), up("eth0", "10.1.0.1")},
      files);
  CHECK(names(networks, true) == Names{"docker0", "br-0123456789ab", "lab", "virbr0", "cni0"});
  CHECK(names(networks, false) == Names{"br0", "br1", "br-ex", "eth0"});  // cards
}

TEST_CASE("link-local addresses count where there is nothing else", "[environment]") {
  FakeFileSystem const files;
  auto const local = up("eth0", "fe80::1", 64), service = up("usb0", "169.254.3.1", 16);
  CHECK(names(usable({local, service, up("eth0", "10.0.0.1")}, files), false) == Names{"eth0"});
  CHECK(names(usable({local, service}, files), false) == Names{"eth0", "usb0"});
  CHECK(names(usable({local, up("docker0", "172.17.0.1")}, files), false) == Names{"eth0"});
}

TEST_CASE("a machine full of containers still offers its networks", "[environment]") {
  FakeFileSystem const files;
  std::vector<InterfaceAddress> listed;
  for (int i = 0; i < 300; ++i)
    listed.push_back(up("cni" + std::to_string(i), "10.8." + std::to_string(i % 250) + ".1"));
  listed.push_back(up("eth0", "10.0.0.1"));
  auto const networks = usable(listed, files);
  CHECK(networks.size() == kMostNetworks);
  CHECK(names(networks, false) == Names{"eth0"});
}

TEST_CASE("without a wish a node offers all, and is reached where it is seen", "[environment]") {
  CHECK(*offer_networks(kTwo, {}, "h1") == NetworkOffer{"", kTwo});
}

TEST_CASE("an interface, a subnet or an address can be wished for, the first one best",
          "[environment]") {
  CHECK(offered("ib0") == Networks{kTwo[2]});
  CHECK(offered("10.1.0.1") == Networks{kTwo[2]});
  CHECK(offered("10.0.0.0/8") == Networks{kTwo[0], kTwo[2]});
  CHECK(offered("10.0.0.0/24") == Networks{kTwo[0]});
  CHECK(offered("eno1, ib0 ,10.0.0.0/8") == Networks{kTwo[2], kTwo[0]});
  CHECK(offered("docker0") == Networks{{"docker0", "172.17.0.1", 16, false}});
}

TEST_CASE("a wish that a node cannot fulfil names what it has", "[environment]") {
  auto const offer = offer_networks(kTwo, {"eth1,10.9.0.0/16", std::nullopt}, "h1");
  REQUIRE_FALSE(offer);
  CHECK(offer.error().what == "--network=eth1,10.9.0.0/16: host h1 has no such network");
  CHECK(offer.error().hint == "it has eth0 10.0.0.1/24, docker0 172.17.0.1/16, ib0 10.1.0.1/16");
  for (auto const* text :
       {"10.0.0.0/33", "10.0.0/8", "10.0.0.0/", "/8", "fd00::/129", "10.0.0.0/-1"}) {
    auto const malformed = offer_networks(kTwo, {text, std::nullopt}, "h1");
    INFO(text);
    REQUIRE_FALSE(malformed);
    CHECK_THAT(malformed.error().what, Catch::Contains("is no subnet"));
  }
}

TEST_CASE("the address that others reach is the only one offered", "[environment]") {
  CHECK(*offer_networks(kTwo, {"", "10.1.0.1"}, "h1") == NetworkOffer{"10.1.0.1", {kTwo[2]}});
  CHECK(*offer_networks(kTwo, {"", "203.0.113.9"}, "h1") == NetworkOffer{"203.0.113.9", {}});
  CHECK(*offer_networks(kTwo, {"", "a.example"}, "h1") == NetworkOffer{"a.example", {}});
  CHECK(*offer_networks(kTwo, {"ib0", "203.0.113.9"}, "h1") ==
        NetworkOffer{"203.0.113.9", {{"ib0", "203.0.113.9", 32, false}}});
  auto const contradiction = offer_networks(kTwo, {"ib0", "10.0.0.1"}, "h1");
  REQUIRE_FALSE(contradiction);
  CHECK_THAT(contradiction.error().what,
             Catch::Contains("--local-addr=10.0.0.1") && Catch::Contains("ib0 10.1.0.1/16"));
}

TEST_CASE("this machine's own interfaces are listed, loopback among them", "[environment]") {
  auto const listed = interface_addresses();
  auto const loopback = std::find_if(listed.begin(), listed.end(),
                                     [](auto const& each) { return each.address == "127.0.0.1"; });
  REQUIRE(loopback != listed.end());
  CHECK(loopback->is_loopback);
  CHECK(loopback->prefix_bits == 8);
}

}  // namespace muster::launch
