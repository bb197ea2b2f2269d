// Himeno's benchmark (R. Himeno, RIKEN), from its published formula, with numbers of four bytes (as defined)
// and of eight (as DLM-MPI's section 4.3 adds).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/memory/memory.h"

static int g_planes, g_rows, g_columns;  // of the arrays
static int g_imax, g_jmax, g_kmax;       // that are computed, their boundary included

static bool choose_size(const char* size) {
  static const struct {
    const char* name;
    int planes, rows, columns;
  } sizes[] = {{"XS", 33, 33, 65},
               {"S", 65, 65, 129},
               {"M", 129, 129, 257},
               {"L", 257, 257, 513},
               {"XL", 513, 513, 1025}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (strcmp(size, sizes[i].name) == 0) {
      g_planes = sizes[i].planes, g_rows = sizes[i].rows, g_columns = sizes[i].columns;
      g_imax = g_planes - 1, g_jmax = g_rows - 1, g_kmax = g_columns - 1;
      return true;
    }
  return false;
}

#define REAL float
#define NAME(x) x##_float
#include "measure/memory/himeno_jacobi.h"
#undef REAL
#undef NAME
#define REAL double
#define NAME(x) x##_double
#include "measure/memory/himeno_jacobi.h"

const struct memory_kernel kHimeno = {.name = "himeno",
                                      .sizes = "XS, S, M, L, XL (15 GB)",
                                      .size = "M",
                                      .setup = setup_float,
                                      .step = step_float,
                                      .bytes = bytes_float,
                                      .operations = operations_float,
                                      .check = check_float,
                                      .results = results_float};
const struct memory_kernel kHimenoDouble = {.name = "himeno-double",
                                            .sizes = "XS, S, M, L, XL (30 GB)",
                                            .size = "M",
                                            .setup = setup_double,
                                            .step = step_double,
                                            .bytes = bytes_double,
                                            .operations = operations_double,
                                            .check = check_double,
                                            .results = results_double};
