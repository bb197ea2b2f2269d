// Fork in a program with cluster memory. The child reads it as it was, where the pager can do that (pager.h:
// before_fork), and has none otherwise.
#pragma once

namespace tasuki::cluster {

// What else is to be done, with signals blocked; set once, before there are threads that fork.
struct ForkHooks {
  void (*before)();
  void (*in_parent)();
  void (*in_child)(bool has_memory);
};
void set_fork_hooks(const ForkHooks& hooks);

}  // namespace tasuki::cluster
