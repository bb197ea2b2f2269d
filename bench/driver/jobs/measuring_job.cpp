#include "bench/driver/jobs/measuring_job.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "os/files/streams.h"
#include "os/files/temporary_folder.h"

namespace tasuki::bench {
namespace {

Fields parse_fields(const std::string& line) {
  Fields fields;
  for (size_t at = line.find('\t'); at != std::string::npos;) {
    const size_t next = line.find('\t', at + 1);
    const std::string part = line.substr(at + 1, next == std::string::npos ? next : next - at - 1);
    const size_t equals = part.find('=');
    if (equals != std::string::npos) fields[part.substr(0, equals)] = part.substr(equals + 1);
    at = next;
  }
  return fields;
}

}  // namespace

double number(const Fields& fields, const std::string& key) {
  const auto at = fields.find(key);
  return at == fields.end() ? NAN : std::strtod(at->second.c_str(), nullptr);
}

std::string text(const Fields& fields, const std::string& key) {
  const auto at = fields.find(key);
  return at == fields.end() ? "" : at->second;
}

Status Job::make_pipes() {
  Result<std::string> folder = os::make_temporary_folder("tasuki-bench");
  if (!folder.ok()) return folder.status();
  folder_ = std::move(folder.value());
  for (size_t r = 0; r < ranks(); r++) {
    const std::string suffix = "." + std::to_string(r);
    // The ranks open one direction each: they see the end of their commands when this process has gone.
    Result<os::Fd> command = os::make_named_pipe(folder_ + "/command" + suffix, os::Reading::waits);
    Result<os::Fd> answer = os::make_named_pipe(folder_ + "/answer" + suffix, os::Reading::does_not_wait);
    for (const auto* made : {&command, &answer})
      if (!made->ok()) return made->status();
    command_[r] = std::move(command.value());
    answer_[r] = std::move(answer.value());
  }
  return Status();
}

void Job::remove_pipes() {
  if (folder_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
  folder_.clear();
}

Status Job::launch() {
  std::vector<std::string> words = spec_.launcher;
  words.insert(words.end(), spec_.runner.begin(), spec_.runner.end());
  words.push_back(spec_.program);
  words.push_back(folder_);
  return child_.start(words, spec_.environment);
}

Status Job::start(double timeout_seconds, Answer* hello) {
  Status status = make_pipes();
  if (status.ok()) status = launch();
  if (status.ok()) status = receive(timeout_seconds, hello);
  remove_pipes();  // both ends hold them open: nothing is left behind, however this process ends
  return status;
}

Status Job::ask(const std::string& command, double timeout_seconds, Answer* answer) {
  const std::string line = command + "\n";
  for (const os::Fd& to : command_)
    if (!os::write_all(to.get(), line))
      return Status::error(errno, name() + ": cannot send a command: " + strerror(errno));
  return receive(timeout_seconds, answer);
}

Status Job::receive(double timeout_seconds, Answer* answer) {
  *answer = Answer();
  answer->values.resize(ranks());
  std::vector<char> done(ranks(), 0);
  std::string error;
  double deadline = monotonic_seconds() + timeout_seconds;
  while (std::count(done.begin(), done.end(), 0) > 0) {
    std::vector<os::Awaited> awaited;
    for (size_t r = 0; r < ranks(); r++) awaited.emplace_back(done[r] != 0 ? -1 : answer_[r].get());
    // The time limit is only for noticing that the launcher has ended: it costs the ranks nothing.
    const int ready = os::wait_for(awaited.data(), awaited.size(), 200);
    if (interrupted() != 0) return Status::error(EINTR, "interrupted");
    if (ready <= 0) {
      if (child_.ended())
        return Status::error(ECHILD, "the " + name() + " job ended: " + child_.how_it_ended());
      if (monotonic_seconds() > deadline)
        return Status::error(ETIMEDOUT, "the " + name() + " job has neither answered nor got on for " +
                                            std::to_string(static_cast<int>(timeout_seconds)) + " seconds");
      continue;
    }
    deadline = monotonic_seconds() + timeout_seconds;
    for (size_t r = 0; r < ranks(); r++) {
      if (!awaited[r].readable()) continue;
      char buffer[4096];
      unread_[r].append(buffer, os::read_some(answer_[r].get(), buffer, sizeof buffer));
      for (size_t end; done[r] == 0 && (end = unread_[r].find('\n')) != std::string::npos;) {
        const std::string line = unread_[r].substr(0, end);
        unread_[r].erase(0, end + 1);
        const std::string kind = line.substr(0, line.find('\t'));
        const std::string text = kind.size() < line.size() ? line.substr(kind.size() + 1) : "";
        if (kind == "progress") continue;
        if (kind == "row") {
          if (r == 0) answer->rows.push_back(parse_fields(line));
          continue;
        }
        done[r] = 1;
        answer->values[r] = parse_fields(line);
        if (kind == "wrong" && answer->wrong.empty()) answer->wrong = text;
        if (kind == "error" && error.empty()) error = text;
      }
    }
  }
  if (!error.empty()) return Status::error(EIO, name() + ": " + error);
  return Status();
}

Status Job::stop() {
  if (!child_.running()) return Status();
  for (const os::Fd& to : command_) os::write_all(to.get(), "quit\n");
  for (const double deadline = monotonic_seconds() + 20; !child_.ended();) {
    if (monotonic_seconds() > deadline)
      return Status::error(ETIMEDOUT, "the " + name() + " job does not end");
    if (interrupted() != 0) return Status::error(EINTR, "interrupted");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (!child_.ended_well())
    return Status::error(ECHILD, "the " + name() + " job ended badly: " + child_.how_it_ended());
  return Status();
}

Job::~Job() {
  child_.end();
  remove_pipes();
}

}  // namespace tasuki::bench
