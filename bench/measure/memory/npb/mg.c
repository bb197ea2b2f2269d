// Multigrid: NPB's MG (RNR-94-007, section 2.3.3), a V-cycle for Poisson's equation on a periodic cube with
// 27-point stencils, from its definition. The norm of the residual after the iterations of a class is
// published with the benchmark; it must come out.
#include <math.h>
#include <stdlib.h>

#include "measure/memory/memory.h"

enum { kMostLevels = 11, kCharges = 10 };

struct grid {
  int n;       // points of an edge, without the layer around them that repeats the other side
  double* at;  // (n + 2)^3
};

static int g_top;  // levels 1..g_top, of 2^level points
static struct grid g_u[kMostLevels + 1], g_r[kMostLevels + 1], g_v;
static double g_first_norm;
static int g_class;

// Centre, faces, edges, corners.
static const double kA[4] = {-8.0 / 3.0, 0, 1.0 / 6.0, 1.0 / 12.0};
static double g_c[4];

static const struct {
  int level, iterations;
  double norm;
} kClasses[] = {{5, 4, 0.5307707005734e-04},  {7, 4, 0.6467329375339e-05},  {8, 4, 0.2433365309069e-05},
                {8, 20, 0.1800564401355e-05}, {9, 20, 0.5706732285740e-06}, {10, 50, 0.1583275060440e-09}};

static double* row(const struct grid* g, int i, int j) {
  return g->at + ((size_t)i * (size_t)(g->n + 2) + (size_t)j) * (size_t)(g->n + 2);
}

static void wrap(const struct grid* g) {
  const int n = g->n;
#pragma omp parallel for schedule(static)
  for (int i = 1; i <= n; i++) {
    for (int j = 1; j <= n; j++) {
      double* line = row(g, i, j);
      line[0] = line[n], line[n + 1] = line[1];
    }
    for (int k = 0; k < n + 2; k++) row(g, i, 0)[k] = row(g, i, n)[k], row(g, i, n + 1)[k] = row(g, i, 1)[k];
  }
  const size_t plane = (size_t)(n + 2) * (size_t)(n + 2);
  for (size_t x = 0; x < plane; x++) row(g, 0, 0)[x] = row(g, n, 0)[x], row(g, n + 1, 0)[x] = row(g, 1, 0)[x];
}

static void clear(const struct grid* g) {
  const size_t plane = (size_t)(g->n + 2) * (size_t)(g->n + 2);
#pragma omp parallel for schedule(static)
  for (int i = 0; i < g->n + 2; i++)
    for (size_t x = 0; x < plane; x++) row(g, i, 0)[x] = 0;
}

// Sums of the four neighbours of a line's points in the two other directions, and of the four diagonal ones.
static void neighbours(const struct grid* g, int i, int j, double* restrict faces, double* restrict edges) {
  const double *up = row(g, i, j - 1), *down = row(g, i, j + 1), *front = row(g, i - 1, j),
               *back = row(g, i + 1, j);
  const double *a = row(g, i - 1, j - 1), *b = row(g, i - 1, j + 1), *c = row(g, i + 1, j - 1),
               *d = row(g, i + 1, j + 1);
  for (int k = 0; k < g->n + 2; k++) {
    faces[k] = up[k] + down[k] + front[k] + back[k];
    edges[k] = a[k] + b[k] + c[k] + d[k];
  }
}

// r = v - A u; r may be v.
static void residual(const struct grid* u, const struct grid* v, const struct grid* r) {
  const int n = u->n;
#pragma omp parallel for schedule(static)
  for (int i = 1; i <= n; i++) {
    double faces[(1 << 10) + 2], edges[(1 << 10) + 2];
    for (int j = 1; j <= n; j++) {
      neighbours(u, i, j, faces, edges);
      const double *line = row(u, i, j), *right = row(v, i, j);
      double* out = row(r, i, j);
      for (int k = 1; k <= n; k++)
        out[k] = right[k] - kA[0] * line[k] - kA[2] * (edges[k] + faces[k - 1] + faces[k + 1]) -
                 kA[3] * (edges[k - 1] + edges[k + 1]);
    }
  }
  wrap(r);
}

// u = u + C r
static void smooth(const struct grid* r, const struct grid* u) {
  const int n = u->n;
#pragma omp parallel for schedule(static)
  for (int i = 1; i <= n; i++) {
    double faces[(1 << 10) + 2], edges[(1 << 10) + 2];
    for (int j = 1; j <= n; j++) {
      neighbours(r, i, j, faces, edges);
      const double* line = row(r, i, j);
      double* out = row(u, i, j);
      for (int k = 1; k <= n; k++)
        out[k] += g_c[0] * line[k] + g_c[1] * (line[k - 1] + line[k + 1] + faces[k]) +
                  g_c[2] * (edges[k] + faces[k - 1] + faces[k + 1]);
    }
  }
  wrap(u);
}

// The coarse point j is the fine point 2j.
static void restrict_to(const struct grid* fine, const struct grid* coarse) {
  const int n = coarse->n;
#pragma omp parallel for schedule(static)
  for (int i = 1; i <= n; i++) {
    double faces[(1 << 10) + 2], edges[(1 << 10) + 2];
    for (int j = 1; j <= n; j++) {
      neighbours(fine, 2 * i, 2 * j, faces, edges);
      const double* line = row(fine, 2 * i, 2 * j);
      double* out = row(coarse, i, j);
      for (int k = 1; k <= n; k++) {
        const int x = 2 * k;
        out[k] = 0.5 * line[x] + 0.25 * (line[x - 1] + line[x + 1] + faces[x]) +
                 0.125 * (faces[x - 1] + faces[x + 1] + edges[x]) + 0.0625 * (edges[x - 1] + edges[x + 1]);
      }
    }
  }
  wrap(coarse);
}

// u = u + Q z, by lines of the fine grid: each point is the mean of the coarse ones around it.
static void interpolate(const struct grid* coarse, const struct grid* fine) {
  const int n = fine->n;
#pragma omp parallel for schedule(static)
  for (int i = 1; i <= n; i++) {
    double mean[(1 << 9) + 2];
    for (int j = 1; j <= n; j++) {
      const double *a = row(coarse, i / 2, j / 2), *b = row(coarse, i / 2, (j + 1) / 2),
                   *c = row(coarse, (i + 1) / 2, j / 2), *d = row(coarse, (i + 1) / 2, (j + 1) / 2);
      for (int k = 0; k < coarse->n + 2; k++) mean[k] = 0.25 * (a[k] + b[k] + c[k] + d[k]);
      double* out = row(fine, i, j);
      for (int k = 1; k <= n; k++) out[k] += 0.5 * (mean[k / 2] + mean[(k + 1) / 2]);
    }
  }
  wrap(fine);
}

static double norm(const struct grid* g) {
  const int n = g->n;
  double sum = 0;  // plane by plane, in order
  double* planes = malloc((size_t)n * sizeof *planes);
#pragma omp parallel for schedule(static)
  for (int i = 1; i <= n; i++) {
    double s = 0;
    for (int j = 1; j <= n; j++)
      for (int k = 1; k <= n; k++) s += row(g, i, j)[k] * row(g, i, j)[k];
    planes[i - 1] = s;
  }
  for (int i = 0; i < n; i++) sum += planes[i];
  free(planes);
  return sqrt(sum / ((double)n * n * n));
}

static void make(struct grid* g, int level) {
  g->n = 1 << level;
  g->at = memory_get((size_t)(g->n + 2) * (size_t)(g->n + 2) * (size_t)(g->n + 2) * sizeof *g->at);
  clear(g);
}

// -1 and +1 at the places of the ten smallest and the ten largest of the generator's numbers.
static void charge(void) {
  struct {
    double value;
    double* at;
  } found[2][kCharges];
  for (int k = 0; k < kCharges; k++) found[0][k].value = 2, found[1][k].value = -1;
  uint64_t x = kNpbSeed;
  const int n = g_v.n;
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= n; j++)
      for (int k = 1; k <= n; k++) {
        const double value = npb_random(&x);
        for (int side = 0; side < 2; side++) {
          int at = kCharges;  // lists begin with the most extreme
          while (at > 0 && (side == 0 ? value < found[0][at - 1].value : value > found[1][at - 1].value))
            at--;
          if (at == kCharges) continue;
          for (int m = kCharges - 1; m > at; m--) found[side][m] = found[side][m - 1];
          found[side][at].value = value, found[side][at].at = row(&g_v, i, j) + k;
        }
      }
  for (int k = 0; k < kCharges; k++) *found[0][k].at = -1, *found[1][k].at = 1;
  wrap(&g_v);
}

static bool setup(const char* size) {
  g_class = npb_class(size);
  if (g_class < 0) return false;
  g_top = kClasses[g_class].level;
  static const double c[2][4] = {{-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0, 0},
                                 {-3.0 / 17.0, 1.0 / 33.0, -1.0 / 61.0, 0}};
  for (int i = 0; i < 4; i++) g_c[i] = c[g_class >= npb_class("B")][i];
  make(&g_v, g_top);
  for (int level = g_top; level >= 1; level--) make(&g_u[level], level), make(&g_r[level], level);
  charge();
  residual(&g_u[g_top], &g_v, &g_r[g_top]);
  g_first_norm = norm(&g_r[g_top]);
  return true;
}

static void step(int part, int repetition) {
  (void)part;
  (void)repetition;
  for (int level = g_top; level > 1; level--) restrict_to(&g_r[level], &g_r[level - 1]);
  clear(&g_u[1]);
  smooth(&g_r[1], &g_u[1]);
  for (int level = 2; level < g_top; level++) {
    clear(&g_u[level]);
    interpolate(&g_u[level - 1], &g_u[level]);
    residual(&g_u[level], &g_r[level], &g_r[level]);
    smooth(&g_r[level], &g_u[level]);
  }
  interpolate(&g_u[g_top - 1], &g_u[g_top]);
  residual(&g_u[g_top], &g_v, &g_r[g_top]);
  smooth(&g_r[g_top], &g_u[g_top]);
  residual(&g_u[g_top], &g_v, &g_r[g_top]);
}

static double points(void) {
  return (double)g_v.n * g_v.n * g_v.n;
}
static double bytes(int part) {
  (void)part;
  return points() * 8 * 18;
}
static double operations(int part) {
  (void)part;
  return points() * 58;
}

static bool check(int repetitions, char* failure, size_t size) {
  const double stored = norm(&g_r[g_top]);
  if (repetitions == kClasses[g_class].iterations) {
    const double published = kClasses[g_class].norm;
    if (!(fabs(stored - published) <= 1e-8 * published)) {
      snprintf(failure, size, "the norm of the residual is %.13e, published is %.13e", stored, published);
      return false;
    }
  }
  residual(&g_u[g_top], &g_v, &g_r[g_top]);
  const double again = norm(&g_r[g_top]);
  if (!(fabs(stored - again) <= 1e-9 * stored) || !isfinite(again)) {
    snprintf(failure, size, "the norm of the residual is %.13e, computed from the solution %.13e", stored,
             again);
    return false;
  }
  if (!(stored < g_first_norm * 0.5)) {
    snprintf(failure, size, "the norm of the residual is %.13e, it was %.13e in the beginning", stored,
             g_first_norm);
    return false;
  }
  return true;
}

static int results(struct memory_result* r) {
  const size_t n = (size_t)g_v.n + 2, all = n * n * n * sizeof(double);
  r[0] = (struct memory_result){g_u[g_top].at, all};
  r[1] = (struct memory_result){g_r[g_top].at, all};
  return 2;
}

const struct memory_kernel kMg = {.name = "mg",
                                  .sizes = "NPB classes S, W, A, B, C, D",
                                  .size = "A",
                                  .setup = setup,
                                  .step = step,
                                  .bytes = bytes,
                                  .operations = operations,
                                  .check = check,
                                  .results = results};
