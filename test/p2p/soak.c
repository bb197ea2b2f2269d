// Everything at once for some seconds (first argument): random pairs, sizes, types, send modes, receive forms
// and completion calls on two communicators, every message verified, collectives of the library in between.
#include "check.h"

enum { most = 200000, window = 24 };

static unsigned long long state;
static unsigned draw(unsigned below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state >> 33) % below;
}

typedef struct {
  int from, to, tag, lane, mode, typed, shorts;
  unsigned seed;
} Plan;

static Plan plan[window];
static unsigned char *out[window], *in[window];
static MPI_Datatype gapped;  // two bytes of four

static size_t place(const Plan* p, size_t i) {
  return p->typed ? i / 2 * 4 + i % 2 : i;
}

// The same plan on every rank: who sends what to whom in this round, in order.
static void make_plan(unsigned long long round) {
  state = round * 0x9e3779b97f4a7c15u + 88172645463325252u;
  for (int i = 0; i < 10; i++) draw(2);
  static const int sizes[] = {0, 1, 4, 20, 21, 400, 500, 501, 2048, 2049, 10000, 32768, 32769, most / 4};
  for (int k = 0; k < window; k++) {
    Plan* p = &plan[k];
    p->from = (int)draw((unsigned)ranks);
    p->to = (int)draw((unsigned)ranks);
    p->tag = (int)draw(3);
    p->lane = (int)draw(2);
    p->mode = (int)draw(8);
    p->typed = (int)draw(3) == 0;
    p->shorts = sizes[draw(14)];
    p->seed = (unsigned)round * 31 + (unsigned)k;
  }
}

static void verify(int k, const MPI_Status* s) {
  const Plan* p = &plan[k];
  CHECK_EQ(s->MPI_SOURCE, p->from);
  CHECK_EQ(s->MPI_TAG, p->tag);
  CHECK_EQ(count_of(s, MPI_SHORT), p->shorts);
  size_t bytes = 2 * (size_t)p->shorts, span = place(p, bytes);
  for (size_t i = 0; i < bytes; i++)
    if (in[k][place(p, i)] != byte_of(p->seed, i)) {
      fprintf(stderr, "message %d from %d, byte %zu of %zu\n", k, p->from, i, bytes);
      CHECK(!"message is right");
    }
  if (p->typed)
    for (size_t i = 2; i + 2 <= span; i += 4) CHECK(in[k][i] == 0xee && in[k][i + 1] == 0xee);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  double limit = now() + (argc > 1 ? atof(argv[1]) : 3);
  MPI_Comm comm[2] = {MPI_COMM_WORLD, MPI_COMM_NULL};
  MPI_Comm_dup(MPI_COMM_WORLD, &comm[1]);
  MPI_Datatype one;
  MPI_Type_create_resized(MPI_SHORT, 0, 4, &one);
  MPI_Type_dup(one, &gapped);
  MPI_Type_free(&one);
  MPI_Type_commit(&gapped);
  for (int k = 0; k < window; k++) {
    out[k] = allocate(most);
    in[k] = allocate(most);
  }
  int room = window * (most + MPI_BSEND_OVERHEAD), go = 1;
  MPI_Buffer_attach(allocate((size_t)room), room);
  unsigned long long round = 0, messages = 0;
  unsigned long long own = (unsigned long long)rank * 7919 + 1;
  for (; go; round++) {
    make_plan(round);
    state = own * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < 5; i++) draw(2);
    MPI_Request r[2 * window];
    MPI_Status s[2 * window];
    int what[2 * window], count = 0, late = draw(3) == 0;
    MPI_Request persistent[2 * window];
    int persistents = 0;
    STEP("start");
    for (int pass = 0; pass < 2; pass++)
      for (int k = 0; k < window; k++) {
        Plan* p = &plan[k];
        MPI_Datatype type = p->typed ? gapped : MPI_SHORT;
        if (pass == late && p->to == rank) {
          memset(in[k], 0xee, most);
          if (draw(4) == 0) {
            MPI_Recv_init(in[k], p->shorts, type, p->from, p->tag, comm[p->lane], &r[count]);
            MPI_Start(&r[count]);
            persistent[persistents++] = r[count];
          } else {
            MPI_Irecv(in[k], p->shorts, type, p->from, p->tag, comm[p->lane], &r[count]);
          }
          what[count++] = k;
        }
        if (pass != late && p->from == rank) {
          for (size_t i = 0; i < 2 * (size_t)p->shorts; i++) out[k][place(p, i)] = byte_of(p->seed, i);
          MPI_Comm c = comm[p->lane];
          switch (p->mode) {
            case 0:
              MPI_Issend(out[k], p->shorts, type, p->to, p->tag, c, &r[count]);
              break;
            case 1:
              MPI_Ibsend(out[k], p->shorts, type, p->to, p->tag, c, &r[count]);
              break;
            case 2:
              MPI_Send_init(out[k], p->shorts, type, p->to, p->tag, c, &r[count]);
              MPI_Start(&r[count]);
              persistent[persistents++] = r[count];
              break;
            case 3:
              MPI_Isend(out[k], p->shorts, type, p->to, p->tag, c, &r[count]);
              MPI_Request_free(&r[count]);
              continue;
            default:
              MPI_Isend(out[k], p->shorts, type, p->to, p->tag, c, &r[count]);
          }
          what[count++] = -1;
        }
      }
    MPI_Request reduction = MPI_REQUEST_NULL;
    int mine = rank + (int)(round % 1000), sum = -1;
    if (round % 4 == 0) {
      MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &reduction);
      r[count] = reduction;
      what[count++] = -1;
    }
    STEP("complete");
    CHECK(count <= 2 * window);
    switch (draw(6)) {
      case 0:
        MPI_Waitall(count, r, s);
        break;
      case 1:
        for (int flag = 0; !flag;) MPI_Testall(count, r, &flag, s);
        break;
      case 2:
        for (int left = count, i; left > 0; left--) {
          MPI_Status each;
          MPI_Waitany(count, r, &i, &each);
          CHECK(i >= 0 && i < count);
          s[i] = each;
        }
        break;
      case 3:
        for (int left = count; left > 0;) {
          int n, index[2 * window];
          MPI_Status some[2 * window];
          MPI_Waitsome(count, r, &n, index, some);
          CHECK(n > 0 && n <= left);
          for (int i = 0; i < n; i++) s[index[i]] = some[i];
          left -= n;
        }
        break;
      case 4:
        for (int left = count; left > 0;) {
          int i = (int)draw((unsigned)count), flag = 0;
          MPI_Request before = r[i];
          if (what[i] == -2) continue;
          MPI_Test(&r[i], &flag, &s[i]);
          CHECK(flag || before == r[i]);
          if (!flag) continue;
          left--;
          if (what[i] >= 0) verify(what[i], &s[i]);
          what[i] = -2;
        }
        break;
      default:
        for (int i = 0; i < count; i++) MPI_Wait(&r[i], &s[i]);
    }
    STEP("verify");
    for (int i = 0; i < count; i++)
      if (what[i] >= 0) verify(what[i], &s[i]);
    if (round % 4 == 0) CHECK_EQ(sum, ranks * (int)(round % 1000) + ranks * (ranks - 1) / 2);
    for (int i = 0; i < persistents; i++) MPI_Request_free(&persistent[i]);
    messages += (unsigned long long)count;
    own = state;
    // Buffers are used again: nobody may be in the round any more.
    if (round % 16 == 15) {
      go = now() < limit;
      MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);  // the root of a broadcast does not wait for the others
  }
  if (rank == 0) printf("%llu rounds, %llu requests of rank 0\n", round, messages);
  MPI_Type_free(&gapped);
  MPI_Comm_free(&comm[1]);
  return end();
}
