// Updates of a target whose datatype the layer does not decode (a large-count one, MPI-4) are atomic with all
// others of the same elements, whatever types these come with.
#include "../p2p/check.h"

#if MPI_VERSION < 4
int main(int argc, char** argv) {
  begin(&argc, &argv);
  skip("this MPI has no MPI_Type_create_darray_c");
}
#else

enum { kElements = 64, kRounds = 300 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  // The even elements of 2 * kElements: those of process 0 of 2, dealt out one by one.
  const MPI_Count sizes[] = {2 * kElements};
  const int distributions[] = {MPI_DISTRIBUTE_CYCLIC}, arguments[] = {1}, processes[] = {2};
  MPI_Datatype even;
  MPI_Type_create_darray_c(2, 0, 1, sizes, distributions, arguments, processes, MPI_ORDER_C, MPI_LONG, &even);
  MPI_Type_commit(&even);
  MPI_Datatype vector;
  MPI_Type_vector(kElements, 1, 2, MPI_LONG, &vector);
  MPI_Type_commit(&vector);

  long* memory;
  MPI_Win win;
  MPI_Win_allocate(sizeof(long[2 * kElements]), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (int i = 0; i < 2 * kElements; i++) memory[i] = 1000 + i;
  MPI_Win_fence(0, win);

  STEP("sums");
  long ones[kElements], before[kElements];
  for (int i = 0; i < kElements; i++) ones[i] = 1;
  for (int k = 0; k < kRounds; k++) {
    if (k % 3 == 0)
      MPI_Accumulate(ones, kElements, MPI_LONG, 0, 0, 1, vector, MPI_SUM, win);
    else if (k % 3 == 1)
      MPI_Accumulate(ones, kElements, MPI_LONG, 0, 0, 1, even, MPI_SUM, win);
    else
      MPI_Get_accumulate(NULL, 0, MPI_LONG, before, kElements, MPI_LONG, 0, 0, 1, even, MPI_NO_OP, win);
  }
  MPI_Win_fence(0, win);
  const long sums = kRounds / 3 * 2L * ranks, added = rank == 0 ? sums : 0;
  for (int i = 0; i < 2 * kElements; i++) CHECK_EQ(memory[i], 1000 + i + (i % 2 == 0 ? added : 0));

  STEP("fetched");
  MPI_Win_fence(0, win);
  MPI_Get_accumulate(ones, kElements, MPI_LONG, before, kElements, MPI_LONG, (rank + 1) % ranks, 0, 1, even,
                     MPI_REPLACE, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < kElements; i++) {
    CHECK_EQ(before[i], 1000 + 2 * i + ((rank + 1) % ranks == 0 ? sums : 0));
    CHECK_EQ(memory[2 * i], 1L);
    CHECK_EQ(memory[2 * i + 1], 1000 + 2 * i + 1L);
  }

  MPI_Type_free(&even);
  MPI_Type_free(&vector);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
#endif
