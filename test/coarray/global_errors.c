/* One mistake of a user of the global view, by its name: each ends the job with a message (errors_test.py has them). */
#include "global.h"

enum { N = 20 };

NODES(p, TASUKI_XMP_REST);
static int sizes[2] = {7, 13};
TEMPLATE(t, &p, {0, N - 1, TASUKI_XMP_BLOCK, 0, 0, NULL});
TEMPLATE(g, &p, {0, N - 1, TASUKI_XMP_GBLOCK, 0, 0, sizes});
TEMPLATE(c, &p, {0, N - 1, TASUKI_XMP_CYCLIC, 0, 2, NULL});
TEMPLATE(open, &p, {0, -1, TASUKI_XMP_BLOCK, 0, 0, NULL});
ARRAY(a, double, &t, 1, .extent = {N}, .shadow = {{1, 2}});
ARRAY(b, float, &g, 1, .extent = {N});
ARRAY(d, double, &c, 1, .extent = {N});
ARRAY(later, double, &t, 1, .extent = {0});
static struct tasuki_xmp_template* const all_templates[] = {&t, &g, &c, &open};
static struct tasuki_xmp_array* const all_arrays[] = {&a, &b, &d, &later};

static const char* const file = "prog.c";

/* Records of a later tasukicc: with members that this library does not know. */
static struct {
  struct tasuki_xmp_template known;
  long appended[3];
} newer_t = {TEMPLATE_RECORD("newer_t", &p, {0, N - 1, TASUKI_XMP_BLOCK, 0, 0, NULL}), {1, 2, 3}};
static struct {
  struct tasuki_xmp_array known;
  long appended[3];
} newer_a = {ARRAY_RECORD("newer_a", double, &newer_t.known, 1, .extent = {N}), {4, 5, 6}};

static int use_newer(int* argc, char*** argv) {
  struct tasuki_xmp_nodes* const nodes[] = {&p};
  struct tasuki_xmp_template* const templates[] = {&newer_t.known, &t};
  struct tasuki_xmp_array* const arrays[] = {&newer_a.known, &a};
  newer_t.known.struct_size = sizeof newer_t;
  newer_a.known.struct_size = sizeof newer_a;
  tasuki_xmp_register_nodes(nodes, nodes + 1);
  tasuki_xmp_register_templates(templates, templates + 2);
  tasuki_xmp_register_arrays(arrays, arrays + 2);
  if (tasuki_xmp_main_begin(argc, argv) != 0) return 1;
  FOR(i, &newer_t, 0, 0, N, 1, 0) AT(double, newer_a.known, i) = (double)i;
  END;
  const struct tasuki_xmp_triplet all = {0, N, 1};
  const struct tasuki_xmp_global_section left = {&a, NULL, 1, &all, 0},
                                         right = {&newer_a.known, NULL, 1, &all, 0};
  tasuki_xmp_gmove(&left, &right, 0, 0, file, 12);
  FOR(i, &t, 0, 0, N, 1, 0) CHECK(AT(double, a, i) == (double)i);
  END;
  int ndims = 0;
  CHECK(xmp_template_ndims(&newer_t, &ndims) == 0 && xmp_array_ndims(&newer_a, &ndims) == 0 && ndims == 1);
  for (int i = 0; i < 3; i++) CHECK(newer_t.appended[i] == 1 + i && newer_a.appended[i] == 4 + i);
  return 0;
}

static void move(const struct tasuki_xmp_array* to, const struct tasuki_xmp_array* from, long long begin,
                 long long count) {
  const struct tasuki_xmp_triplet left = {0, 5, 1}, right = {begin, count, 1};
  const struct tasuki_xmp_global_section l = {to, NULL, 1, &left, 0}, r = {from, NULL, 1, &right, 0};
  tasuki_xmp_gmove(&l, &r, 0, 0, file, 12);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
#define IS(name) (strcmp(what, name) == 0)
  if (IS("block")) t.dimension[0].width = 9;
  if (IS("gblock")) sizes[1] = 12;
  if (IS("negative")) sizes[0] = -1;
  if (IS("cyclic")) c.dimension[0].width = 0;
  if (IS("nodes")) t.dimension[0].format = TASUKI_XMP_DUPLICATED;
  if (IS("align")) a.offset[0] = 1;
  if (IS("shadow")) d.shadow[0][1] = 1;
  if (IS("memory")) a.element = (size_t)1 << 59;
  open.fixed = 0;
  if (IS("newer records")) return use_newer(&argc, &argv);
  if (IS("small template")) t.struct_size -= 8;
  if (IS("template without a size")) t.struct_size = 1;
  if (IS("small array")) a.struct_size -= 8;
  if (IS("array without a size")) a.struct_size = 2;
  struct tasuki_xmp_nodes* nodes[] = {&p};
  tasuki_xmp_register_nodes(nodes, nodes + 1);
  tasuki_xmp_register_templates(all_templates, all_templates + 4);
  tasuki_xmp_register_arrays(all_arrays, all_arrays + 4);
  if (tasuki_xmp_main_begin(&argc, &argv) != 0) return 1;
  const int me = xmp_node_num();
  struct tasuki_xmp_iterations l;
  const struct tasuki_xmp_template_dimension shape = {0, 9, TASUKI_XMP_BLOCK, 0, 0, NULL};
  const struct tasuki_xmp_triplet beyond = {N, 1, 1}, both = {0, 2, 1}, second = {1, 1, 1}, first = {0, 1, 1};
  const struct tasuki_xmp_on on_beyond = {&t, &beyond}, on_both = {&p, &both}, on_second = {&p, &second},
                             on_first = {&p, &first};
  const struct tasuki_xmp_width wide = {2, 2, 0};
  double x = 0;
  const struct tasuki_xmp_variable v = {&x, 1, sizeof x, TASUKI_XMP_DOUBLE, NULL};
  if (IS("small automatic template")) {
    struct tasuki_xmp_template automatic =
        TEMPLATE_RECORD("automatic", &p, {0, 9, TASUKI_XMP_BLOCK, 0, 0, NULL});
    automatic.struct_size = 64;
    tasuki_xmp_template_define(&automatic, file, 12);
  }
  if (IS("small automatic array") || IS("small parameter")) {
    struct tasuki_xmp_array automatic = ARRAY_RECORD("automatic", double, &t, 1, .extent = {N});
    automatic.struct_size = 64;
    if (IS("small parameter")) tasuki_xmp_array_parameter(&automatic, a.memory, file, 12);
    tasuki_xmp_array_define(&automatic, file, 12);
  }
  if (IS("open")) tasuki_xmp_loop(&l, &open, 0, 0, N, 1, 0, 0, 0, 0, file, 12);
  if (IS("fixed")) tasuki_xmp_template_fix(&t, &shape, file, 12);
  if (IS("expand")) tasuki_xmp_loop(&l, &c, 0, 0, N, 1, 0, 1, 1, 0, file, 12);
  if (IS("on")) tasuki_xmp_executes(&on_beyond, file, 12);
  if (IS("owned")) tasuki_xmp_owned(&a, 0, me == 1 ? 12 : 8, file, 12);
  if (IS("width")) tasuki_xmp_reflect(&a, &wide, 0, 0, file, 12);
  if (IS("no memory")) tasuki_xmp_reflect(&later, NULL, 0, 0, file, 12);
  if (IS("type")) tasuki_xmp_reduction(TASUKI_XMP_BIT_AND, &v, 0, NULL, NULL, 0, 0, file, 12);
  if (IS("from")) tasuki_xmp_bcast(1, &v, &on_both, NULL, 0, 0, file, 12);
  if (IS("from outside")) tasuki_xmp_bcast(1, &v, &on_second, &on_first, 0, 0, file, 12);
  if (IS("counts")) move(&a, &d, 0, 4);
  if (IS("elements")) move(&a, &b, 0, 5);
  if (IS("subscripts")) move(&a, &d, 18, 5);
  if (IS("parameter")) tasuki_xmp_array_parameter(&later, &x, file, 12);
  if (strncmp(what, "gone from", 9) == 0) {
    /* Image 1 takes part in the first of two. */
    tasuki_xmp_reduction(TASUKI_XMP_SUM, &v, 0, NULL, NULL, 0, 0, file, 11);
    if (me == 1) return 3;
  }
  if (IS("gone from reduction")) tasuki_xmp_reduction(TASUKI_XMP_SUM, &v, 0, NULL, NULL, 0, 0, file, 12);
  if (IS("gone from async")) {
    tasuki_xmp_reduction(TASUKI_XMP_SUM, &v, 0, NULL, NULL, TASUKI_XMP_ASYNC, 7, file, 12);
    tasuki_xmp_wait_async(1, (const int[]){7}, NULL, file, 13);
  }
  if (IS("gone from bcast")) tasuki_xmp_bcast(1, &v, &on_first, NULL, 0, 0, file, 12);
  if (IS("gone from task")) tasuki_xmp_task_begin_on(&on_both, file, 12);
  if (IS("gone from gmove")) move(&a, &d, 0, 5);
  if (IS("gone") && me == 1) return 3;
  if (IS("exit in task")) {
    /* Image 1 ends while a distributed array of a function lives, which the other gives back. */
    struct tasuki_xmp_array automatic = ARRAY_RECORD("automatic", double, &t, 1, .extent = {N});
    tasuki_xmp_array_define(&automatic, file, 12);
    if (tasuki_xmp_task_begin_on(&on_first, file, 12)) exit(5);
    tasuki_xmp_array_release(&automatic);
    return 0;
  }
  if (IS("range") || IS("length") || IS("written") || IS("read")) {
    /* a[1:19] = d[0:19], or as much as that. */
    const long long length = IS("length") ? 18 : 19, begin = IS("written") ? 0 : IS("range") ? 2 : 1;
    tasuki_xmp_divide(&l, &t, 0, begin, 19, 1, length, file, 12);
    const struct tasuki_xmp_array_loop loop = {&l, begin, 1, 19};
    const struct tasuki_xmp_array_access accesses[] = {{&a, 0, 0, 1, 1, 19, 1, "a"},
                                                       {&d, 0, 0, 0, 1, 19, 0, "d"}};
    tasuki_xmp_array_begin(NULL, 1, &loop, 2, accesses, file, 12);
  }
  if (IS("gone")) tasuki_xmp_reflect(&a, NULL, 0, 0, file, 12);
  if (IS("twice")) {
    xmp_malloc(&later, (size_t)N);
    xmp_malloc(&later, (size_t)N);
  }
  return 0;
}
