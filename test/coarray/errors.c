/* One mistake of a user, by its name: each ends the job with a message (errors_test.py has them). */
#include <stdint.h>

#include "coarray.h"

static int (*a)[10];
static xmp_lock_t (*locks)[1];
static struct tasuki_xmp_coarray records[] = {COARRAY(a, "a"), COARRAY(locks, "locks")};
static struct tasuki_xmp_coarray* const all[] = {&records[0], &records[1]};
static struct tasuki_xmp_nodes p = NODES_RECORD("p", "prog.c", 3, 1, XMP_PRIMARY_NODES, .size = {5});
static struct tasuki_xmp_nodes everyone =
    NODES_RECORD("everyone", "prog.c", 3, 1, XMP_PRIMARY_NODES, .size = {TASUKI_XMP_REST});
static struct tasuki_xmp_nodes* const sets[] = {&p};

/* Records of a later tasukicc: with members that this library does not know. */
static int (*newer)[10];
static struct {
  struct tasuki_xmp_coarray known;
  long appended[3];
} newer_coarray = {COARRAY(newer, "newer"), {1, 2, 3}};
static struct {
  struct tasuki_xmp_nodes known;
  long appended[3];
} newer_nodes = {NODES_RECORD("newer", "prog.c", 3, 1, XMP_PRIMARY_NODES, .size = {TASUKI_XMP_REST}),
                 {4, 5, 6}};

static int use_newer(int* argc, char*** argv) {
  static const struct {
    struct tasuki_xmp_descriptor known;
    long appended;
  } descriptor = {
      {TASUKI_XMP_KIND_COARRAY, sizeof descriptor, 1, sizeof(int), {0}, "pointer", "prog.c", 3, 0}, 7};
  struct tasuki_xmp_coarray* const coarrays[] = {&newer_coarray.known, &records[0]};
  struct tasuki_xmp_nodes* const nodes[] = {&newer_nodes.known};
  newer_coarray.known.struct_size = sizeof newer_coarray;
  newer_nodes.known.struct_size = sizeof newer_nodes;
  tasuki_xmp_register(coarrays, coarrays + 2);
  tasuki_xmp_register_nodes(nodes, nodes + 1);
  if (tasuki_xmp_main_begin(argc, argv) != 0) return 1;
  const int value = 7, other = 3 - xmp_this_image();
  int ndims = 0;
  PUT((*newer)[9], value, other, 0);
  int* pointer = xmp_malloc(&descriptor, (size_t)20);
  PUT(pointer[19], value, other, 0);
  xmp_sync_all(NULL);
  CHECK((*newer)[9] == 7 && (*a)[9] == 0 && pointer[19] == 7);
  CHECK(xmp_nodes_ndims(&newer_nodes, &ndims) == 0 && ndims == 1);
  CHECK(tasuki_xmp_task_begin(&newer_nodes.known, NULL, "prog.c", 12) == 1);
  tasuki_xmp_task_end();
  for (int i = 0; i < 3; i++) CHECK(newer_coarray.appended[i] == 1 + i && newer_nodes.appended[i] == 4 + i);
  return 0;
}

static struct tasuki_xmp_dimension whole = {0, PTRDIFF_MIN, 1, 10, sizeof(int)};

/* Image 1 leaves the task by exit, and the other waits for it there. */
static int leave_task(int me, int* status) {
  if (!tasuki_xmp_task_begin(&everyone, NULL, "prog.c", 12)) return 5;
  xmp_sync_all(NULL);
  if (me == 1) exit(0);
  xmp_sync_all(status);
  tasuki_xmp_task_end();
  return *status == XMP_STAT_STOPPED_IMAGE ? 0 : 5;
}

static void copy(void* to, int image, unsigned flags, struct tasuki_xmp_dimension d, size_t element,
                 int length) {
  int b[10] = {0};
  struct tasuki_xmp_dimension from = {0, length, 1, 10, sizeof(int)};
  const struct tasuki_xmp_section left = {to, element, &d, 1, image, flags | TASUKI_XMP_REMOTE, "a"},
                                  right = {b, sizeof(int), &from, 1, 0, 0, "b"};
  tasuki_xmp_copy(&left, &right, 0, "prog.c", 12);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const char* const file = "prog.c";
  int value = 1, status = 0;
  if (strcmp(what, "early") == 0) return xmp_node_num();
  if (strcmp(what, "nodes") == 0) tasuki_xmp_register_nodes(sets, sets + 1);
  /* Records of other versions of tasukicc. */
  if (strcmp(what, "newer records") == 0) return use_newer(&argc, &argv);
  if (strcmp(what, "small coarray") == 0) records[1].struct_size -= 8;
  if (strcmp(what, "coarray without a size") == 0) records[1].struct_size = (size_t)&a;
  if (strcmp(what, "small nodes") == 0) {
    p.struct_size -= 8;
    tasuki_xmp_register_nodes(sets, sets + 1);
  }
  if (strcmp(what, "device driver") == 0) records[0].flags = TASUKI_XMP_DEVICE;
  tasuki_xmp_register(all, all + 2);
  if (tasuki_xmp_main_begin(&argc, &argv) != 0) return 1;
  const int n = xmp_num_images(), me = xmp_this_image();
  if (strcmp(what, "nodes without a size") == 0) {
    struct tasuki_xmp_nodes automatic = everyone;
    automatic.struct_size = 1;
    tasuki_xmp_nodes_define(&automatic);
  }
  const struct tasuki_xmp_dimension beyond = {8, 3, 1, 10, sizeof(int)};
  if (strcmp(what, "mismatch") == 0 || me == 1) {
    if (strcmp(what, "image") == 0) tasuki_xmp_put(&(*a)[1], &value, sizeof value, n + 1, 0, file, 12);
    if (strcmp(what, "zero") == 0) tasuki_xmp_get(&value, &(*a)[1], sizeof value, 0, 0, file, 12);
    if (strcmp(what, "no coarray") == 0) tasuki_xmp_put(&value, &value, sizeof value, 1, 0, file, 12);
    if (strcmp(what, "beyond") == 0) tasuki_xmp_put(&(*a)[9], &value, 1000, 1, 0, file, 12);
    if (strcmp(what, "bounds") == 0) copy(*a, 1, TASUKI_XMP_CHECK, beyond, sizeof(int), 3);
    if (strcmp(what, "section image") == 0) copy(*a, n + 7, 0, whole, sizeof(int), 10);
    if (strcmp(what, "counts") == 0) copy(*a, 1, 0, whole, sizeof(int), 9);
    if (strcmp(what, "elements") == 0) copy(*a, 1, 0, whole, 2, 10);
    if (strcmp(what, "index") == 0) (*a)[tasuki_xmp_index(10, 10, 0, "a", file, 12)] = 1;
    if (strcmp(what, "codimension") == 0)
      tasuki_xmp_image("a", 2, (const int[]){2}, (const int[]){3, 1}, file, 12);
    if (strcmp(what, "unlock") == 0) tasuki_xmp_unlock(*locks, 1, NULL, file, 12);
    if (strcmp(what, "atomic") == 0) tasuki_xmp_atomic(0, *a, 2, 1, 0, 0, file, 12);
    if (strcmp(what, "post") == 0) tasuki_xmp_post(n + 1, 0, file, 12);
    if (strcmp(what, "sync") == 0) xmp_sync_image(n + 1, NULL);
    if (strcmp(what, "use device") == 0)
      tasuki_xmp_put(&(*a)[1], &value, sizeof value, 1, TASUKI_XMP_DEVICE, file, 12);
    if (strcmp(what, "free") == 0) goto all_together;
    if (strcmp(what, "gone") == 0) return 3;
  }
  if (strcmp(what, "gone status") == 0 && me == 1) return 3;
  if (strcmp(what, "exit of all") == 0) xmp_exit(4);
  /* All wait for ever: for posts that nobody makes; one for a post, and the other for a meeting. */
  if (strcmp(what, "no posts") == 0) tasuki_xmp_wait(3 - me, 7, file, 10 + me);
  if (strcmp(what, "apart") == 0 && me == 1) tasuki_xmp_wait_any(file, 12);
  if (strcmp(what, "apart") == 0) xmp_sync_image(1, NULL);
  if (strcmp(what, "exit in task") == 0) return leave_task(me, &status);
  if (strcmp(what, "gone from task") == 0) return leave_task(me, NULL);
  if (strcmp(what, "no post by any") == 0) {
    /* What this image has posted to itself counts, and what the other has posted before its end. */
    tasuki_xmp_post(me, 4, file, 12);
    if (me == 1) tasuki_xmp_post(2, 5, file, 12);
    if (me == 1) return 3;
    for (int i = 0; i < 3; i++) tasuki_xmp_wait_any(file, 12);
  }
  if (strcmp(what, "no own post") == 0) tasuki_xmp_wait(me, 1, file, 12);
  if (strncmp(what, "holder", 6) == 0) {
    const int with_status = strcmp(what, "holder status") == 0;
    if (me == 1) tasuki_xmp_lock(*locks, 2, NULL, NULL, file, 11);
    xmp_sync_all(NULL);
    if (me == 1) return 3;
    tasuki_xmp_lock(*locks, 2, NULL, with_status ? &status : NULL, file, 12);
    return status == XMP_STAT_STOPPED_IMAGE ? 0 : 5;
  }
  if (strncmp(what, "no post", 7) == 0) {
    /* What was posted before the end is there. */
    const int many = strcmp(what, "no post of many") == 0 ? 40 : 2;
    for (int tag = 0; tag < many; tag++)
      if (me == 1)
        tasuki_xmp_post(2, tag, file, 12);
      else
        tasuki_xmp_wait(1, tag, file, 13);
    if (me == 1) return 3;
    tasuki_xmp_wait(1, 7, file, 12);
  }
all_together:
  if (strcmp(what, "small descriptor") == 0) {
    const struct tasuki_xmp_descriptor small = {.kind = TASUKI_XMP_KIND_COARRAY,
                                                .struct_size = 96,
                                                .dimensions = 1,
                                                .element = sizeof(int),
                                                .size = {0},
                                                .name = "x",
                                                .file = file,
                                                .line = 12};
    xmp_malloc(&small, (size_t)20);
  }
  if (strcmp(what, "sizes") == 0) xmp_comalloc((size_t)me * 64);
  if (strcmp(what, "memory") == 0) xmp_comalloc((size_t)1 << 60);
  if (strcmp(what, "free") == 0) xmp_cofree(&value);
  xmp_sync_all(strcmp(what, "gone status") == 0 ? &status : NULL);
  return 0;
}
