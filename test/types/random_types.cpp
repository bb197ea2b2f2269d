// The randomised test of typed messages: random types, different on the two sides, in all send modes and
// receive forms, between all ranks.
//
//   random_types [--seed S] [--first N] [--cases N] [--out FILE] [--most-bytes N] [--describe]
//
// Case N of seed S is the same everywhere: same types, same bytes. Each receive is judged twice: here,
// against a naive interpreter of type maps (type_tree.cpp); and by compare.py, which runs the program with
// and without Tasuki and compares the files of --out: one hash per case of the receiver's whole buffer, gaps
// and margins included. Cases with longer messages than --most-bytes are left out (their line has no hash):
// plain Open MPI 4.1 overruns a temporary when an element is cut between two fragments, plain MPICH 4.0 over
// UCX reports long messages as truncated when they arrive, say, for MPI_LONG_INT and were sent as a struct of
// long and int.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cfloat>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "realise.h"
#include "type_tree.h"

using namespace types;

namespace {

int g_rank, g_ranks;
volatile sig_atomic_t g_case = -1;

enum class Send {
  send,
  ssend,
  bsend,
  rsend,
  isend,
  issend,
  ibsend,
  irsend,
  persistent,
  persistent_sync,
  sendrecv,
  packed
};
enum class Receive { recv, irecv, persistent, probe, mprobe, improbe, sendrecv, packed };
enum class Order { free, receive_first, send_first };
constexpr int kSends = 12, kReceives = 8;

const char* const kSendNames[kSends] = {"Send",      "Ssend",      "Bsend",    "Rsend",
                                        "Isend",     "Issend",     "Ibsend",   "Irsend",
                                        "Send_init", "Ssend_init", "Sendrecv", "Pack+Send"};
const char* const kReceiveNames[kReceives] = {"Recv",         "Irecv",          "Recv_init", "Probe+Recv",
                                              "Mprobe+Mrecv", "Improbe+Imrecv", "Sendrecv",  "Recv+Unpack"};

// A region of memory for `count` elements of a type, with a margin that nobody may touch.
struct Buffer {
  static constexpr int64_t kMargin = 64;
  std::vector<unsigned char> bytes;
  int64_t origin = 0;  // where the elements' zero is in `bytes`

  Buffer(const Tree& tree, int64_t count, uint64_t fill) {
    int64_t low = 0, high = 0;
    if (count > 0 && !tree.map.empty()) {
      int64_t last = (count - 1) * tree.extent();
      low = tree.true_lower() + std::min<int64_t>(0, last);
      high = tree.true_upper() + std::max<int64_t>(0, last);
    }
    origin = (kMargin - low + 63) / 64 * 64;
    bytes.resize(static_cast<size_t>((std::max<int64_t>(origin + high, 0) + kMargin + 63) / 64 * 64));
    Random random(fill);
    for (size_t i = 0; i < bytes.size(); i += 8) {
      uint64_t word = random.next();
      memcpy(&bytes[i], &word, 8);
    }
  }
  unsigned char* at_origin() { return bytes.data() + origin; }

  // Clears the padding of long doubles, which is no part of their value. On aarch64 they have none.
  void forget_padding(const Tree& tree, int64_t elements) {
    int64_t n = static_cast<int64_t>(tree.map.size());
    for (int64_t i = 0; i < elements; i++) {
      const Entry& e = tree.map[static_cast<size_t>(i % n)];
      if (!e.x87 || LDBL_MANT_DIG != 64) continue;
      for (int64_t part = 0; part < e.size; part += 16)
        memset(&bytes[static_cast<size_t>(origin + e.offset + i / n * tree.extent() + part + 10)], 0, 6);
    }
  }

  uint64_t hash() const {
    uint64_t h = bytes.size();
    for (size_t i = 0; i < bytes.size(); i += 8) {
      uint64_t word;
      memcpy(&word, &bytes[i], 8);
      h = (h ^ word) * 0x9e3779b97f4a7c15u;
      h ^= h >> 29;
    }
    return h;
  }
};

// What both sides know of a case: all of it follows from the seed and the number.
struct Case {
  int number, source, destination, tag;
  Send send;
  Receive receive;
  Order order;
  TreePtr send_tree, receive_tree;
  int send_count, receive_count;
  int64_t expected_count;  // of receive elements, or -1 for MPI_UNDEFINED
  int64_t expected_elements;
  bool any_source, any_tag, send_bottom, receive_bottom, free_early;
  uint64_t send_fill, receive_fill;
};

Case make_case(uint64_t seed, int number, bool types_too) {
  Random random(seed * 1000003u + static_cast<uint64_t>(number));
  Case c{};
  c.number = number;
  c.tag = number % 30000;
  c.source = static_cast<int>(random.between(0, g_ranks - 1));
  c.destination = static_cast<int>(random.between(0, g_ranks - 1));
  if (c.source == c.destination && !random.chance(20)) c.destination = (c.source + 1) % g_ranks;
  c.send = static_cast<Send>(random.between(0, kSends - 1));
  c.receive = static_cast<Receive>(random.between(0, kReceives - 1));
  c.order = static_cast<Order>(random.between(0, 2));
  c.any_source = random.chance(25);
  c.any_tag = random.chance(25) && !(c.any_source && (g_ranks > 2 || c.source == c.destination));
  c.send_bottom = random.chance(12);
  c.receive_bottom = random.chance(12);
  c.free_early = random.chance(40);
  c.send_fill = random.next();
  c.receive_fill = random.next();

  // A ready send needs its receive, posted.
  if (c.send == Send::rsend || c.send == Send::irsend) c.order = Order::receive_first;
  // Only these can be posted ahead; to oneself the receive or the send must not block.
  bool postable = c.receive == Receive::irecv || c.receive == Receive::persistent;
  if (c.order == Order::receive_first && !postable) c.receive = Receive::irecv;
  if (c.source == c.destination && c.order == Order::free) c.order = Order::send_first;
  // A send that must return before the receive starts cannot be a blocking one.
  if (c.order == Order::send_first) {
    if (c.send == Send::send || c.send == Send::sendrecv) c.send = Send::isend;
    if (c.send == Send::ssend) c.send = Send::issend;
    if (c.send == Send::packed && c.source == c.destination) c.send = Send::isend;
  }
  if (c.receive == Receive::sendrecv && c.source == c.destination) c.receive = Receive::recv;
  if (c.send == Send::packed) c.send_bottom = false;  // MPICH's MPI_Pack refuses MPI_BOTTOM
  if (!types_too) return c;

  int64_t size = random.between(1, 1000);
  size_t most = size <= 550 ? 64 : size <= 900 ? 500 : size <= 990 ? 4000 : 30000;
  Signature period =
      random_signature(random, static_cast<size_t>(random.between(1, random.chance(70) ? 30 : 500)));
  int64_t n = static_cast<int64_t>(period.size());
  int64_t repeats = n == 0 ? random.between(0, 2)
                    : random.between(0, 9) == 0
                        ? 1
                        : random.between(1, std::max<int64_t>(1, static_cast<int64_t>(most) / n));
  if (random.chance(1)) repeats = 0;
  auto times = [&](int64_t k) {
    Signature s;
    for (int64_t i = 0; i < k; i++) s.insert(s.end(), period.begin(), period.end());
    return s;
  };
  auto divisor = [&](int64_t k) {
    std::vector<int64_t> list{1};
    for (int64_t d = 2; d <= k; d++)
      if (k % d == 0) list.push_back(d);
    return random.pick(list);
  };
  c.send_count = repeats == 0 ? 0 : static_cast<int>(divisor(repeats));
  int64_t send_unit = c.send_count == 0 ? 1 : repeats / c.send_count;
  int64_t receive_unit = repeats == 0        ? 1
                         : random.chance(75) ? repeats / divisor(repeats)
                                             : random.between(1, repeats);
  int64_t needed = (repeats + receive_unit - 1) / receive_unit;
  c.receive_count = static_cast<int>(needed + (random.chance(25) ? random.between(1, 3) : 0));
  c.send_tree =
      random_tree(random, times(send_unit), static_cast<int>(random.between(0, 6)), c.send_count, false);
  c.receive_tree =
      random_tree(random, times(receive_unit), static_cast<int>(random.between(0, 6)), c.receive_count, true);
  c.expected_count = n == 0 ? 0 : repeats % receive_unit == 0 ? repeats / receive_unit : -1;
  c.expected_elements = repeats * n;
  return c;
}

bool contains(const Tree& tree, Kind kind) {
  return tree.kind == kind || std::any_of(tree.children.begin(), tree.children.end(),
                                          [&](const TreePtr& child) { return contains(*child, kind); });
}

[[noreturn]] void fail(const Case& c, const std::string& what) {
  fprintf(
      stderr,
      "FAIL rank %d case %d: %s\n  %d -> %d, %s -> %s, order %d, any source %d, any tag %d, bottom %d %d\n"
      "  send %d x %s\n  receive %d x %s\n",
      g_rank, c.number, what.c_str(), c.source, c.destination, kSendNames[static_cast<int>(c.send)],
      kReceiveNames[static_cast<int>(c.receive)], static_cast<int>(c.order), c.any_source, c.any_tag,
      c.send_bottom, c.receive_bottom, c.send_count, c.send_tree ? describe(*c.send_tree).c_str() : "?",
      c.receive_count, c.receive_tree ? describe(*c.receive_tree).c_str() : "?");
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}

void expect(const Case& c, const char* what, int64_t actual, int64_t expected) {
  if (actual != expected)
    fail(c, std::string(what) + " is " + std::to_string(actual) + ", expected " + std::to_string(expected));
}

// A committed type for one side, checked against the interpreter; with `bottom`, of absolute addresses for
// MPI_BOTTOM.
struct Typed {
  MPI_Datatype type;
  void* address;
  int count;
  bool predefined;

  Typed(const Case& c, const Tree& tree, int elements, Buffer& buffer, bool bottom) {
    type = realise(tree);
    address = buffer.at_origin();
    count = elements;
    predefined = tree.kind == Kind::basic || tree.kind == Kind::pair;
    // True bounds are not compared: both libraries have types whose true bounds are not tight.
    MPI_Aint lower, extent;
    int bytes;
    MPI_Type_size(type, &bytes);
    MPI_Type_get_extent(type, &lower, &extent);
    expect(c, "the type's size", bytes, tree.bytes());
    if (!tree.map.empty()) {
      expect(c, "the lower bound", lower, tree.lower);
      expect(c, "the extent", extent, tree.extent());
    }
    if (bottom) {
      MPI_Aint where;
      MPI_Get_address(address, &where);
      MPI_Datatype absolute;
      MPI_Type_create_hindexed(1, &count, &where, type, &absolute);
      if (!predefined) MPI_Type_free(&type);
      type = absolute;
      address = MPI_BOTTOM;
      count = 1;
      predefined = false;
    }
    if (!predefined) MPI_Type_commit(&type);
  }
  void release() {
    if (!predefined) MPI_Type_free(&type);
  }
};

MPI_Comm g_data, g_control;
std::vector<char> g_attached;

void attach(int64_t bytes) {
  // Detaching waits until what is in the buffer was sent: never more than one message uses it.
  void* old;
  int size;
  MPI_Buffer_detach(&old, &size);
  size_t needed = static_cast<size_t>(bytes) + MPI_BSEND_OVERHEAD + 1024;
  if (g_attached.size() < needed) g_attached.resize(needed * 2);
  MPI_Buffer_attach(g_attached.data(), static_cast<int>(g_attached.size()));
}

class Sender {
 public:
  explicit Sender(const Case& c)
      : c_(c),
        buffer_(*c.send_tree, c.send_count, c.send_fill),
        typed_(c, *c.send_tree, c.send_count, buffer_, c.send_bottom) {}

  void start() {
    void* at = typed_.address;
    int n = typed_.count, to = c_.destination, tag = c_.tag;
    MPI_Datatype type = typed_.type;
    switch (c_.send) {
      case Send::send:
        MPI_Send(at, n, type, to, tag, g_data);
        break;
      case Send::ssend:
        MPI_Ssend(at, n, type, to, tag, g_data);
        break;
      case Send::rsend:
        MPI_Rsend(at, n, type, to, tag, g_data);
        break;
      case Send::isend:
        MPI_Isend(at, n, type, to, tag, g_data, &request_);
        break;
      case Send::issend:
        MPI_Issend(at, n, type, to, tag, g_data, &request_);
        break;
      case Send::irsend:
        MPI_Irsend(at, n, type, to, tag, g_data, &request_);
        break;
      case Send::bsend:
      case Send::ibsend: {
        int packed;
        MPI_Pack_size(n, type, g_data, &packed);
        attach(packed);
        if (c_.send == Send::bsend) {
          MPI_Bsend(at, n, type, to, tag, g_data);
        } else {
          MPI_Ibsend(at, n, type, to, tag, g_data, &request_);
        }
        break;
      }
      case Send::persistent:
        MPI_Send_init(at, n, type, to, tag, g_data, &request_);
        MPI_Start(&request_);
        break;
      case Send::persistent_sync:
        MPI_Ssend_init(at, n, type, to, tag, g_data, &request_);
        MPI_Start(&request_);
        break;
      case Send::sendrecv:
        MPI_Sendrecv(at, n, type, to, tag, nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, g_data, MPI_STATUS_IGNORE);
        break;
      case Send::packed: {
        int size, position = 0;
        MPI_Pack_size(n, type, g_data, &size);
        packed_.resize(static_cast<size_t>(size) + 1);
        MPI_Pack(at, n, type, packed_.data(), size, &position, g_data);
        if (c_.order == Order::send_first) {
          MPI_Isend(packed_.data(), position, MPI_PACKED, to, tag, g_data, &request_);
        } else {
          MPI_Send(packed_.data(), position, MPI_PACKED, to, tag, g_data);
        }
        break;
      }
    }
    if (c_.free_early) typed_.release();
  }

  void finish() {
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
    if (c_.send == Send::persistent || c_.send == Send::persistent_sync) MPI_Request_free(&request_);
    if (!c_.free_early) typed_.release();
    // The library only reads it.
    if (Buffer(*c_.send_tree, c_.send_count, c_.send_fill).bytes != buffer_.bytes)
      fail(c_, "the send buffer was written");
  }

 private:
  const Case& c_;
  Buffer buffer_;
  Typed typed_;
  std::vector<char> packed_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

class Receiver {
 public:
  explicit Receiver(const Case& c)
      : c_(c),
        buffer_(*c.receive_tree, c.receive_count, c.receive_fill),
        typed_(c, *c.receive_tree, c.receive_count, buffer_, c.receive_bottom),
        source_(c.any_source ? MPI_ANY_SOURCE : c.source),
        tag_(c.any_tag ? MPI_ANY_TAG : c.tag) {}

  bool can_post() const { return c_.receive == Receive::irecv || c_.receive == Receive::persistent; }

  void post() {
    if (c_.receive == Receive::irecv) {
      MPI_Irecv(typed_.address, typed_.count, typed_.type, source_, tag_, g_data, &request_);
    } else {
      MPI_Recv_init(typed_.address, typed_.count, typed_.type, source_, tag_, g_data, &request_);
      MPI_Start(&request_);
    }
    if (c_.free_early) MPI_Type_dup(typed_.type, &kept_);  // to ask the status with
    if (c_.free_early) typed_.release();
    posted_ = true;
  }

  // Receives, or completes what was posted; returns the hash of the whole buffer.
  uint64_t finish() {
    MPI_Status s;
    MPI_Datatype type = posted_ && c_.free_early ? kept_ : typed_.type;
    bool packed = false;
    if (can_post()) {
      if (!posted_) {
        post();
        if (c_.free_early) type = kept_;
      }
      MPI_Wait(&request_, &s);
      if (c_.receive == Receive::persistent) MPI_Request_free(&request_);
    } else {
      packed = receive_now(&s);
    }
    judge(s, type, packed);
    if (kept_ != MPI_DATATYPE_NULL) {
      MPI_Type_free(&kept_);
    } else {
      typed_.release();
    }
    return buffer_.hash();
  }

 private:
  const Case& c_;
  Buffer buffer_;
  Typed typed_;
  int source_, tag_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  MPI_Datatype kept_ = MPI_DATATYPE_NULL;
  bool posted_ = false;

  bool receive_now(MPI_Status* s) {
    void* at = typed_.address;
    int n = typed_.count;
    MPI_Datatype type = typed_.type;
    MPI_Message message;
    switch (c_.receive) {
      case Receive::probe:
        MPI_Probe(source_, tag_, g_data, s);
        check_status(*s, type);
        MPI_Recv(at, n, type, s->MPI_SOURCE, s->MPI_TAG, g_data, s);
        return false;
      case Receive::mprobe:
        MPI_Mprobe(source_, tag_, g_data, &message, s);
        check_status(*s, type);
        MPI_Mrecv(at, n, type, &message, s);
        return false;
      case Receive::improbe: {
        int there = 0;
        while (!there) MPI_Improbe(source_, tag_, g_data, &there, &message, s);
        check_status(*s, type);
        MPI_Imrecv(at, n, type, &message, &request_);
        MPI_Wait(&request_, s);
        return false;
      }
      case Receive::sendrecv:
        MPI_Sendrecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, at, n, type, source_, tag_, g_data, s);
        return false;
      case Receive::packed: {
        // Unpack wants a whole number of elements: only what the message holds.
        MPI_Probe(source_, tag_, g_data, s);
        int bytes, position = 0;
        MPI_Get_count(s, MPI_PACKED, &bytes);
        if (c_.expected_count < 0 || c_.receive_bottom) {
          MPI_Recv(at, n, type, s->MPI_SOURCE, s->MPI_TAG, g_data, s);
          return false;
        }
        std::vector<char> packed(static_cast<size_t>(bytes) + 1);
        MPI_Recv(packed.data(), bytes, MPI_PACKED, s->MPI_SOURCE, s->MPI_TAG, g_data, s);
        MPI_Unpack(packed.data(), bytes, &position, at, static_cast<int>(c_.expected_count), type, g_data);
        return true;
      }
      default:
        MPI_Recv(at, n, type, source_, tag_, g_data, s);
        return false;
    }
  }

  void check_status(const MPI_Status& s, MPI_Datatype type) {
    int count;
    expect(c_, "the source", s.MPI_SOURCE, c_.source);
    expect(c_, "the tag", s.MPI_TAG, c_.tag);
#ifdef OPEN_MPI
    // MPICH 4.0 miscounts the elements of structs that hold indexed types or pairs, Open MPI 4.1 those of
    // pairs.
    int elements;
    MPI_Get_elements(&s, type, &elements);
    if (!contains(*c_.receive_tree, Kind::pair))
      expect(c_, "MPI_Get_elements", elements, c_.expected_elements);
#endif
    if (c_.receive_bottom) return;  // counts whole buffers then
    MPI_Get_count(&s, type, &count);
    expect(c_, "MPI_Get_count", count == MPI_UNDEFINED ? -1 : count, c_.expected_count);
  }

  void judge(const MPI_Status& s, MPI_Datatype type, bool packed) {
    if (!packed) check_status(s, type);
    Buffer sent(*c_.send_tree, c_.send_count, c_.send_fill);
    Buffer wanted(*c_.receive_tree, c_.receive_count, c_.receive_fill);
    const std::vector<Entry>& from = c_.send_tree->map;
    const std::vector<Entry>& to = c_.receive_tree->map;
    size_t elements = from.size() * static_cast<size_t>(c_.send_count);
    for (size_t i = 0; i < elements; i++) {
      const Entry& a = from[i % from.size()];
      const Entry& b = to[i % to.size()];
      if (a.size != b.size) fail(c_, "the test's own signatures differ");
      int64_t source =
          sent.origin + a.offset + static_cast<int64_t>(i / from.size()) * c_.send_tree->extent();
      int64_t target =
          wanted.origin + b.offset + static_cast<int64_t>(i / to.size()) * c_.receive_tree->extent();
      memcpy(&wanted.bytes[static_cast<size_t>(target)], &sent.bytes[static_cast<size_t>(source)], a.size);
    }
    wanted.forget_padding(*c_.receive_tree, c_.expected_elements);
    buffer_.forget_padding(*c_.receive_tree, c_.expected_elements);
    if (wanted.bytes == buffer_.bytes) return;
    size_t i = 0;
    while (wanted.bytes[i] == buffer_.bytes[i]) i++;
    Buffer before(*c_.receive_tree, c_.receive_count, c_.receive_fill);
    std::string what = "byte " + std::to_string(static_cast<int64_t>(i) - buffer_.origin) + " is wrong";
    if (before.bytes[i] == wanted.bytes[i]) what += " (it is in a gap)";
    if (before.bytes[i] == buffer_.bytes[i]) what += " (it was not written)";
    fail(c_, what);
  }
};

void run_case(uint64_t seed, int number, int64_t most_bytes, uint64_t* hash, bool tell) {
  Case c = make_case(seed, number, false);
  bool sends = c.source == g_rank, receives = c.destination == g_rank;
  if (!sends && !receives) return;
  c = make_case(seed, number, true);
  if (c.send_tree->bytes() * c.send_count > most_bytes) return;
  if (tell && receives) {
    printf("case %d: %d -> %d %s -> %s\n  %d x %s\n  %d x %s\n", number, c.source, c.destination,
           kSendNames[static_cast<int>(c.send)], kReceiveNames[static_cast<int>(c.receive)], c.send_count,
           describe(*c.send_tree).c_str(), c.receive_count, describe(*c.receive_tree).c_str());
    fflush(stdout);
  }

  if (sends && receives) {
    Sender sender(c);
    Receiver receiver(c);
    if (c.order == Order::receive_first) receiver.post();
    sender.start();
    *hash = receiver.finish();
    sender.finish();
  } else if (sends) {
    Sender sender(c);
    if (c.order == Order::receive_first)
      MPI_Recv(nullptr, 0, MPI_INT, c.destination, 0, g_control, MPI_STATUS_IGNORE);
    sender.start();
    if (c.order == Order::send_first) MPI_Send(nullptr, 0, MPI_INT, c.destination, 0, g_control);
    sender.finish();
  } else {
    Receiver receiver(c);
    if (c.order == Order::receive_first) {
      receiver.post();
      MPI_Send(nullptr, 0, MPI_INT, c.source, 0, g_control);
    }
    if (c.order == Order::send_first)
      MPI_Recv(nullptr, 0, MPI_INT, c.source, 0, g_control, MPI_STATUS_IGNORE);
    *hash = receiver.finish();
  }
}

// The interpreter's table of basic types must be true here, or nothing that follows means anything.
void check_basics() {
  for (size_t i = 0; i < basics().size(); i++) {
    int size;
    MPI_Type_size(basic_type(i), &size);
    if (size != basics()[i].size) {
      fprintf(stderr, "FAIL: MPI_%s has %d bytes here, the table says %d\n", basics()[i].name, size,
              static_cast<int>(basics()[i].size));
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
}

void on_alarm(int) {
  char text[80];
  int n = snprintf(text, sizeof text, "HUNG rank %d in case %d\n", g_rank, static_cast<int>(g_case));
  _exit(write(2, text, static_cast<size_t>(n)) > 0 ? 1 : 2);
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = 1;
  int first = 0, cases = 1000;
  int64_t most_bytes = INT64_MAX;
  bool tell = false;
  std::string out;
  for (int i = 1; i < argc; i++) {
    std::string option = argv[i];
    if (option == "--describe") tell = true;
    if (i + 1 >= argc) continue;
    if (option == "--seed") seed = strtoull(argv[i + 1], nullptr, 10);
    if (option == "--first") first = atoi(argv[i + 1]);
    if (option == "--cases") cases = atoi(argv[i + 1]);
    if (option == "--most-bytes") most_bytes = atoll(argv[i + 1]);
    if (option == "--out") out = argv[i + 1];
  }
  signal(SIGALRM, on_alarm);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_ranks);
  MPI_Comm_dup(MPI_COMM_WORLD, &g_data);
  MPI_Comm_dup(MPI_COMM_WORLD, &g_control);
  check_basics();
  g_attached.resize(1 << 20);
  MPI_Buffer_attach(g_attached.data(), static_cast<int>(g_attached.size()));

  std::vector<uint64_t> mine(static_cast<size_t>(cases)), all(mine.size());
  for (int i = 0; i < cases; i++) {
    g_case = first + i;
    run_case(seed, first + i, most_bytes, &mine[static_cast<size_t>(i)], tell);
  }
  void* old;
  int size;
  MPI_Buffer_detach(&old, &size);
  MPI_Reduce(mine.data(), all.data(), cases, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
  if (g_rank == 0 && !out.empty()) {
    FILE* file = fopen(out.c_str(), "w");
    if (!file) {
      perror(out.c_str());
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < cases; i++) {
      unsigned long long hash = all[static_cast<size_t>(i)];
      fprintf(file, hash ? "%d %016llx\n" : "%d\n", first + i, hash);
    }
    fclose(file);
  }
  MPI_Comm_free(&g_data);
  MPI_Comm_free(&g_control);
  MPI_Barrier(MPI_COMM_WORLD);
  bool last = g_rank == 0;
  MPI_Finalize();
  if (last) printf("%d cases passed\n", cases);
  return 0;
}
