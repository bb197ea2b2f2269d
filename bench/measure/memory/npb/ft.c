// Fourier transform: NPB's FT (RNR-94-007, section 2.3.5) from its definition: a diffusion equation solved by
// three-dimensional transforms, lines in the three directions in turns. The benchmark publishes a sum of some
// values after each iteration; those of the first must come out.
#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "measure/memory/memory.h"

enum { kAtOnce = 16, kLongest = 2048 };  // lines that are transformed at once, points of a line

static int g_nx, g_ny, g_nz;
static int g_class;
static double complex *g_spectrum, *g_work, *g_field;
static double* g_decay;
static double complex* g_roots;  // exp(2 pi i k / kLongest)
static double complex g_sums[6];
static int g_done;

// The first iteration's sum of each class; all six of class S.
static const struct {
  int log_nx, log_ny, log_nz, known;
  double sums[6][2];
} kClasses[] = {{6,
                 6,
                 6,
                 6,
                 {{5.546087004964e+02, 4.845363331978e+02},
                  {5.546385409189e+02, 4.865304269511e+02},
                  {5.546148406171e+02, 4.883910722336e+02},
                  {5.545423607415e+02, 4.901273169046e+02},
                  {5.544255039624e+02, 4.917475857993e+02},
                  {5.542683411902e+02, 4.932597244941e+02}}},
                {7, 7, 5, 1, {{5.673612178944e+02, 5.293246849175e+02}}},
                {8, 8, 7, 1, {{5.046735008193e+02, 5.114047905510e+02}}},
                {9, 8, 8, 1, {{5.177643571579e+02, 5.077803458597e+02}}},
                {9, 9, 9, 1, {{5.195078707457e+02, 5.149019699238e+02}}},
                {11, 10, 10, 0, {{0}}}};

static size_t points(void) {
  return (size_t)g_nx * (size_t)g_ny * (size_t)g_nz;
}

// kAtOnce lines of n points, interleaved, by Stockham's method: the result is in `a` again.
static void transform(double complex* restrict a, double complex* restrict b, int n, bool inverse) {
  double complex *in = a, *out = b;
  for (int half = n / 2, blocks = 1; half >= 1; half /= 2, blocks *= 2) {
    for (int block = 0; block < blocks; block++) {
      const double complex root = g_roots[(size_t)block * (kLongest / 2) / (size_t)blocks];
      const double complex w = inverse ? root : conj(root);
      for (int i = 0; i < half; i++) {
        const double complex* x = in + (size_t)(2 * block * half + i) * kAtOnce;
        double complex* y = out + (size_t)(block * half + i) * kAtOnce;
        for (int line = 0; line < kAtOnce; line++) {
          const double complex p = x[line], q = x[line + half * kAtOnce];
          const double re = creal(w) * creal(q) - cimag(w) * cimag(q),
                       im = creal(w) * cimag(q) + cimag(w) * creal(q);
          y[line] = (creal(p) + re) + (cimag(p) + im) * I;
          y[line + n / 2 * kAtOnce] = (creal(p) - re) + (cimag(p) - im) * I;
        }
      }
    }
    double complex* swap = in;
    in = out, out = swap;
  }
  if (in == a) return;
  for (size_t i = 0; i < (size_t)n * kAtOnce; i++) a[i] = in[i];
}

// Lines of n points `stride` apart; a group of kAtOnce lines is `apart` apart, groups begin at first(group).
static void pass(const double complex* from, double complex* to, int n, size_t stride, size_t apart,
                 int groups, int inner, size_t inner_step, size_t outer_step, bool inverse) {
#pragma omp parallel
  {
    double complex* a = malloc((size_t)n * kAtOnce * sizeof *a);
    double complex* b = malloc((size_t)n * kAtOnce * sizeof *b);
#pragma omp for schedule(static)
    for (int group = 0; group < groups; group++) {
      const size_t first = (size_t)(group / inner) * outer_step + (size_t)(group % inner) * inner_step;
      if (stride == 1) {
        for (size_t line = 0; line < kAtOnce; line++)
          for (size_t i = 0; i < (size_t)n; i++) a[i * kAtOnce + line] = from[first + line * apart + i];
      } else {
        for (size_t i = 0; i < (size_t)n; i++)
          for (size_t line = 0; line < kAtOnce; line++)
            a[i * kAtOnce + line] = from[first + line * apart + i * stride];
      }
      transform(a, b, n, inverse);
      if (stride == 1) {
        for (size_t line = 0; line < kAtOnce; line++)
          for (size_t i = 0; i < (size_t)n; i++) to[first + line * apart + i] = a[i * kAtOnce + line];
      } else {
        for (size_t i = 0; i < (size_t)n; i++)
          for (size_t line = 0; line < kAtOnce; line++)
            to[first + line * apart + i * stride] = a[i * kAtOnce + line];
      }
    }
    free(a);
    free(b);
  }
}

static void along_x(const double complex* from, double complex* to, bool inverse) {
  const int groups = g_ny * g_nz / kAtOnce;
  pass(from, to, g_nx, 1, (size_t)g_nx, groups, groups, (size_t)g_nx * kAtOnce, 0, inverse);
}
static void along_y(const double complex* from, double complex* to, bool inverse) {
  pass(from, to, g_ny, (size_t)g_nx, 1, g_nx / kAtOnce * g_nz, g_nx / kAtOnce, kAtOnce,
       (size_t)g_nx * (size_t)g_ny, inverse);
}
static void along_z(const double complex* from, double complex* to, bool inverse) {
  pass(from, to, g_nz, (size_t)g_nx * (size_t)g_ny, 1, g_nx / kAtOnce * g_ny, g_nx / kAtOnce, kAtOnce,
       (size_t)g_nx, inverse);
}

static double frequency(int i, int n) {
  return i < n / 2 ? i : i - n;
}

static bool setup(const char* size) {
  g_class = npb_class(size);
  if (g_class < 0) return false;
  g_nx = 1 << kClasses[g_class].log_nx;
  g_ny = 1 << kClasses[g_class].log_ny;
  g_nz = 1 << kClasses[g_class].log_nz;
  const double pi = 3.14159265358979323846;
  g_spectrum = memory_get(points() * sizeof *g_spectrum);
  g_work = memory_get(points() * sizeof *g_work);
  g_field = memory_get(points() * sizeof *g_field);
  g_decay = memory_get(points() * sizeof *g_decay);
  g_roots = malloc(kLongest / 2 * sizeof *g_roots);
  for (int k = 0; k < kLongest / 2; k++)
    g_roots[k] = cos(2 * pi * k / kLongest) + sin(2 * pi * k / kLongest) * I;
  uint64_t x = kNpbSeed;
  for (size_t i = 0; i < points(); i++) {
    const double re = npb_random(&x);
    g_field[i] = re + npb_random(&x) * I;
  }
#pragma omp parallel for schedule(static)
  for (int k = 0; k < g_nz; k++)
    for (int j = 0; j < g_ny; j++)
      for (int i = 0; i < g_nx; i++) {
        const double fx = frequency(i, g_nx), fy = frequency(j, g_ny), fz = frequency(k, g_nz);
        g_decay[((size_t)k * (size_t)g_ny + (size_t)j) * (size_t)g_nx + (size_t)i] =
            exp(-4e-6 * pi * pi * (fx * fx + fy * fy + fz * fz));
      }
  along_x(g_field, g_spectrum, false);
  along_y(g_spectrum, g_spectrum, false);
  along_z(g_spectrum, g_spectrum, false);
  g_done = 0;
  return true;
}

static double complex sum_of_some(void) {
  double complex sum = 0;
  for (size_t j = 1; j <= 1024; j++) {
    const size_t x = j % (size_t)g_nx, y = 3 * j % (size_t)g_ny, z = 5 * j % (size_t)g_nz;
    sum += g_field[(z * (size_t)g_ny + y) * (size_t)g_nx + x];
  }
  return sum / (double)points();
}

static void step(int part, int repetition) {
  (void)part;
  (void)repetition;
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < points(); i++) {
    g_spectrum[i] *= g_decay[i];
    g_work[i] = g_spectrum[i];
  }
  along_z(g_work, g_work, true);
  along_y(g_work, g_work, true);
  along_x(g_work, g_field, true);
  if (g_done < 6) g_sums[g_done] = sum_of_some();
  g_done++;
}

static double bytes(int part) {
  (void)part;
  return (double)points() * (16 + 8 + 16 + 16 + 3 * 32);
}
static double operations(int part) {
  (void)part;
  return (double)points() * (2 + 5 * log2((double)points()));
}

static double energy(const double complex* field) {
  double sum = 0;
  const size_t line = (size_t)g_nx;
  for (size_t at = 0; at < points(); at += line) {
    double s = 0;
    for (size_t i = at; i < at + line; i++)
      s += creal(field[i]) * creal(field[i]) + cimag(field[i]) * cimag(field[i]);
    sum += s;
  }
  return sum;
}

static bool check(int repetitions, char* failure, size_t size) {
  for (int i = 0; i < kClasses[g_class].known && i < repetitions; i++) {
    const double* published = kClasses[g_class].sums[i];
    const double re = creal(g_sums[i]), im = cimag(g_sums[i]);
    if (fabs(re - published[0]) <= 1e-11 * published[0] && fabs(im - published[1]) <= 1e-11 * published[1])
      continue;
    snprintf(failure, size, "the sum of iteration %d is %.12e %+.12ei, published is %.12e %+.12ei", i + 1, re,
             im, published[0], published[1]);
    return false;
  }
  // Parseval: the field has the energy of its spectrum.
  const double here = energy(g_field), there = energy(g_spectrum) * (double)points();
  if (fabs(here - there) <= 1e-11 * there && isfinite(there)) return true;
  snprintf(failure, size, "the field's energy is %.15g, its spectrum's %.15g", here, there);
  return false;
}

static int results(struct memory_result* r) {
  r[0] = (struct memory_result){g_field, points() * sizeof *g_field};
  r[1] = (struct memory_result){g_spectrum, points() * sizeof *g_spectrum};
  return 2;
}

const struct memory_kernel kFt = {.name = "ft",
                                  .sizes = "NPB classes S, W, A, B, C, D",
                                  .size = "A",
                                  .setup = setup,
                                  .step = step,
                                  .bytes = bytes,
                                  .operations = operations,
                                  .check = check,
                                  .results = results};
