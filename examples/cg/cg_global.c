/* NPB CG, XcalableACC's global view: the sequential program, and directives that say which process holds
 * and computes what. A compiler that ignores them makes the sequential program of it. See cg.h, of which
 * this version uses the problem and the report.
 *
 *     tasukicc -O3 -march=native -ffast-math -DCLASS=A -DPROWS=2 -DPCOLS=2 cg_global.c -o cg_global -lm
 *     mpirun -n 4 tasuki run ./cg_global
 */
#define CG_GLOBAL_VIEW
#include "cg.h"

/* Dimension 0 of the template is the matrix's rows, dimension 1 its columns. */
#pragma xmp nodes proc[PROWS][PCOLS]
#pragma xmp template t[NA][NA]
#pragma xmp distribute t[block][block] onto proc

static double x[NA], z[NA], p[NA], q[NA], r[NA], w[NA];
#pragma xmp align x[i] with t[*][i]
#pragma xmp align z[i] with t[*][i]
#pragma xmp align p[i] with t[*][i]
#pragma xmp align q[i] with t[*][i]
#pragma xmp align r[i] with t[*][i]
#pragma xmp align w[i] with t[i][*]
#pragma acc declare create(x, z, p, q, r, w)

/* Each process's block of the matrix is its own. Columns are those of the whole matrix; rows are counted
 * from first_row. */
static struct matrix a;
static int first_row;

static void set_up(void) {
  int first_col = NA, last_row = 0, last_col = 0;
  first_row = NA;
  /* Which rows and columns are mine? Those whose iterations I do. */
#pragma xmp loop (j) on t[j][*]
  for (int j = 0; j < NA; j++) {
    if (j < first_row) first_row = j;
    last_row = j;
  }
#pragma xmp loop (i) on t[*][i]
  for (int i = 0; i < NA; i++) {
    if (i < first_col) first_col = i;
    last_col = i;
  }
  a = make_matrix(first_row, last_row - first_row + 1, first_col, last_col - first_col + 1, 0);
  const int *row_begin = a.row_begin, *column = a.column, rows = a.rows, count = row_begin[rows];
  const double* value = a.value;
#pragma acc enter data copyin(row_begin [0:rows + 1], column [0:count], value [0:count])
  (void)count, (void)column, (void)value;
}

static void first_x(void) {
#pragma acc parallel loop present(x)
#pragma xmp loop (i) on t[*][i]
  for (int i = 0; i < NA; i++) x[i] = 1;
}

/* The sum over a row of processes: each row has the whole of a vector. */
static double row_sum(double sum) {
  spent(&clock_.compute);
#pragma xmp reduction(+ : sum) on proc[*][:]
  spent(&clock_.reduction);
  return sum;
}

/* From here on the sums of a row's processes, and from parts by rows to parts by columns. */
static void assemble(void) {
#pragma xmp reduction(+ : w) on proc[*][:] acc
#ifdef _XCALABLEMP
#pragma xmp gmove acc
  q[:] = w[:];
#else /* C has no sections */
  for (int i = 0; i < NA; i++) q[i] = w[i];
#endif
}

/* q = A p */
static void multiply_p(void) {
  const int *row_begin = a.row_begin, *column = a.column, first = first_row;
  const double* value = a.value;
#pragma acc parallel loop gang present(row_begin [0:a.rows + 1], p, w) \
    present(column [0:row_begin[a.rows]], value [0:row_begin[a.rows]])
#pragma xmp loop (j) on t[j][*]
  for (int j = 0; j < NA; j++) {
    double element = 0;
#pragma acc loop vector reduction(+ : element)
    for (int k = row_begin[j - first]; k < row_begin[j - first + 1]; k++) element += value[k] * p[column[k]];
    w[j] = element;
  }
  spent(&clock_.compute);
  assemble();
  spent(&clock_.communication);
}

/* A z = x; |x - A z|. */
static double conjugate_gradients(void) {
  double rho = 0, rest = 0;
#pragma acc parallel loop reduction(+ : rho) present(x, z, p, r)
#pragma xmp loop (i) on t[*][i]
  for (int i = 0; i < NA; i++) {
    z[i] = 0, r[i] = p[i] = x[i];
    rho += x[i] * x[i];
  }
  rho = row_sum(rho);
  for (int n = 0; n < INNER; n++) {
    double pq = 0, next = 0;
    multiply_p();
#pragma acc parallel loop reduction(+ : pq) present(p, q)
#pragma xmp loop (i) on t[*][i]
    for (int i = 0; i < NA; i++) pq += p[i] * q[i];
    const double alpha = rho / row_sum(pq);
#pragma acc parallel loop reduction(+ : next) present(z, p, q, r)
#pragma xmp loop (i) on t[*][i]
    for (int i = 0; i < NA; i++) {
      z[i] += alpha * p[i];
      r[i] -= alpha * q[i];
      next += r[i] * r[i];
    }
    next = row_sum(next);
    const double beta = next / rho;
    rho = next;
#pragma acc parallel loop present(p, r)
#pragma xmp loop (i) on t[*][i]
    for (int i = 0; i < NA; i++) p[i] = r[i] + beta * p[i];
  }
#pragma acc parallel loop present(p, z)
#pragma xmp loop (i) on t[*][i]
  for (int i = 0; i < NA; i++) p[i] = z[i];
  multiply_p();
#pragma acc parallel loop reduction(+ : rest) present(x, q)
#pragma xmp loop (i) on t[*][i]
  for (int i = 0; i < NA; i++) rest += (x[i] - q[i]) * (x[i] - q[i]);
  return sqrt(row_sum(rest));
}

/* One step of the power method; zeta, the eigenvalue so far. */
static double power_step(double* rest) {
  double xz = 0, zz = 0;
  *rest = conjugate_gradients();
#pragma acc parallel loop reduction(+ : xz, zz) present(x, z)
#pragma xmp loop (i) on t[*][i]
  for (int i = 0; i < NA; i++) xz += x[i] * z[i], zz += z[i] * z[i];
  xz = row_sum(xz);
  const double scale = 1 / sqrt(row_sum(zz));
#pragma acc parallel loop present(x, z)
#pragma xmp loop (i) on t[*][i]
  for (int i = 0; i < NA; i++) x[i] = scale * z[i];
  return SHIFT + 1 / xz;
}

int main(void) {
  double zeta = 0, rest = 0;
  int code = 0;
  set_up();
  first_x();
  power_step(&rest); /* before the clock starts, as the benchmark says */
  first_x();
#pragma xmp barrier
  start_clock();
  for (int n = 0; n < NITER; n++) zeta = power_step(&rest);
  spent(&clock_.compute);
#pragma xmp task on proc[0][0]
  code = report("global", zeta, rest);
  return code;
}
