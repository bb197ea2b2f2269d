// Halo exchange: every rank gives a face to each of its two neighbours in every dimension, all at once. At
// the border of a mesh there is no neighbour; on a torus of extent 1 a rank is its own.
#include "schedule/algorithms.h"
#include "schedule/steps.h"

namespace tasuki::schedule {
namespace {

constexpr uint8_t kSendFaces = 0, kReceiveFaces = 1;

Result<Outline> outline(const Parameters& p) {
  const uint64_t bytes = 2 * p.shape.size() * p.bytes;
  return Outline{{{"send", bytes}, {"receive", bytes}}, {p.bytes == 0 ? 0u : 1u}};
}

// The messages to the positive and from the negative side come first, everywhere: with an extent of 2 both
// neighbours are one rank, and the order is what tells its two messages apart.
void emit(const Parameters& p, uint32_t rank, uint32_t, uint32_t, std::vector<Step>& out) {
  std::vector<Step> sends;
  uint32_t stride = 1;
  for (uint32_t d = 0; d < p.shape.size(); stride *= p.shape[d], d++) {
    const uint32_t extent = p.shape[d], c = rank / stride % extent;
    const auto at = [&](uint32_t to) { return rank - c * stride + to * stride; };
    const Range send_up{kSendFaces, 2 * d * p.bytes, p.bytes};
    const Range send_down{kSendFaces, (2 * d + 1) * p.bytes, p.bytes};
    const Range from_up{kReceiveFaces, 2 * d * p.bytes, p.bytes};
    const Range from_down{kReceiveFaces, (2 * d + 1) * p.bytes, p.bytes};
    const int16_t nic = static_cast<int16_t>(2 * d);
    if (extent == 1) {
      if (!p.wraps) continue;
      sends.push_back(local_step(Action::copy, from_down, kSendFaces, send_up.offset));
      sends.push_back(local_step(Action::copy, from_up, kSendFaces, send_down.offset));
      continue;
    }
    if (p.wraps || c > 0) out.push_back(receive_step(at((c + extent - 1) % extent), from_down));
    if (p.wraps || c + 1 < extent) out.push_back(receive_step(at((c + 1) % extent), from_up));
    if (p.wraps || c + 1 < extent) sends.push_back(send_step(at((c + 1) % extent), send_up, nic));
    if (p.wraps || c > 0)
      sends.push_back(send_step(at((c + extent - 1) % extent), send_down, static_cast<int16_t>(nic + 1)));
  }
  out.insert(out.end(), sends.begin(), sends.end());
}

}  // namespace

const Algorithm kHalo{"halo", "halo", "faces to all neighbours on a torus or mesh", true, &outline, &emit};

}  // namespace tasuki::schedule
