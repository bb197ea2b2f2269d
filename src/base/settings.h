// The settings of Tasuki: one table. `tasuki settings` prints it, the manual quotes it, the shim and the
// commands read it. A setting is an environment variable; nothing else configures the shim.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tasuki {

enum class SettingKind { flag, bytes, count, count_or_auto, choice, text };

struct Setting {
  const char* name;           // environment variable, e.g. "TASUKI_EAGER"
  SettingKind kind;           // how the value is parsed
  const char* default_value;  // in the user's notation, e.g. "4KiB"
  const char* choices;        // for SettingKind::choice: "auto|eager|direct|pipelined", else nullptr
  const char* help;           // one sentence
};

std::span<const Setting> settings();

// Value of a setting: the environment's if it is set and valid, else the default. An invalid value is
// reported once per process on stderr (what, where, what is accepted) and the default is used. `name` must be
// in the table.
bool setting_flag(std::string_view name);              // on/off, 1/0, yes/no, true/false
uint64_t setting_bytes(std::string_view name);         // base/bytes.h, ByteUnits::binary
uint64_t setting_count(std::string_view name);         // non-negative integer
int64_t setting_count_or_auto(std::string_view name);  // -1: auto
const char* setting_text(std::string_view name);       // the raw text, never nullptr
int setting_choice(std::string_view name);             // index into the table's choices

const Setting& setting(std::string_view name);

// Is a program that cannot share its address space an error? TASUKI_REQUIRE=on, or TASUKI_EVERYWHERE=on.
bool sharing_required();

// False: the text is not one. Sizes are read by parse_bytes (base/bytes.h) with ByteUnits::binary.
bool parse_flag(std::string_view text, bool* value);
bool parse_count(std::string_view text, uint64_t* value);
// The index of `text` in choices as the table has them.
bool parse_choice(std::string_view text, std::string_view choices, int* index);

}  // namespace tasuki
