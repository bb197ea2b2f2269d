// What ranks print. stdout and stderr of this process become streams that hand whatever arrives to the rank
// that is running: it is written line by line, so that lines of different ranks never mix. Outside of ranks
// it is written at once.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace tasuki::simmpi {

// One rank's unfinished lines.
struct PendingOutput {
  std::string line[2];  // of descriptors 1 and 2
};

// Replaces the streams for as long as it lives. There may be one at a time.
class RankStreams {
 public:
  RankStreams();
  ~RankStreams();
  RankStreams(const RankStreams&) = delete;
  RankStreams& operator=(const RankStreams&) = delete;
};

// descriptor: 1 or 2.
void write_lines(PendingOutput* pending, int descriptor, std::string_view text);
void flush_lines(PendingOutput* pending);  // what is left, when the rank ends
bool is_rank_stream(const void* file);

}  // namespace tasuki::simmpi
