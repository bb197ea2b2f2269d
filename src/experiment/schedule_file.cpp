#include "experiment/schedule_file.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "os/files/text_file.h"

namespace tasuki::experiment {
namespace {

using nlohmann::json;
using schedule::kGapUnit;

constexpr const char* kFormat = "tasuki-schedule-1";

double packet_times(int64_t gap) {
  return static_cast<double>(gap) / kGapUnit;
}

// Reads the values of an object; the first thing that is wrong is kept.
class Reader {
 public:
  Reader(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) fail("must be an object");
  }

  const json* find(const char* key) {
    known_.push_back(key);
    if (!object_.is_object() || !object_.contains(key)) return nullptr;
    return &object_[key];
  }

  void read(const char* key, bool& value) {
    const json* v = find(key);
    if (v == nullptr) return;
    if (!v->is_boolean()) return fail(std::string(key) + " must be true or false");
    value = v->get<bool>();
  }

  void read(const char* key, std::string& value) {
    const json* v = find(key);
    if (v == nullptr) return;
    if (!v->is_string()) return fail(std::string(key) + " must be a string");
    value = v->get<std::string>();
  }

  template <typename T>  // an unsigned integer
  void read(const char* key, T& value) {
    if (const json* v = find(key)) value = integer<T>(*v, key);
  }

  template <typename T>  // the same
  void read(const char* key, std::vector<T>& values) {
    each(key, [&](const json& v) { values.push_back(integer<T>(v, key)); });
  }

  // Packet times.
  template <typename T>
  void read_gap(const char* key, T& value) {
    if (const json* v = find(key)) value = gap<T>(*v, key);
  }

  template <typename T>
  void read_gaps(const char* key, std::vector<T>& values) {
    each(key, [&](const json& v) { values.push_back(gap<T>(v, key)); });
  }

  void fail(const std::string& what) {
    if (status_.ok()) status_ = Status::error(EINVAL, where_ + ": " + what);
  }

  // To be called when all has been read.
  Status finish() {
    if (object_.is_object())
      for (const auto& [key, value] : object_.items())
        if (std::find(known_.begin(), known_.end(), key) == known_.end())
          fail("\"" + key + "\" is not known here");
    return status_;
  }

 private:
  template <typename Use>
  void each(const char* key, const Use& use) {
    const json* v = find(key);
    if (v == nullptr) return;
    if (!v->is_array()) return fail(std::string(key) + " must be a list");
    for (const json& element : *v) use(element);
  }

  template <typename T>
  T integer(const json& v, const char* key) {
    if (v.is_number_unsigned() && v.get<uint64_t>() <= std::numeric_limits<T>::max()) return v.get<T>();
    fail(std::string(key) + ": " + v.dump() + " is not a whole number from 0 to " +
         std::to_string(std::numeric_limits<T>::max()));
    return 0;
  }

  template <typename T>
  T gap(const json& v, const char* key) {
    const double units = v.is_number() ? std::round(v.get<double>() * kGapUnit) : NAN;
    if (units >= static_cast<double>(std::numeric_limits<T>::min()) &&
        units <= static_cast<double>(std::numeric_limits<T>::max()))
      return static_cast<T>(units);
    fail(std::string(key) + ": " + v.dump() + " is not a gap in packet times");
    return 0;
  }

  const json& object_;
  std::string where_;
  std::vector<std::string> known_;
  Status status_;
};

}  // namespace

Result<schedule::Schedule> replay(const SavedSchedule& saved) {
  const schedule::Algorithm* algorithm = schedule::find(saved.algorithm);
  if (algorithm == nullptr)
    return Status::error(EINVAL, "\"" + saved.algorithm + "\" is not the name of an algorithm");
  Result<schedule::Schedule> made = schedule::make(*algorithm, saved.parameters);
  if (!made.ok()) return made;
  const std::vector<int32_t>& per_sequence = saved.pace.per_sequence;
  if (!per_sequence.empty()) {
    if (per_sequence.size() != made.value().sequences())
      return Status::error(EINVAL, saved.algorithm + ": " + std::to_string(per_sequence.size()) +
                                       " entries in per_sequence for " +
                                       std::to_string(made.value().sequences()) + " sequences");
    Status status = set_gaps(made.value(), [&](uint32_t sequence, uint32_t hops) {
      const int64_t gap = int64_t{saved.pace.per_hop} * hops + per_sequence[sequence];
      return static_cast<uint32_t>(std::clamp<int64_t>(gap, 0, UINT32_MAX));
    });
    if (!status.ok()) return status;
  }
  return saved.barriers ? with_barriers(made.value()) : made;
}

std::string to_text(const SavedSchedule& saved) {
  const schedule::Parameters& p = saved.parameters;
  json parameters{{"ranks", p.ranks},          {"root", p.root},   {"bytes", p.bytes},
                  {"segment", p.segment},      {"wraps", p.wraps}, {"element", p.element},
                  {"gap", packet_times(p.gap)}};
  if (!p.shape.empty()) parameters["shape"] = p.shape;
  json file{{"format", kFormat},
            {"algorithm", saved.algorithm},
            {"parameters", std::move(parameters)},
            {"barriers", saved.barriers}};
  if (!saved.pace.per_sequence.empty()) {
    json per_sequence = json::array();
    for (const int32_t gap : saved.pace.per_sequence) per_sequence.push_back(packet_times(gap));
    file["pace"] = {{"per_hop", packet_times(saved.pace.per_hop)}, {"per_sequence", std::move(per_sequence)}};
  }
  return file.dump(1) + "\n";
}

Result<SavedSchedule> from_text(const std::string& text, const std::string& name) {
  json file;
  try {
    file = json::parse(text);
  } catch (const json::parse_error& e) {
    return Status::error(EINVAL, name + ": " + e.what());
  }
  SavedSchedule saved;
  std::string format;
  Reader top(file, name);
  top.read("format", format);
  if (format != kFormat)
    top.fail("is not a schedule file: its \"format\" is not \"" + std::string(kFormat) + "\"");
  top.read("algorithm", saved.algorithm);
  top.read("barriers", saved.barriers);
  const json* parameters = top.find("parameters");
  const json* pace = top.find("pace");
  if (parameters == nullptr) top.fail("has no \"parameters\"");
  if (Status status = top.finish(); !status.ok()) return status;

  schedule::Parameters& p = saved.parameters;
  Reader in(*parameters, name + ", parameters");
  in.read("shape", p.shape);
  for (const uint32_t extent : p.shape) p.ranks *= extent;
  in.read("ranks", p.ranks);
  in.read("root", p.root);
  in.read("bytes", p.bytes);
  in.read("segment", p.segment);
  in.read("wraps", p.wraps);
  in.read("element", p.element);
  in.read_gap("gap", p.gap);
  if (Status status = in.finish(); !status.ok()) return status;

  if (pace == nullptr) return saved;
  Reader paced(*pace, name + ", pace");
  paced.read_gap("per_hop", saved.pace.per_hop);
  paced.read_gaps("per_sequence", saved.pace.per_sequence);
  if (saved.pace.per_sequence.empty()) paced.fail("has no gaps in \"per_sequence\"");
  if (Status status = paced.finish(); !status.ok()) return status;
  return saved;
}

Status save(const SavedSchedule& saved, const std::string& file) {
  return os::write_file(file, to_text(saved));
}

Result<SavedSchedule> load(const std::string& file) {
  Result<std::string> text = os::read_file(file);
  if (!text.ok()) return text.status();
  return from_text(text.value(), file);
}

}  // namespace tasuki::experiment
