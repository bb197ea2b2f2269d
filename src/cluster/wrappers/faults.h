// The program's SIGSEGV where the pager catches that signal itself (pager/mappers/signal_mapper.cpp): the
// program's handler stays behind the pager's, whenever it is installed, and the signal is never blocked.
#pragma once

namespace tasuki::cluster {

// Around the creation of the pager, by the thread that creates it: what is installed in between is the
// pager's.
void before_pager_handler();
void after_pager_handler();

}  // namespace tasuki::cluster
