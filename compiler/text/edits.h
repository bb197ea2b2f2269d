// Changes to a text that keep its lines where they are.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/text/text.h"

namespace tasuki::cc {

class Edits {
 public:
  explicit Edits(const Text& text) : text_(text) {}

  // Puts `what` where the text [begin, end) is; begin == end inserts, in the order of the calls. `what` holds
  // no newline.
  void replace(size_t begin, size_t end, std::string what);
  void insert(size_t at, std::string what) { replace(at, at, std::move(what)); }
  // Takes out [begin, end), with all changes in it, and puts `what` there. Its lines stay, empty.
  void cut(size_t begin, size_t end, std::string what);

  std::string all() const { return render(0, text_.bytes().size(), true); }
  // A part with its changes, as it would be without cuts.
  std::string part(size_t begin, size_t end) const { return render(begin, end, false); }

 private:
  struct Edit {
    size_t end;
    std::string what;
  };
  std::string render(size_t begin, size_t end, bool with_cuts) const;
  std::string lines(size_t begin, size_t end) const;

  const Text& text_;
  std::map<size_t, std::vector<Edit>> edits_;
  std::map<size_t, Edit> cuts_;
};

}  // namespace tasuki::cc
