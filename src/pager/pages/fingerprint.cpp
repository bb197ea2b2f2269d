#include "pager/pages/fingerprint.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tasuki::pager {
namespace {

std::array<uint64_t, 2> hash_of(const Pieces& pieces) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (const Piece& p : pieces) XXH3_128bits_update(&state, p.at, p.units * unit_size());
  const XXH128_hash_t h = XXH3_128bits_digest(&state);
  return {h.low64, h.high64};
}

}  // namespace

void Fingerprint::remember(const Pieces& bytes) {
  hash_ = hash_of(bytes);
  known_ = true;
}

bool Fingerprint::equals(const Pieces& bytes) const {
  return known_ && hash_of(bytes) == hash_;
}

}  // namespace tasuki::pager
