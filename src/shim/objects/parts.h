// Partitions of types that are not decoded: the library packs each of them when it is ready, and unpacks it
// when the user sees that it has arrived, once, since he may then change it.
#pragma once

#include "message/shared/shared.h"

namespace tasuki::shim {

using message::Request;

// Of a partitioned receive; false: no memory.
bool watch_parts(Request* r, uint32_t partitions);
// A new epoch: none is unpacked.
void forget_parts(Request* r);

// From the user's buffer to the packed bytes that are sent. By several threads at once for different ones.
void pack_part(Request* r, uint32_t part);
// One that has arrived, to the user's buffer. By several threads at once.
void unpack_part(Request* r, uint32_t part);
// All that the message has filled.
void unpack_parts(Request* r);

}  // namespace tasuki::shim
