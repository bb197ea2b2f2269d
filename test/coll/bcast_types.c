// MPI_Bcast with types on either side: the type signatures agree, the memory maps do not.
#include "check.h"

enum { kinds = 7 };

// A type that holds n doubles, in one of several shapes; *span: bytes that it may touch from the buffer's
// start.
static MPI_Datatype shape(int kind, int n, size_t* span) {
  MPI_Datatype type, inner;
  *span = (size_t)n * 8;
  switch (kind) {
    case 0:
      MPI_Type_contiguous(n, MPI_DOUBLE, &type);
      break;
    case 1:
      MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &type);
      *span = (size_t)n * 16;
      break;
    case 2:
      MPI_Type_create_hvector(n, 1, 24, MPI_DOUBLE, &type);
      *span = (size_t)n * 24;
      break;
    case 3: {  // backwards
      int* at = allocate(sizeof(int) * (size_t)n);
      for (int i = 0; i < n; i++) at[i] = 3 * (n - 1 - i);
      MPI_Type_create_indexed_block(n, 1, at, MPI_DOUBLE, &type);
      free(at);
      *span = (size_t)n * 24;
      break;
    }
    case 4: {  // blocks of changing lengths
      int *at = allocate(sizeof(int) * (size_t)n), *length = allocate(sizeof(int) * (size_t)n), blocks = 0;
      for (int i = 0, place = 0; i < n; blocks++) {
        length[blocks] = blocks % 5 + 1 < n - i ? blocks % 5 + 1 : n - i;
        at[blocks] = place;
        place += length[blocks] + 1;
        i += length[blocks];
      }
      MPI_Type_indexed(blocks, length, at, MPI_DOUBLE, &type);
      free(at);
      free(length);
      *span = (size_t)n * 16;
      break;
    }
    case 5: {  // two halves, the second before the first
      const int first = n / 2;
      int length[2] = {first, n - first};
      MPI_Aint at[2] = {(n - first) * 8 + 16, 0};
      MPI_Datatype types[2] = {MPI_DOUBLE, MPI_DOUBLE};
      MPI_Type_create_struct(2, length, at, types, &type);
      *span = (size_t)n * 8 + 16;
      break;
    }
    default:  // nested, with an extent of its own
      MPI_Type_create_resized(MPI_DOUBLE, 0, 40, &inner);
      MPI_Type_vector(n, 1, 1, inner, &type);
      MPI_Type_free(&inner);
      *span = (size_t)n * 40;
  }
  MPI_Type_commit(&type);
  return type;
}

static void one(int kind_root, int kind_others, int n, int root) {
  size_t span;
  MPI_Datatype type = shape(rank == root ? kind_root : (kind_others + rank) % kinds, n, &span);
  double* data = allocate((size_t)n * 8);
  char* memory = allocate(span);
  int position = 0;
  memset(memory, 0x77, span);
  for (int i = 0; i < n; i++) data[i] = rank == root ? i + 1000.0 * root + 0.5 : -1;
  MPI_Unpack(data, n * 8, &position, memory, 1, type, MPI_COMM_SELF);
  CHECK_EQ(MPI_Bcast(memory, 1, type, root, MPI_COMM_WORLD), MPI_SUCCESS);
  position = 0;
  MPI_Pack(memory, 1, type, data, n * 8, &position, MPI_COMM_SELF);
  for (int i = 0; i < n; i++) CHECK(data[i] == i + 1000.0 * root + 0.5);
  // What lies between the elements is nobody's business: as many bytes as before are untouched.
  size_t gaps = 0;
  for (size_t i = 0; i < span; i++) gaps += memory[i] == 0x77;
  CHECK(gaps >= span - (size_t)n * 8);
  free(memory);
  free(data);
  MPI_Type_free(&type);
}

// Absolute addresses, and two variables in one type.
static void bottom(int root) {
  static int a;
  static double b[5000];
  int length[2] = {1, 5000};
  MPI_Aint at[2];
  MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}, type;
  MPI_Get_address(&a, &at[0]);
  MPI_Get_address(b, &at[1]);
  MPI_Type_create_struct(2, length, at, types, &type);
  MPI_Type_commit(&type);
  a = rank == root ? 77 : 0;
  for (int i = 0; i < 5000; i++) b[i] = rank == root ? i : -1;
  MPI_Bcast(MPI_BOTTOM, 1, type, root, MPI_COMM_WORLD);
  CHECK_EQ(a, 77);
  for (int i = 0; i < 5000; i++) CHECK(b[i] == i);
  MPI_Type_free(&type);
}

// One side counts elements, the other has them all in one type; a type without bytes; no elements.
static void counts(int root) {
  int a[60];
  MPI_Datatype six, nothing;
  MPI_Type_contiguous(6, MPI_INT, &six);
  MPI_Type_commit(&six);
  MPI_Type_contiguous(0, MPI_INT, &nothing);
  MPI_Type_commit(&nothing);
  for (int i = 0; i < 60; i++) a[i] = rank == root ? i * i : -1;
  if (rank % 2 == 0)
    MPI_Bcast(a, 10, six, root, MPI_COMM_WORLD);
  else
    MPI_Bcast(a, 60, MPI_INT, root, MPI_COMM_WORLD);
  for (int i = 0; i < 60; i++) CHECK_EQ(a[i], i * i);
  MPI_Bcast(a, 3, nothing, root, MPI_COMM_WORLD);
  MPI_Bcast(NULL, 0, MPI_INT, root, MPI_COMM_WORLD);
  MPI_Bcast(a, 0, six, root, MPI_COMM_WORLD);
  for (int i = 0; i < 60; i++) CHECK_EQ(a[i], i * i);
  MPI_Type_free(&six);
  MPI_Type_free(&nothing);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  static const int lengths[] = {1, 7, 125, 126, 1000, 4096, 4097, 20000};
  STEP("types");
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    for (int kind = 0; kind < kinds; kind++)
      for (int other = 0; other < kinds; other += 2) one(kind, other, lengths[i], (kind + other) % ranks);
  STEP("MPI_BOTTOM");
  for (int root = 0; root < ranks; root++) bottom(root);
  STEP("counts");
  for (int root = 0; root < ranks; root++) counts(root);
  return end();
}
