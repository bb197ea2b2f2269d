// direction: which way the bytes of a transfer go, for the image that starts it.
#pragma once

namespace tasuki::coarray {

// From here to another image, or from another image to here.
enum class Direction { put, get };

}  // namespace tasuki::coarray
