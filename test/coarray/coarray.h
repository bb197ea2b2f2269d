/* For programs that call the coarray runtime themselves, as tasukicc's output does. */
#ifndef TEST_COARRAY_H
#define TEST_COARRAY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tasuki/compiler/local_view.h>
#include <xmp.h>

extern const int tasuki_xmp_main_waits;
const int tasuki_xmp_main_waits = 1;

#define CHECK(what)                                                                                  \
  do {                                                                                               \
    if (!(what)) {                                                                                   \
      fprintf(stderr, "%s:%d: image %d: failed: %s\n", __FILE__, __LINE__, xmp_this_image(), #what); \
      exit(1);                                                                                       \
    }                                                                                                \
  } while (0)

#define PUT(object, value, image, flags) \
  tasuki_xmp_put(&(object), &(value), sizeof(object), image, flags, __FILE__, __LINE__)
#define GET(value, object, image, flags) \
  tasuki_xmp_get(&(value), &(object), sizeof(object), image, flags, __FILE__, __LINE__)

/* The record of a coarray: T (*name)[..] or T (*name). */
#define COARRAY(pointer_name, text)                                                                    \
  {                                                                                                    \
    .struct_size = sizeof(struct tasuki_xmp_coarray), .pointer = &(pointer_name),                      \
    .bytes = sizeof *(pointer_name), .alignment = 16, .name = text, .file = __FILE__, .line = __LINE__ \
  }

/* The record of a node array; what differs from one to the other, such as .size = {2, 3}, stands last. */
#define NODES_RECORD(name_, file_, line_, rank, origin_, ...)                                          \
  {                                                                                                    \
    .kind = TASUKI_XMP_KIND_NODES, .struct_size = sizeof(struct tasuki_xmp_nodes), .dimensions = rank, \
    .origin = origin_, .name = name_, .file = file_, .line = line_, __VA_ARGS__                        \
  }

#endif
