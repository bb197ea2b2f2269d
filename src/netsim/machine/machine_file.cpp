// Machine files: TOML. Every value is checked where it stands, so that a message can name its line.
#include <toml++/toml.h>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <set>

#include "base/bytes.h"
#include "netsim/machine/machine.h"

namespace tasuki::netsim {
namespace {

// Reads keys of tables; keeps the first error, after which all reads do nothing.
class Reader {
 public:
  Reader(const toml::table& root, const std::string& path) : root_(root), path_(path) {}

  Status finish() {
    if (status_.ok()) refuse_unknown(root_, "");
    return status_;
  }

  bool has(const std::string& key) { return find(key) != nullptr; }

  void text(const std::string& key, std::string* value) {
    const toml::node* n = required(key, "a string");
    if (n == nullptr) return;
    if (!n->is_string()) return wrong(key, n, "must be a string");
    *value = n->as_string()->get();
  }

  void whole(const std::string& key, uint32_t* value) {
    const toml::node* n = required(key, "a whole number");
    if (n != nullptr) take_whole(key, n, value);
  }

  void bytes(const std::string& key, uint64_t* value) {
    quantity(key, "a size with its unit, for example \"2 KiB\"",
             [&](const std::string& t) { return parse_bytes(t, ByteUnits::standard, value); });
  }
  void bytes32(const std::string& key, uint32_t* value) {
    quantity(key, "a size below 4 GiB with its unit, for example \"2 KiB\"", [&](const std::string& t) {
      uint64_t b = 0;
      if (!parse_bytes(t, ByteUnits::standard, &b) || b > UINT32_MAX) return false;
      *value = static_cast<uint32_t>(b);
      return true;
    });
  }
  void rate(const std::string& key, double* value) {
    quantity(key, "a bandwidth with its unit, for example \"4 GB/s\"",
             [&](const std::string& t) { return parse_bandwidth(t, value) && *value > 0; });
  }
  void time(const std::string& key, Time* value) {
    quantity(key, "a time with its unit, for example \"78 ns\"",
             [&](const std::string& t) { return parse_time(t, value); });
  }

  template <typename E>
  void choice(const std::string& key, std::initializer_list<std::pair<const char*, E>> names, E* value) {
    std::string expected = "one of";
    for (const auto& name : names) expected += std::string(" \"") + name.first + "\"";
    const toml::node* n = required(key, expected);
    if (n == nullptr) return;
    for (const auto& name : names)
      if (n->is_string() && n->as_string()->get() == name.first) {
        *value = name.second;
        return;
      }
    wrong(key, n, "must be " + expected);
  }

  void wholes(const std::string& key, std::vector<uint32_t>* values) {
    const toml::node* n = required(key, "a list of whole numbers, for example [8, 8]");
    if (n == nullptr) return;
    if (!n->is_array() || n->as_array()->empty()) return wrong(key, n, "must be a list of whole numbers");
    for (const toml::node& element : *n->as_array()) {
      values->push_back(0);
      take_whole(key, &element, &values->back());
    }
  }

  void flags(const std::string& key, std::vector<bool>* values) {
    const toml::node* n = required(key, "a list of true and false");
    if (n == nullptr) return;
    if (!n->is_array()) return wrong(key, n, "must be a list of true and false");
    values->clear();
    for (const toml::node& element : *n->as_array()) {
      if (!element.is_boolean()) return wrong(key, &element, "must be a list of true and false");
      values->push_back(element.as_boolean()->get());
    }
  }

  // A value that does not go with the others. If the key is not there, its default is what is wrong: the
  // table counts.
  void wrong(const MachineFault& fault) {
    const std::string key = fault.key;
    const toml::node* n = find(key);
    if (n == nullptr) n = find(key.substr(0, key.find('.')));
    wrong(key, n != nullptr ? n : &root_, "is wrong: " + fault.what);
  }

  void wrong(const std::string& key, const toml::node* n, const std::string& what) {
    if (!status_.ok()) return;
    status_ = Status::error(EINVAL, place_of(n) + ": '" + key + "' " + what);
  }

 private:
  // Settings in place of the file's have no line.
  std::string place_of(const toml::node* n) const {
    return n->source().path == nullptr ? path_ + ", setting"
                                       : path_ + ":" + std::to_string(n->source().begin.line);
  }

  const toml::node* find(const std::string& key) {
    known_.insert(key);
    for (size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1))
      known_.insert(key.substr(0, dot));
    return root_.at_path(key).node();
  }

  const toml::node* required(const std::string& key, const std::string& expected) {
    const toml::node* n = find(key);
    if (n != nullptr || !status_.ok()) return status_.ok() ? n : nullptr;
    const size_t dot = key.find('.');
    const std::string table = key.substr(0, dot);
    const toml::node* parent = dot == std::string::npos ? nullptr : root_.at_path(table).node();
    const std::string where = parent != nullptr ? place_of(parent) : path_;
    status_ = Status::error(EINVAL, where + ": '" + key + "' is missing; it must be " + expected);
    return nullptr;
  }

  template <typename Parse>
  void quantity(const std::string& key, const std::string& expected, Parse parse) {
    const toml::node* n = required(key, expected);
    if (n == nullptr) return;
    if (!n->is_string() || !parse(n->as_string()->get())) wrong(key, n, "must be " + expected);
  }

  void take_whole(const std::string& key, const toml::node* n, uint32_t* value) {
    if (!n->is_integer() || n->as_integer()->get() < 0 || n->as_integer()->get() > UINT32_MAX)
      return wrong(key, n, "must be a whole number");
    *value = static_cast<uint32_t>(n->as_integer()->get());
  }

  // A misspelt key must not be ignored in silence.
  void refuse_unknown(const toml::table& table, const std::string& prefix) {
    for (const auto& [k, node] : table) {
      const std::string key = prefix + std::string(k.str());
      // A quoted key may hold a dot: it is not the path that it looks like.
      if (known_.count(key) == 0 || k.str().find('.') != std::string_view::npos)
        return wrong(key, &node, "is not a key of this kind of machine");
      if (node.is_table()) refuse_unknown(*node.as_table(), key + ".");
    }
  }

  const toml::table& root_;
  const std::string& path_;
  std::set<std::string> known_;
  Status status_;
};

void read_topology(Reader& r, Machine* m) {
  enum class Kind { torus, mesh, fat_tree, dragonfly } kind = Kind::torus;
  r.choice("topology.kind",
           {{"torus", Kind::torus},
            {"mesh", Kind::mesh},
            {"fat-tree", Kind::fat_tree},
            {"dragonfly", Kind::dragonfly}},
           &kind);
  switch (kind) {
    case Kind::torus:
    case Kind::mesh:
      m->topology = TopologyKind::torus;
      r.wholes("topology.extents", &m->extents);
      m->wraps.assign(m->extents.size(), kind == Kind::torus);
      if (r.has("topology.wraps")) r.flags("topology.wraps", &m->wraps);
      break;
    case Kind::fat_tree:
      m->topology = TopologyKind::fat_tree;
      r.whole("topology.arity", &m->arity);
      r.whole("topology.levels", &m->levels);
      return;
    case Kind::dragonfly:
      m->topology = TopologyKind::dragonfly;
      r.whole("topology.group_routers", &m->group_routers);
      r.whole("topology.global_links", &m->global_links);
      break;
  }
  if (r.has("topology.router_nodes")) r.whole("topology.router_nodes", &m->router_nodes);
}

void read_choices(Reader& r, Machine* m) {
  if (r.has("routing.algorithm"))
    r.choice("routing.algorithm",
             {{"deterministic", RoutingAlgorithm::deterministic},
              {"dimension-order", RoutingAlgorithm::deterministic},
              {"adaptive", RoutingAlgorithm::adaptive},
              {"valiant", RoutingAlgorithm::valiant}},
             &m->routing);
  if (r.has("routing.ties"))
    r.choice("routing.ties", {{"positive", Ties::positive}, {"split", Ties::split}}, &m->ties);
  if (r.has("routing.channels"))
    r.choice("routing.channels",
             {{"dateline", ChannelUse::dateline},
              {"balanced", ChannelUse::balanced},
              {"crossing", ChannelUse::crossing}},
             &m->channel_use);
  if (r.has("router.arbitration"))
    r.choice("router.arbitration",
             {{"injection-first", Arbitration::injection_first},
              {"round-robin", Arbitration::round_robin},
              {"through-first", Arbitration::through_first},
              {"oldest-first", Arbitration::oldest_first}},
             &m->arbitration);
  if (r.has("router.buffer_read"))
    r.choice(
        "router.buffer_read",
        {{"multiple", BufferRead::multiple}, {"channel", BufferRead::channel}, {"port", BufferRead::port}},
        &m->buffer_read);
  if (r.has("nic.injection"))
    r.choice("nic.injection", {{"per-nic", InjectionPorts::per_nic}, {"shared", InjectionPorts::shared}},
             &m->injection);
}

// "table.key=value", the value as in the file; what is not TOML is a string without its quotes.
Status replace(toml::table* root, const std::string& setting) {
  const size_t equals = setting.find('='), dot = setting.find('.');
  if (equals == std::string::npos || equals == 0)
    return Status::error(EINVAL,
                         "setting '" + setting + "': expected KEY=VALUE, for example router.channels=4");
  const std::string value = setting.substr(equals + 1);
  toml::table parsed;
  try {
    parsed = toml::parse("v = " + value);
  } catch (const toml::parse_error&) {
    parsed.insert("v", value);
  }
  const bool nested = dot != std::string::npos && dot < equals;
  toml::table* table = root;
  if (nested) {
    const std::string name = setting.substr(0, dot);
    root->insert(name, toml::table());  // unless it is there
    table = root->get(name)->as_table();
    if (table == nullptr)
      return Status::error(EINVAL, "setting '" + setting + "': '" + name + "' has no keys");
  }
  const std::string key = nested ? setting.substr(dot + 1, equals - dot - 1) : setting.substr(0, equals);
  table->insert_or_assign(key, *parsed.get("v"));
  return Status();
}

}  // namespace

Result<Machine> parse_machine(std::string_view text, const std::string& path,
                              const std::vector<std::string>& settings) {
  toml::table root;
  try {
    root = toml::parse(text, path);
    for (const std::string& setting : settings) {
      Status status = replace(&root, setting);
      if (!status.ok()) return status;
    }
  } catch (const toml::parse_error& e) {
    return Status::error(EINVAL, path + ":" + std::to_string(e.source().begin.line) +
                                     ": not valid TOML: " + std::string(e.description()));
  }
  Machine m;
  Reader r(root, path);
  r.text("name", &m.name);
  read_topology(r, &m);
  r.rate("link.bandwidth", &m.link_bandwidth);
  r.time("link.cable_delay", &m.cable_delay);
  r.time("router.routing_computation", &m.routing_computation);
  r.time("router.channel_allocation", &m.channel_allocation);
  r.time("router.switch_allocation", &m.switch_allocation);
  r.time("router.switch_traversal", &m.switch_traversal);
  r.time("router.switch_delay", &m.switch_delay);
  r.whole("router.channels", &m.channels);
  r.bytes("router.buffer", &m.buffer_bytes);
  r.bytes32("packet.flit", &m.flit_bytes);
  r.bytes32("packet.mtu", &m.packet_bytes);
  r.bytes32("packet.header", &m.header_bytes);
  r.whole("nic.count", &m.nics);
  r.rate("nic.dma", &m.dma_bandwidth);
  r.rate("memory.bandwidth", &m.memory_bandwidth);
  r.time("software.call_overhead", &m.call_overhead);
  if (r.has("software.eager")) r.bytes("software.eager", &m.eager_bytes);
  if (r.has("software.compute_scale")) {
    const toml::node* n = root.at_path("software.compute_scale").node();
    m.compute_scale = n->value<double>().value_or(-1);
    if (!(m.compute_scale >= 0 && m.compute_scale <= 1e6))
      r.wrong("software.compute_scale", n, "must be 0 to 1e6");
  }
  read_choices(r, &m);
  Status status = r.finish();
  if (status.ok()) {
    const MachineFault fault = find_fault(m);
    if (fault.key == nullptr) return m;
    r.wrong(fault);
    status = r.finish();
  }
  return status;
}

Result<Machine> load_machine(const std::string& path, const std::vector<std::string>& settings) {
  constexpr size_t kMostText = 1 << 20;  // a machine file has a page: this is another file, or a device
  std::ifstream file(path);
  std::string text(kMostText, '\0');
  file.read(text.data(), kMostText);
  if (file.gcount() == kMostText) return Status::error(EFBIG, path + ": too long to be a machine file");
  if (!file.is_open() || file.bad())
    return Status::error(
        ENOENT,
        path + ": cannot read this machine file; `tasuki sim machines` lists those that come with Tasuki");
  text.resize(static_cast<size_t>(file.gcount()));
  return parse_machine(text, path, settings);
}

}  // namespace tasuki::netsim
