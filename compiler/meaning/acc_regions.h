// OpenACC's directives in a text with coarrays (XcalableACC): which coarrays have device memory, where
// references mean that memory, and what the directives become, as a coarray is a pointer by then.
//
//     int v[N]:[*], b[N];
//     #pragma acc declare create(v, b)          #pragma acc declare create(b), and v's record says so
//     #pragma acc update self(v[0:3])           #pragma acc update self(p[0:1][0:3])
//     #pragma acc parallel loop                 #pragma acc parallel loop present(p[0:1])
//     #pragma acc host_data use_device(v, b)    #pragma acc host_data use_device(b)
//     v[:]:[2] = b[:];                          device memory at both ends
//
// The library translates addresses of coarrays itself, so their names go from use_device, and all references
// to other images hold addresses of the host. An ordinary array has its device address in the region: the
// user's compiler sees to that.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/text/text.h"

namespace tasuki::cc {

struct Unit;

struct AccRegions {
  // A change of a directive: [begin, end) becomes `before`, the coarray's pointer if there is a coarray, and
  // `after`.
  struct Change {
    size_t begin, end;  // offsets; alike: an insertion
    size_t array;       // index into RuntimeArrays::arrays; kNone
    size_t function;
    std::string before, after;
  };
  std::vector<Change> changes;
  std::set<size_t> device_arrays;  // indices into RuntimeArrays::arrays
  // Pointers to coarrays in declare create, by entity: what xmp_malloc gives them is in device memory.
  std::set<size_t> allocated;
  // Distributed arrays in declare create, by entity: they are in device memory as long as they live.
  std::set<size_t> distributed;

  std::vector<std::pair<size_t, size_t>> compute;  // regions for the device: tokens [first, last)

  // Names that stand for device memory, by token: of coarrays, distributed and ordinary arrays.
  std::set<size_t> device_names;
  // Those that begin an operand of a reference to another image or of an array assignment: the library gets
  // their host address.
  std::set<size_t> operands;
  // Names of pointers to coarrays, and parameters, among the others.
  std::set<size_t> device_pointers;

  bool is_device(size_t token) const { return device_names.contains(token); }
  // Is the name its address on the device, for the program itself?
  bool is_address_of_device(size_t token) const { return is_device(token) && !operands.contains(token); }
  // The first of these tokens whose value would be read from device memory by the host; kNone.
  size_t read_by_host(size_t first, size_t last) const;
};

AccRegions find_acc_regions(const Unit& unit);

// Errors for what XcalableACC has for several devices of one node (chapter 3 of its specification).
void check_device_sets(const Unit& unit);

// The user's compiler takes no scalars in use_device, and no region for the device inside one of the host
// with the same name. Coarrays have both, so the text that it checks holds none of them there.
void hide_coarrays(Unit* unit);

}  // namespace tasuki::cc
