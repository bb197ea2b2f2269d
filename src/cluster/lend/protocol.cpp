#include "cluster/lend/protocol.h"

#include <cerrno>
#include <cstdlib>

#include "os/files/secret_file.h"

namespace tasuki::cluster::lend {

Result<std::string> key_file() {
  if (const char* named = getenv("TASUKI_LEND_KEY"); named != nullptr && *named != 0)
    return std::string(named);
  const char* home = getenv("HOME");
  if (home == nullptr || *home == 0)
    return Status::error(EINVAL,
                         "no home directory for the key of lenders: name a file with TASUKI_LEND_KEY");
  return std::string(home) + "/.config/tasuki/lend.key";
}

Result<Key> read_key(const std::string& file) {
  Key key;
  const Status read = os::read_secret(file, key.bytes, sizeof key.bytes);
  if (read.ok()) return key;
  return Status::error(read.err(), "the key of lenders: " + read.message() +
                                       (read.err() == ENOENT ? " (`tasuki lend` makes it)" : ""));
}

Result<Key> make_key(const std::string& file) {
  Key key;
  const Status made = os::make_secret(file, key.bytes, sizeof key.bytes);
  if (made.ok()) return key;
  return Status::error(made.err(), "the key of lenders: " + made.message());
}

bool same(const Key& a, const Key& b) {
  unsigned differ = 0;
  for (size_t i = 0; i < sizeof a.bytes; i++)
    differ |= static_cast<unsigned>(static_cast<unsigned char>(a.bytes[i]) ^
                                    static_cast<unsigned char>(b.bytes[i]));
  return differ == 0;
}

}  // namespace tasuki::cluster::lend
