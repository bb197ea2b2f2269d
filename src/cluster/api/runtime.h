// The pager of a program: one thread that owns MPI, the store and the pager's loop; dlm.h is its face.
// Without that thread (pager::Options::threadless) the one that starts it and the one that stops it do its
// work.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cluster/api/beside.h"
#include "cluster/api/report.h"
#include "cluster/api/tiers.h"
#include "cluster/server/job.h"
#include "pager/pager.h"

namespace tasuki::cluster {

class Runtime {
 public:
  // Never destroyed: exit() runs while other threads still use cluster memory.
  static Runtime& instance();

  // As dlm_startup: returns only on rank 0, and only when the pager serves. Takes "--" and what follows out
  // of the arguments, for `read`. `write` tells the end of it.
  void start(int* argc, char*** argv, OptionsReader read, ReportWriter write);
  // Ends the servers and MPI; a second call does nothing. `exiting`: the pager's memory stays, for threads
  // that run until the very end.
  void stop(bool exiting);

  // True: a server is lost, and MPI_Finalize would wait for it; end() ends MPI. The program goes on.
  bool finalizes_later() const { return abort_at_end_; }
  // The last moment of the program: where MPI cannot be ended in order, because a server is lost, ends all
  // ranks.
  void end();

  // nullptr: not started, ended, or a forked child.
  pager::Pager* pager() const;
  bool started() const { return state_ != State::off; }
  bool is_pager_thread() const;

  // Of the pager, which runs, and of what is local beside it.
  pager::Stats stats();
  Beside& beside() { return beside_; }
  uint64_t beside_bytes() const;  // now; while running

 private:
  bool is_own_process() const;
  bool threadless() const { return callers_ == Job::Callers::program; }

  enum class State { off, starting, running, failed, ended };

  void choose_callers();
  void thread_main();
  void open();
  void lead();
  void lend();
  void fail(int exit_code);
  void lose(const Status& why);  // does not return
  void conclude();
  void end_servers();
  Report make_report();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<State> state_{State::off};
  int exit_code_ = 0;
  std::vector<std::string> arguments_;
  OptionsReader read_options_ = nullptr;
  ReportWriter write_report_ = nullptr;
  std::thread thread_;
  std::atomic<bool> abort_at_end_{false};
  int program_exit_code_ = 1;  // until it has called exit()
  Job::Callers callers_ = Job::Callers::pager;
  std::unique_ptr<Job> job_;
  Options options_;
  std::unique_ptr<Servers> servers_;
  std::unique_ptr<Tiers> tiers_;
  std::unique_ptr<pager::Pager> pager_;
  Beside beside_;
  pid_t pid_ = 0;
  const std::atomic<bool>* own_ = nullptr;  // false in a forked child; nullptr: the kernel cannot do that
  int64_t begin_ns_ = 0;
  std::mutex stopping_;
};

}  // namespace tasuki::cluster
