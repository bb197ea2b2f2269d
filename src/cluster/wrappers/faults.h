// The program's SIGSEGV or SIGBUS, where the pager catches that signal (pager/mappers/fault_signal.h): the
// program's handler stays behind the pager's, whenever it is installed, and the signal is never blocked.
#pragma once

#include <csignal>

namespace tasuki::cluster {

// The set without what the pager catches: blocked, the signal of an access to a page that is away would end
// the program. `set` itself if it has none of that, or is nullptr; else *room.
const sigset_t* never_blocked(const sigset_t* set, sigset_t* room);

// Around the creation of the pager, by the thread that creates it, and of what a forked child has in its
// place: what is installed in between is the pager's.
void before_pager_handler();
void after_pager_handler();
// After the pager's end, by an internal thread or scope: the program's handler is the process's again.
void pager_handler_is_gone();

}  // namespace tasuki::cluster
