#include "simmpi/run/output.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "simmpi/run/rank.h"

namespace tasuki::simmpi {
namespace {

FILE* g_streams[2];  // of this process; its stdout and stderr are globals as well
FILE* g_before[2];

void write_all(int descriptor, const char* text, size_t n) {
  while (n != 0) {
    const ssize_t done = write(descriptor, text, n);
    if (done <= 0) return;
    text += done;
    n -= static_cast<size_t>(done);
  }
}

ssize_t write_stream(void* cookie, const char* text, size_t n) {
  const int descriptor = static_cast<int>(reinterpret_cast<intptr_t>(cookie));
  Rank* rank = running_rank();
  if (rank != nullptr)
    write_lines(&rank->output, descriptor, {text, n});
  else
    write_all(descriptor, text, n);
  return static_cast<ssize_t>(n);
}

}  // namespace

RankStreams::RankStreams() {
  fflush(stdout);
  for (int i = 0; i < 2; i++) {
    // Made once for the process: libraries keep the streams that they saw first.
    if (g_streams[i] == nullptr) {
      g_streams[i] = fopencookie(reinterpret_cast<void*>(intptr_t{i + 1}), "w",
                                 {nullptr, write_stream, nullptr, nullptr});
      if (g_streams[i] != nullptr) setvbuf(g_streams[i], nullptr, _IONBF, 0);
    }
    g_before[i] = i == 0 ? stdout : stderr;
    if (g_streams[i] != nullptr) (i == 0 ? stdout : stderr) = g_streams[i];
  }
}

RankStreams::~RankStreams() {
  stdout = g_before[0];
  stderr = g_before[1];
}

void write_lines(PendingOutput* pending, int descriptor, std::string_view text) {
  std::string& line = pending->line[descriptor - 1];
  const size_t end = text.rfind('\n');
  if (end == std::string_view::npos) {
    line += text;
    return;
  }
  line += text.substr(0, end + 1);
  write_all(descriptor, line.data(), line.size());
  line.assign(text.substr(end + 1));
}

void flush_lines(PendingOutput* pending) {
  for (int i = 0; i < 2; i++) {
    if (!pending->line[i].empty()) write_all(i + 1, pending->line[i].data(), pending->line[i].size());
    pending->line[i].clear();
  }
}

bool is_rank_stream(const void* file) {
  return file == g_streams[0] || file == g_streams[1];
}

}  // namespace tasuki::simmpi
