// What a status says: counts in elements of a type, MPI_UNDEFINED for parts of one, elements, cancelled.
#include "check.h"

int main(int argc, char** argv) {
  begin(&argc, &argv);
  CHECK(ranks >= 2);
  MPI_Status s;
  int in[64], out[64], n, flag;
  MPI_Count x;
  MPI_Datatype three, gap;
  for (int i = 0; i < 64; i++) out[i] = i;
  MPI_Type_contiguous(3, MPI_INT, &three);
  MPI_Type_commit(&three);
  int blocks[2] = {1, 2};
  MPI_Aint at[2] = {0, 8};
  MPI_Datatype types[2] = {MPI_DOUBLE, MPI_INT};
  MPI_Type_create_struct(2, blocks, at, types, &gap);
  MPI_Type_commit(&gap);

  for (int ints = 0; ints <= 13; ints++) {
    STEP("part of an element");
    if (rank == 0) {
      MPI_Send(out, ints, MPI_INT, 1, ints, MPI_COMM_WORLD);
    } else if (rank == 1) {
      memset(in, 0xff, sizeof in);
      if (ints % 2) {
        MPI_Recv(in, 8, three, 0, ints, MPI_COMM_WORLD, &s);
      } else {
        MPI_Request r;
        MPI_Irecv(in, 8, three, 0, ints, MPI_COMM_WORLD, &r);
        MPI_Wait(&r, &s);
      }
      CHECK_EQ(count_of(&s, three), ints % 3 ? MPI_UNDEFINED : ints / 3);
      CHECK_EQ(count_of(&s, MPI_INT), ints);
      CHECK_EQ(count_of(&s, MPI_BYTE), ints * 4);
      CHECK_EQ(count_of(&s, MPI_DOUBLE), ints % 2 ? MPI_UNDEFINED : ints / 2);
      MPI_Get_elements(&s, three, &n);
      CHECK_EQ(n, ints);
      MPI_Get_elements_x(&s, three, &x);
      CHECK_EQ(x, ints);
      MPI_Test_cancelled(&s, &flag);
      CHECK(!flag);
      for (int i = 0; i < 64; i++) CHECK_EQ(in[i], i < ints ? i : -1);
    }
  }

  STEP("part of a struct");
  struct {
    double d;
    int i[2];
  } send[3] = {{1, {2, 3}}, {4, {5, 6}}, {7, {8, 9}}}, receive[4];
  if (rank == 0) {
    MPI_Datatype prefix;  // a struct and a double: three elements and one
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {0, 16};
    MPI_Datatype parts[2] = {gap, MPI_DOUBLE};
    MPI_Type_create_struct(2, lengths, places, parts, &prefix);
    MPI_Type_commit(&prefix);
    MPI_Send(send, 1, prefix, 1, 50, MPI_COMM_WORLD);
    MPI_Type_free(&prefix);
    MPI_Send(send, 3, gap, 1, 51, MPI_COMM_WORLD);
  } else if (rank == 1) {
    memset(receive, 0, sizeof receive);
    MPI_Recv(receive, 4, gap, 0, 50, MPI_COMM_WORLD, &s);
    CHECK_EQ(count_of(&s, gap), MPI_UNDEFINED);
    MPI_Get_elements(&s, gap, &n);
    CHECK_EQ(n, 4);
    CHECK(receive[1].d == 4);
    CHECK_EQ(receive[1].i[0], 0);
    MPI_Recv(receive, 4, gap, 0, 51, MPI_COMM_WORLD, &s);
    CHECK_EQ(count_of(&s, gap), 3);
    MPI_Get_elements(&s, gap, &n);
    CHECK_EQ(n, 9);
    CHECK_EQ(receive[2].i[1], 9);
  }

  STEP("set by hand");
  MPI_Status_set_elements(&s, MPI_INT, 11);
  MPI_Status_set_cancelled(&s, 1);
  CHECK_EQ(count_of(&s, MPI_INT), 11);
  MPI_Test_cancelled(&s, &flag);
  CHECK(flag);

  STEP("an error field only where several statuses return");
  if (rank < 2) {
    MPI_Request r[2];
    MPI_Status list[2];
    int y;
    MPI_Irecv(&y, 1, MPI_INT, 1 - rank, 60, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(&rank, 1, MPI_INT, 1 - rank, 60, MPI_COMM_WORLD, &r[1]);
    poison(&s);
    MPI_Wait(&r[0], &s);
    CHECK_EQ(s.MPI_ERROR, -4713);
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    MPI_Irecv(&y, 1, MPI_INT, 1 - rank, 61, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(&rank, 1, MPI_INT, 1 - rank, 61, MPI_COMM_WORLD, &r[1]);
    poison(&list[0]);
    poison(&list[1]);
    MPI_Waitall(2, r, list);
    CHECK_EQ(list[0].MPI_SOURCE, 1 - rank);
    CHECK_EQ(list[0].MPI_TAG, 61);
  }
  MPI_Type_free(&three);
  MPI_Type_free(&gap);
  return end();
}
