// openacc: the OpenACC runtime that the program was linked with, if it was. Looked up, so that programs
// without OpenACC need none.
#pragma once

#include <cstdint>

namespace tasuki::coarray::openacc {

enum class Where { nowhere, host, device };

// Where the program's compute regions run: nowhere if it has no OpenACC.
Where regions();

// Chooses the device with this number for them. Its driver's context; nullptr: not known.
void* use_device(int number);

// From now on, what clauses and compute regions call host memory [host, host + bytes) is that memory of the
// device.
bool map(void* host, void* device, uint64_t bytes);
void unmap(void* host);

// Where clauses have put the bytes; nullptr: not all of them are on the device.
char* device_address(const void* host, uint64_t bytes);

// Waits for all compute regions and copies of this program that are under way.
void wait_all();

}  // namespace tasuki::coarray::openacc
