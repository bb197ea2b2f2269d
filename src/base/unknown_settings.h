// Variables TASUKI_... that nothing reads.
#pragma once

namespace tasuki {

// Names each of them in the environment (as of main's) on stderr, with the setting that was probably meant.
void warn_of_unknown_settings(const char* const* environment);

}  // namespace tasuki
