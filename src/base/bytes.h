// Numbers of bytes as people write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tasuki {

// What KB means. KiB is 1024 bytes for both, MiB 1024 KiB, up to TiB.
enum class ByteUnits {
  // Settings and options that stand for them: K, KB and KiB are 1024 bytes. A whole number and its unit,
  // nothing between: "4096", "4K", "64KiB".
  binary,
  // Machine files and options of the simulator, which give rates of hardware beside sizes: KB and kB are 1000
  // bytes (IEC 80000-13). With blanks and fractions: "2 KiB", "1.5 MB".
  standard,
};

// False, and *bytes stays as it is: any other text, a part of a byte, or more than 64 bits hold.
bool parse_bytes(std::string_view text, ByteUnits units, uint64_t* bytes);

enum class BytesStyle {
  rounded,    // for sentences: "512 B", "23.5 GiB", "128 GiB"
  mebibytes,  // for figures that are compared with each other: "0.5 MiB", "2048.0 MiB"
  exact,      // no digit is lost, whatever the unit: "64 KiB", "1000 B"
  compact,    // the same as parse_bytes reads it: "64KiB", "1000B"
  prefix,     // the same where a table says what is counted: "64Ki", "1000"
};

std::string bytes_text(uint64_t bytes, BytesStyle style);

}  // namespace tasuki
