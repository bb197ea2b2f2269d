#include "cluster/transport/courier.h"

#include <utility>

#include "base/log.h"

namespace tasuki::cluster {

Courier::Courier(std::vector<std::string> names, bool keeps_on)
    : names_(std::move(names)), keeps_on_(keeps_on), leaves_(names_.size()), fate_(names_.size()) {}

Status Courier::failure(uint32_t server, Status status) {
  if (status.ok()) return status;
  if (keeps_on_) {
    lose(server, status.message());
    return {};
  }
  if (alive(server)) {  // so that the end does not wait for it
    fate_[server] = status.message();
    losses_++;
    give_up(server);
  }
  return Status::error(status.err(), name(server) + status.message());
}

void Courier::wants_to_leave(uint32_t server) {
  if (leaves_[server]) return;
  leaves_[server] = true;
  leaving_++;
}

void Courier::lose(uint32_t server, const std::string& why, const std::string& consequence) {
  if (!alive(server)) return;
  fate_[server] = why;
  losses_++;
  log(LogLevel::warning, "%s%s: %s", name(server).c_str(), why.c_str(), consequence.c_str());
  give_up(server);
}

}  // namespace tasuki::cluster
