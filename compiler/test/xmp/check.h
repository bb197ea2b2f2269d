/* A check that fails ends the whole job. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmp.h>
#define CHECK(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: image %d: %s\n", __FILE__, __LINE__, xmp_node_num(), #condition); \
      abort(); \
    } \
  } while (0)
#define ME xmp_this_image()
#define RIGHT (ME % xmp_num_images() + 1)
#define LEFT ((ME + xmp_num_images() - 2) % xmp_num_images() + 1)
