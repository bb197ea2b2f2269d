// Types that are made of large-count ones (MPI-4): the calls that ask for the old form of their contents fail.
#include "check.h"

#if MPI_VERSION < 4
int main(int argc, char** argv) {
  begin(&argc, &argv);
  skip("this MPI library has no large-count constructors");
}
#else

enum { kInts = 64, kBase = 100 };

// Of the ints [0, kInts): those whose number is even, by constructors of both kinds inside each other.
static MPI_Datatype even_ints(int how) {
  MPI_Datatype inner, outer;
  switch (how) {
    case 0:  // an old one around a large one
      MPI_Type_vector_c(kInts / 4, 1, 2, MPI_INT, &inner);
      MPI_Type_create_hvector(2, 1, (MPI_Aint)sizeof(int[kInts / 2]), inner, &outer);
      break;
    case 1:  // a large one around an old one
      MPI_Type_vector(kInts / 4, 1, 2, MPI_INT, &inner);
      MPI_Type_create_hvector_c(2, 1, (MPI_Count)sizeof(int[kInts / 2]), inner, &outer);
      break;
    default: {  // large ones only
      MPI_Type_vector_c(kInts / 4, 1, 2, MPI_INT, &inner);
      const MPI_Count lengths[] = {1, 1}, places[] = {0, (MPI_Count)sizeof(int[kInts / 2])};
      const MPI_Datatype types[] = {inner, inner};
      MPI_Type_create_struct_c(2, lengths, places, types, &outer);
    }
  }
  MPI_Type_free(&inner);
  MPI_Type_commit(&outer);
  return outer;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (int how = 0; how < 3; how++) {
    MPI_Datatype type = even_ints(how);
    int data[kInts];

    STEP("a message");
    for (int i = 0; i < kInts; i++) data[i] = rank == 0 ? kBase + i : -1;
    if (rank == 0) MPI_Send(data, 1, type, 1, how, MPI_COMM_WORLD);
    if (rank == 1) {
      MPI_Recv(data, 1, type, 0, how, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 0; i < kInts; i++) CHECK_EQ(data[i], i % 2 == 0 ? kBase + i : -1);
    }

    STEP("a broadcast");
    for (int i = 0; i < kInts; i++) data[i] = rank == 0 ? kBase - i : -1;
    MPI_Bcast(data, 1, type, 0, MPI_COMM_WORLD);
    for (int i = 0; i < kInts; i++) CHECK_EQ(data[i], i % 2 == 0 || rank == 0 ? kBase - i : -1);

    STEP("an update");
    MPI_Win win;
    for (int i = 0; i < kInts; i++) data[i] = i;
    MPI_Win_create(data, sizeof data, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    int ones[kInts / 2];
    for (int i = 0; i < kInts / 2; i++) ones[i] = 1;
    MPI_Win_fence(0, win);
    MPI_Accumulate(ones, kInts / 2, MPI_INT, (rank + 1) % ranks, 0, 1, type, MPI_SUM, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < kInts; i++) CHECK_EQ(data[i], i + (i % 2 == 0));
    MPI_Win_free(&win);
    MPI_Type_free(&type);
  }
  MPI_Finalize();
  return 0;
}
#endif
