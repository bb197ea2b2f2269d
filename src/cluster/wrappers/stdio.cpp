// Standard I/O. A FILE's buffer is local memory (setvbuf below, and src/cluster/preload for what libc
// allocates), but what is larger than the buffer goes between the kernel and the program's memory directly,
// past every wrapper of read and write: so the parts are made here.
#include <pthread.h>

#include "cluster/wrappers/parts.h"
#include "generated/next.h"

using namespace tasuki::cluster;

extern "C" size_t tasuki_dlm_fwrite(const void*, size_t, size_t, FILE*) __asm__("fwrite");
extern "C" ssize_t tasuki_dlm_write(int, const void*, size_t) __asm__("write");

namespace {

// call(part, bytes) on the pieces of a buffer of `count` elements; the elements that were transferred
// completely.
template <typename Call>
size_t transfer(const void* buffer, size_t size, size_t count, bool write, Call call) {
  size_t length = 0;
  if (__builtin_mul_overflow(size, count, &length)) return 0;
  size_t done = 0;
  while (done < length) {
    Piece piece(static_cast<const char*>(buffer) + done, length - done, write, false);
    if (piece.bytes() == 0) break;
    const size_t n = call(piece.at(), piece.bytes());
    piece.came(static_cast<ssize_t>(n));
    done += n;
    if (n < piece.bytes()) break;
  }
  return size == 0 ? 0 : done / size;
}

size_t read_parts(void* buffer, size_t size, size_t count, FILE* file) {
  return transfer(buffer, size, count, true,
                  [&](void* part, size_t bytes) { return next_fread_unlocked()(part, 1, bytes, file); });
}
size_t write_parts(const void* buffer, size_t size, size_t count, FILE* file) {
  return transfer(buffer, size, count, false,
                  [&](void* part, size_t bytes) { return next_fwrite_unlocked()(part, 1, bytes, file); });
}

class FileLock {
 public:
  explicit FileLock(FILE* file) : file_(file) { flockfile(file); }
  ~FileLock() { funlockfile(file_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  FILE* file_;
};

bool near(const void* buffer, size_t size, size_t count) {
  return guarded(buffer, size * count);
}

}  // namespace

TASUKI_WRAPPER(size_t, fread, void* buffer, size_t size, size_t count, FILE* file) {
  if (!near(buffer, size, count)) [[likely]]
    return next_fread()(buffer, size, count, file);
  const FileLock lock(file);
  return read_parts(buffer, size, count, file);
}
TASUKI_WRAPPER(size_t, fread_unlocked, void* buffer, size_t size, size_t count, FILE* file) {
  if (!near(buffer, size, count)) [[likely]]
    return next_fread_unlocked()(buffer, size, count, file);
  return read_parts(buffer, size, count, file);
}
TASUKI_WRAPPER(size_t, __fread_chk, void* buffer, size_t room, size_t size, size_t count, FILE* file) {
  size_t length = 0;
  // libc's own function reports an overflow.
  if (!near(buffer, size, count) || __builtin_mul_overflow(size, count, &length) || length > room)
    return next___fread_chk()(buffer, room, size, count, file);
  const FileLock lock(file);
  return read_parts(buffer, size, count, file);
}
TASUKI_WRAPPER(size_t, __fread_unlocked_chk, void* buffer, size_t room, size_t size, size_t count,
               FILE* file) {
  size_t length = 0;
  if (!near(buffer, size, count) || __builtin_mul_overflow(size, count, &length) || length > room)
    return next___fread_unlocked_chk()(buffer, room, size, count, file);
  return read_parts(buffer, size, count, file);
}

TASUKI_WRAPPER(size_t, fwrite, const void* buffer, size_t size, size_t count, FILE* file) {
  if (!near(buffer, size, count)) [[likely]]
    return next_fwrite()(buffer, size, count, file);
  const FileLock lock(file);
  return write_parts(buffer, size, count, file);
}
TASUKI_WRAPPER(size_t, fwrite_unlocked, const void* buffer, size_t size, size_t count, FILE* file) {
  if (!near(buffer, size, count)) [[likely]]
    return next_fwrite_unlocked()(buffer, size, count, file);
  return write_parts(buffer, size, count, file);
}

TASUKI_WRAPPER(int, fputs, const char* text, FILE* file) {
  if (!near(text, 1, 1)) [[likely]]
    return next_fputs()(text, file);
  const size_t length = strlen(text);
  return tasuki_dlm_fwrite(text, 1, length, file) == length ? 1 : EOF;
}
TASUKI_WRAPPER(int, fputs_unlocked, const char* text, FILE* file) {
  if (!near(text, 1, 1)) [[likely]]
    return next_fputs_unlocked()(text, file);
  const size_t length = strlen(text);
  return write_parts(text, 1, length, file) == length ? 1 : EOF;
}
TASUKI_WRAPPER(int, puts, const char* text) {
  if (!near(text, 1, 1)) [[likely]]
    return next_puts()(text);
  const size_t length = strlen(text);
  const FileLock lock(stdout);
  if (write_parts(text, 1, length, stdout) != length || putc_unlocked('\n', stdout) == EOF) return EOF;
  return static_cast<int>(std::min<size_t>(length + 1, INT32_MAX));
}

// printf: which arguments are strings only the format knows, so the text is made in memory first.
namespace {

struct Text {
  char* p = nullptr;
  int length = -1;
  ~Text() { free(p); }
};
void format(Text* text, const char* how, va_list arguments) {
  text->length = vasprintf(&text->p, how, arguments);
  if (text->length < 0) text->p = nullptr;
}
void format_checked(Text* text, int flag, const char* how, va_list arguments) {
  text->length = next___vasprintf_chk()(&text->p, flag, how, arguments);
  if (text->length < 0) text->p = nullptr;
}
int print(const Text& text, FILE* file) {
  if (text.length <= 0) return text.length;
  const size_t length = static_cast<size_t>(text.length);
  return tasuki_dlm_fwrite(text.p, 1, length, file) == length ? text.length : -1;
}
int print(const Text& text, int fd) {
  if (text.length < 0) return -1;
  for (size_t done = 0, length = static_cast<size_t>(text.length); done < length;) {
    const ssize_t n = tasuki_dlm_write(fd, text.p + done, length - done);
    if (n <= 0) return -1;
    done += static_cast<size_t>(n);
  }
  return text.length;
}

bool direct() {
  return !g_guarded.any() || t_internal != 0;
}

template <typename To>
int print_formatted(To to, const char* how, va_list arguments) {
  Text text;
  format(&text, how, arguments);
  return print(text, to);
}
template <typename To>
int print_checked(To to, int flag, const char* how, va_list arguments) {
  Text text;
  format_checked(&text, flag, how, arguments);
  return print(text, to);
}

}  // namespace

TASUKI_WRAPPER(int, vprintf, const char* format, va_list arguments) {
  return direct() ? next_vprintf()(format, arguments) : print_formatted(stdout, format, arguments);
}
TASUKI_WRAPPER(int, vfprintf, FILE* file, const char* format, va_list arguments) {
  return direct() ? next_vfprintf()(file, format, arguments) : print_formatted(file, format, arguments);
}
TASUKI_WRAPPER(int, vdprintf, int fd, const char* format, va_list arguments) {
  return direct() ? next_vdprintf()(fd, format, arguments) : print_formatted(fd, format, arguments);
}
TASUKI_WRAPPER(int, __vprintf_chk, int flag, const char* format, va_list arguments) {
  return direct() ? next___vprintf_chk()(flag, format, arguments)
                  : print_checked(stdout, flag, format, arguments);
}
TASUKI_WRAPPER(int, __vfprintf_chk, FILE* file, int flag, const char* format, va_list arguments) {
  return direct() ? next___vfprintf_chk()(file, flag, format, arguments)
                  : print_checked(file, flag, format, arguments);
}
TASUKI_WRAPPER(int, __vdprintf_chk, int fd, int flag, const char* format, va_list arguments) {
  return direct() ? next___vdprintf_chk()(fd, flag, format, arguments)
                  : print_checked(fd, flag, format, arguments);
}

#define TASUKI_PASS_ON(last, call) \
  va_list arguments;               \
  va_start(arguments, last);       \
  const int result = call;         \
  va_end(arguments);               \
  return result

TASUKI_WRAPPER(int, printf, const char* format, ...) {
  TASUKI_PASS_ON(format, tasuki_dlm_vprintf(format, arguments));
}
TASUKI_WRAPPER(int, fprintf, FILE* file, const char* format, ...) {
  TASUKI_PASS_ON(format, tasuki_dlm_vfprintf(file, format, arguments));
}
TASUKI_WRAPPER(int, dprintf, int fd, const char* format, ...) {
  TASUKI_PASS_ON(format, tasuki_dlm_vdprintf(fd, format, arguments));
}
TASUKI_WRAPPER(int, __printf_chk, int flag, const char* format, ...) {
  TASUKI_PASS_ON(format, tasuki_dlm___vprintf_chk(flag, format, arguments));
}
TASUKI_WRAPPER(int, __fprintf_chk, FILE* file, int flag, const char* format, ...) {
  TASUKI_PASS_ON(format, tasuki_dlm___vfprintf_chk(file, flag, format, arguments));
}
TASUKI_WRAPPER(int, __dprintf_chk, int fd, int flag, const char* format, ...) {
  TASUKI_PASS_ON(format, tasuki_dlm___vdprintf_chk(fd, flag, format, arguments));
}

// A buffer of the program for a FILE: libc hands it to the kernel whenever it likes, so it gets a local one
// in its place, always the same for the same address and size.
namespace {

struct Substitute {
  const void* given;
  size_t length;
  Substitute* next;
  char* buffer() { return reinterpret_cast<char*>(this + 1); }
};
pthread_mutex_t g_substitutes_lock = PTHREAD_MUTEX_INITIALIZER;
Substitute* g_substitutes = nullptr;

char* local_buffer(char* given, size_t length) {
  if (given == nullptr || !guarded(given, length)) return given;
  const InternalScope internal;
  pthread_mutex_lock(&g_substitutes_lock);
  Substitute* s = g_substitutes;
  while (s != nullptr && (s->given != given || s->length != length)) s = s->next;
  if (s == nullptr && (s = static_cast<Substitute*>(malloc(sizeof(Substitute) + length))) != nullptr) {
    s->given = given;
    s->length = length;
    s->next = g_substitutes;
    g_substitutes = s;
  }
  pthread_mutex_unlock(&g_substitutes_lock);
  return s != nullptr ? s->buffer() : nullptr;  // nullptr: libc takes one of its own
}

}  // namespace

TASUKI_WRAPPER(int, setvbuf, FILE* file, char* buffer, int mode, size_t length) {
  return next_setvbuf()(file, local_buffer(buffer, length), mode, length);
}
TASUKI_WRAPPER(void, setbuffer, FILE* file, char* buffer, size_t length) {
  next_setbuffer()(file, local_buffer(buffer, length), length);
}
TASUKI_WRAPPER(void, setbuf, FILE* file, char* buffer) {
  next_setbuf()(file, local_buffer(buffer, BUFSIZ));
}
