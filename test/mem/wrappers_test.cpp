// Wrappers of system calls on memory that is away: they bring it, and the program sees no difference. A thread sends pages away
// all the time.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cluster/wrappers/pinning.h"
#include "os/raw.h"
#include "tasuki/dlm.h"

extern "C" void double_evict_all();
extern "C" size_t double_pinned();

namespace {

constexpr size_t kLarge = 12 << 20;  // three times what is present at once

char pattern(size_t i) {
  return static_cast<char>((i * 2654435761u) >> 13);
}

class WrappersTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    dlm_startup(nullptr, nullptr);
    evicting_ = true;
    evictor_ = new std::thread([] {
      while (evicting_) {
        double_evict_all();
        usleep(50);
      }
    });
  }
  static void TearDownTestSuite() {
    evicting_ = false;
    evictor_->join();
  }
  void SetUp() override {
    char name[] = "/tmp/wrappers_test.XXXXXX";
    directory_ = mkdtemp(name);
  }
  void TearDown() override {
    EXPECT_EQ(double_pinned(), 0u) << "a wrapper forgot to unpin";
    for (char* p : taken_) dlm_free(p);
    const std::string command = "rm -rf " + directory_;
    EXPECT_EQ(system(command.c_str()), 0);
  }

  // Cluster memory.
  char* take(size_t bytes, bool fill = false) {
    char* p = static_cast<char*>(dlm_alloc(bytes));
    taken_.push_back(p);
    for (size_t i = 0; fill && i < bytes; i++) p[i] = pattern(i);
    double_evict_all();
    return p;
  }
  char* text(const std::string& s) {
    char* p = take(s.size() + 1);
    memcpy(p, s.c_str(), s.size() + 1);
    double_evict_all();
    return p;
  }
  template <typename T>
  T* object() {
    return reinterpret_cast<T*>(take(sizeof(T)));
  }
  static bool is_pattern(const char* p, size_t bytes, size_t from = 0) {
    for (size_t i = 0; i < bytes; i++)
      if (p[i] != pattern(from + i)) return false;
    return true;
  }
  std::string path(const char* name) const { return directory_ + "/" + name; }
  int file(const char* name) const { return open(path(name).c_str(), O_RDWR | O_CREAT, 0600); }

  std::string directory_;

 private:
  static std::atomic<bool> evicting_;
  static std::thread* evictor_;
  std::vector<char*> taken_;
};
std::atomic<bool> WrappersTest::evicting_{false};
std::thread* WrappersTest::evictor_ = nullptr;

// Without wrappers these tests would fail: the kernel cannot use memory that is away.
TEST_F(WrappersTest, KernelAloneFails) {
  char* p = take(4096, true);
  const int fd = file("x");
  long n;
  do {
    double_evict_all();
    n = tasuki::os::raw_syscall(SYS_write, fd, tasuki::os::raw_arg(p), 4096);
  } while (n != -EFAULT && n == 4096);
  EXPECT_EQ(n, -EFAULT);
  EXPECT_EQ(write(fd, p, 4096), 4096);
  close(fd);
}

TEST_F(WrappersTest, FilesWhole) {
  char* from = take(kLarge, true);
  char* to = take(kLarge);
  const int fd = file("x");
  EXPECT_EQ(write(fd, from, kLarge), static_cast<ssize_t>(kLarge));
  EXPECT_EQ(lseek(fd, 0, SEEK_SET), 0);
  EXPECT_EQ(read(fd, to, kLarge), static_cast<ssize_t>(kLarge)) << "a file is read in one call";
  EXPECT_TRUE(is_pattern(to, kLarge));
  EXPECT_EQ(read(fd, to, kLarge), 0);
  EXPECT_EQ(pwrite(fd, from + 5, 3 << 20, 7), 3 << 20);
  EXPECT_EQ(pread(fd, to + 1, (3 << 20) + 7, 0), (3 << 20) + 7);
  EXPECT_TRUE(is_pattern(to + 1, 7));
  EXPECT_TRUE(is_pattern(to + 8, 3 << 20, 5));
  // Up to the end, which is near.
  EXPECT_EQ(pread(fd, to, kLarge, kLarge - 100), 100);
  EXPECT_EQ(pread64(fd, to, 10, 3), 10);
  EXPECT_EQ(pwrite64(fd, from, 10, 3), 10);
  close(fd);
}

TEST_F(WrappersTest, Vectors) {
  char* a = take(kLarge / 3, true);
  char* b = take(kLarge / 3, true);
  std::vector<char> local(1000, 'l');
  iovec* v = reinterpret_cast<iovec*>(take(4 * sizeof(iovec)));
  v[0] = {a, kLarge / 3};
  v[1] = {local.data(), 1000};
  v[2] = {b, 0};
  v[3] = {b, kLarge / 3};
  const size_t all = 2 * (kLarge / 3) + 1000;
  const int fd = file("x");
  EXPECT_EQ(writev(fd, v, 4), static_cast<ssize_t>(all));
  EXPECT_EQ(pwritev(fd, v, 4, static_cast<off_t>(all)), static_cast<ssize_t>(all));
  memset(a, 0, kLarge / 3);
  memset(b, 0, kLarge / 3);
  memset(local.data(), 0, 1000);
  EXPECT_EQ(preadv(fd, v, 4, static_cast<off_t>(all)), static_cast<ssize_t>(all));
  EXPECT_TRUE(is_pattern(a, kLarge / 3) && is_pattern(b, kLarge / 3));
  EXPECT_EQ(std::string(local.data(), 1000), std::string(1000, 'l'));
  memset(b, 0, kLarge / 3);
  EXPECT_EQ(lseek(fd, 0, SEEK_SET), 0);
  EXPECT_EQ(readv(fd, v, 4), static_cast<ssize_t>(all));
  EXPECT_TRUE(is_pattern(b, kLarge / 3));
  EXPECT_EQ(preadv2(fd, v, 4, 0, 0), static_cast<ssize_t>(all));
  errno = 0;
  volatile int negative = -1;
  EXPECT_EQ(readv(fd, v, negative), -1);
  EXPECT_EQ(errno, EINVAL);
  close(fd);
}

TEST_F(WrappersTest, PipesGiveWhatTheyHave) {
  int* ends = object<int[2]>()[0];
  ASSERT_EQ(pipe(ends), 0);
  char* p = take(kLarge, true);
  EXPECT_EQ(write(ends[1], p, 1000), 1000);
  char* to = take(kLarge);
  EXPECT_EQ(read(ends[0], to, kLarge), 1000) << "must not wait for more";
  EXPECT_TRUE(is_pattern(to, 1000));
  // A write of more than the pipe holds waits for its reader, and is complete.
  std::thread writer([&] {
    EXPECT_EQ(write(ends[1], p, kLarge), static_cast<ssize_t>(kLarge));
    close(ends[1]);
  });
  size_t got = 0;
  for (ssize_t n; (n = read(ends[0], to + got, kLarge - got)) > 0;) got += static_cast<size_t>(n);
  writer.join();
  EXPECT_EQ(got, kLarge);
  EXPECT_TRUE(is_pattern(to, kLarge));
  close(ends[0]);
}

TEST_F(WrappersTest, FullPipeOfANonBlockingWriter) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  char* p = take(kLarge, true);
  const ssize_t n = write(ends[1], p, kLarge);
  EXPECT_GT(n, 0);
  EXPECT_LT(n, static_cast<ssize_t>(kLarge));
  errno = 0;
  EXPECT_EQ(write(ends[1], p, kLarge), -1);
  EXPECT_EQ(errno, EAGAIN);
  errno = 0;
  EXPECT_EQ(read(ends[1], p, 10), -1);
  EXPECT_EQ(errno, EBADF);
  close(ends[0]);
  close(ends[1]);
}

// A pipe keeps what comes in pages: a write in parts must not use up more of them than one in one piece, or a program that reads the
// pipe itself waits for ever.
TEST_F(WrappersTest, PipeTakesWhatOneWriteWouldPutIn) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  const auto room = static_cast<size_t>(fcntl(ends[1], F_GETPIPE_SZ));
  ASSERT_GE(room, 65536u);
  char* p = take(2 * room, true);
  // All but a few pages of what may be pinned, so that writes go in parts.
  const char* others = take(1 << 20);
  const size_t pinned = tasuki::cluster::pin(others, 250 * 4096, false);
  ASSERT_EQ(pinned, 250u * 4096);
  std::string got(room, ' ');
  for (size_t less = 0; less < 4096; less += 97) {
    const size_t bytes = room - less;
    const char* from = p + 1 + less * 37 % 4096;
    EXPECT_EQ(write(ends[1], from, bytes), static_cast<ssize_t>(bytes));
    EXPECT_EQ(read(ends[0], got.data(), room), static_cast<ssize_t>(bytes));
    EXPECT_EQ(memcmp(got.data(), from, bytes), 0);
    const size_t third = bytes / 3;
    const iovec parts[] = {{p + 5, third}, {p + room - 77, third}, {p + 3, bytes - 2 * third}};
    EXPECT_EQ(writev(ends[1], parts, 3), static_cast<ssize_t>(bytes));
    EXPECT_EQ(read(ends[0], got.data(), room), static_cast<ssize_t>(bytes));
    EXPECT_EQ(memcmp(got.data() + third, p + room - 77, third), 0);
  }
  tasuki::cluster::unpin(others, pinned);
  close(ends[0]);
  close(ends[1]);
}

// Whatever part of the local memory others have left to pin: less than a page, or a page and a piece of one.
TEST_F(WrappersTest, BlocksOfDirectFilesStayWhole) {
  const std::string name = path("direct");
  const int fd = open(name.c_str(), O_RDWR | O_CREAT | O_DIRECT, 0600);
  if (fd < 0) GTEST_SKIP() << "no O_DIRECT in " << name << ": " << strerror(errno);
  constexpr size_t kBytes = 40 * 4096, kBlock = 4096;
  char* room = take(kBytes + kBlock, true);
  char* p = room + (kBlock - reinterpret_cast<uintptr_t>(room) % kBlock) % kBlock;
  const std::string expected(p, kBytes);
  constexpr size_t kMost = 4 << 20, kEnds = 2 * kBlock;  // kEnds: counted once for each pinned piece
  const char* others = take(kMost);
  const size_t most =
      tasuki::cluster::pin(others, kMost, false);  // the double's limit, half of the budget of pinning.cpp
  tasuki::cluster::unpin(others, most);
  ASSERT_GT(most, 64 * kBlock);
  for (size_t left = 100; left < 3 * kBlock; left += 700) {
    // The same pages three times, so that the budget comes to an end and not the double's limit.
    const size_t pinned[] = {most / 2, most / 2, most - 4 * kEnds - left};
    for (const size_t bytes : pinned) ASSERT_EQ(tasuki::cluster::pin(others, bytes, false), bytes);
    const size_t half = kBytes / 2;
    const iovec parts[] = {{p, half}, {p + half, kBytes - half}};
    const auto all = static_cast<ssize_t>(kBytes);
    EXPECT_EQ(pwritev(fd, parts, 1, 0), static_cast<ssize_t>(half)) << strerror(errno) << ", left " << left;
    EXPECT_EQ(pwritev(fd, parts, 2, 0), all) << strerror(errno) << ", left " << left;
    EXPECT_EQ(pwrite(fd, p, kBytes, 0), all) << strerror(errno) << ", left " << left;
    memset(p, 0, kBytes);
    EXPECT_EQ(preadv(fd, parts, 2, 0), all) << strerror(errno) << ", left " << left;
    EXPECT_EQ(memcmp(p, expected.data(), kBytes), 0);
    memset(p, 0, kBytes);
    EXPECT_EQ(pread(fd, p, kBytes, 0), all) << strerror(errno) << ", left " << left;
    EXPECT_EQ(memcmp(p, expected.data(), kBytes), 0);
    for (const size_t bytes : pinned) tasuki::cluster::unpin(others, bytes);
  }
  close(fd);
}

TEST_F(WrappersTest, ForeignBadPointersStayBad) {
  const int fd = file("x");
  errno = 0;
  EXPECT_EQ(tasuki::os::raw_syscall(SYS_write, fd, 8, 10), -EFAULT);
  void* volatile nowhere = reinterpret_cast<void*>(8);
  EXPECT_EQ(write(fd, nowhere, 10), -1);
  EXPECT_EQ(errno, EFAULT);
  errno = 77;
  char* p = take(100, true);
  EXPECT_EQ(write(fd, p, 100), 100);
  EXPECT_EQ(errno, 77) << "success leaves errno alone";
  close(fd);
}

TEST_F(WrappersTest, StreamSockets) {
  int* s = object<int[2]>()[0];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
  char* p = take(kLarge, true);
  char* to = take(kLarge);
  std::thread writer([&] {
    EXPECT_EQ(send(s[1], p, kLarge, 0), static_cast<ssize_t>(kLarge));
    EXPECT_EQ(sendto(s[1], p, kLarge, 0, nullptr, 0), static_cast<ssize_t>(kLarge));
  });
  EXPECT_EQ(recv(s[0], to, 100, MSG_PEEK | MSG_WAITALL), 100);
  EXPECT_EQ(recv(s[0], to, kLarge, MSG_WAITALL), static_cast<ssize_t>(kLarge));
  EXPECT_TRUE(is_pattern(to, kLarge));
  size_t got = 0;
  while (got < kLarge) {
    const ssize_t n = recvfrom(s[0], to + got, kLarge - got, 0, nullptr, nullptr);
    ASSERT_GT(n, 0);
    got += static_cast<size_t>(n);
  }
  writer.join();
  EXPECT_TRUE(is_pattern(to, kLarge));
  int* option = object<int>();
  socklen_t* length = object<socklen_t>();
  *length = sizeof(int);
  EXPECT_EQ(getsockopt(s[0], SOL_SOCKET, SO_TYPE, option, length), 0);
  EXPECT_EQ(*option, SOCK_STREAM);
  EXPECT_EQ(*length, sizeof(int));
  close(s[0]);
  close(s[1]);
}

TEST_F(WrappersTest, DatagramsStayWhole) {
  auto* address = object<sockaddr_in>();
  *address = {};
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int in = socket(AF_INET, SOCK_DGRAM, 0), out = socket(AF_INET, SOCK_DGRAM, 0);
  ASSERT_EQ(bind(in, reinterpret_cast<sockaddr*>(address), sizeof *address), 0);
  auto* length = object<socklen_t>();
  *length = sizeof *address;
  ASSERT_EQ(getsockname(in, reinterpret_cast<sockaddr*>(address), length), 0);
  char* p = take(60000, true);
  char* to = take(kLarge);
  auto* sender = object<sockaddr_in>();
  for (const size_t room : {size_t{60000}, size_t{100}, kLarge}) {
    ASSERT_EQ(sendto(out, p, 60000, 0, reinterpret_cast<sockaddr*>(address), sizeof *address), 60000);
    *length = sizeof *sender;
    ASSERT_EQ(recvfrom(in, to, room, MSG_TRUNC, reinterpret_cast<sockaddr*>(sender), length), 60000);
    EXPECT_EQ(*length, sizeof *sender);
    EXPECT_EQ(sender->sin_family, AF_INET);
    EXPECT_TRUE(is_pattern(to, std::min<size_t>(room, 60000)));
  }
  // With messages of several pieces.
  ASSERT_EQ(connect(out, reinterpret_cast<sockaddr*>(address), sizeof *address), 0);
  auto* messages = reinterpret_cast<mmsghdr*>(take(2 * sizeof(mmsghdr)));
  auto* pieces = reinterpret_cast<iovec*>(take(3 * sizeof(iovec)));
  pieces[0] = {p, 1000};
  pieces[1] = {p + 1000, 2000};
  pieces[2] = {p + 3000, 500};
  messages[0].msg_hdr = {nullptr, 0, pieces, 2, nullptr, 0, 0};
  messages[1].msg_hdr = {nullptr, 0, pieces + 2, 1, nullptr, 0, 0};
  ASSERT_EQ(sendmmsg(out, messages, 2, 0), 2);
  EXPECT_EQ(messages[0].msg_len, 3000u);
  pieces[0].iov_base = to;
  pieces[1].iov_base = to + 1000;
  pieces[2].iov_base = to + 3000;
  messages[0].msg_hdr.msg_name = sender;
  messages[0].msg_hdr.msg_namelen = sizeof *sender;
  memset(to, 0, 4000);
  ASSERT_EQ(recvmmsg(in, messages, 2, MSG_WAITFORONE, nullptr), 2);
  EXPECT_EQ(messages[0].msg_len, 3000u);
  EXPECT_EQ(messages[1].msg_len, 500u);
  EXPECT_EQ(messages[0].msg_hdr.msg_namelen, sizeof *sender);
  EXPECT_TRUE(is_pattern(to, 3500));
  errno = 0;
  EXPECT_EQ(recvmmsg(in, messages, 2, MSG_DONTWAIT, nullptr), -1);
  EXPECT_EQ(errno, EAGAIN);
  close(in);
  close(out);
}

TEST_F(WrappersTest, DescriptorsTravel) {
  int s[2], ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
  ASSERT_EQ(pipe(ends), 0);
  char* p = take(kLarge, true);
  auto* message = object<msghdr>();
  auto* piece = object<iovec>();
  char* control = take(CMSG_SPACE(sizeof(int)));
  *piece = {p, kLarge};
  *message = {nullptr, 0, piece, 1, control, CMSG_SPACE(sizeof(int)), 0};
  cmsghdr* c = CMSG_FIRSTHDR(message);
  *c = {};
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(c), &ends[0], sizeof(int));
  std::thread writer([&] { EXPECT_EQ(sendmsg(s[1], message, 0), static_cast<ssize_t>(kLarge)); });
  auto* got = object<msghdr>();
  auto* into = object<iovec>();
  char* to = take(kLarge);
  char* room = take(CMSG_SPACE(sizeof(int)));
  *into = {to, kLarge};
  *got = {nullptr, 0, into, 1, room, CMSG_SPACE(sizeof(int)), 0};
  size_t bytes = 0;
  int fd = -1;
  while (bytes < kLarge) {
    *into = {to + bytes, kLarge - bytes};
    got->msg_controllen = CMSG_SPACE(sizeof(int));
    const ssize_t n = recvmsg(s[0], got, 0);
    ASSERT_GT(n, 0);
    bytes += static_cast<size_t>(n);
    if (got->msg_controllen == 0) continue;
    EXPECT_EQ(fd, -1) << "control data came twice";
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(got)), sizeof fd);
  }
  writer.join();
  EXPECT_TRUE(is_pattern(to, kLarge));
  EXPECT_EQ(write(ends[1], "!", 1), 1);
  char one = 0;
  EXPECT_EQ(read(fd, &one, 1), 1);
  EXPECT_EQ(one, '!');
  for (const int each : {s[0], s[1], ends[0], ends[1], fd}) close(each);
}

TEST_F(WrappersTest, FilesByName) {
  char* name = text(path("name"));
  int fd = open(name, O_RDWR | O_CREAT, 0640);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(write(fd, "abc", 3), 3);
  auto* st = object<struct stat>();
  EXPECT_EQ(fstat(fd, st), 0);
  EXPECT_EQ(st->st_size, 3);
  memset(st, 0, sizeof *st);
  double_evict_all();
  EXPECT_EQ(stat(name, st), 0);
  EXPECT_EQ(st->st_size, 3);
  EXPECT_EQ(access(name, R_OK), 0);
  char* other = text(path("other"));
  EXPECT_EQ(symlink(name, other), 0);
  char* target = take(4096);
  EXPECT_EQ(readlink(other, target, 4096), static_cast<ssize_t>(strlen(name)));
  EXPECT_STREQ(target, name);
  EXPECT_EQ(unlink(other), 0);
  EXPECT_EQ(rename(name, other), 0);
  FILE* f = fopen(other, "r");
  ASSERT_NE(f, nullptr);
  fclose(f);
  DIR* d = opendir(text(directory_));
  ASSERT_NE(d, nullptr);
  int entries = 0;
  while (const dirent* e = readdir(d)) entries += e->d_name[0] != '.';
  EXPECT_EQ(entries, 1);
  closedir(d);
  char* cwd = take(4096);
  ASSERT_NE(getcwd(cwd, 4096), nullptr);
  char plain[4096];
  EXPECT_STREQ(cwd, getcwd(plain, sizeof plain));
  errno = 0;
  EXPECT_EQ(getcwd(cwd, 1), nullptr);
  EXPECT_EQ(errno, ERANGE);
  auto* u = object<utsname>();
  EXPECT_EQ(uname(u), 0);
  EXPECT_STREQ(u->sysname, "Linux");
  close(fd);
}

TEST_F(WrappersTest, Waiting) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  auto* p = object<pollfd>();
  *p = {ends[0], POLLIN, 0};
  EXPECT_EQ(poll(p, 1, 0), 0);
  EXPECT_EQ(write(ends[1], "x", 1), 1);
  EXPECT_EQ(poll(p, 1, -1), 1);
  EXPECT_EQ(p->revents, POLLIN);
  auto* set = object<fd_set>();
  FD_ZERO(set);
  FD_SET(ends[0], set);
  auto* timeout = object<timeval>();
  *timeout = {5, 0};
  EXPECT_EQ(select(ends[0] + 1, set, nullptr, nullptr, timeout), 1);
  EXPECT_TRUE(FD_ISSET(ends[0], set));
  const pid_t child = fork();
  if (child == 0) _exit(17);
  int* status = object<int>();
  EXPECT_EQ(waitpid(child, status, 0), child);
  EXPECT_EQ(WEXITSTATUS(*status), 17);
  auto* length = object<timespec>();
  *length = {0, 1000};
  EXPECT_EQ(nanosleep(length, length), 0);
  char* random = take(kLarge);
  EXPECT_EQ(getrandom(random, 256, 0), 256);
  EXPECT_EQ(getentropy(random, 256), 0);
  EXPECT_EQ(syscall(SYS_getrandom, random, 256, 0), 256);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(WrappersTest, StandardIo) {
  char* p = take(kLarge, true);
  char* to = take(kLarge);
  FILE* f = fopen(path("x").c_str(), "w+");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(fwrite(p, 3, 2, f), 2u);
  EXPECT_EQ(fwrite(p + 6, 1, kLarge - 6, f), kLarge - 6);
  rewind(f);
  EXPECT_EQ(fread(to, 1, 10, f), 10u);
  EXPECT_EQ(fread(to + 10, 1000, 12000, f), 12000u);
  EXPECT_TRUE(is_pattern(to, 12000010));
  // More elements than there are: the last one is cut, and does not count.
  EXPECT_EQ(fread(to, 1000, 12000, f), (kLarge - 12000010) / 1000);
  EXPECT_TRUE(is_pattern(to, (kLarge - 12000010) / 1000 * 1000, 12000010));
  EXPECT_TRUE(feof(f));
  rewind(f);
  EXPECT_EQ(fread_unlocked(to, 1, kLarge, f), kLarge);
  EXPECT_TRUE(is_pattern(to, kLarge));
  fclose(f);
}

TEST_F(WrappersTest, PrintedText) {
  constexpr size_t kText = 6 << 20;
  char* s = take(kText + 1);
  memset(s, 'a', kText);
  s[kText] = 0;
  const std::string expected(kText, 'a');
  FILE* f = fopen(path("x").c_str(), "w+");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(fprintf(f, "%d:%s\n", 5, s), static_cast<int>(kText) + 3);
  EXPECT_GE(fputs(s, f), 0);
  EXPECT_EQ(fflush(f), 0);
  EXPECT_EQ(dprintf(fileno(f), "%s!", s), static_cast<int>(kText) + 1);
  std::string got(3 * kText + 100, 0);
  rewind(f);
  got.resize(fread(got.data(), 1, got.size(), f));
  EXPECT_TRUE(got == "5:" + expected + "\n" + expected + expected + "!");
  fclose(f);
}

TEST_F(WrappersTest, BuffersOfFiles) {
  char* buffer = take(2 << 20);
  for (int round = 0; round < 3; round++) {
    FILE* f = fopen(path("x").c_str(), "w+");
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(setvbuf(f, buffer, _IOFBF, 2 << 20), 0);
    for (int i = 0; i < 1000000; i++) fputc(pattern(static_cast<size_t>(i)), f);
    double_evict_all();
    EXPECT_EQ(fflush(f), 0);
    rewind(f);
    int wrong = 0;
    for (int i = 0; i < 1000000; i++)
      wrong += fgetc(f) != static_cast<unsigned char>(pattern(static_cast<size_t>(i)));
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(fclose(f), 0);
  }
}

// Locks in cluster memory: libc's functions pass their addresses to futex(2), and end the program when it fails.
TEST_F(WrappersTest, Locks) {
  struct Shared {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    char far1[20000];
    pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
    char far2[20000];
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    char far3[20000];
    sem_t semaphore;
    char far4[20000];
    pthread_barrier_t barrier;
    long counts[3] = {};
    int turn = 0;
  };
  constexpr int kThreads = 3, kRounds = 2000;
  auto* s = new (take(sizeof(Shared))) Shared;
  sem_init(&s->semaphore, 0, 1);
  pthread_barrier_init(&s->barrier, nullptr, kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([=] {
      for (int i = 0; i < kRounds; i++) {
        pthread_mutex_lock(&s->mutex);
        s->counts[0]++;
        pthread_mutex_unlock(&s->mutex);
        pthread_rwlock_wrlock(&s->lock);
        s->counts[1]++;
        pthread_rwlock_unlock(&s->lock);
        while (sem_wait(&s->semaphore) != 0) {
        }
        s->counts[2]++;
        sem_post(&s->semaphore);
        if (i % 100 == 0) pthread_barrier_wait(&s->barrier);
        if (i % 20 == 0) {
          pthread_mutex_lock(&s->mutex);
          while (s->turn % kThreads != t) pthread_cond_wait(&s->turned, &s->mutex);
          s->turn++;
          pthread_cond_broadcast(&s->turned);
          pthread_mutex_unlock(&s->mutex);
        }
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(s->turn, kThreads * kRounds / 20);
  for (const long count : s->counts) EXPECT_EQ(count, kThreads * kRounds);
  sem_destroy(&s->semaphore);
}

// --- the pager catches SIGSEGV, and so does the program

sigjmp_buf g_back;
volatile sig_atomic_t g_caught = 0;
void jump_back(int number) {
  g_caught = number;
  siglongjmp(g_back, 1);
}
void jump_back_with_info(int number, siginfo_t* info, void*) {
  g_caught = info->si_addr == reinterpret_cast<void*>(24) ? number : -1;
  siglongjmp(g_back, 1);
}
void read_cluster(int) {
  static char* p = nullptr;
  if (p == nullptr) p = static_cast<char*>(dlm_alloc(64 << 10));
  for (size_t i = 0; i < 64 << 10; i += 512) g_caught = g_caught + 1 + p[i];
}

TEST_F(WrappersTest, HandlersOfTheProgram) {
  char* p = take(kLarge, true);
  int* volatile nowhere = reinterpret_cast<int*>(24);
  EXPECT_EQ(signal(SIGSEGV, jump_back), SIG_DFL);
  if (sigsetjmp(g_back, 1) == 0) *nowhere = 1;
  EXPECT_EQ(g_caught, SIGSEGV);
  EXPECT_TRUE(is_pattern(p, kLarge)) << "pages still come";
  struct sigaction action = {}, old;
  action.sa_sigaction = jump_back_with_info;
  action.sa_flags = SA_SIGINFO;
  EXPECT_EQ(sigaction(SIGSEGV, &action, &old), 0);
  EXPECT_EQ(old.sa_handler, jump_back);
  g_caught = 0;
  if (sigsetjmp(g_back, 1) == 0) *nowhere = 1;
  EXPECT_EQ(g_caught, SIGSEGV);
  EXPECT_EQ(sigaction(SIGSEGV, nullptr, &old), 0);
  EXPECT_EQ(old.sa_sigaction, jump_back_with_info);
  EXPECT_EQ(reinterpret_cast<void*>(signal(SIGSEGV, SIG_IGN)), reinterpret_cast<void*>(jump_back_with_info));
  raise(SIGSEGV);  // nothing
  EXPECT_TRUE(is_pattern(p, kLarge));
  EXPECT_EQ(signal(SIGSEGV, SIG_DFL), SIG_IGN);
  const pid_t child = fork();
  if (child == 0) {
    *nowhere = 1;
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) << "a real bug stays one";
}

TEST_F(WrappersTest, SignalsBlocked) {
  char* p = take(kLarge, true);
  sigset_t all, old;
  sigfillset(&all);
  EXPECT_EQ(pthread_sigmask(SIG_SETMASK, &all, &old), 0);
  EXPECT_TRUE(is_pattern(p, kLarge));
  EXPECT_EQ(sigprocmask(SIG_SETMASK, &old, nullptr), 0);
  // A handler that blocks everything and uses memory that is away.
  struct sigaction action = {};
  action.sa_handler = read_cluster;
  sigfillset(&action.sa_mask);
  EXPECT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  g_caught = 0;
  for (int i = 0; i < 10; i++) {
    double_evict_all();
    raise(SIGUSR1);
  }
  EXPECT_EQ(g_caught, 10 * 128);
}

}  // namespace
