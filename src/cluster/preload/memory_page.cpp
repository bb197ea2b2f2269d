// memory-page FILE: the page of a program that ran under `tasuki mem`. Its counters come by standard input,
// as JSON. libtasuki-mem starts this at the program's end, so that nothing that makes pages is in other
// people's programs.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "base/log.h"
#include "cluster/api/report_page.h"
#include "os/files/output_file.h"

using namespace tasuki;

namespace {

bool read_all(int fd, std::string* text) {
  char buffer[16384];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0;
    text->append(buffer, static_cast<size_t>(n));
  }
}

// false: not what report_json() writes.
bool read_title(const std::string& text, cluster::PageTitle* title) {
  const nlohmann::json counters = nlohmann::json::parse(text, nullptr, false);
  const auto field = [&](const char* name, std::string* value) {
    if (!counters.is_object() || !counters.contains(name) || !counters[name].is_string()) return false;
    *value = counters[name];
    return true;
  };
  return field("program", &title->program) && field("mpi", &title->mpi) &&
         field("mechanism", &title->mechanism) && field("protocol", &title->protocol) &&
         field("page_size", &title->page_size);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: memory-page FILE.html < FILE.json\nfiles as `tasuki mem --stats` writes them\n");
    return 2;
  }
  std::string json;
  if (!read_all(STDIN_FILENO, &json)) {
    log(LogLevel::error, "--stats %s: the counters cannot be read: %s", argv[1], strerror(errno));
    return 1;
  }
  cluster::PageTitle title;
  if (!read_title(json, &title)) {
    log(LogLevel::error, "--stats %s: standard input has no counters as `tasuki mem --stats` writes them",
        argv[1]);
    return 1;
  }
  const Status written = os::write_output("--stats", argv[1], cluster::report_page(title, json));
  if (!written.ok()) log(LogLevel::error, "%s", written.message().c_str());
  return written.ok() ? 0 : 1;
}
