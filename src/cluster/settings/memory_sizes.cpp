#include "cluster/settings/memory_sizes.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/log.h"
#include "os/files/paths.h"

namespace tasuki::cluster {

Result<std::vector<uint64_t>> sizes_of_ranks(const MemorySizes& sizes, int ranks) {
  const size_t wanted = static_cast<size_t>(ranks), there = sizes.bytes.size();
  if (there < wanted)
    return Status::error(EINVAL, sizes.file + ":" + std::to_string(sizes.lines) + ": the file ends after " +
                                     std::to_string(there) + " sizes, but the job has " +
                                     std::to_string(ranks) + " ranks: a line for each is needed");
  if (there > wanted)
    log(LogLevel::warning, "%s has %zu sizes, but the job has %d ranks: the last ones are not used",
        sizes.file.c_str(), there, ranks);
  return std::vector<uint64_t>(sizes.bytes.begin(), sizes.bytes.begin() + ranks);
}

// LINES:BYTES,BYTES FILE
std::string handed_over(const MemorySizes& sizes) {
  std::string text = std::to_string(sizes.lines) + ":";
  for (const uint64_t bytes : sizes.bytes) text += std::to_string(bytes) + ",";
  return text + " " + sizes.file;
}

Result<MemorySizes> taken_over(const char* text, const std::string& file) {
  MemorySizes sizes;
  sizes.file = file;
  if (text != nullptr) {
    char* at = nullptr;
    sizes.lines = static_cast<int>(strtol(text, &at, 10));
    if (*at == ':') at++;
    while (*at >= '0' && *at <= '9') {
      sizes.bytes.push_back(strtoull(at, &at, 10));
      if (*at == ',') at++;
    }
    if (*at == ' ' && file == at + 1) return sizes;
  }
  if (!os::can_read(file)) return cannot_read_sizes(file);
  return Status::error(EINVAL, file + ": tasuki mem has not read it (the file of memory sizes)");
}

Status cannot_read_sizes(const std::string& file) {
  return Status::error(errno, file + ": " + strerror(errno) + " (the file of memory sizes)");
}

}  // namespace tasuki::cluster
