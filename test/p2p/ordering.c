// Messages of one sender never overtake each other: thousands of mixed sizes, tags, modes and communicators,
// received by name, by tag, and by wildcards.
#include "check.h"

enum { messages = 4000, tags = 5, comms = 3, most = 20000 };

// Sender and receiver derive the same sequence from the sender's rank.
typedef struct {
  unsigned state;
} random_t;

static unsigned draw(random_t* r) {
  r->state = r->state * 1664525u + 1013904223u;
  return r->state >> 8;
}

typedef struct {
  int source, number, tag, comm, size;
} header_t;

static int draw_size(random_t* r) {
  unsigned k = draw(r) % 20;
  return (int)sizeof(header_t) + (k == 0  ? (int)(draw(r) % most)
                                  : k < 6 ? (int)(draw(r) % 3000)
                                          : (int)(draw(r) % 64));
}

static MPI_Comm comm[comms];

static void send_all(int to) {
  random_t r = {(unsigned)rank + 12345u};
  enum { slots = 16 };
  static unsigned char buffer[slots][most + 3100];
  MPI_Request request[slots];
  for (int i = 0; i < slots; i++) request[i] = MPI_REQUEST_NULL;
  for (int i = 0; i < messages; i++) {
    int slot = i % slots;
    MPI_Wait(&request[slot], MPI_STATUS_IGNORE);
    header_t h = {rank, i, (int)(draw(&r) % tags), (int)(draw(&r) % comms), 0};
    h.size = draw_size(&r);
    fill(buffer[slot], (size_t)h.size, (unsigned)(i * 8 + rank));
    memcpy(buffer[slot], &h, sizeof h);
    switch (draw(&r) % 4) {
      case 0:
        MPI_Isend(buffer[slot], BYTES(h.size), to, h.tag, comm[h.comm], &request[slot]);
        break;
      case 1:
        MPI_Issend(buffer[slot], BYTES(h.size), to, h.tag, comm[h.comm], &request[slot]);
        break;
      default:
        MPI_Send(buffer[slot], BYTES(h.size), to, h.tag, comm[h.comm]);
        break;
    }
  }
  MPI_Waitall(slots, request, MPI_STATUSES_IGNORE);
}

// What each sender will send, per communicator, as the receiver expects it.
static header_t* expected[8];

static void expect(int source) {
  random_t r = {(unsigned)source + 12345u};
  expected[source] = allocate(messages * sizeof(header_t));
  for (int i = 0; i < messages; i++) {
    header_t h = {source, i, (int)(draw(&r) % tags), (int)(draw(&r) % comms), 0};
    h.size = draw_size(&r);
    draw(&r);
    expected[source][i] = h;
  }
}

static unsigned char taken[8][messages];

static void check_message(const unsigned char* data, const MPI_Status* s, int c, int by_tag) {
  header_t h;
  memcpy(&h, data, sizeof h);
  CHECK_EQ(h.source, s->MPI_SOURCE);
  CHECK_EQ(h.tag, s->MPI_TAG);
  CHECK_EQ(h.comm, c);
  CHECK_EQ(count_of(s, MPI_BYTE), h.size);
  CHECK(h.number >= 0 && h.number < messages);
  CHECK_EQ(h.size, expected[h.source][h.number].size);
  CHECK(!taken[h.source][h.number]);
  // No earlier message of that sender that this receive could have matched is still open.
  for (int i = h.number - 1; i >= 0 && i >= h.number - 400; i--) {
    const header_t* e = &expected[h.source][i];
    if (!taken[h.source][i] && e->comm == c) CHECK(by_tag && e->tag != h.tag);
  }
  taken[h.source][h.number] = 1;
  for (int i = (int)sizeof h; i < h.size; i++)
    CHECK_EQ(data[i], byte_of((unsigned)(h.number * 8 + h.source), (size_t)i));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  comm[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm[2]);
  CHECK(ranks <= 8);

  if (rank != 0) {
    for (int round = 0; round < 3; round++) {
      STEP("send");
      send_all(0);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    return end();
  }
  unsigned char* data = allocate(most + 4000);
  for (int source = 1; source < ranks; source++) expect(source);
  MPI_Status s;

  STEP("any source, any tag; communicators in turn as messages are there");
  memset(taken, 0, sizeof taken);
  for (int got = 0; got < messages * (ranks - 1);) {
    for (int c = 0; c < comms; c++) {
      int flag;
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm[c], &flag, &s);
      if (!flag) continue;
      MPI_Status probed = s;
      MPI_Recv(data, BYTES(most + 4000), s.MPI_SOURCE, s.MPI_TAG, comm[c], &s);
      CHECK_EQ(s.MPI_SOURCE, probed.MPI_SOURCE);
      CHECK_EQ(count_of(&s, MPI_BYTE), count_of(&probed, MPI_BYTE));
      check_message(data, &s, c, 0);
      got++;
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);

  STEP("any source, any tag, receives posted ahead in order");
  memset(taken, 0, sizeof taken);
  {
    enum { ahead = 8 };
    unsigned char* buffer[comms][ahead];
    MPI_Request request[comms][ahead];
    int left[comms] = {0}, posted[comms] = {0}, head[comms] = {0};
    for (int source = 1; source < ranks; source++)
      for (int i = 0; i < messages; i++) left[expected[source][i].comm]++;
    for (int c = 0; c < comms; c++)
      for (int i = 0; i < ahead; i++) {
        buffer[c][i] = allocate(most + 4000);
        request[c][i] = MPI_REQUEST_NULL;
      }
    int open = 1;
    while (open) {
      open = 0;
      for (int c = 0; c < comms; c++) {
        while (posted[c] - head[c] < ahead && posted[c] < left[c]) {
          int slot = posted[c]++ % ahead;
          MPI_Irecv(buffer[c][slot], BYTES(most + 4000), MPI_ANY_SOURCE, MPI_ANY_TAG, comm[c],
                    &request[c][slot]);
        }
        while (head[c] < posted[c]) {
          int slot = head[c] % ahead, done;
          MPI_Test(&request[c][slot], &done, &s);
          if (!done) break;
          head[c]++;
          check_message(buffer[c][slot], &s, c, 0);
        }
        if (head[c] < left[c]) open = 1;
      }
    }
    for (int c = 0; c < comms; c++)
      for (int i = 0; i < ahead; i++) free(buffer[c][i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);

  STEP("by source and tag, in the order they were sent, sources in turn");
  memset(taken, 0, sizeof taken);
  for (int i = 0; i < messages; i++)
    for (int source = 1; source < ranks; source++) {
      const header_t* e = &expected[source][i];
      int any_source = ranks == 2 && i % 3 == 0;
      MPI_Recv(data, BYTES(most + 4000), any_source ? MPI_ANY_SOURCE : source, e->tag, comm[e->comm], &s);
      check_message(data, &s, e->comm, 1);
      header_t h;
      memcpy(&h, data, sizeof h);
      CHECK_EQ(h.number, i);
    }
  MPI_Barrier(MPI_COMM_WORLD);
  free(data);
  return end();
}
