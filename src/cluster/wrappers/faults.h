// The program's SIGSEGV or SIGBUS, where the pager catches that signal (pager/mappers/fault_signal.h): the
// program's handler stays behind the pager's, whenever it is installed, and the signal is never blocked.
#pragma once

namespace tasuki::cluster {

// Around the creation of the pager, by the thread that creates it: what is installed in between is the
// pager's.
void before_pager_handler();
void after_pager_handler();
// After the pager's end, by an internal thread or scope: the program's handler is the process's again.
void pager_handler_is_gone();

}  // namespace tasuki::cluster
