#include "compiler/lower/global/lowering.h"

#include <algorithm>
#include <memory>

#include "compiler/checks/loop_exits.h"
#include "compiler/checks/thread_regions.h"
#include "compiler/lower/global/array_loop.h"
#include "compiler/lower/global/arrays.h"
#include "compiler/lower/global/gmove.h"
#include "compiler/lower/global/loop.h"
#include "compiler/lower/global/node_sets.h"
#include "compiler/lower/global/reductions.h"
#include "compiler/tokens/omp_acc_line.h"
#include "compiler/tokens/statements.h"
#include "tasuki/compiler/global_view.h"

namespace tasuki::cc {
namespace {

// Shared by the replacements, which are made while the text is put together.
class Lowering {
 public:
  Lowering(const Unit& in, const std::function<void(const Replacement&)>& add)
      : add_(add), in_(in), text_(in.text), statements_(in.text, in.tokens), names_(in.global), arrays_(in) {}

  GlobalLowered run(const std::shared_ptr<Lowering>& self) {
    find_loops();
    GlobalPragmas pragmas = lower_global_pragmas(in_, &arrays_);
    result_.pragmas = std::move(pragmas.changes);
    openers_ = std::move(pragmas.openers);
    closers_ = std::move(pragmas.closers);
    for (const ArrayUse& use : arrays_.uses())
      replace(use.token, use.end, [self, &use] { return self->arrays_.use(use); });
    for (const auto& [token, what] : arrays_.declared_names()) {
      const std::string text = what;
      replace(token, token + 1, [text] { return text; });
    }
    for (const auto& [token, locals] : arrays_.function_locals())
      result_.insertions.emplace_back(token, locals);
    for (size_t word : in_.tokens.descriptors)
      replace(word, in_.match(text_.next(word)) + 1, [self, word] { return self->descriptor(word); });
    // Loops last: their heads hold what is replaced above.
    for (const GlobalDirective& d : in_.tokens.globals)
      if (!is_one_of<LoopDirective>(d)) add(d, self);
    for (const GlobalDirective& d : in_.tokens.globals)
      if (is_one_of<LoopDirective>(d)) add(d, self);
    // Behind one token, what ends there comes first, the innermost before what is around it.
    std::stable_sort(closers_.begin(), closers_.end(),
                     [](const Border& a, const Border& b) { return a.word > b.word; });
    std::stable_sort(openers_.begin(), openers_.end(),
                     [](const Border& a, const Border& b) { return a.word < b.word; });
    for (const std::vector<Border>* borders : {&closers_, &openers_})
      for (const Border& b : *borders) result_.insertions.emplace_back(b.token, b.text);
    check_loop_exits(in_, divided_);
    check_thread_regions(in_);
    for (const ArrayUse& use : arrays_.uses()) check_sections(use);
    result_.arrays = arrays_.any_of_file();
    result_.templates = std::any_of(names_.templates.begin(), names_.templates.end(),
                                    [](const Template& t) { return !t.declared->in_function; });
    result_.used = !in_.tokens.globals.empty() || !in_.tokens.descriptors.empty();
    return std::move(result_);
  }

 private:
  void error(size_t token, const std::string& what, const std::string& advice) {
    in_.diagnostics.error(text_.begin_of(token), what, advice);
  }
  void replace(size_t first, size_t last, std::function<std::string()> text) {
    add_({first, last, std::move(text)});
  }
  std::string place(const DirectivePlace& d) const { return in_.place(d.name); }
  std::string text_of(const TokenRange& r) const { return in_.c(r.first, r.last); }

  // Which part of a section a node has is said by a directive.
  void check_sections(const ArrayUse& use) {
    const bool lowered =
        std::any_of(statements_with_sections_.begin(), statements_with_sections_.end(),
                    [&](const TokenRange& r) { return use.token >= r.first && use.token < r.last; });
    for (size_t open : use.opens)
      if (!lowered && in_.tokens.sections.contains(open))
        return error(open,
                     "a section of the distributed array '" + names_.arrays[use.array].name + "' stands here",
                     "write #pragma xmp gmove or #pragma xmp array before the assignment");
  }

  // ---- directives before statements

  void find_loops() {
    std::vector<TokenRange> outermost;
    for (const GlobalDirective& directive : in_.tokens.globals) {
      const auto* d = std::get_if<LoopDirective>(&directive);
      if (d == nullptr) continue;
      const TokenRange range{d->word, statements_.end_of(d->word)};
      loops_.emplace_back(range, d);
      if (outermost.empty() || outermost.back().last <= range.first) outermost.push_back(range);
    }
    arrays_.set_loops(outermost);
    outermost_ = std::move(outermost);
  }

  std::vector<const LoopDirective*> loops_around(size_t token) const {
    std::vector<const LoopDirective*> all;
    for (const auto& [range, d] : loops_)
      if (range.first < token && token < range.last) all.push_back(d);
    return all;
  }

  void add(const GlobalDirective& directive, const std::shared_ptr<Lowering>& self) {
    const DirectivePlace& d = place_of(directive);
    const TokenRange statement{text_.skip_directives(d.end + 1), statements_.end_of(d.end + 1)};
    if (has_block(directive) && (statement.first >= text_.tokens().size() || text_.is(statement.first, "}")))
      return error(d.name,
                   "'#pragma xmp " + std::string(text_.spelling(d.name)) + "' must stand before a statement",
                   "write the statement behind it");
    if (const auto* loop = std::get_if<LoopDirective>(&directive)) return add_loop(*loop);
    if (const auto* task = std::get_if<TaskDirective>(&directive)) add_task(*task);
    if (const auto* gmove = std::get_if<GmoveDirective>(&directive))
      add_assignment(statement,
                     [self, gmove, statement] { return lower_gmove(self->in_, *gmove, statement); });
    if (const auto* array = std::get_if<ArrayDirective>(&directive))
      add_assignment(statement, [self, array, statement] {
        return lower_array_directive(self->in_, self->arrays_, *array, statement);
      });
    const auto lowered = [self, &directive] {
      return std::visit([&](const auto& one) { return self->lower(one); }, directive);
    };
    if (d.body == kNone) return replace(d.word, d.end + 1, lowered);
    replace(d.word, d.end + 1, [] { return std::string(); });
    result_.insertions.emplace_back(d.body, " " + lowered());
  }

  void add_assignment(const TokenRange& statement, std::function<std::string()> text) {
    statements_with_sections_.push_back(statement);
    replace(statement.first, statement.last, std::move(text));
  }

  void add_loop(const LoopDirective& d) {
    std::string locals;
    for (const TokenRange& range : outermost_)
      if (range.first == d.word) locals = arrays_.loop_locals(range);
    const std::vector<const LoopDirective*> outer = loops_around(d.word);
    LoweredLoop lowered = lower_loop(in_, d, outer, locals);
    size_t place = d.word;
    // Inside of a region for the device: what comes before the loop and behind it goes out of the region.
    for (const auto& [first, last] : in_.acc.compute) {
      if (d.word <= text_.skip_directives(first) || d.word >= last) continue;
      if (!lowered.known_before && !lowered.behind.empty())
        return error(d.name, "the iterations of this node are not known before this compute region begins",
                     "write #pragma xmp loop directly behind the directive of the region; the loop must run "
                     "upwards over a template in blocks, and its bounds must not change in the region");
      place = first;
      if (!lowered.behind.empty()) lowered.behind.back().first = last;
    }
    // What stands before a loop may be part of it for other compilers: #pragma omp for, #pragma acc loop.
    const size_t before = place_before(place);
    if (before != kNone) openers_.push_back({d.word, before, on_own_line(before, " " + lowered.before)});
    replace(d.word, d.end + 1, [text = before != kNone ? "" : lowered.before] { return text; });
    divided_.insert(divided_.end(), lowered.divided.begin(), lowered.divided.end());
    for (const LoweredLoop::Piece& piece : lowered.headers)
      replace(piece.first, piece.last, [text = piece.text] { return text; });
    for (const auto& [end, text] : lowered.behind) closers_.push_back({d.word, end - 1, text});
  }

  // The token that is before all pragmas of the statement that a directive stands before; kNone if there are
  // no pragmas before it.
  size_t place_before(size_t word) const {
    bool any = false;
    size_t i = word - 1;
    for (; i > 0 && text_.tokens()[i].kind == TokenKind::directive; i--) {
      const Pragma p(text_, i);
      if (p.word(0) == "pragma" && stands_alone(p)) break;
      any = any || p.word(0) == "pragma";
    }
    return any ? i : kNone;
  }

  // Text behind a line that has to end.
  std::string on_own_line(size_t token, const std::string& text) const {
    if (text_.tokens()[token].kind != TokenKind::directive) return text;
    const Place place = text_.place(text_.begin_of(token));
    return "\n" + text + "\n# " + std::to_string(place.line + 1) + " " + quoted(place.file);
  }

  void add_task(const TaskDirective& d) {
    const size_t end = statements_.end_of(d.end + 1);
    closers_.push_back({d.word, end - 1, d.on ? " } }" : " }"});
  }

  // ---- what directives become

  // What has its effect where it is used, or in the statement behind it.
  std::string lower(const DirectivePlace&) { return ""; }

  std::string lower(const TemplateDirective& d) {
    for (const Template& t : names_.templates)
      if (t.declared == &d && t.distributed == nullptr) return define(t);
    return "";
  }

  std::string lower(const DistributeDirective& d) {
    for (const Template& t : names_.templates)
      if (t.distributed == &d) return define(t);
    return "";
  }

  std::string lower(const AlignDirective& d) {
    for (size_t i = 0; i < names_.arrays.size(); i++)
      if (names_.arrays[i].align == &d) return arrays_.define(i);
    return "";
  }

  // {lower, upper, format, nodes, width, mapping}
  std::string dimension(const Template& t, int k, const NodesReference& shape,
                        const std::vector<Distribution>& formats) {
    std::string lower = t.record() + ".dimension[" + std::to_string(k) + "].lower",
                upper = t.record() + ".dimension[" + std::to_string(k) + "].upper";
    if (!shape.subscripts.empty()) {
      const NodeSubscript& s = shape.subscripts[static_cast<size_t>(k)];
      const auto part = [&](const TokenRange& r) { return r.empty() ? std::string("0") : text_of(r); };
      if (s.is_range && s.lower.empty() && s.upper.empty()) {
        lower = "0", upper = "-1";
      } else if (s.is_range) {
        lower = part(s.lower), upper = part(s.upper);
      } else if (shape.brackets) {
        lower = "0", upper = "(" + part(s.lower) + ") - 1";
      } else {
        lower = "1", upper = part(s.lower);
      }
    }
    std::string width = "0", mapping = "0";
    if (!formats.empty()) {
      const Distribution& f = formats[static_cast<size_t>(k)];
      if (f.format == Format::cyclic) width = "1";
      if (!f.width.empty()) width = text_of(f.width);
      if (!f.blocks.empty()) mapping = text_of(f.blocks);
    }
    return "{" + lower + ", " + upper + ", " + std::to_string(static_cast<int>(t.format(k))) + ", " +
           std::to_string(t.nodes(k)) + ", " + width + ", " + mapping + "}";
  }

  std::string dimensions(const Template& t, const NodesReference& shape,
                         const std::vector<Distribution>& formats) {
    std::string all;
    for (int k = 0; k < t.dimensions(); k++) all += (k > 0 ? ", " : "") + dimension(t, k, shape, formats);
    return "{" + all + "}";
  }

  std::string define(const Template& t) {
    const std::string type = "struct __tasuki_xmp_template", record = t.record();
    static const std::vector<Distribution> none;
    const std::string value =
        "{" + std::to_string(TASUKI_XMP_KIND_TEMPLATE) + ", sizeof(" + type + "), " +
        std::to_string(t.dimensions()) + ", " + (t.fixed() ? "1" : "0") + ", " +
        dimensions(t, t.declared->shape, t.distributed != nullptr ? t.distributed->formats : none) + ", " +
        (t.onto != nullptr ? "&__tasuki_nodes_" + t.onto->name : "0") + ", " + quoted(t.name) + ", " +
        place(*t.declared) + ", {0, 0}}";
    if (t.declared->in_function || t.declared->body != kNone)
      return type + " " + record + " = " + value + "; tasuki_xmp_template_define(&" + record + ", " +
             place(*t.declared) + ");";
    return "static " + type + " " + record + " = " + value + "; static " + type + "* " + record +
           "_entry __attribute__((used, section(\"tasuki_xmptemplates\"))) = &" + record + ";";
  }

  std::string lower(const TemplateFixDirective& d) {
    const NodeSpace space = find_space(in_, d.shape);
    if (!space) return "";
    if (space.template_ == nullptr || space.template_->fixed()) {
      error(d.shape.name, "'" + std::string(text_.spelling(d.shape.name)) + "' has its shape already",
            "declare a template without one: #pragma xmp template t(:)");
      return "";
    }
    const Template& t = *space.template_;
    bool same = d.formats.empty() || static_cast<int>(d.formats.size()) == t.dimensions();
    for (size_t k = 0; same && k < d.formats.size(); k++)
      same = d.formats[k].format == t.format(static_cast<int>(k));
    if (!same) {
      error(d.shape.name, "the formats are not those of the distribute directive",
            "repeat them, with gblock(array)");
      return "";
    }
    const std::vector<Distribution>& formats =
        d.formats.empty() && t.distributed != nullptr ? t.distributed->formats : d.formats;
    return "tasuki_xmp_template_fix(&" + t.record() + ", (const struct __tasuki_xmp_template_dimension[])" +
           dimensions(t, d.shape, formats) + ", " + place(d) + ");";
  }

  // The set behind on; without it, that of the innermost loop around the directive, or 0: the executing
  // nodes.
  template <typename Directive>
  std::string set_of(const Directive& d) {
    const NodesReference* on = d.on ? &*d.on : nullptr;
    if (on == nullptr) {
      const auto around = loops_around(d.word);
      if (!around.empty() && around.back()->on) on = &*around.back()->on;
    }
    if (on == nullptr) return "0";
    const NodeSpace space = find_space(in_, *on);
    return space ? node_set(in_, space, *on) : "0";
  }

  std::string lower(const TaskDirective& d) {
    if (!d.on) return "{";
    const NodeSpace space = find_space(in_, *d.on);
    if (!space) return "";
    const std::string set = node_set(in_, space, *d.on) + ", " + place(d);
    if (d.no_communication) return "{ if (tasuki_xmp_executes(" + set + ")) {";
    return "{ if (tasuki_xmp_task_begin_on(" + set +
           ")) { __attribute__((cleanup(__tasuki_leave), unused)) int __tasuki_in = 1;";
  }

  std::string lower(const BarrierDirective& d) {
    const std::string set = set_of(d);
    const std::string wait = d.on_device ? "tasuki_xmp_device_wait(); " : "";
    if (set == "0") return wait + "xmp_sync_all((void*)0);";
    return wait + "tasuki_xmp_barrier_on(" + set + ", " + place(d) + ");";
  }

  template <typename Directive>
  static std::string flags(const Directive& d) {
    unsigned flags = 0;
    if (d.on_device) flags |= TASUKI_XMP_DEVICE;
    if (!d.async.empty()) flags |= TASUKI_XMP_ASYNC;
    if constexpr (requires { d.orthogonal; })
      if (d.orthogonal) flags |= TASUKI_XMP_ORTHOGONAL;
    return std::to_string(flags);
  }
  // Flags, the number of async, and the place.
  template <typename Directive>
  std::string tail(const Directive& d) const {
    return flags(d) + ", " + (d.async.empty() ? "0" : text_of(d.async)) + ", " + place(d);
  }

  std::string lower(const ReductionDirective& d) {
    const std::string set = set_of(d);
    std::string result;
    for (const Reduction& r : d.reductions)
      for (const Reduction::Variable& v : r.variables)
        result += "tasuki_xmp_reduction(" + std::to_string(operation_of(r)) +
                  ", &(const struct __tasuki_xmp_variable)" + variable_of(in_, v.variable, true) +
                  ", 0, 0, " + set + ", " + tail(d) + "); ";
    return "{ " + result + "}";
  }

  std::string lower(const BcastDirective& d) {
    std::string variables, from = "0";
    if (d.from_device != kNone) {
      error(d.from_device, "there are no sets of devices: each image has one device",
            "drop the clause; from says which node's device it is");
      return "";
    }
    for (const TokenRange& v : d.variables)
      variables += (variables.empty() ? "" : ", ") + variable_of(in_, v, false);
    if (d.from) {
      const NodeSpace space = find_space(in_, *d.from);
      if (!space) return "";
      from = node_set(in_, space, *d.from);
    }
    return "tasuki_xmp_bcast(" + std::to_string(d.variables.size()) +
           ", (const struct __tasuki_xmp_variable[]){" + variables + "}, " + from + ", " + set_of(d) + ", " +
           tail(d) + ");";
  }

  std::string lower(const ReflectDirective& d) {
    std::string result;
    for (const TokenRange& v : d.variables) {
      const size_t array =
          text_.next(v.first) == v.last ? names_.find_array(text_, in_.analysis, v.first) : kNone;
      if (array == kNone) {
        error(v.first, "this is no distributed array", "name an array with an align directive");
        continue;
      }
      const DistributedArray& a = names_.arrays[array];
      if (a.shadow == nullptr) {
        error(v.first, "'" + a.name + "' has no shadow",
              "declare one before: #pragma xmp shadow " + a.name + "[1]");
        continue;
      }
      if (!d.widths.empty() && d.widths.size() != a.dimensions.size()) {
        error(v.first,
              "'" + a.name + "' has " + counted(a.dimensions.size(), "dimension") + ", and " +
                  counted_are(d.widths.size(), "width") + " given",
              "write a width for each of its dimensions");
        continue;
      }
      std::string widths;
      for (const Width& w : d.widths)
        widths += (widths.empty() ? "{" : ", {") + text_of(w.below) + ", " + text_of(w.above) + ", " +
                  (w.modified ? "1}" : "0}");
      std::string type;
      if (d.what == ShadowExchange::reduce_shadow) {
        const std::string variable = variable_of(in_, v, true);
        if (variable.empty()) continue;
        type = "((const struct __tasuki_xmp_variable)" + variable + ").type, ";
      }
      const std::string name = d.what == ShadowExchange::reduce_shadow  ? "reduce_shadow"
                               : d.what == ShadowExchange::reflect_init ? "reflect_init"
                                                                        : "reflect";
      if (d.what == ShadowExchange::reflect_do) {
        result += "tasuki_xmp_reflect_do(&" + a.record() + ", " + tail(d) + "); ";
        continue;
      }
      result += "tasuki_xmp_" + name + "(&" + a.record() + ", " + type +
                (widths.empty() ? "0" : "(const struct __tasuki_xmp_width[]){" + widths + "}") + ", " +
                tail(d) + "); ";
    }
    return "{ " + result + "}";
  }

  std::string lower(const WaitAsyncDirective& d) {
    std::string ids;
    for (const TokenRange& v : d.ids) ids += (ids.empty() ? "" : ", ") + text_of(v);
    return "tasuki_xmp_wait_async(" + std::to_string(d.ids.size()) + ", (const int[]){" + ids + "}, " +
           (d.on ? set_of(d) : "0") + ", " + place(d) + ");";
  }

  std::string lower(const LocalAliasDirective& d) {
    const size_t array = names_.find_array(text_, in_.analysis, d.array);
    const std::string pointer(text_.spelling(d.pointer));
    if (array == kNone) {
      error(d.array, "'" + std::string(text_.spelling(d.array)) + "' is no distributed array",
            "name an array with an align directive");
      return "";
    }
    const Declaration* declaration = in_.analysis.find(pointer, text_.begin_of(d.pointer));
    if (declaration == nullptr || declaration->rank == 0) {
      error(d.pointer, "'" + pointer + "' is no pointer", "declare it before: double *" + pointer + ";");
      return "";
    }
    return pointer + " = (__typeof__(" + pointer + "))" + names_.arrays[array].record() + ".memory;";
  }

  // ---- xmp_desc_of

  std::string descriptor(size_t word) {
    const size_t name = text_.next(text_.next(word));
    const std::string spelling(text_.spelling(name));
    const size_t array = names_.find_array(text_, in_.analysis, name);
    if (array != kNone) return "((const void*)&" + names_.arrays[array].record() + ")";
    const Declaration* d = in_.analysis.find(spelling, text_.begin_of(name));
    if (d != nullptr && in_.names.codimensions.contains(d->entity)) return coarray_descriptor(*d, name);
    if (names_.find_template(spelling, name) != nullptr)
      return "((const void*)&" + names_.find_template(spelling, name)->record() + ")";
    if (names_.find_nodes(spelling, name) != nullptr)
      return "((const void*)&__tasuki_nodes_" + spelling + ")";
    error(name, "'" + spelling + "' is no node array, template, distributed array or coarray",
          "only those have descriptors");
    return "";
  }

  std::string coarray_descriptor(const Declaration& d, size_t name) {
    std::string part = in_.c(name, name + 1), sizes;
    for (int k = 0; k < d.rank; k++) {
      const std::string next = part + "[0]";
      const bool unknown = k == 0 && (d.shape == Shape::pointer || d.what == Declares::parameter);
      sizes += (k > 0 ? ", " : "") + (unknown ? "0" : "sizeof(" + part + ") / sizeof(" + next + ")");
      part = next;
    }
    return "({ static const struct __tasuki_xmp_descriptor __tasuki_d = {" +
           std::to_string(TASUKI_XMP_KIND_COARRAY) + ", sizeof __tasuki_d, " + std::to_string(d.rank) +
           ", sizeof(" + part + "), {" + (sizes.empty() ? "0" : sizes) + "}, " + quoted(d.name) + ", " +
           in_.place(name) + ", " +
           std::to_string(in_.acc.allocated.contains(d.entity) ? TASUKI_XMP_DEVICE : 0) +
           "}; (const void*)&__tasuki_d; })";
  }

  const std::function<void(const Replacement&)>& add_;  // while run() runs
  const Unit& in_;
  const Text& text_;
  Statements statements_;
  const GlobalNames& names_;
  GlobalArrays arrays_;
  std::vector<std::pair<TokenRange, const LoopDirective*>> loops_;
  std::vector<TokenRange> outermost_;
  std::vector<TokenRange> divided_;                   // loops of all directives, [for, behind the loop)
  std::vector<TokenRange> statements_with_sections_;  // behind gmove and array
  std::vector<Border> openers_, closers_;
  GlobalLowered result_;
};

}  // namespace

GlobalLowered lower_global_view(Unit* unit, const std::function<void(const Replacement&)>& add) {
  unit->global = find_global_names(*unit);
  const auto lowering = std::make_shared<Lowering>(*unit, add);
  return lowering->run(lowering);
}

}  // namespace tasuki::cc
