#include "message/windows/window.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "os/memory/keys.h"
#include "os/memory/mapping.h"

namespace tasuki::message {

bool WindowLock::try_shared() {
  uint32_t word = word_.load(std::memory_order_relaxed);
  while ((word & (kExclusive | kWanted)) == 0)
    if (word_.compare_exchange_weak(word, word + 1, std::memory_order_acquire, std::memory_order_relaxed))
      return true;
  return false;
}

bool WindowLock::try_exclusive() {
  uint32_t word = word_.load(std::memory_order_relaxed);
  while ((word & ~kWanted) == 0)
    if (word_.compare_exchange_weak(word, kExclusive, std::memory_order_acquire, std::memory_order_relaxed))
      return true;
  if ((word & kWanted) == 0) word_.fetch_or(kWanted, std::memory_order_relaxed);
  return false;
}

WindowPart* WindowPart::make(int members) {
  const size_t bytes = sizeof(WindowPart) + static_cast<size_t>(members) * sizeof(std::atomic<uint32_t>);
  // Others write it: of a guarded task in pages of its own.
  const size_t mapped = os::g_guarded ? os::page_ceil(bytes) : 0;
  void* memory =
      mapped != 0 ? os::map_open_memory(mapped) : aligned_alloc(kLine, (bytes + kLine - 1) / kLine * kLine);
  if (memory == nullptr) return nullptr;
  WindowPart* part = new (memory) WindowPart{};
  part->mapped = mapped;
  for (int i = 0; i < members; i++) new (&part->exposed(i)) std::atomic<uint32_t>(0);
  return part;
}

void WindowPart::free(WindowPart* part) {
  if (part == nullptr) return;
  if (part->mapped != 0)
    os::unmap(part, part->mapped);
  else
    ::free(part);
}

bool Window::open(const Group& group, WindowPart* mine) {
  group_ = group;
  const size_t n = static_cast<size_t>(group.count);
  parts_ = static_cast<WindowPart**>(malloc(n * sizeof *parts_));
  started_ = static_cast<uint32_t*>(calloc(n, sizeof *started_));
  Request* r = engine_->take_request();
  const bool memory = parts_ != nullptr && started_ != nullptr && r != nullptr;
  WindowPart* const shown = memory ? mine : nullptr;
  char text[sizeof shown];
  memcpy(text, &shown, sizeof shown);
  for (int i = 1; i < group.count; i++)
    engine_->send_inline(group.slots[(group.index + i) % group.count], collective(group.context), kPart,
                         group.index, text, sizeof text);
  bool all = shown != nullptr;
  for (int i = 0; i < group.count && r != nullptr; i++) {
    WindowPart* part = mine;
    if (i != group.index) {
      r->reset();
      r->region = {reinterpret_cast<char*>(&part), sizeof part, layout::byte_layout()};
      r->context = collective(group.context);
      r->tag = kPart;
      r->peer = group.slots[i];
      engine_->receive(r);
    }
    all = all && part != nullptr;
    if (parts_ != nullptr) parts_[i] = part;
  }
  if (r != nullptr) engine_->give_request(r);
  return all;
}

void Window::close() {
  if (parts_ != nullptr) WindowPart::free(parts_[group_.index]);
  ::free(parts_);
  ::free(started_);
  ::free(group_.slots);
  parts_ = nullptr;
  started_ = nullptr;
  group_ = {};
}

// Of a lock it is not known who waits.
void Window::wake_others() {
  engine_->wake_tasks(group_.slots, group_.count, group_.index);
}

void Window::lock_shared(int target) {
  WindowLock& lock = part(target).lock;
  if (!lock.try_shared()) engine_->wait_for_tasks([&] { return lock.try_shared(); });
}

void Window::lock_exclusive(int target) {
  WindowLock& lock = part(target).lock;
  if (!lock.try_exclusive()) engine_->wait_for_tasks([&] { return lock.try_exclusive(); });
}

void Window::unlock_shared(int target) {
  part(target).lock.release_shared();
  wake_others();
}

void Window::unlock_exclusive(int target) {
  part(target).lock.release_exclusive();
  wake_others();
}

void Window::post(int origin) {
  own_part().exposed(origin).fetch_add(1, std::memory_order_release);
  engine_->wake_task(group_.slots[origin]);
}

void Window::start(int target) {
  const std::atomic<uint32_t>& exposed = part(target).exposed(group_.index);
  const uint32_t used = started_[target]++;
  engine_->wait_for_tasks([&] { return exposed.load(std::memory_order_acquire) != used; });
}

void Window::complete(int target) {
  part(target).completed.fetch_add(1, std::memory_order_release);
  engine_->wake_task(group_.slots[target]);
}

// No access of the next exposure can end before the next post().
bool Window::test(uint32_t origins) {
  std::atomic<uint32_t>& completed = own_part().completed;
  if (completed.load(std::memory_order_acquire) != origins) return false;
  completed.store(0, std::memory_order_relaxed);
  return true;
}

void Window::wait(uint32_t origins) {
  engine_->wait_for_tasks([&] { return test(origins); });
}

}  // namespace tasuki::message
