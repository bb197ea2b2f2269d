// Structured patterns: faces of grids (WRF, MILC, NAS) and plain contiguous messages.
#include "row.h"

static size_t index2(size_t y, size_t x, size_t nx) {
  return y * nx + x;
}
static size_t index3(size_t z, size_t y, size_t x, size_t ny, size_t nx) {
  return (z * ny + y) * nx + x;
}

// ---- WRF: one message carries the same strip of 4 two-dimensional fields [j][i], 3 three-dimensional ones
// [j][k][i] and one scalar of each of 2 four-dimensional ones [scalar][j][k][i], all float. x: a strip of 3
// columns goes into the halo behind it; y: 3 rows go into the halo before them. n: i, k, j extents of the
// fields; first i, number of i; first j, number of j.
enum { kWrf2d = 4, kWrf3d = 3, kWrf4d = 2, kWrfFields = kWrf2d + kWrf3d + kWrf4d, kWrfScalars = 2 };
enum { kWrfFirstScalar = 1 };

static int wrf_along_x(const struct instance* in) {
  return in->pattern == &kWrfXVec || in->pattern == &kWrfXSa;
}
static int wrf_receive_i(const struct instance* in) {
  return wrf_along_x(in) ? in->n[3] + in->n[4] : in->n[3];
}
static int wrf_receive_j(const struct instance* in) {
  return wrf_along_x(in) ? in->n[5] : in->n[5] - in->n[6];
}

static void wrf_layout(struct instance* in) {
  const size_t plane = (size_t)in->n[0] * (size_t)in->n[2] * sizeof(float);
  const size_t field = plane * (size_t)in->n[1];
  for (int f = 0; f < kWrfFields; f++) {
    const size_t bytes = f < kWrf2d ? plane : f < kWrf2d + kWrf3d ? field : kWrfScalars * field;
    in->at[f] = place_array(in, bytes);
  }
  const size_t strip = (size_t)in->n[4] * (size_t)in->n[6];
  in->elements = strip * (kWrf2d + (size_t)in->n[1] * (kWrf3d + kWrf4d * (kWrfScalars - kWrfFirstScalar)));
}

// As WRF's RSL_LITE would with vectors: displacements are addresses, the buffer is MPI_BOTTOM.
static MPI_Datatype wrf_vector_type(struct instance* in, int i0, int j0) {
  const int mi = in->n[0], mk = in->n[1], mj = in->n[2], ni = in->n[4], nj = in->n[6];
  const MPI_Aint layer = (MPI_Aint)mi * mk * (MPI_Aint)sizeof(float);
  MPI_Datatype face2, column, face3, face4, all, types[kWrfFields];
  MPI_Type_vector(nj, ni, mi, MPI_FLOAT, &face2);
  MPI_Type_vector(mk, ni, mi, MPI_FLOAT, &column);
  MPI_Type_create_hvector(nj, 1, layer, column, &face3);
  MPI_Type_create_hvector(kWrfScalars - kWrfFirstScalar, 1, layer * mj, face3, &face4);

  int lengths[kWrfFields];
  MPI_Aint where[kWrfFields];
  for (int f = 0; f < kWrfFields; f++) {
    float* field = (float*)(in->arena + in->at[f]);
    size_t first = index3((size_t)j0, 0, (size_t)i0, (size_t)mk, (size_t)mi);
    if (f < kWrf2d) first = index2((size_t)j0, (size_t)i0, (size_t)mi);
    if (f >= kWrf2d + kWrf3d) first += (size_t)kWrfFirstScalar * (size_t)mi * (size_t)mk * (size_t)mj;
    MPI_Get_address(field + first, &where[f]);
    lengths[f] = 1;
    types[f] = f < kWrf2d ? face2 : f < kWrf2d + kWrf3d ? face3 : face4;
  }
  MPI_Type_create_struct(kWrfFields, lengths, where, types, &all);
  MPI_Type_commit(&all);
  MPI_Type_free(&face2);
  MPI_Type_free(&column);
  MPI_Type_free(&face3);
  MPI_Type_free(&face4);
  return all;
}

static MPI_Datatype wrf_subarray_type(struct instance* in, int i0, int j0) {
  const int mi = in->n[0], mk = in->n[1], mj = in->n[2], ni = in->n[4], nj = in->n[6];
  const int sizes[] = {kWrfScalars, mj, mk, mi};
  const int subsizes[] = {kWrfScalars - kWrfFirstScalar, nj, mk, ni};
  const int starts[] = {kWrfFirstScalar, j0, 0, i0};
  const int sizes2[] = {mj, mi}, subsizes2[] = {nj, ni}, starts2[] = {j0, i0};
  MPI_Datatype face2, face3, face4, all, types[kWrfFields];
  MPI_Type_create_subarray(2, sizes2, subsizes2, starts2, MPI_ORDER_C, MPI_FLOAT, &face2);
  MPI_Type_create_subarray(3, sizes + 1, subsizes + 1, starts + 1, MPI_ORDER_C, MPI_FLOAT, &face3);
  MPI_Type_create_subarray(4, sizes, subsizes, starts, MPI_ORDER_C, MPI_FLOAT, &face4);

  int lengths[kWrfFields];
  MPI_Aint where[kWrfFields];
  for (int f = 0; f < kWrfFields; f++) {
    MPI_Get_address(in->arena + in->at[f], &where[f]);
    lengths[f] = 1;
    types[f] = f < kWrf2d ? face2 : f < kWrf2d + kWrf3d ? face3 : face4;
  }
  MPI_Type_create_struct(kWrfFields, lengths, where, types, &all);
  MPI_Type_commit(&all);
  MPI_Type_free(&face2);
  MPI_Type_free(&face3);
  MPI_Type_free(&face4);
  return all;
}

static void wrf_types_vec(struct instance* in) {
  in->send = (struct message_end){MPI_BOTTOM, 1, wrf_vector_type(in, in->n[3], in->n[5])};
  in->receive =
      (struct message_end){MPI_BOTTOM, 1, wrf_vector_type(in, wrf_receive_i(in), wrf_receive_j(in))};
}
static void wrf_types_sa(struct instance* in) {
  in->send = (struct message_end){MPI_BOTTOM, 1, wrf_subarray_type(in, in->n[3], in->n[5])};
  in->receive =
      (struct message_end){MPI_BOTTOM, 1, wrf_subarray_type(in, wrf_receive_i(in), wrf_receive_j(in))};
}

static void wrf_map(struct instance* in) {
  const size_t mi = (size_t)in->n[0], mk = (size_t)in->n[1], mj = (size_t)in->n[2];
  const size_t i0 = (size_t)in->n[3], j0 = (size_t)in->n[5];
  const size_t ri = (size_t)wrf_receive_i(in), rj = (size_t)wrf_receive_j(in);
  for (int f = 0; f < kWrfFields; f++) {
    const size_t levels = f < kWrf2d ? 1 : mk;
    const size_t skip = f < kWrf2d + kWrf3d ? 0 : kWrfFirstScalar * mi * mk * mj;
    for (size_t j = 0; j < (size_t)in->n[6]; j++)
      for (size_t k = 0; k < levels; k++)
        for (size_t i = 0; i < (size_t)in->n[4]; i++) {
          const size_t from = skip + index3(j0 + j, k, i0 + i, levels, mi);
          const size_t to = skip + index3(rj + j, k, ri + i, levels, mi);
          map_element(in, in->at[f] + from * sizeof(float), in->at[f] + to * sizeof(float));
        }
  }
}

static void wrf_direct(const struct instance* in, char* to_arena, const char* from_arena) {
  const int mi = in->n[0], mk = in->n[1], mj = in->n[2];
  const int i0 = in->n[3], ni = in->n[4], j0 = in->n[5], nj = in->n[6];
  const int ri = wrf_receive_i(in), rj = wrf_receive_j(in);
  int f = 0;
  for (; f < kWrf2d; f++) {
    float(*to)[mi] = (float(*)[mi])(to_arena + in->at[f]);
    const float(*from)[mi] = (const float(*)[mi])(from_arena + in->at[f]);
    for (int j = 0; j < nj; j++)
      for (int i = 0; i < ni; i++) to[rj + j][ri + i] = from[j0 + j][i0 + i];
  }
  for (; f < kWrfFields; f++) {
    const size_t skip =
        f < kWrf2d + kWrf3d ? 0 : (size_t)kWrfFirstScalar * (size_t)mi * (size_t)mk * (size_t)mj;
    float(*to)[mk][mi] = (float(*)[mk][mi])(to_arena + in->at[f] + skip * sizeof(float));
    const float(*from)[mk][mi] = (const float(*)[mk][mi])(from_arena + in->at[f] + skip * sizeof(float));
    for (int j = 0; j < nj; j++)
      for (int k = 0; k < mk; k++)
        for (int i = 0; i < ni; i++) to[rj + j][k][ri + i] = from[j0 + j][k][i0 + i];
  }
}

#define WRF(NAME, WHAT, TYPES) \
  { NAME, WHAT, sizeof(float), wrf_layout, TYPES, wrf_map, wrf_direct }
const struct pattern kWrfXVec =
    WRF("WRF_x_vec", "weather, x halo of 9 fields: struct of nested vectors, 12-byte blocks", wrf_types_vec);
const struct pattern kWrfYVec =
    WRF("WRF_y_vec", "weather, y halo of 9 fields: struct of nested vectors, whole lines", wrf_types_vec);
const struct pattern kWrfXSa =
    WRF("WRF_x_sa", "weather, x halo of 9 fields: struct of subarrays, 12-byte blocks", wrf_types_sa);
const struct pattern kWrfYSa =
    WRF("WRF_y_sa", "weather, y halo of 9 fields: struct of subarrays, whole lines", wrf_types_sa);

// ---- MILC: the z face of a lattice of su3 vectors (3 complex float each), even sites first, then odd ones:
// [parity][t][z][xy/2][6]. Sent from z = 0, received into the last z.
// n: x, y, z, t.
enum { kSu3Floats = 6 };

static void milc_layout(struct instance* in) {
  const size_t sites = (size_t)in->n[0] * (size_t)in->n[1] * (size_t)in->n[2] * (size_t)in->n[3];
  in->at[0] = place_array(in, sites * kSu3Floats * sizeof(float));
  in->elements = (size_t)in->n[0] * (size_t)in->n[1] * (size_t)in->n[3] * kSu3Floats;
}
static void milc_types(struct instance* in) {
  const int half_plane = in->n[0] * in->n[1] / 2, z = in->n[2], t = in->n[3];
  const MPI_Aint vector_bytes = kSu3Floats * (MPI_Aint)sizeof(float);
  MPI_Datatype su3_vector, planes, face;
  MPI_Type_contiguous(kSu3Floats, MPI_FLOAT, &su3_vector);
  MPI_Type_vector(t, half_plane, half_plane * z, su3_vector, &planes);
  MPI_Type_create_hvector(2, 1, vector_bytes * half_plane * z * t, planes, &face);
  MPI_Type_commit(&face);
  MPI_Type_free(&su3_vector);
  MPI_Type_free(&planes);
  char* lattice = in->arena + in->at[0];
  in->send = (struct message_end){lattice, 1, face};
  in->receive.buffer = lattice + (size_t)(z - 1) * (size_t)half_plane * (size_t)vector_bytes;
  in->receive.count = 1;
  MPI_Type_dup(face, &in->receive.type);
}
static void milc_map(struct instance* in) {
  const size_t half_plane = (size_t)in->n[0] * (size_t)in->n[1] / 2 * kSu3Floats;
  const size_t planes = (size_t)in->n[2], last = planes - 1;
  for (size_t parity_t = 0; parity_t < 2 * (size_t)in->n[3]; parity_t++)
    for (size_t s = 0; s < half_plane; s++) {
      const size_t site = parity_t * planes * half_plane + s;
      map_element(in, in->at[0] + site * sizeof(float),
                  in->at[0] + (site + last * half_plane) * sizeof(float));
    }
}
static void milc_direct(const struct instance* in, char* to_arena, const char* from_arena) {
  const int half_plane = in->n[0] * in->n[1] / 2, z = in->n[2], t = in->n[3];
  float(*to)[t][z][half_plane][kSu3Floats] = (float(*)[t][z][half_plane][kSu3Floats])(to_arena + in->at[0]);
  const float(*from)[t][z][half_plane][kSu3Floats] =
      (const float(*)[t][z][half_plane][kSu3Floats])(from_arena + in->at[0]);
  for (int parity = 0; parity < 2; parity++)
    for (int l = 0; l < t; l++)
      for (int site = 0; site < half_plane; site++)
        for (int c = 0; c < kSu3Floats; c++) to[parity][l][z - 1][site][c] = from[parity][l][0][site][c];
}
const struct pattern kMilc = {
    "MILC_su3_zd", "lattice QCD, z face of su3 vectors: nested vectors, even and odd sites",
    sizeof(float), milc_layout,
    milc_types,    milc_map,
    milc_direct};

// ---- NAS LU: faces of [y + 2][x + 2][5] double. x: a contiguous line; y: 5 doubles of every line.
// n: x, y without halo.
static void lu_layout(struct instance* in) {
  const size_t nx = (size_t)in->n[0], ny = (size_t)in->n[1];
  in->at[0] = place_array(in, 5 * (nx + 2) * (ny + 2) * sizeof(double));
  in->elements = 5 * (in->pattern == &kLuX ? nx : ny);
}
static double* lu_point(const struct instance* in, int y, int x) {
  return (double*)(in->arena + in->at[0]) + 5 * index2((size_t)y, (size_t)x, (size_t)in->n[0] + 2);
}
static void lu_types_x(struct instance* in) {
  MPI_Datatype line;
  MPI_Type_contiguous(5 * in->n[0], MPI_DOUBLE, &line);
  MPI_Type_commit(&line);
  in->send = (struct message_end){lu_point(in, in->n[1], 1), 1, line};
  in->receive = (struct message_end){lu_point(in, 0, 1), 1, MPI_DATATYPE_NULL};
  MPI_Type_dup(line, &in->receive.type);
}
static void lu_types_y(struct instance* in) {
  MPI_Datatype point, column;
  MPI_Type_contiguous(5, MPI_DOUBLE, &point);
  MPI_Type_vector(in->n[1], 1, in->n[0] + 2, point, &column);
  MPI_Type_commit(&column);
  MPI_Type_free(&point);
  in->send = (struct message_end){lu_point(in, 1, in->n[0]), 1, column};
  in->receive = (struct message_end){lu_point(in, 1, 0), 1, MPI_DATATYPE_NULL};
  MPI_Type_dup(column, &in->receive.type);
}
static void lu_map(struct instance* in) {
  const size_t nx = (size_t)in->n[0], ny = (size_t)in->n[1], along_x = in->pattern == &kLuX;
  for (size_t p = 1; p <= (along_x ? nx : ny); p++)
    for (size_t c = 0; c < 5; c++) {
      const size_t from = 5 * (along_x ? index2(ny, p, nx + 2) : index2(p, nx, nx + 2)) + c;
      const size_t to = 5 * (along_x ? index2(0, p, nx + 2) : index2(p, 0, nx + 2)) + c;
      map_element(in, in->at[0] + from * sizeof(double), in->at[0] + to * sizeof(double));
    }
}
static void lu_direct_x(const struct instance* in, char* to_arena, const char* from_arena) {
  const int nx = in->n[0], ny = in->n[1];
  double(*to)[nx + 2][5] = (double(*)[nx + 2][5])(to_arena + in->at[0]);
  const double(*from)[nx + 2][5] = (const double(*)[nx + 2][5])(from_arena + in->at[0]);
  for (int x = 1; x <= nx; x++)
    for (int c = 0; c < 5; c++) to[0][x][c] = from[ny][x][c];
}
static void lu_direct_y(const struct instance* in, char* to_arena, const char* from_arena) {
  const int nx = in->n[0], ny = in->n[1];
  double(*to)[nx + 2][5] = (double(*)[nx + 2][5])(to_arena + in->at[0]);
  const double(*from)[nx + 2][5] = (const double(*)[nx + 2][5])(from_arena + in->at[0]);
  for (int y = 1; y <= ny; y++)
    for (int c = 0; c < 5; c++) to[y][0][c] = from[y][nx][c];
}
const struct pattern kLuX = {
    "NAS_LU_x", "fluid dynamics, x face: contiguous", sizeof(double), lu_layout, lu_types_x, lu_map,
    lu_direct_x};
const struct pattern kLuY = {"NAS_LU_y",     "fluid dynamics, y face: vector of 40-byte blocks",
                             sizeof(double), lu_layout,
                             lu_types_y,     lu_map,
                             lu_direct_y};

// ---- NAS MG: faces of a cube [z][y][x] double, from the last inner layer into the halo.
// n: x, y, z with halo.
static void mg_layout(struct instance* in) {
  const size_t nx = (size_t)in->n[0], ny = (size_t)in->n[1], nz = (size_t)in->n[2];
  in->at[0] = place_array(in, nx * ny * nz * sizeof(double));
  in->elements = in->pattern == &kMgX   ? (ny - 2) * (nz - 2)
                 : in->pattern == &kMgY ? (nx - 2) * (nz - 2)
                                        : (nx - 2) * (ny - 2);
}
static double* mg_point(const struct instance* in, int z, int y, int x) {
  return (double*)(in->arena + in->at[0]) +
         index3((size_t)z, (size_t)y, (size_t)x, (size_t)in->n[1], (size_t)in->n[0]);
}
static void mg_types(struct instance* in) {
  const int nx = in->n[0], ny = in->n[1], nz = in->n[2];
  MPI_Datatype face;
  if (in->pattern == &kMgX) {
    MPI_Datatype column;
    MPI_Type_vector(ny - 2, 1, nx, MPI_DOUBLE, &column);
    MPI_Type_create_hvector(nz - 2, 1, (MPI_Aint)nx * ny * (MPI_Aint)sizeof(double), column, &face);
    MPI_Type_free(&column);
    in->send.buffer = mg_point(in, 1, 1, nx - 2);
    in->receive.buffer = mg_point(in, 1, 1, nx - 1);
  } else if (in->pattern == &kMgY) {
    MPI_Type_vector(nz - 2, nx - 2, nx * ny, MPI_DOUBLE, &face);
    in->send.buffer = mg_point(in, 1, ny - 2, 1);
    in->receive.buffer = mg_point(in, 1, ny - 1, 1);
  } else {
    MPI_Type_vector(ny - 2, nx - 2, nx, MPI_DOUBLE, &face);
    in->send.buffer = mg_point(in, 1, 1, 1);
    in->receive.buffer = mg_point(in, 0, 1, 1);
  }
  MPI_Type_commit(&face);
  in->send.count = in->receive.count = 1;
  in->send.type = face;
  MPI_Type_dup(face, &in->receive.type);
}
static void mg_map(struct instance* in) {
  const size_t nx = (size_t)in->n[0], ny = (size_t)in->n[1], nz = (size_t)in->n[2];
  const struct pattern* p = in->pattern;
  const size_t rows = p == &kMgZ ? ny : nz, columns = p == &kMgX ? ny : nx;
  for (size_t r = 1; r < rows - 1; r++)
    for (size_t c = 1; c < columns - 1; c++) {
      size_t from, to;
      if (p == &kMgX) {
        from = index3(r, c, nx - 2, ny, nx), to = index3(r, c, nx - 1, ny, nx);
      } else if (p == &kMgY) {
        from = index3(r, ny - 2, c, ny, nx), to = index3(r, ny - 1, c, ny, nx);
      } else {
        from = index3(1, r, c, ny, nx), to = index3(0, r, c, ny, nx);
      }
      map_element(in, in->at[0] + from * sizeof(double), in->at[0] + to * sizeof(double));
    }
}
#define MG_VIEWS                                                   \
  const int nx = in->n[0], ny = in->n[1], nz = in->n[2];           \
  double(*to)[ny][nx] = (double(*)[ny][nx])(to_arena + in->at[0]); \
  const double(*from)[ny][nx] = (const double(*)[ny][nx])(from_arena + in->at[0])
static void mg_direct_x(const struct instance* in, char* to_arena, const char* from_arena) {
  MG_VIEWS;
  for (int z = 1; z < nz - 1; z++)
    for (int y = 1; y < ny - 1; y++) to[z][y][nx - 1] = from[z][y][nx - 2];
}
static void mg_direct_y(const struct instance* in, char* to_arena, const char* from_arena) {
  MG_VIEWS;
  for (int z = 1; z < nz - 1; z++)
    for (int x = 1; x < nx - 1; x++) to[z][ny - 1][x] = from[z][ny - 2][x];
}
static void mg_direct_z(const struct instance* in, char* to_arena, const char* from_arena) {
  MG_VIEWS;
  (void)nz;
  for (int y = 1; y < ny - 1; y++)
    for (int x = 1; x < nx - 1; x++) to[0][y][x] = from[1][y][x];
}
const struct pattern kMgX = {"NAS_MG_x",     "multigrid, x face: nested vectors, single doubles",
                             sizeof(double), mg_layout,
                             mg_types,       mg_map,
                             mg_direct_x};
const struct pattern kMgY = {
    "NAS_MG_y", "multigrid, y face: vector of lines, far apart", sizeof(double), mg_layout, mg_types, mg_map,
    mg_direct_y};
const struct pattern kMgZ = {"NAS_MG_z",     "multigrid, z face: vector of lines, nearly dense",
                             sizeof(double), mg_layout,
                             mg_types,       mg_map,
                             mg_direct_z};

// ---- Contiguous bytes. n: bytes, a multiple of 4.
static void contiguous_layout(struct instance* in) {
  in->at[0] = place_array(in, (size_t)in->n[0]);
  in->at[1] = place_array(in, (size_t)in->n[0]);
  in->elements = (size_t)in->n[0] / 4;
}
static void contiguous_types(struct instance* in) {
  MPI_Datatype bytes;
  MPI_Type_dup(MPI_BYTE, &bytes);
  in->send = (struct message_end){in->arena + in->at[0], in->n[0], bytes};
  in->receive = (struct message_end){in->arena + in->at[1], in->n[0], MPI_DATATYPE_NULL};
  MPI_Type_dup(MPI_BYTE, &in->receive.type);
}
static void contiguous_map(struct instance* in) {
  for (size_t i = 0; i < in->elements; i++) map_element(in, in->at[0] + 4 * i, in->at[1] + 4 * i);
}
static void contiguous_direct(const struct instance* in, char* to_arena, const char* from_arena) {
  float* to = (float*)(to_arena + in->at[1]);
  const float* from = (const float*)(from_arena + in->at[0]);
  for (size_t i = 0; i < in->elements; i++) to[i] = from[i];
}
const struct pattern kContiguous = {"contiguous",      "MPI_BYTE, contiguous", 4,
                                    contiguous_layout, contiguous_types,       contiguous_map,
                                    contiguous_direct};
