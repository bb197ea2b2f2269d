// Each pattern once, for both directions: `unpack` is a constant in every call, so that the compiler makes
// two sets of loops.
#include "packs.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

INLINE void move_float(float* memory, float** dense, int unpack) {
  if (unpack)
    *memory = *(*dense)++;
  else
    *(*dense)++ = *memory;
}
INLINE void move_double(double* memory, double** dense, int unpack) {
  if (unpack)
    *memory = *(*dense)++;
  else
    *(*dense)++ = *memory;
}

// i0, j0: where the strip begins, on the sender's or on the receiver's side.
INLINE void wrf(const struct instance* in, char* arena, char* buffer, int unpack) {
  enum { k2d = 4, k3d = 3, kFields = 9 };
  const int along_x = in->pattern == &kWrfXVec || in->pattern == &kWrfXSa;
  const int mi = in->n[0], mk = in->n[1], mj = in->n[2], ni = in->n[4], nj = in->n[6];
  const int i0 = in->n[3] + (unpack && along_x ? ni : 0), j0 = in->n[5] - (unpack && !along_x ? nj : 0);
  float* dense = (float*)buffer;
  int f = 0;
  for (; f < k2d; f++) {
    float(*field)[mi] = (float(*)[mi])(arena + in->at[f]);
    for (int j = 0; j < nj; j++)
      for (int i = 0; i < ni; i++) move_float(&field[j0 + j][i0 + i], &dense, unpack);
  }
  for (; f < kFields; f++) {
    const size_t skip = f < k2d + k3d ? 0 : (size_t)mi * (size_t)mk * (size_t)mj * sizeof(float);
    float(*field)[mk][mi] = (float(*)[mk][mi])(arena + in->at[f] + skip);
    for (int j = 0; j < nj; j++)
      for (int k = 0; k < mk; k++)
        for (int i = 0; i < ni; i++) move_float(&field[j0 + j][k][i0 + i], &dense, unpack);
  }
}

INLINE void milc(const struct instance* in, char* arena, char* buffer, int unpack) {
  const int half_plane = in->n[0] * in->n[1] / 2, z = in->n[2], t = in->n[3], plane = unpack ? z - 1 : 0;
  float(*lattice)[t][z][half_plane][6] = (float(*)[t][z][half_plane][6])(arena + in->at[0]);
  float* dense = (float*)buffer;
  for (int parity = 0; parity < 2; parity++)
    for (int l = 0; l < t; l++)
      for (int site = 0; site < half_plane; site++)
        for (int c = 0; c < 6; c++) move_float(&lattice[parity][l][plane][site][c], &dense, unpack);
}

INLINE void lu(const struct instance* in, char* arena, char* buffer, int unpack) {
  const int nx = in->n[0], ny = in->n[1];
  double(*slab)[nx + 2][5] = (double(*)[nx + 2][5])(arena + in->at[0]);
  double* dense = (double*)buffer;
  if (in->pattern == &kLuX) {
    for (int x = 1; x <= nx; x++)
      for (int c = 0; c < 5; c++) move_double(&slab[unpack ? 0 : ny][x][c], &dense, unpack);
  } else {
    for (int y = 1; y <= ny; y++)
      for (int c = 0; c < 5; c++) move_double(&slab[y][unpack ? 0 : nx][c], &dense, unpack);
  }
}

INLINE void mg(const struct instance* in, char* arena, char* buffer, int unpack) {
  const int nx = in->n[0], ny = in->n[1], nz = in->n[2];
  double(*cube)[ny][nx] = (double(*)[ny][nx])(arena + in->at[0]);
  double* dense = (double*)buffer;
  if (in->pattern == &kMgX) {
    for (int z = 1; z < nz - 1; z++)
      for (int y = 1; y < ny - 1; y++) move_double(&cube[z][y][unpack ? nx - 1 : nx - 2], &dense, unpack);
  } else if (in->pattern == &kMgY) {
    for (int z = 1; z < nz - 1; z++)
      for (int x = 1; x < nx - 1; x++) move_double(&cube[z][unpack ? ny - 1 : ny - 2][x], &dense, unpack);
  } else {
    for (int y = 1; y < ny - 1; y++)
      for (int x = 1; x < nx - 1; x++) move_double(&cube[unpack ? 0 : 1][y][x], &dense, unpack);
  }
}

INLINE void fft2(const struct instance* in, char* arena, char* buffer, int unpack) {
  const int n = in->n[0], half = n / 2;
  double(*matrix)[n][2] = (double(*)[n][2])(arena + in->at[unpack ? 1 : 0]);
  double* dense = (double*)buffer;
  for (int column = 0; column < half; column++)
    for (int row = 0; row < half; row++)
      for (int part = 0; part < 2; part++)
        move_double(unpack ? &matrix[column][half + row][part] : &matrix[row][half + column][part], &dense,
                    unpack);
}

INLINE void specfem_mt(const struct instance* in, char* arena, char* buffer, int unpack) {
  float* dense = (float*)buffer;
  if (unpack) {
    float* points = (float*)(arena + in->at[1]);
    for (int i = 0; i < 3 * in->n[0]; i++) points[i] = dense[i];
    return;
  }
  float(*points)[2][3] = (float(*)[2][3])(arena + in->at[0]);
  for (int p = 0; p < in->n[0]; p++)
    for (int axis = 0; axis < 3; axis++) *dense++ = points[p][0][axis];
}

INLINE void specfem_lists(const struct instance* in, char* arena, char* buffer, int unpack) {
  float* dense = (float*)buffer;
  if (in->pattern == &kSpecfemOc) {
    float* points = (float*)(arena + in->at[0]);
    for (int i = 0; i < in->n[1]; i++) move_float(&points[in->list[0][i]], &dense, unpack);
    return;
  }
  for (int r = 0; r < 2; r++) {
    float(*points)[3] = (float(*)[3])(arena + in->at[r]);
    for (int i = 0; i < in->n[2 * r + 1]; i++)
      for (int c = 0; c < 3; c++) move_float(&points[in->list[r][i]][c], &dense, unpack);
  }
}

INLINE void lammps(const struct instance* in, char* arena, char* buffer, int unpack) {
  const int arrays = in->pattern == &kLammpsFull ? 6 : 4, own = in->n[0], border = in->n[1];
  const int* list = in->list[0];
  double* dense = (double*)buffer;
  double(*x)[3] = (double(*)[3])(arena + in->at[0]);
  for (int i = 0; i < border; i++)
    for (int c = 0; c < 3; c++) move_double(&x[unpack ? own + i : list[i]][c], &dense, unpack);
  for (int a = 1; a < arrays; a++) {
    double* array = (double*)(arena + in->at[a]);
    for (int i = 0; i < border; i++) move_double(&array[unpack ? own + i : list[i]], &dense, unpack);
  }
}

INLINE void move(const struct instance* in, char* arena, char* dense, int unpack) {
  const struct pattern* p = in->pattern;
  if (p == &kWrfXVec || p == &kWrfYVec || p == &kWrfXSa || p == &kWrfYSa)
    wrf(in, arena, dense, unpack);
  else if (p == &kMilc)
    milc(in, arena, dense, unpack);
  else if (p == &kLuX || p == &kLuY)
    lu(in, arena, dense, unpack);
  else if (p == &kMgX || p == &kMgY || p == &kMgZ)
    mg(in, arena, dense, unpack);
  else if (p == &kFft2)
    fft2(in, arena, dense, unpack);
  else if (p == &kSpecfemMt)
    specfem_mt(in, arena, dense, unpack);
  else if (p == &kSpecfemOc || p == &kSpecfemCm)
    specfem_lists(in, arena, dense, unpack);
  else if (p == &kLammpsFull || p == &kLammpsAtomic)
    lammps(in, arena, dense, unpack);
  else if (unpack)
    memcpy(arena + in->at[1], dense, in->elements * p->element);
  else
    memcpy(dense, arena + in->at[0], in->elements * p->element);
}

void pack_by_hand(const struct instance* in, char* dense, const char* arena) {
  move(in, (char*)(size_t)arena, dense, 0);
}
void unpack_by_hand(const struct instance* in, char* arena, const char* dense) {
  move(in, arena, (char*)(size_t)dense, 1);
}
