#include "simmpi/program/fiber.h"

#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>
#include <cerrno>
#include <cstring>

namespace tasuki::simmpi {
namespace {

namespace context = boost::context::detail;
constexpr size_t kGuard = 4096;

}  // namespace

Fiber::~Fiber() {
  if (mapping_ != nullptr) munmap(mapping_, length_);
}

Status Fiber::start(size_t stack_bytes, void (*entry)(void*), void* argument) {
  length_ = (stack_bytes + kGuard - 1) / kGuard * kGuard + kGuard;
  void* p =
      mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED || mprotect(p, kGuard, PROT_NONE) != 0)
    return Status::error(errno, std::string("cannot map a stack: ") + strerror(errno) +
                                    " (each rank takes about 6 mappings; see /proc/sys/vm/max_map_count)");
  mapping_ = static_cast<char*>(p);
  entry_ = entry;
  argument_ = argument;
  context_ = context::make_fcontext(mapping_ + length_, length_ - kGuard, [](context::transfer_t from) {
    auto* self = static_cast<Fiber*>(from.data);
    self->resumer_ = from.fctx;
    self->entry_(self->argument_);
  });
  return {};
}

void Fiber::resume() {
  context_ = context::jump_fcontext(context_, this).fctx;
}

void Fiber::suspend() {
  resumer_ = context::jump_fcontext(resumer_, nullptr).fctx;
}

bool Fiber::guards(const void* address) const {
  const char* p = static_cast<const char*>(address);
  return p >= mapping_ && p < mapping_ + kGuard;
}

}  // namespace tasuki::simmpi
