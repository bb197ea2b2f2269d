#include "simmpi/run/getopt.h"

#include <getopt.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "simmpi/run/rank.h"
#include "simmpi/run/simulation.h"

namespace tasuki::simmpi {
namespace {

struct Variables {
  char** optarg;
  int *optind, *opterr, *optopt;
};

// The program's own copies; a variable that it does not use is the rank's.
Variables variables(Rank& rank) {
  const Program& p = *rank.simulation.program;
  const auto find = [&](const char* name, auto* otherwise) {
    void* found = p.find_own(rank.loaded, name);
    return found != nullptr ? static_cast<decltype(otherwise)>(found) : otherwise;
  };
  return {find("optarg", &rank.optarg), find("optind", &rank.optind), find("opterr", &rank.opterr),
          find("optopt", &rank.optopt)};
}

void complain(const Variables& v, const char* options, const char* program, const char* what,
              const std::string& which) {
  if (*v.opterr != 0 && *options != ':') fprintf(stderr, "%s: %s -- '%s'\n", program, what, which.c_str());
}

// Moves argument `from` in front of the operands that were passed over, to place `to`.
void rotate(char** argv, int to, int from) {
  std::rotate(argv + to, argv + from, argv + from + 1);
}

int next_option(int argc, char* const arguments[], const char* options, const option* longs, int* index,
                bool long_only) {
  Rank& rank = *running_rank();
  const Variables v = variables(rank);
  Rank::OptionPlace& place = rank.option_place;
  char** argv = const_cast<char**>(arguments);
  const bool in_order = *options == '+';
  const bool as_one = *options == '-';
  if (in_order || as_one) options++;
  const char* shorts = *options == ':' ? options + 1 : options;
  *v.optarg = nullptr;
  if (*v.optind == 0) {
    *v.optind = 1;
    place = {};
  }
  if (place.next == nullptr || *place.next == 0) {
    place.next = nullptr;
    int at = *v.optind;
    const int operands = at;
    if (!in_order && !as_one)
      while (at < argc && (argv[at][0] != '-' || argv[at][1] == 0)) at++;
    if (at >= argc) return -1;
    char* word = argv[at];
    if (as_one && (word[0] != '-' || word[1] == 0)) {
      *v.optarg = word;
      ++*v.optind;
      return 1;
    }
    if (word[0] != '-' || word[1] == 0) return -1;
    if (at != operands) rotate(argv, operands, at);
    ++*v.optind;  // behind the option; its argument, if separate, follows the operands still
    place.passed = at - operands;
    if (strcmp(word, "--") == 0) return -1;
    const bool is_long = longs != nullptr && (word[1] == '-' || long_only);
    if (is_long) {
      const char* name = word + (word[1] == '-' ? 2 : 1);
      const size_t length = strcspn(name, "=");
      const option *found = nullptr, *exact = nullptr;
      bool ambiguous = false;
      for (const option* o = longs; o->name != nullptr; o++) {
        if (strncmp(o->name, name, length) != 0) continue;
        if (strlen(o->name) == length) exact = o;
        ambiguous = ambiguous || (found != nullptr && (found->val != o->val || found->flag != o->flag));
        if (found == nullptr) found = o;
      }
      if (exact != nullptr) {
        found = exact;
        ambiguous = false;
      }
      const bool maybe_short = word[1] != '-' && strchr(shorts, word[1]) != nullptr;
      if (found == nullptr || ambiguous) {
        if (!maybe_short || ambiguous) {
          complain(v, options, argv[0], ambiguous ? "ambiguous option" : "unrecognized option", word);
          *v.optopt = 0;
          return '?';
        }
      } else {
        if (index != nullptr) *index = static_cast<int>(found - longs);
        if (name[length] == '=') {
          if (found->has_arg == no_argument) {
            complain(v, options, argv[0], "option doesn't allow an argument", word);
            *v.optopt = found->val;
            return '?';
          }
          *v.optarg = const_cast<char*>(name) + length + 1;
        } else if (found->has_arg == required_argument) {
          const int from = *v.optind + place.passed;
          if (from >= argc) {
            complain(v, options, argv[0], "option requires an argument", word);
            *v.optopt = found->val;
            return *options == ':' ? ':' : '?';
          }
          rotate(argv, *v.optind, from);
          *v.optarg = argv[(*v.optind)++];
        }
        if (found->flag == nullptr) return found->val;
        *found->flag = found->val;
        return 0;
      }
    }
    place.next = word + 1;
  }
  const char c = *place.next++;
  const char* spec = c == ':' || c == ';' ? nullptr : strchr(shorts, c);
  if (spec == nullptr) {
    complain(v, options, argv[0], "invalid option", std::string(1, c));
    *v.optopt = c;
    return '?';
  }
  if (spec[1] != ':') return c;
  if (*place.next != 0) {
    *v.optarg = const_cast<char*>(place.next);
  } else if (spec[2] != ':') {
    const int from = *v.optind + place.passed;
    if (from >= argc) {
      complain(v, options, argv[0], "option requires an argument", std::string(1, c));
      *v.optopt = c;
      return *options == ':' ? ':' : '?';
    }
    rotate(argv, *v.optind, from);
    *v.optarg = argv[(*v.optind)++];
  }
  place.next = nullptr;
  return c;
}

}  // namespace

int sim_getopt(int argc, char* const argv[], const char* options) {
  return next_option(argc, argv, options, nullptr, nullptr, false);
}
int sim_getopt_long(int argc, char* const argv[], const char* options, const option* longs, int* index) {
  return next_option(argc, argv, options, longs, index, false);
}
int sim_getopt_long_only(int argc, char* const argv[], const char* options, const option* longs, int* index) {
  return next_option(argc, argv, options, longs, index, true);
}

}  // namespace tasuki::simmpi
