// The operations of the table in operations.cpp, by the files that have them. Each takes a block of the
// thread's.
#pragma once

#include "world.h"

namespace tasuki::stress {

// accesses.cpp: loads and stores
void store(World&, Thread&, Block&);
void load(World&, Thread&, Block&);
void add(World&, Thread&, Block&);
void store_range(World&, Thread&, Block&);
void load_range(World&, Thread&, Block&);
void copy_range(World&, Thread&, Block&);
void add_everywhere(World&, Thread&, Block&);

// calls.cpp: system calls that wrappers know
void read_file(World&, Thread&, Block&);
void read_direct(World&, Thread&, Block&);
void write_file(World&, Thread&, Block&);
void write_direct(World&, Thread&, Block&);
void through_pipe(World&, Thread&, Block&);
void splice_pages(World&, Thread&, Block&);
void through_stream(World&, Thread&, Block&);
void through_packets(World&, Thread&, Block&);
void through_tcp(World&, Thread&, Block&);

// asynchronous.cpp: transfers that go on while the thread does not wait
void by_aio(World&, Thread&, Block&);
void by_uring(World&, Thread&, Block&);
void by_uring_registered(World&, Thread&, Block&);

// processes.cpp
void by_own_process(World&, Thread&, Block&);
void by_another_process(World&, Thread&, Block&);
void fork_child(World&, Thread&, Block&);

// requests.cpp: what programs ask of memory
void protect(World&, Thread&, Block&);
void lock(World&, Thread&, Block&);
void lock_all(World&, Thread&, Block&);
void synchronize(World&, Thread&, Block&);
void dont_need(World&, Thread&, Block&);
void discard(World&, Thread&, Block&);
void advise(World&, Thread&, Block&);
void allocate(World&, Thread&, Block&);
void reallocate(World&, Thread&, Block&);

}  // namespace tasuki::stress
