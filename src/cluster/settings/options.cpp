#include "cluster/settings/options.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/bytes.h"
#include "base/cpu.h"
#include "cluster/lend/protocol.h"

namespace tasuki::cluster {

std::string short_name(const Setting& setting) {
  std::string name(std::string_view(setting.name).substr(kSettingsPrefix.size()));
  for (char& c : name) c = c == '_' ? '-' : static_cast<char>(tolower(c));
  return name;
}

std::vector<const Setting*> cluster_settings() {
  std::vector<const Setting*> found;
  for (const Setting& setting : settings())
    if (std::string_view(setting.name).substr(0, kSettingsPrefix.size()) == kSettingsPrefix)
      found.push_back(&setting);
  return found;
}

void add_environment(Values* values, const std::function<const char*(const char*)>& variable) {
  for (const Setting* s : cluster_settings()) {
    const char* text = variable(s->name);
    if (text != nullptr && *text != 0) values->insert({short_name(*s), {text, s->name}});
  }
}

namespace {

// Turns texts into options; keeps the first error.
class Reader {
 public:
  explicit Reader(const Values& values) : values_(values) {}
  const Status& status() const { return status_; }

  const Given* given(const char* name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
  }

  template <typename Enum>
  void choice(const char* name, Enum* value) {
    const Given* g = given(name);
    if (g == nullptr) return;
    const char* choices = find(name).choices;
    int index = 0;
    if (parse_choice(g->text, choices, &index))
      *value = static_cast<Enum>(index);
    else
      refuse(*g, std::string("one of ") + choices);
  }

  void flag(const char* name, bool* value) {
    const Given* g = given(name);
    if (g != nullptr && !parse_flag(g->text, value)) refuse(*g, "on or off");
  }

  void count(const char* name, uint64_t least, uint64_t most, uint64_t* value) {
    const Given* g = given(name);
    uint64_t n = 0;
    if (g == nullptr) return;
    if (parse_count(g->text, &n) && n >= least && n <= most)
      *value = n;
    else
      refuse(*g, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }

  // Stays 0 for the word ("auto").
  void bytes_or(const std::string& word, const char* name, uint64_t* value) {
    const Given* g = given(name);
    if (g == nullptr || g->text == word) return;
    uint64_t n = 0;
    if (parse_bytes(g->text, ByteUnits::binary, &n) && n > 0)
      *value = n;
    else
      refuse(*g, word + ", or a size such as 500MiB or 20GiB");
  }

  void refuse(const Given& g, const std::string& accepted) {
    if (status_.ok())
      status_ = Status::error(EINVAL, g.where + " = \"" + g.text + "\": accepted is " + accepted);
  }

 private:
  static const Setting& find(const char* name) {
    for (const Setting* s : cluster_settings())
      if (short_name(*s) == name) return *s;
    abort();  // a name that is not in the table: unit-tested
  }

  const Values& values_;
  Status status_;
};

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

void read_stats(Reader* reader, Options* options) {
  const Given* g = reader->given("stats");
  if (g == nullptr) return;
  if (parse_flag(g->text, &options->stats)) return;
  if (!ends_with(g->text, ".json") && !ends_with(g->text, ".html"))
    return reader->refuse(*g, "on, off, or the name of a file that ends in .json or .html");
  options->stats = true;
  options->stats_file = g->text;
}

void read_lenders(Reader* reader, Options* options) {
  const Given* g = reader->given("lenders");
  if (g == nullptr) return;
  for (size_t from = 0; from <= g->text.size();) {
    const size_t comma = std::min(g->text.find(',', from), g->text.size());
    const Result<os::HostPort> one = os::parse_host_port(g->text.substr(from, comma - from), lend::kPort);
    if (!one.ok() || one.value().host.empty())
      return reader->refuse(*g, "HOST or HOST:PORT of each lender, with commas between them");
    options->lenders.push_back(one.value());
    from = comma + 1;
  }
}

// K+M, after the way in which others write such codes.
bool parse_code(const std::string& text, Redundancy* code) {
  const size_t plus = text.find('+');
  uint64_t needed = 0, more = 0;
  if (plus == std::string::npos || !parse_count(text.substr(0, plus), &needed) ||
      !parse_count(text.substr(plus + 1), &more))
    return false;
  static_assert(Redundancy::kMostNeeded == 8 && Redundancy::kMostCopies == 8 + 4);
  if ((needed != 2 && needed != 4 && needed != 8) || more < 1 || more > 4) return false;
  *code = {static_cast<uint32_t>(needed + more), static_cast<uint32_t>(needed)};
  return true;
}

void read_redundancy(Reader* reader, Options* options) {
  uint64_t replicas = 1;
  reader->count("replicas", 1, 2, &replicas);
  options->redundancy.copies = static_cast<uint32_t>(replicas);
  const Given* g = reader->given("erasure-code");
  if (g == nullptr || g->text == "none") return;
  if (!parse_code(g->text, &options->redundancy))
    return reader->refuse(*g, "none, or K+M: K parts of each page, 2, 4 or 8, and 1 to 4 more, as in 4+2");
  if (replicas > 1) reader->refuse(*g, "none beside --replicas 2: either copies of pages or parts of them");
  if (options->compress != Compress::none)
    reader->refuse(*g, "none beside --compress: parts of pages are not compressed");
}

void read_page_size(Reader* reader, Options* options) {
  uint64_t page = 0;
  reader->bytes_or("auto", "page-size", &page);
  if (page % page_size() != 0 || page > (2u << 20))
    reader->refuse(*reader->given("page-size"),
                   "auto, or a multiple of " + std::to_string(page_size() >> 10) + "KiB up to 2MiB");
  options->pager.page_bytes = page;
}

}  // namespace

Result<Options> make_options(const Values& values) {
  Options options;
  Reader reader(values);
  reader.bytes_or("auto", "local", &options.pager.local_bytes);
  reader.bytes_or("auto", "memory", &options.memory);
  read_lenders(&reader, &options);
  if (const Given* store = reader.given("store")) options.store = store->text;
  reader.bytes_or("auto", "store-size", &options.store_bytes);
  reader.bytes_or("none", "compressed-cache", &options.compressed_cache);
  read_page_size(&reader, &options);
  reader.choice("protocol", &options.pager.protocol);
  reader.choice("replacement", &options.pager.replacement);
  reader.choice("prefetch", &options.pager.prefetch);
  reader.choice("copies", &options.pager.copies);
  reader.choice("faults", &options.pager.faults);
  uint64_t threads = 1;
  reader.count("threads", 1, 64, &threads);
  options.threads = static_cast<uint32_t>(threads);
  reader.choice("fill", &options.fill);
  reader.choice("compress", &options.compress);
  read_redundancy(&reader, &options);
  reader.flag("checksum", &options.checksum);
  reader.choice("window", &options.window);
  reader.count("timeout", 0, 1'000'000, &options.timeout_s);
  read_stats(&reader, &options);
  if (!reader.status().ok()) return reader.status();
  return options;
}

Result<Options> make_options(const Values& values, int ranks, const SizesReader& read) {
  Result<Options> options = make_options(values);
  const auto memfile = values.find("memfile");
  if (!options.ok() || memfile == values.end() || ranks == 0) return options;
  const Result<MemorySizes> sizes = read(memfile->second.text);
  if (!sizes.ok()) return sizes.status();
  Result<std::vector<uint64_t>> bytes = sizes_of_ranks(sizes.value(), ranks);
  if (!bytes.ok()) return bytes.status();
  options.value().memfile = std::move(bytes.value());
  return options;
}

Result<Options> environment_options(const std::vector<std::string>&, int ranks) {
  Values values;
  add_environment(&values, getenv);
  return make_options(values, ranks,
                      [](const std::string& file) { return taken_over(getenv(kSizesVariable), file); });
}

}  // namespace tasuki::cluster
