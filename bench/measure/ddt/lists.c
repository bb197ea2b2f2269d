// Patterns with different layouts on the two sides or with index lists: matrix transposes, SPECFEM3D, LAMMPS.
#include <stdlib.h>

#include "row.h"

// ---- FFT2: the transpose step of a two-dimensional FFT of order n on two ranks. The sender's half of the
// rows is matrix[n / 2][n] double complex; the block that belongs to the other rank leaves column by column
// and arrives as rows of its transposed[n / 2][n]. n: order.
static void fft2_layout(struct instance* in) {
  const size_t n = (size_t)in->n[0];
  in->at[0] = place_array(in, n / 2 * n * 2 * sizeof(double));
  in->at[1] = place_array(in, n / 2 * n * 2 * sizeof(double));
  in->elements = n / 2 * (n / 2) * 2;
}
static void fft2_types(struct instance* in) {
  const int n = in->n[0], half = n / 2;
  const size_t block = (size_t)half * 2 * sizeof(double);  // the second half of the columns
  MPI_Datatype complex_type, column, next_column, columns, rows;
  MPI_Type_contiguous(2, MPI_DOUBLE, &complex_type);
  MPI_Type_vector(half, 1, n, complex_type, &column);
  MPI_Type_create_resized(column, 0, 2 * (MPI_Aint)sizeof(double), &next_column);
  MPI_Type_contiguous(half, next_column, &columns);
  MPI_Type_commit(&columns);
  MPI_Type_vector(half, half, n, complex_type, &rows);
  MPI_Type_commit(&rows);
  MPI_Type_free(&complex_type);
  MPI_Type_free(&column);
  MPI_Type_free(&next_column);
  in->send = (struct message_end){in->arena + in->at[0] + block, 1, columns};
  in->receive = (struct message_end){in->arena + in->at[1] + block, 1, rows};
}
static void fft2_map(struct instance* in) {
  const size_t n = (size_t)in->n[0], half = n / 2;
  for (size_t column = 0; column < half; column++)
    for (size_t row = 0; row < half; row++)
      for (size_t part = 0; part < 2; part++)
        map_element(in, in->at[0] + ((row * n + half + column) * 2 + part) * sizeof(double),
                    in->at[1] + ((column * n + half + row) * 2 + part) * sizeof(double));
}
static void fft2_direct(const struct instance* in, char* to_arena, const char* from_arena) {
  struct complex_double {
    double re, im;
  };
  const int n = in->n[0], half = n / 2;
  struct complex_double(*to)[n] = (struct complex_double(*)[n])(to_arena + in->at[1]);
  const struct complex_double(*from)[n] = (const struct complex_double(*)[n])(from_arena + in->at[0]);
  for (int column = 0; column < half; column++)
    for (int row = 0; row < half; row++) to[column][half + row] = from[row][half + column];
}
const struct pattern kFft2 = {
    "FFT2",         "2-D FFT transpose: columns (resized vectors) become rows (vector)",
    sizeof(double), fft2_layout,
    fft2_types,     fft2_map,
    fft2_direct};

// ---- SPECFEM3D mt: one of two interleaved vector fields, [points][2][3] float, becomes [points][3].
// n: points.
enum { kMtFields = 2, kMtAxes = 3 };
static void mt_layout(struct instance* in) {
  const size_t points = (size_t)in->n[0];
  in->at[0] = place_array(in, points * kMtFields * kMtAxes * sizeof(float));
  in->at[1] = place_array(in, points * kMtAxes * sizeof(float));
  in->elements = points * kMtAxes;
}
static void mt_types(struct instance* in) {
  MPI_Datatype axes, field, dense;
  MPI_Type_contiguous(kMtAxes, MPI_FLOAT, &axes);
  MPI_Type_vector(in->n[0], 1, kMtFields, axes, &field);
  MPI_Type_commit(&field);
  MPI_Type_free(&axes);
  MPI_Type_contiguous(in->n[0] * kMtAxes, MPI_FLOAT, &dense);
  MPI_Type_commit(&dense);
  in->send = (struct message_end){in->arena + in->at[0], 1, field};
  in->receive = (struct message_end){in->arena + in->at[1], 1, dense};
}
static void mt_map(struct instance* in) {
  for (size_t p = 0; p < (size_t)in->n[0]; p++)
    for (size_t axis = 0; axis < kMtAxes; axis++)
      map_element(in, in->at[0] + (p * kMtFields * kMtAxes + axis) * sizeof(float),
                  in->at[1] + (p * kMtAxes + axis) * sizeof(float));
}
static void mt_direct(const struct instance* in, char* to_arena, const char* from_arena) {
  float(*to)[kMtAxes] = (float(*)[kMtAxes])(to_arena + in->at[1]);
  const float(*from)[kMtFields][kMtAxes] = (const float(*)[kMtFields][kMtAxes])(from_arena + in->at[0]);
  for (int p = 0; p < in->n[0]; p++)
    for (int axis = 0; axis < kMtAxes; axis++) to[p][axis] = from[p][0][axis];
}
const struct pattern kSpecfemMt = {"SPECFEM3D_mt", "seismology, 3-D matrix transpose: vector to contiguous",
                                   sizeof(float),  mt_layout,
                                   mt_types,       mt_map,
                                   mt_direct};

// ---- SPECFEM3D oc, cm: acceleration at the boundary points of a slice, by an index list. oc (outer core): a
// scalar per point. cm: three components per point, of the crust and mantle and of the inner core, in one
// message. n: points and boundary points of the first region, then of the second.
static int specfem_components(const struct instance* in) {
  return in->pattern == &kSpecfemOc ? 1 : 3;
}
static int specfem_regions(const struct instance* in) {
  return in->pattern == &kSpecfemOc ? 1 : 2;
}
static void specfem_layout(struct instance* in) {
  const size_t components = (size_t)specfem_components(in);
  for (int r = 0; r < specfem_regions(in); r++) {
    in->at[r] = place_array(in, (size_t)in->n[2 * r] * components * sizeof(float));
    in->elements += (size_t)in->n[2 * r + 1] * components;
    in->list[r] = random_list(in->n[2 * r + 1], in->n[2 * r], 0x5bec0000u + (unsigned)r);
  }
}
static MPI_Datatype boundary_type(const int* points, int count, int components) {
  MPI_Datatype type;
  int* displacements = checked_malloc((size_t)count * sizeof *displacements);
  for (int i = 0; i < count; i++) displacements[i] = points[i] * components;
  MPI_Type_create_indexed_block(count, components, displacements, MPI_FLOAT, &type);
  free(displacements);
  return type;
}
static void specfem_oc_types(struct instance* in) {
  MPI_Datatype type = boundary_type(in->list[0], in->n[1], 1);
  MPI_Type_commit(&type);
  in->send = (struct message_end){in->arena + in->at[0], 1, type};
  in->receive = in->send;
  MPI_Type_dup(type, &in->receive.type);
}
static void specfem_cm_types(struct instance* in) {
  MPI_Datatype regions[2], type;
  const int lengths[] = {1, 1};
  MPI_Aint where[2];
  for (int r = 0; r < 2; r++) {
    regions[r] = boundary_type(in->list[r], in->n[2 * r + 1], 3);
    MPI_Get_address(in->arena + in->at[r], &where[r]);
  }
  MPI_Type_create_struct(2, lengths, where, regions, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&regions[0]);
  MPI_Type_free(&regions[1]);
  in->send = (struct message_end){MPI_BOTTOM, 1, type};
  in->receive = in->send;
  MPI_Type_dup(type, &in->receive.type);
}
static void specfem_map(struct instance* in) {
  const size_t components = (size_t)specfem_components(in);
  for (int r = 0; r < specfem_regions(in); r++)
    for (int i = 0; i < in->n[2 * r + 1]; i++)
      for (size_t c = 0; c < components; c++) {
        const size_t at = in->at[r] + ((size_t)in->list[r][i] * components + c) * sizeof(float);
        map_element(in, at, at);
      }
}
static void specfem_oc_direct(const struct instance* in, char* to_arena, const char* from_arena) {
  float* to = (float*)(to_arena + in->at[0]);
  const float* from = (const float*)(from_arena + in->at[0]);
  const int* list = in->list[0];
  for (int i = 0; i < in->n[1]; i++) to[list[i]] = from[list[i]];
}
static void specfem_cm_direct(const struct instance* in, char* to_arena, const char* from_arena) {
  for (int r = 0; r < 2; r++) {
    float(*to)[3] = (float(*)[3])(to_arena + in->at[r]);
    const float(*from)[3] = (const float(*)[3])(from_arena + in->at[r]);
    const int* list = in->list[r];
    for (int i = 0; i < in->n[2 * r + 1]; i++)
      for (int c = 0; c < 3; c++) to[list[i]][c] = from[list[i]][c];
  }
}
const struct pattern kSpecfemOc = {
    "SPECFEM3D_oc",   "seismology, outer core boundary: indexed, single floats",
    sizeof(float),    specfem_layout,
    specfem_oc_types, specfem_map,
    specfem_oc_direct};
const struct pattern kSpecfemCm = {
    "SPECFEM3D_cm",   "seismology, crust, mantle and core boundaries: struct of indexed, 12-byte blocks",
    sizeof(float),    specfem_layout,
    specfem_cm_types, specfem_map,
    specfem_cm_direct};

// ---- LAMMPS: the properties of the border atoms, picked by an index list from one array per property,
// arrive behind the own atoms. full: x[3], tag, type, mask, q, molecule; atomic: x[3], tag, type, mask. All
// double, as LAMMPS sends. n: own atoms, atoms to send.
static int lammps_arrays(const struct instance* in) {
  return in->pattern == &kLammpsFull ? 6 : 4;
}
static void lammps_layout(struct instance* in) {
  const size_t capacity = (size_t)in->n[0] + (size_t)in->n[1];
  for (int a = 0; a < lammps_arrays(in); a++)
    in->at[a] = place_array(in, capacity * (a == 0 ? 3 : 1) * sizeof(double));
  in->elements = (size_t)in->n[1] * (size_t)(3 + lammps_arrays(in) - 1);
  in->list[0] = random_list(in->n[1], in->n[0], 0x1a77);
}
static void lammps_types(struct instance* in) {
  const int own = in->n[0], border = in->n[1], arrays = lammps_arrays(in);
  MPI_Datatype picked1, picked3, tail1, tail3;
  int* displacements = checked_malloc((size_t)border * sizeof *displacements);
  for (int i = 0; i < border; i++) displacements[i] = 3 * in->list[0][i];
  MPI_Type_create_indexed_block(border, 1, in->list[0], MPI_DOUBLE, &picked1);
  MPI_Type_create_indexed_block(border, 3, displacements, MPI_DOUBLE, &picked3);
  free(displacements);
  MPI_Type_contiguous(border, MPI_DOUBLE, &tail1);
  MPI_Type_contiguous(3 * border, MPI_DOUBLE, &tail3);

  int lengths[6];
  MPI_Aint send_at[6], receive_at[6];
  MPI_Datatype send_types[6], receive_types[6];
  for (int a = 0; a < arrays; a++) {
    double* array = (double*)(in->arena + in->at[a]);
    lengths[a] = 1;
    MPI_Get_address(array, &send_at[a]);
    MPI_Get_address(array + (a == 0 ? 3 * own : own), &receive_at[a]);
    send_types[a] = a == 0 ? picked3 : picked1;
    receive_types[a] = a == 0 ? tail3 : tail1;
  }
  in->send = (struct message_end){MPI_BOTTOM, 1, MPI_DATATYPE_NULL};
  in->receive = in->send;
  MPI_Type_create_struct(arrays, lengths, send_at, send_types, &in->send.type);
  MPI_Type_create_struct(arrays, lengths, receive_at, receive_types, &in->receive.type);
  MPI_Type_commit(&in->send.type);
  MPI_Type_commit(&in->receive.type);
  MPI_Type_free(&picked1);
  MPI_Type_free(&picked3);
  MPI_Type_free(&tail1);
  MPI_Type_free(&tail3);
}
static void lammps_map(struct instance* in) {
  const size_t own = (size_t)in->n[0];
  for (int a = 0; a < lammps_arrays(in); a++) {
    const size_t width = a == 0 ? 3 : 1;
    for (size_t i = 0; i < (size_t)in->n[1]; i++)
      for (size_t c = 0; c < width; c++)
        map_element(in, in->at[a] + ((size_t)in->list[0][i] * width + c) * sizeof(double),
                    in->at[a] + ((own + i) * width + c) * sizeof(double));
  }
}
static void lammps_direct(const struct instance* in, char* to_arena, const char* from_arena) {
  const int own = in->n[0], border = in->n[1];
  const int* list = in->list[0];
  double(*x_to)[3] = (double(*)[3])(to_arena + in->at[0]);
  const double(*x_from)[3] = (const double(*)[3])(from_arena + in->at[0]);
  for (int i = 0; i < border; i++)
    for (int c = 0; c < 3; c++) x_to[own + i][c] = x_from[list[i]][c];
  for (int a = 1; a < lammps_arrays(in); a++) {
    double* to = (double*)(to_arena + in->at[a]);
    const double* from = (const double*)(from_arena + in->at[a]);
    for (int i = 0; i < border; i++) to[own + i] = from[list[i]];
  }
}
const struct pattern kLammpsFull = {
    "LAMMPS_full",  "molecular dynamics, border atoms: struct of 6 indexed to dense",
    sizeof(double), lammps_layout,
    lammps_types,   lammps_map,
    lammps_direct};
const struct pattern kLammpsAtomic = {
    "LAMMPS_atomic", "molecular dynamics, border atoms: struct of 4 indexed to dense",
    sizeof(double),  lammps_layout,
    lammps_types,    lammps_map,
    lammps_direct};
